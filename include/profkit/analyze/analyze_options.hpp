// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/kernel_class.hpp"

namespace profkit {

/// @brief Options of an analysis.
struct analyze_options {
  kernel_class_rules kernel_classes = default_kernel_classes();  ///< rules that sort kernels into classes
};

}  // namespace profkit
