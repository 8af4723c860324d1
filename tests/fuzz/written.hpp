// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile/profile.hpp>
#include <profkit/report/nsys_csv.hpp>

#include <string>
#include <vector>

// The code behind these is compiled once, with coverage, for all fuzz targets.

/// What `profkit report` prints.
std::string printed(profkit::profile const& of);

/// Everything else that is written of a profile, by the names of the files.
std::vector<profkit::named_csv> written(profkit::profile const& of);
