// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>

#include "log_event.hpp"
#include "recorder.hpp"
#include "slow_path.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

// `pthread_exit` and `pthread_cancel` unwind the stack without an exception that `std::uncaught_exceptions` counts, and nothing else of C++
// shows in a destructor that the thread ends. glibc marks the thread before it unwinds. Where the mark is, it says to debuggers: a table of
// size in bits, number of elements and offset in the descriptor of a thread, which `pthread_self` returns. Source: glibc
// `nptl_db/structs.def`, `nptl/descr.h`. Other C libraries do not unwind at all (musl), or have no such table.

/// `EXITING_BITMASK` in `struct pthread::cancelhandling`, the same since glibc 2.2.
inline constexpr std::uint32_t thread_is_exiting_bit = 16;

/// Finds the mark, for `is_thread_exiting`.
inline void find_thread_exit_mark() noexcept {
  auto const* const table = static_cast<std::uint32_t const*>(::dlsym(RTLD_DEFAULT, "_thread_db_pthread_cancelhandling"));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc and musl keep an error for each thread
  if (table == nullptr) static_cast<void>(::dlerror());  // the program must not see profkit's error
  constexpr std::uint32_t max_offset = 4096;
  bool const is_known = table != nullptr && table[0] == 32 && table[1] == 1 && table[2] < max_offset && table[2] % 4 == 0;
  __atomic_store_n(&recorder.exit_mark_offset, is_known ? table[2] : 0, __ATOMIC_RELAXED);
}

/// Whether this thread is being cancelled or is in `pthread_exit`; false if unknown.
[[nodiscard]] inline bool is_thread_exiting() noexcept {
  std::uint32_t const offset = __atomic_load_n(&recorder.exit_mark_offset, __ATOMIC_RELAXED);
  if (offset == 0) return false;
  ::pthread_t const self = ::pthread_self();  // a number or a pointer
  std::uintptr_t descriptor = 0;
  static_assert(sizeof self == sizeof descriptor, "pthread_self returns an address");
  __builtin_memcpy(&descriptor, &self, sizeof self);
  auto const* const mark = reinterpret_cast<std::uint32_t const*>(descriptor + offset);
  return (__atomic_load_n(mark, __ATOMIC_RELAXED) & thread_is_exiting_bit) != 0;
}

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

}  // namespace PROFKIT_NAMESPACE::detail
