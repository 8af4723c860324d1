// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>
#include <vector>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

/// Measures the rates of the GPU: a large matrix product in the precision of the run, one in fp32, in which everything else computes, and a
/// large copy. Returns the maximum of several repetitions, timed with CUDA events. Takes a second and 3 GiB of GPU memory, which it
/// releases. Waits for the GPU.
/// @throws out_of_memory
[[nodiscard]] std::vector<profkit::measured_roof_record> measure_roofs(compute_device const& device, precision_kind precision);

}  // namespace trainer
