// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit::detail {

/// The thread pointer of the running thread, from which static thread-local storage has fixed offsets. It is read on each call, because a
/// coroutine may have resumed on another thread.
[[nodiscard]] inline std::intptr_t thread_pointer() noexcept {
#if defined(__x86_64__)
  std::intptr_t value = 0;
  asm volatile("mov %%fs:0, %0" : "=r"(value));
  return value;
#elif defined(__aarch64__)
  std::intptr_t value = 0;
  asm volatile("mrs %0, tpidr_el0" : "=r"(value));
  return value;
#else
  return reinterpret_cast<std::intptr_t>(__builtin_thread_pointer());
#endif
}

}  // namespace profkit::detail
