// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile/profile.hpp>
#include <vector>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

/// What the GPU reaches: in a product of large matrices, in the precision of the run and in fp32, in which all but the products computes;
/// and in a large copy. Of each the best of several, between CUDA events. Takes a second and 3 GiB of the GPU's memory, which it gives
/// back; waits for the GPU.
/// @throws out_of_memory
[[nodiscard]] std::vector<profkit::measured_roof_record> measure_roofs(compute_device const& device, precision_kind precision);

}  // namespace trainer
