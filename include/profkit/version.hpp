// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The version of profkit. CMakeLists.txt reads it from here.
#define PROFKIT_VERSION_MAJOR 0
#define PROFKIT_VERSION_MINOR 1
#define PROFKIT_VERSION_PATCH 0

namespace profkit {

/// The same version as text, as it stands in `report.json`.
inline constexpr char const* version = "0.1.0";

}  // namespace profkit
