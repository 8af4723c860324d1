// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>

#include "recorder.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
