// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Computes the summary of a profile.

#include "impl/profile/library_abi.hpp"
#include "kernel_class.hpp"
#include "profile.hpp"
#include "summary.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Options of an analysis.
struct analyze_options {
  kernel_class_rules kernel_classes = default_kernel_classes();  ///< rules that sort kernels into classes
};

/// @brief Computes the figures of a profile over its measured steps.
///
/// Takes time proportional to the records (n log n if they are out of order). Thread-safe: no global state, no device access.
/// @param profile a recorded or loaded profile.
/// @param with rules for kernel classes.
/// @return the summary.
[[nodiscard]] PROFKIT_TAGGED_FUNCTION summary analyze(profile const& profile, analyze_options const& with = {});

}  // namespace PROFKIT_NAMESPACE
