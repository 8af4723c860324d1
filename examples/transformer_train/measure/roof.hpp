// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile/profile.hpp>
#include <vector>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

/// Measures the rates of the GPU: a product of large matrices in the precision of the run and in fp32, which everything except products
/// uses, and a large copy. The maximum of several repetitions, between CUDA events. Takes a second and 3 GiB of GPU memory, which it
/// releases; waits for the GPU.
/// @throws out_of_memory
[[nodiscard]] std::vector<profkit::measured_roof_record> measure_roofs(compute_device const& device, precision_kind precision);

}  // namespace trainer
