// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "slow_path.hpp"
#include "step_code.hpp"
#include "thread_exit.hpp"

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
