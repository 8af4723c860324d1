// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "attribution.hpp"

namespace profkit::detail {

/// The part of a GPU operation that most analyses need. It goes through them many times: the records themselves are longer, and what
/// launched them lies elsewhere.
struct timed_operation {
  static constexpr std::uint32_t no_step = 0xffffffffU;
  static constexpr std::chrono::nanoseconds no_latency = std::chrono::nanoseconds::min();

  interval time;

  /// From the beginning of the call that launched it. `no_latency` if that was not recorded, and of what a graph ran: this waits for its
  /// predecessors in the graph, not only for the launch.
  std::chrono::nanoseconds latency = no_latency;

  std::uint32_t record = 0;                 ///< position in `profile::gpu_operations`
  std::uint32_t path = attribution::none;   ///< that it is charged to
  std::uint32_t name = 0;                   ///< position in `profile::gpu_names`
  std::uint32_t scope = attribution::none;  ///< in which it was launched, if that is the reason for its path
  std::uint32_t step = no_step;             ///< the position of the measured step in which it was launched; `no_step`: it does not count
  gpu_operation_kind kind = gpu_operation_kind::kernel;

  [[nodiscard]] bool is_counted() const noexcept { return step != no_step; }
};

}  // namespace profkit::detail
