// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <profkit/options.hpp>
#include <profkit/report.hpp>

#include "device.hpp"

namespace trainer {

/// The options of the environment; by default 10 warm-up steps and 100 measured steps.
[[nodiscard]] profkit::options timed_steps_options();

/// Runs warm-up and measured steps of a small workload under profkit, and records the peaks of LibTorch's allocator over the measured ones.
/// Waits for the device before the first measured step and after the last, but not in between.
/// @param options the numbers of steps; nothing is written or printed.
/// @param with_kernels collects kernels; costs up to 1 us per launch.
/// @throws what `one_step` throws.
[[nodiscard]] profkit::report time_steps(compute_device const& device, profkit::options options, bool with_kernels,
                                         std::function<void()> const& one_step);

}  // namespace trainer
