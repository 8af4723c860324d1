// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../profile/own_memory.hpp"
#include "../profile/time.hpp"

namespace profkit {

/// @brief Causes of GPU idle time: the activity of the thread that launched the next operation. Definition: docs/step_budget.md.
enum class idle_cause : std::uint8_t {
  launching = 0,        ///< in a launching call, or between two close launching calls: launch-bound
  host = 1,             ///< outside all of these calls: host-bound
  synchronisation = 2,  ///< in a call that waits for the device
  copy = 3,             ///< in a call that copies or sets memory
  queued = 4,           ///< the operation was launched, but the device had not started it
};
inline constexpr std::size_t idle_causes = 5;  ///< number of values of `idle_cause`

/// @brief The name of the last row of a budget: GPU work that was launched outside any scope.
inline constexpr char const* outside_any_scope = "outside any scope";

/// @brief One row of the step budget: a scope directly inside the step, the step itself, or work outside any scope.
struct budget_row {
  std::string part;     ///< such as "forward"
  milliseconds busy{};  ///< an operation of the part ran; if several run, the moment counts for the one that began first
  std::array<milliseconds, idle_causes> idle{};  ///< by `idle_cause`: no operation ran on any device, and the host was in this part
  milliseconds total{};                          ///< busy and idle time
};

/// @brief Work that overlap with other work can hide.
struct hidden_work {
  milliseconds busy{};     ///< length of the union of its intervals
  milliseconds exposed{};  ///< the part without any other operation
};

/// @brief The scopes with one name, without the index, for which the devices waited.
struct starving_scope {
  std::string name;                                  ///< such as "layer" for `layer_3`
  milliseconds total{};                              ///< idle time charged to the scopes themselves
  std::array<milliseconds, idle_causes> by_cause{};  ///< the same by `idle_cause`
};

/// @brief The step budget: the wall time of the measured steps with kernels collected, without the time between steps. Wall time is host
/// step time, or the GPU period if that is longer (`gpu_period_summary::is_longer`).
struct budget_summary {
  bool is_of_gpu = false;                       ///< wall time is the GPU period
  milliseconds wall{};                          ///< sum of the step times; the totals of the rows add up to it
  milliseconds busy{};                          ///< time with at least one running operation
  detail::own_vector<budget_row> rows;          ///< in the order of first appearance; work outside any scope comes last
  milliseconds overlap{};                       ///< sum of the durations of the operations minus `busy`
  hidden_work copies;                           ///< copies and memsets
  hidden_work communication;                    ///< kernels of the class `communication`
  detail::own_vector<starving_scope> starving;  ///< longest first
  std::uint64_t steps = 0;                      ///< number of steps
  bool has_launches = true;  ///< false: no launching call was recorded, so launch-bound time is n/a and counts as host-bound
};

}  // namespace profkit
