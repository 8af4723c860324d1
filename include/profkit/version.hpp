// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The version of profkit. CMakeLists.txt reads it from here.

/// @brief Increases with incompatible changes of the public interface.
#define PROFKIT_VERSION_MAJOR 0
/// @brief Increases with new features.
#define PROFKIT_VERSION_MINOR 1
/// @brief Increases with corrections.
#define PROFKIT_VERSION_PATCH 0

namespace profkit {

/// @brief The version as text, as written to `report.json`.
inline constexpr char const* version = "0.1.0";

}  // namespace profkit
