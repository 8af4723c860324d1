// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/csv_printer.hpp>
#include <profkit/profile.hpp>
#include <profkit/summary.hpp>

#include <filesystem>
#include <string>
#include <vector>

// These functions are compiled once for all fuzz targets.

/// The output of `profkit report`.
std::string printed(profkit::profile const& profile);

/// The same for a journal.
std::string printed_journal(std::filesystem::path const& file);

/// All outputs of a summary, concatenated.
std::string printed(profkit::summary const& summary);

/// The content of the file of a profile, and of a summary.
std::string saved(profkit::profile const& profile);
std::string saved(profkit::summary const& summary);

/// All other outputs of a profile, by file name.
std::vector<profkit::detail::named_csv> written(profkit::profile const& profile);
