// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

#include "log_memory.hpp"
#include "recorder.hpp"
#include "thread_log.hpp"

// The identity of a process, for all that must not happen in a child of the process that records. `getpid` is none: process 1 of a PID
// namespace may have a child that is 1 in another namespace. A fork handler is none either: `_Fork` and the system call run no handlers.
//
// The identity is a number in a page that reads as zero in a child (MADV_WIPEONFORK, Linux 4.14), unless the child shares the memory of its
// parent (`vfork`), and with it the logs. Without such a page, it is that number with `getpid`, and the fork handler clears it.

namespace PROFKIT_NAMESPACE::detail {

/// Maps the page. @return null if the system has no memory, or the kernel is older than 4.14, or an emulator ignores all advice (QEMU 7.2).
inline process_mark* map_process_mark() noexcept {
  unsigned char* const memory = map_memory(small_page);
  if (memory == nullptr) return nullptr;
  constexpr int no_advice = -1;
  if (::madvise(memory, small_page, no_advice) != 0 && ::madvise(memory, small_page, MADV_WIPEONFORK) == 0)
    return reinterpret_cast<process_mark*>(memory);
  ::munmap(memory, small_page);
  return nullptr;
}

/// Sets `recorder_state::mark`. Any thread may do so at the same time.
inline process_mark& find_process_mark(process_mark* (*map)() noexcept = map_process_mark) noexcept {
  process_mark* known = __atomic_load_n(&recorder.mark, __ATOMIC_ACQUIRE);
  if (known != nullptr) return *known;
  process_mark* const mapped = map();
  process_mark* const mine = mapped != nullptr ? mapped : &recorder.unwiped_mark;
  if (mapped == nullptr) __atomic_store_n(&recorder.unwiped_mark.unwiped, std::int64_t{::getpid()}, __ATOMIC_RELAXED);
  if (__atomic_compare_exchange_n(&recorder.mark, &known, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return *mine;
  if (mapped != nullptr) ::munmap(mapped, small_page);
  return *known;
}

/// The number that `identify_process` gave to this process; 0 if there is none, as in a child of the process that has one.
/// Async-signal-safe; two loads.
[[nodiscard]] inline std::uint64_t number_of_this_process() noexcept {
  process_mark const* const mark = __atomic_load_n(&recorder.mark, __ATOMIC_ACQUIRE);
  if (mark == nullptr) return 0;
  std::int64_t const unwiped = __atomic_load_n(&mark->unwiped, __ATOMIC_RELAXED);
  return unwiped == 0 || unwiped == ::getpid() ? __atomic_load_n(&mark->number, __ATOMIC_RELAXED) : 0;
}

/// Whether this is the process that got a number from `identify_process`, and not a child of it. Async-signal-safe.
[[nodiscard]] inline bool is_process(std::uint64_t number) noexcept { return number != 0 && number_of_this_process() == number; }

/// Whether this is the process in which the last session of this process or an ancestor started: see `is_process`.
[[nodiscard]] inline bool is_recording_process() noexcept {
  return is_process(__atomic_load_n(&recorder.process_number, __ATOMIC_RELAXED));
}

/// Resets the recorder in the child of a `fork`: no session runs there, and the owners of the other logs do not exist. Async-signal-safe.
inline void reset_after_fork() noexcept {
  if (recorder.mark != nullptr) __atomic_store_n(&recorder.mark->number, std::uint64_t{0}, __ATOMIC_RELAXED);
  __atomic_fetch_and(&recorder.flags, ~(recording | prepares_threads | polls_memory), __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.poll_memory, static_cast<void (*)(std::uint64_t) noexcept>(nullptr), __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
  thread_log* const own = this_thread_scopes();
  for (thread_log* log = recorder.logs; log != nullptr; log = log->next) {
    if (log == own || log->state == log_retired) continue;
    log->state = log->is_busy() || log->is_broken ? log_retired : log_free;  // the thread of a retired log was writing to it
  }
  if (own != nullptr) own->thread_system_id = static_cast<std::uint64_t>(::syscall(SYS_gettid));  // the C library may have the parent's
}

/// Whether this is a child of the process that records, and no fork handler has run in it (`_Fork`, the system call). Nobody reads its
/// logs, so it stops recording. Checked where a thread would take more memory.
[[nodiscard]] inline bool is_child_that_records() noexcept {
  if (is_recording_process()) return false;
  if ((__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED) & recording) == 0) return false;
  reset_after_fork();
  return true;
}

/// Gives this process a number, if it has none. In a child in which no fork handler ran, this also resets the recorder. So a session calls
/// it before it takes `recorder_state::owner`. @return the number: from 1, and greater than those of its ancestors.
inline std::uint64_t identify_process() noexcept {
  process_mark& mark = find_process_mark();
  std::uint64_t const number = __atomic_load_n(&recorder.process_number, __ATOMIC_ACQUIRE);
  if (is_process(number)) return number;
  static_cast<void>(is_child_that_records());
  std::uint64_t const next = number + 1;
  if (mark.unwiped != 0) __atomic_store_n(&mark.unwiped, std::int64_t{::getpid()}, __ATOMIC_RELAXED);
  __atomic_store_n(&mark.number, next, __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.process_number, next, __ATOMIC_RELEASE);
  return next;
}

}  // namespace PROFKIT_NAMESPACE::detail
