// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "open_scope_word.hpp"

namespace profkit {

struct site;

namespace detail {

/// The values of a step, with times in ticks. The step loop converts them.
struct raw_step {
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::uint64_t index = 0;
  std::uint64_t items = 0;
  double model_flops = 0.0;
  bool warmup = false;
  bool has_kernels = true;    ///< see `step_record`
  bool is_abandoned = false;  ///< exited by an exception or by the end of the thread
  bool is_in_exit = false;    ///< begun while the thread ends
  bool is_excluded = false;   ///< see `step_record`
};

/// Begins the scope of a step and sets `begin_ticks`. @return its word.
open_scope_word begin_step_scope(site& where, raw_step& values) noexcept;
/// Sets `end_ticks`, and `is_abandoned` if the thread ends, and ends the scope.
void end_step_scope(open_scope_word open, raw_step& values) noexcept;

}  // namespace detail

}  // namespace profkit
