// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "recorder.hpp"

namespace profkit::detail {

/// `thread_log::state`
enum log_state : std::uint32_t {
  log_free = 0,   ///< read to its end; any new thread may have it
  log_owned = 1,  ///< a thread writes to it
  log_left = 2,   ///< its thread has ended; the reader still has to look at it
};

/// Slots in the log of a thread, a power of two. Address space; memory is taken where it is written and given back once it is read.
inline std::uint64_t slots_per_log = std::uint64_t{1} << 22U;

inline thread_log* make_log() noexcept {
  auto* const log = new (std::nothrow) thread_log;
  if (log == nullptr) return nullptr;
  void* const slots =
      ::mmap(nullptr, slots_per_log * sizeof(log_slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED) {
    delete log;
    return nullptr;
  }
  log->slots = static_cast<log_slot*>(slots);
  log->mask = slots_per_log - 1;
  log->state = log_owned;
  log->next = __atomic_load_n(&recorder.logs, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&recorder.logs, &log->next, log, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return log;
}

/// Gives the memory of the slots before `position`, which the reader is done with, back to the system. The reader calls it before it
/// publishes `position` in `thread_log::read`, so that the writer is not there yet. In large pieces, so that it is seldom a system call.
inline void release_read_slots(thread_log& log, std::uint64_t position) noexcept {
  constexpr std::uint64_t piece = (std::uint64_t{1} << 20U) / sizeof(log_slot);
  for (; log.released + piece <= position && piece <= log.mask; log.released += piece) {
    ::madvise(&log.slots[log.released & log.mask], piece * sizeof(log_slot), MADV_DONTNEED);
  }
}

/// A log that an earlier thread has left and that the reader is done with.
inline thread_log* reuse_log() noexcept {
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    if (log->mask != slots_per_log - 1) continue;
    std::uint32_t expected = log_free;
    if (__atomic_compare_exchange_n(&log->state, &expected, log_owned, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return log;
  }
  return nullptr;
}

/// Hands the log back when the thread ends. The main thread keeps its log: it still runs the destructors of static objects after its
/// thread-local objects are gone.
struct log_ownership {
  thread_log* log = nullptr;
  ~log_ownership() {
    ended() = true;
    this_thread_log = nullptr;
    if (log != nullptr) __atomic_store_n(&log->state, std::uint32_t{log_left}, __ATOMIC_RELEASE);
  }
  /// Scopes in destructors of other thread-local objects may run later than this; they are counted and not recorded.
  static bool& ended() noexcept {
    static thread_local bool value = false;
    return value;
  }
};

/// The slow path of a thread's first scope. Null: no memory, or the thread is ending.
inline thread_log* attach_this_thread() noexcept {
  if (!log_ownership::ended()) {
    auto const thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
    thread_log* log = reuse_log();
    if (log == nullptr) log = make_log();
    if (log != nullptr) {
      log->open = 0;
      log->rest = nullptr;
      log->thread_system_id = thread;
      ::prctl(PR_GET_NAME, log->thread_name);
      __atomic_store_n(&log->generation, log->generation + 1, __ATOMIC_RELEASE);
      this_thread_log = log;
      if (thread != static_cast<std::uint64_t>(::getpid())) {
        static thread_local log_ownership ownership;
        ownership.log = log;
      }
      return log;
    }
  }
  __atomic_fetch_add(&recorder.unlogged, 1, __ATOMIC_RELAXED);
  return nullptr;
}

/// In the child of a `fork` no session runs, and the threads that owned the other logs do not exist.
inline void reset_after_fork() noexcept {
  __atomic_fetch_and(&recorder.flags, ~recording, __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
  for (thread_log* log = recorder.logs; log != nullptr; log = log->next) {
    if (log != this_thread_log) log->state = log_free;
  }
}

/// Makes `reset_after_fork` run; once per process is enough, and once per shared library does no harm.
inline void watch_forks() noexcept {
  static int const registered = ::pthread_atfork(nullptr, nullptr, [] { reset_after_fork(); });
  static_cast<void>(registered);
}

}  // namespace profkit::detail
