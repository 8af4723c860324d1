// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace profkit {

/// @brief Options of `cupti_kernels`.
struct kernel_options {
  /// @brief Records every call of the CUDA runtime and driver, instead of only launching and waiting calls: needed for `cuda_api_sum.csv`
  /// of `profkit report --nsys`. A training step makes about 12 calls per kernel, so this takes much more time and memory.
  bool all_api_calls = false;
};

}  // namespace profkit
