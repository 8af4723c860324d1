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

/// Slots in the log of a thread. Address space; memory is taken where it is written, and a log that is drained in time writes where it has
/// written before, see `thread_log`.
inline std::uint64_t slots_per_log = std::uint64_t{1} << 24U;

/// Logs, each of which takes two of the 65,530 mappings that Linux lets a process have. Threads beyond them are counted and not recorded.
inline std::uint32_t most_logs = 16'384;

/// Memory up to here stays with a log once it is read: to take a page again costs as much as dozens of scopes.
inline constexpr std::uint64_t kept_slots = std::uint64_t{1} << 21U;

/// Behind the first of these a log asks for large pages, so that a burst of scopes does not stop at every small one.
inline constexpr std::uintptr_t large_page = std::uintptr_t{2} << 20U;

inline constexpr std::uintptr_t small_page = 4096;

/// In one mapping, the log before its slots: a thread's first scope takes one page of memory and no part in malloc.
inline thread_log* make_log(log_state state) noexcept {
  static std::uint32_t made = 0;
  if (__atomic_load_n(&made, __ATOMIC_RELAXED) >= most_logs) return nullptr;
  constexpr std::uint64_t header_bytes = (sizeof(thread_log) + alignof(thread_log) - 1) / alignof(thread_log) * alignof(thread_log);
  std::uint64_t const bytes = header_bytes + slots_per_log * sizeof(std::uint64_t);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
  auto const begin = reinterpret_cast<std::uintptr_t>(memory);
  std::uintptr_t const small_end = (begin + 2 * large_page - 1) & ~(large_page - 1);
  if (small_end < begin + bytes) ::madvise(reinterpret_cast<void*>(small_end), begin + bytes - small_end, MADV_HUGEPAGE);
  auto* const log = new (memory) thread_log;
  log->use(reinterpret_cast<std::uint64_t*>(begin + header_bytes), slots_per_log);
  log->state = state;
  log->next = __atomic_load_n(&recorder.logs, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&recorder.logs, &log->next, log, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return log;
}

/// Makes logs until this many wait for new threads, whose first scopes then map nothing. Of each the first pages are touched.
inline void keep_spare_logs() noexcept {
  constexpr int wanted = 4;
  int spare = 0;
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    spare += log->slot_count == slots_per_log && __atomic_load_n(&log->state, __ATOMIC_RELAXED) == log_free ? 1 : 0;
  }
  for (; spare < wanted; ++spare) {
    if (make_log(log_free) == nullptr) return;
  }
}

/// Whether this thread has ended but for what its last functions do: scopes there are counted and not recorded.
inline bool& has_left_log() noexcept {
  static thread_local bool value = false;
  return value;
}

/// The reader is done with the chunk that `last_read` lies in. What lies far from the beginning of the log goes back to the system.
inline void give_back_chunk(thread_log& log, std::uint64_t const* last_read) noexcept {
  std::uint64_t const position = static_cast<std::uint64_t>(last_read - log.slots) / log.chunk_slots * log.chunk_slots;
  std::uint64_t* const chunk = log.slots + position;
  // Whole pages; the first slot is needed for the stack of free chunks.
  std::uintptr_t const from = (reinterpret_cast<std::uintptr_t>(chunk) + small_page) & ~(small_page - 1);
  std::uintptr_t const to = reinterpret_cast<std::uintptr_t>(chunk + log.chunk_slots) & ~(small_page - 1);
  if (position >= kept_slots && from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  log.give_back(chunk);
}

/// Takes the memory for some ten thousand scopes of this thread, before anybody measures.
inline void warm_up_log_of_this_thread() noexcept {
  thread_log* const log = log_of_this_thread();
  constexpr std::uint64_t warm_slots = std::uint64_t{1} << 17U;
  if (log == nullptr || log->next_slot != log->slots || log->slot_count < warm_slots) return;
  for (std::uint64_t slot = 0; slot < warm_slots; slot += small_page / sizeof(std::uint64_t)) log->slots[slot] = 0;
}

/// A log that an earlier thread has left and that the reader is done with. Looks at some only, from where the last search stopped: while
/// very many logs have not been read yet, to look at all of them for each new thread would take the square of their number.
inline thread_log* reuse_log() noexcept {
  constexpr int most_tries = 64;
  static thread_log* next_to_try = nullptr;
  thread_log* const newest = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE);
  thread_log* log = __atomic_load_n(&next_to_try, __ATOMIC_ACQUIRE);
  for (int tries = 0; tries < most_tries && newest != nullptr; ++tries) {
    if (log == nullptr) log = newest;
    thread_log* const next = log->next;
    std::uint32_t expected = log_free;
    if (log->slot_count == slots_per_log &&
        __atomic_compare_exchange_n(&log->state, &expected, log_owned, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      __atomic_store_n(&next_to_try, next, __ATOMIC_RELEASE);
      return log;
    }
    log = next;
  }
  __atomic_store_n(&next_to_try, log, __ATOMIC_RELEASE);
  return nullptr;
}

/// The thread ends. The main thread keeps its log: it never comes here, and still runs the destructors of static objects.
inline void leave_log(void* log) noexcept {
  has_left_log() = true;
  this_thread_log = nullptr;
  __atomic_store_n(&static_cast<thread_log*>(log)->state, std::uint32_t{log_left}, __ATOMIC_RELEASE);
}

/// Calls `leave_log` when a thread ends, after the destructors of its thread-local objects; a destructor of one would call malloc when the
/// thread records for the first time.
inline ::pthread_key_t log_key() noexcept {
  static ::pthread_key_t const key = [] {
    ::pthread_key_t made{};
    return ::pthread_key_create(&made, leave_log) == 0 ? made : ~::pthread_key_t{0};
  }();
  return key;
}

/// The slow path of a thread's first scope. Null: no memory, or the thread is ending.
inline thread_log* attach_this_thread() noexcept {
  if (!has_left_log()) {
    thread_log* log = reuse_log();
    if (log == nullptr) log = make_log(log_owned);
    if (log != nullptr) {
      log->open = 0;
      log->rest = nullptr;
      log->thread_system_id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
      ::prctl(PR_GET_NAME, log->thread_name);
      __atomic_store_n(&log->generation, log->generation + 1, __ATOMIC_RELEASE);
      this_thread_log = log;
      ::pthread_setspecific(log_key(), log);
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
