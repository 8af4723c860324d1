// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/summary.hpp>
#include <profkit/profile/profile.hpp>
#include <profkit/report/nsys_csv.hpp>

#include <filesystem>
#include <string>
#include <vector>

// The code behind these is compiled once, with coverage, for all fuzz targets.

/// What `profkit report` prints.
std::string printed(profkit::profile const& of);

/// The same of a journal.
std::string printed_journal(std::filesystem::path const& file);

/// All that is made of a summary alone, one text behind the other.
std::string printed(profkit::summary const& of);

/// Everything else that is written of a profile, by the names of the files.
std::vector<profkit::named_csv> written(profkit::profile const& of);
