// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "../../profile/described.hpp"
#include "utilization_summary.hpp"

// Describes the utilization members of a summary: see `summary_fields.hpp`.

namespace profkit::detail {

constexpr auto describe(described_type<share_of_unit>) {
  using s = share_of_unit;
  return std::tuple{field{"mean", &s::mean}, field{"min", &s::min}, field{"max", &s::max}};
}
constexpr auto describe(described_type<rate_of_unit>) {
  using s = rate_of_unit;
  return std::tuple{field{"mean_gb_per_s", &s::mean}, field{"min_gb_per_s", &s::min}, field{"max_gb_per_s", &s::max}};
}
constexpr auto describe(described_type<utilization_summary>) {
  using s = utilization_summary;
  return std::tuple{field{"device", &s::device},
                    field{"source", &s::source},
                    field{"windows", &s::windows},
                    field{"covered_ms", &s::covered},
                    field{"busy_*", &s::busy},
                    field{"sm_active_*", &s::sm_active},
                    field{"sm_occupancy_*", &s::sm_occupancy},
                    field{"tensor_*", &s::tensor},
                    field{"tensor_fp64_*", &s::tensor_fp64},
                    field{"tensor_float_*", &s::tensor_float},
                    field{"tensor_integer_*", &s::tensor_integer},
                    field{"fp64_*", &s::fp64},
                    field{"fp32_*", &s::fp32},
                    field{"fp16_*", &s::fp16},
                    field{"integer_*", &s::integer},
                    field{"dram_*", &s::dram},
                    field{"memory_active_*", &s::memory_active},
                    field{"nvlink_receive_*", &s::nvlink_receive},
                    field{"nvlink_send_*", &s::nvlink_send},
                    field{"pcie_receive_*", &s::pcie_receive},
                    field{"pcie_send_*", &s::pcie_send}};
}

}  // namespace profkit::detail
