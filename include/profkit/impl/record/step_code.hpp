// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "log_event.hpp"
#include "recorder.hpp"
#include "slow_path.hpp"
#include "thread_exit.hpp"

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

namespace profkit::detail {

[[gnu::used]] inline open_scope_word begin_step_scope(site& where, raw_step& values) noexcept {
  __atomic_store_n(&recorder.step, values.index, __ATOMIC_RELAXED);
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE);
  install_slow_path();
  values.is_in_exit = is_thread_exiting();
  tell_listeners(flags, 0);
  if ((flags & nvtx_attached) != 0) recorder.nvtx_push(where, nullptr);
  values.begin_ticks = next_tick(flags);
  return record_enter(flags, tagged(where, event_kind::enter_step), 0, values.begin_ticks) | (flags & flags_for_end);
}

[[gnu::used]] inline void end_step_scope(open_scope_word open, raw_step& values) noexcept {
  values.end_ticks = next_tick(__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED));
  values.is_abandoned = values.is_abandoned || (is_thread_exiting() && !values.is_in_exit);
  leave_slow_path(open, values.end_ticks);
}

}  // namespace profkit::detail
