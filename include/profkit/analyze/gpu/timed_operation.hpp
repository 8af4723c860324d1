// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "attribution.hpp"

namespace profkit::detail {

/// The part of a GPU operation that most analyses need, compact because they iterate over all operations many times.
struct timed_operation {
  static constexpr std::uint32_t no_step = 0xffffffffU;
  static constexpr std::chrono::nanoseconds no_latency = std::chrono::nanoseconds::min();

  interval time;

  /// Time from the beginning of the launching call to the start of the operation. `no_latency` if the call was not recorded, and for
  /// operations of a graph, which wait for their predecessors in the graph and not only for the launch.
  std::chrono::nanoseconds latency = no_latency;

  std::uint32_t record = 0;                 ///< position in `profile::gpu_operations`
  std::uint32_t path = attribution::none;   ///< the charged path
  std::uint32_t name = 0;                   ///< position in `profile::gpu_names`
  std::uint32_t scope = attribution::none;  ///< the scope that determines the path, if one does
  std::uint32_t step = no_step;             ///< position of the measured step in which it was launched; `no_step`: not counted
  gpu_operation_kind kind = gpu_operation_kind::kernel;

  [[nodiscard]] bool is_counted() const noexcept { return step != no_step; }
};

}  // namespace profkit::detail
