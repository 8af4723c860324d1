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

// Names of profkit contain its version, so that shared libraries with the code of several versions share none of it. C++17 has no `inline`
// in `namespace a::b`, so the namespace of the version is not inline.
#define PROFKIT_NAMESPACE_2(major, minor, patch) profkit::v##major##_##minor##_##patch
#define PROFKIT_NAMESPACE_1(major, minor, patch) PROFKIT_NAMESPACE_2(major, minor, patch)
/// @brief The namespace of this version, such as `profkit::v0_1_0`. All its names are names of `profkit`, so write `profkit::session`.
#define PROFKIT_NAMESPACE PROFKIT_NAMESPACE_1(PROFKIT_VERSION_MAJOR, PROFKIT_VERSION_MINOR, PROFKIT_VERSION_PATCH)

namespace PROFKIT_NAMESPACE {

/// @brief The version as text, as written to `report.json`.
inline constexpr char const* version = "0.1.0";

}  // namespace PROFKIT_NAMESPACE

namespace profkit {

using namespace PROFKIT_NAMESPACE;

}  // namespace profkit
