// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <profkit/options.hpp>
#include <profkit/report/report.hpp>

#include "device.hpp"

namespace trainer {

/// What the environment says; where it says nothing, 10 steps of warm-up and 100 that are measured.
[[nodiscard]] profkit::options timed_steps_options();

/// Runs the warm-up and the measured steps of something smaller than a training step under profkit, with the peaks of LibTorch's allocator
/// over the measured ones. Waits for the device before the first measured step and after the last, never in between.
/// @param options how many steps; writes and prints nothing itself.
/// @param with_kernels collects the kernels that a GPU runs; costs up to 1 us a launch.
/// @throws what `one_step` throws.
[[nodiscard]] profkit::report time_steps(compute_device const& device, profkit::options options, bool with_kernels,
                                         std::function<void()> const& one_step);

}  // namespace trainer
