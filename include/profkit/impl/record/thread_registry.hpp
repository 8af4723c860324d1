// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <new>

#include "../../profile_builder.hpp"
#include "clock.hpp"
#include "log_memory.hpp"
#include "process_identity.hpp"
#include "quiet_thread.hpp"
#include "recorder.hpp"
#include "slow_path.hpp"
#include "step_code.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Reads the name of a thread of this process from `/proc`. Does not allocate.
/// @param system_id of the thread.
/// @param name at most 15 characters.
/// @return false if it cannot be read: no `/proc`, or no such thread.
inline bool read_thread_name(std::uint64_t system_id, std::array<char, 16>& name) noexcept {
  char path[64];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/self/task/%llu/comm", static_cast<unsigned long long>(system_id)));
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ::ssize_t const length = ::read(file, name.data(), name.size());
  ::close(file);
  if (length <= 0) return false;
  name[static_cast<std::size_t>(length) - 1] = '\0';  // instead of the line feed
  return true;
}

/// Maximum number of slots in the log of a thread, over all its chunks.
inline std::uint64_t slots_per_log = std::uint64_t{1} << 24U;

/// Maximum number of logs. Each may take one of the 65,530 memory mappings that Linux allows per process. Events of further threads are
/// counted and not recorded.
inline std::uint32_t max_logs = 16'384;

inline std::uint32_t logs_made = 0;

/// About how many logs of ended threads there are, with the present bound. Without any, a new thread does not search.
inline std::int32_t free_logs = 0;

[[nodiscard]] inline bool has_usual_bound(thread_log const& log) noexcept {
  return log.slot_bound == __atomic_load_n(&slots_per_log, __ATOMIC_RELAXED);
}

inline void count_free_logs() noexcept {
  std::int32_t number = 0;
  for (thread_log const* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next)
    number += has_usual_bound(*log) && __atomic_load_n(&log->state, __ATOMIC_RELAXED) == log_free ? 1 : 0;
  __atomic_store_n(&free_logs, number, __ATOMIC_RELAXED);
}

[[nodiscard]] inline bool has_max_logs() noexcept {
  return __atomic_load_n(&logs_made, __ATOMIC_RELAXED) >= __atomic_load_n(&max_logs, __ATOMIC_RELAXED);
}

/// `thread_log::provide_chunk`
inline log_chunk* provide_chunk(thread_log& log) noexcept {
  if (is_child_that_records()) return nullptr;
  log_chunk* const read_before = log.free_chunks.pop();
  return read_before != nullptr ? read_before : map_chunk(log);
}

/// Creates a log and its first chunk, without malloc. A thread's first scope touches one page.
/// @return null if there are `max_logs` logs, or no memory.
inline thread_log* make_log(log_state state) noexcept {
  unsigned char* const memory = has_max_logs() ? nullptr : map_log();
  if (memory == nullptr) return nullptr;
  __atomic_fetch_add(&logs_made, 1, __ATOMIC_RELAXED);
  auto* const log = new (memory) thread_log;
  log->slot_bound = __atomic_load_n(&slots_per_log, __ATOMIC_RELAXED);
  constexpr std::uint64_t header_bytes = sizeof(thread_log) + sizeof(log_chunk);
  constexpr std::uint64_t max_slots = (chunk_bytes - header_bytes) / sizeof(std::uint64_t);
  std::uint64_t const slot_count = slots_of_chunk(*log);
  log->use(*new (memory + sizeof(thread_log)) log_chunk, slot_count < max_slots ? slot_count : max_slots, log->slot_bound);
  log->provide_chunk = provide_chunk;
  log->state = state;
  log->next = __atomic_load_n(&recorder.logs, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&recorder.logs, &log->next, log, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  if (state == log_free) __atomic_fetch_add(&free_logs, 1, __ATOMIC_RELAXED);
  return log;
}

/// Creates logs in advance, so that the first scope of a new thread maps no memory. Touches the first page of each log.
inline void keep_spare_logs() noexcept {
  constexpr int wanted = 4;
  int spare = 0;
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    spare += has_usual_bound(*log) && __atomic_load_n(&log->state, __ATOMIC_RELAXED) == log_free ? 1 : 0;
  }
  for (; spare < wanted; ++spare) {
    if (make_log(log_free) == nullptr) return;
  }
}

/// Moves the reader to the next chunk and returns the finished one to the writer. @return the first event of the next chunk.
inline std::uint64_t const* continue_in_chunk(thread_log& log, log_chunk& next) noexcept {
  log_chunk& done = *log.read_chunk;
  log.read_chunk = &next;
  log.read = next.begin();
  if (done.gives_memory_back != 0) {
    // Whole pages only; the header is needed for the stack of free chunks.
    auto const from = (reinterpret_cast<std::uintptr_t>(&done) + small_page) & ~(small_page - 1);
    auto const to = reinterpret_cast<std::uintptr_t>(done.last() + 1) & ~(small_page - 1);
    if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  log.free_chunks.push(done);
  return log.read;
}

/// Frees the log of an ended thread, which the reader has read to its end.
inline void free_log(thread_log& log) noexcept {
  bool const is_broken = __atomic_load_n(&log.is_broken, __ATOMIC_RELAXED);
  __atomic_store_n(&log.state, is_broken ? std::uint32_t{log_retired} : std::uint32_t{log_free}, __ATOMIC_RELEASE);
  if (!is_broken && has_usual_bound(log)) __atomic_fetch_add(&free_logs, 1, __ATOMIC_RELAXED);
}

/// The events lost since the process started.
[[nodiscard]] inline lost_events all_lost_events() noexcept {
  lost_events result;
  result.add(recorder.lost);
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) result.add(log->lost);
  return result;
}

/// Touches the memory for some ten thousand scopes of this thread, before measuring starts.
inline void warm_up_log_of_this_thread() noexcept {
  constexpr std::uint64_t warm_bytes = std::uint64_t{1} << 20U;
  thread_log* const log = log_of_this_thread();
  if (log == nullptr || log->unused != nullptr || log->slot_bound * sizeof(std::uint64_t) < 2 * warm_bytes) return;
  open_scope_word const claimed = log->claim(0);
  if (claimed == 0) return;
  for (std::uint64_t* slot = log->next_slot; slot < log->chunk->last(); slot += small_page / sizeof *slot) *slot = 0;
  if (grow_log(*log, warm_bytes)) {
    for (unsigned char* page = log->unused; page < log->unused_end; page += small_page) *page = 0;
  }
  log->put(claimed);
}

/// Finds a free log of an ended thread. Checks a limited number of logs, starting where the last search stopped. With many unread logs,
/// checking all of them for each new thread would take quadratic time.
inline thread_log* reuse_log() noexcept {
  if (__atomic_load_n(&free_logs, __ATOMIC_RELAXED) <= 0) return nullptr;
  constexpr int max_tries = 64;
  static thread_log* next_to_try = nullptr;
  thread_log* const newest = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE);
  thread_log* log = __atomic_load_n(&next_to_try, __ATOMIC_ACQUIRE);
  for (int tries = 0; tries < max_tries && newest != nullptr; ++tries) {
    if (log == nullptr) log = newest;
    thread_log* const next = log->next;
    std::uint32_t expected = log_free;
    if (has_usual_bound(*log) &&
        __atomic_compare_exchange_n(&log->state, &expected, log_taken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      __atomic_fetch_sub(&free_logs, 1, __ATOMIC_RELAXED);
      __atomic_store_n(&next_to_try, next, __ATOMIC_RELEASE);
      return log;
    }
    log = next;
  }
  __atomic_store_n(&next_to_try, log, __ATOMIC_RELEASE);
  return nullptr;
}

/// The number of this thread in the system, without a system call, which takes some microseconds on some machines: the C library stores it
/// in the number of the thread's CPU clock. Source: Linux `include/linux/posix-timers_types.h`, `CPUCLOCK_PID`.
[[nodiscard]] inline std::uint64_t system_id_of_this_thread() noexcept {
  ::clockid_t clock{};
  if (::pthread_getcpuclockid(::pthread_self(), &clock) != 0) return static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return static_cast<std::uint32_t>(~(clock >> 3));
}

/// Whether `name_of_thread` can ask the system, which needs `/proc`.
inline bool can_read_names = true;

/// The name of a thread in the system, for the reader of its log, so that the thread itself need not ask for it at its first scope.
/// @return the present name of a running thread; the last one of a thread that has ended.
[[nodiscard]] inline std::array<char, 16> name_of_thread(thread_log const& log) noexcept {
  std::array<char, 16> name{};
  // A log that was abandoned in a signal handler has no name, but its thread usually still runs.
  auto const has_left = [&] { return __atomic_load_n(&log.state, __ATOMIC_ACQUIRE) != log_owned && log.thread_name[0] != '\0'; };
  bool const is_read = !has_left() && read_thread_name(log.thread_system_id, name);
  // Asks again after reading, because a later thread may get the same number. Also orders the name that a thread has left before this.
  if (!has_left() && is_read) return name;
  __builtin_memcpy(name.data(), log.thread_name, name.size());
  return name;
}

/// Detaches the log of an ending thread. Not called for the main thread, which keeps its log for destructors of static objects.
inline void leave_log(void* of_thread) noexcept {
  auto& log = *static_cast<thread_log*>(of_thread);
  this_thread().has_ended = true;
  this_thread().log = this_thread().quiet_log = nullptr;
  if (log.is_busy()) __atomic_store_n(&log.is_broken, true, __ATOMIC_RELAXED);  // the thread ends inside a signal handler
  ::prctl(PR_GET_NAME, log.thread_name);
  __atomic_store_n(&log.state, std::uint32_t{log_left}, __ATOMIC_RELEASE);
}

/// The pthread key that calls `leave_log` at the end of a thread, after the destructors of thread-local objects. A thread-local object with
/// a destructor is not used, because it would call malloc at the first scope of a thread.
inline ::pthread_key_t log_key() noexcept {
  static ::pthread_key_t const key = [] {
    ::pthread_key_t made{};
    return ::pthread_key_create(&made, leave_log) == 0 ? made : ~::pthread_key_t{0};
  }();
  return key;
}

/// If not null, called on a thread that takes a log, and at later scopes if `recorder.flags` has `prepares_threads`; possibly in a signal
/// handler.
inline void (*prepare_thread)() noexcept = nullptr;

inline void prepare_this_thread() noexcept {
  auto const function = __atomic_load_n(&prepare_thread, __ATOMIC_ACQUIRE);
  if (function == nullptr) return;
  foreign_call const call;  // it may allocate, and an allocator of the program may open scopes
  function();
}

/// The slow path of a thread's first scope, which may run in a signal handler. Takes no lock. Allocates only if the process had 32
/// thread-specific keys before the first session, because glibc allocates memory for further keys.
/// @return null, with the event counted as lost: no memory, too many logs, an ending thread, or a handler that interrupts this function.
/// Null with nothing counted: the thread is quiet, or this is a child of the process that records.
inline thread_log* attach_this_thread() noexcept {
  if (is_quiet() || is_child_that_records()) return nullptr;
  if (thread_log* const known = this_thread().log) {
    prepare_this_thread();
    return known;
  }
  if (this_thread().is_attaching || this_thread().has_ended) {
    lost_events::count(this_thread().has_ended ? recorder.lost.no_log : recorder.lost.interrupting);
    return nullptr;
  }
  this_thread().is_attaching = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  errno_keeper const keeper;
  no_cancellation const not_cancelled;
  thread_log* log = reuse_log();
  if (log == nullptr) log = make_log(log_taken);
  if (log == nullptr) {
    lost_events::count(has_max_logs() ? recorder.lost.no_log : recorder.lost.no_memory);
  } else {
    log->reset();
    log->thread_system_id = system_id_of_this_thread();
    log->thread_name[0] = '\0';
    if (!__atomic_load_n(&can_read_names, __ATOMIC_RELAXED)) ::prctl(PR_GET_NAME, log->thread_name);
    __atomic_store_n(&log->generation, log->generation + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&log->state, std::uint32_t{log_owned}, __ATOMIC_RELEASE);
    ::pthread_setspecific(log_key(), log);
    prepare_this_thread();
  }
  this_thread().log = log;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  this_thread().is_attaching = false;
  return log;
}

/// Prepares logs. To be called before a session sets `recording`. @param slots maximum number of slots per log.
inline void install_logs(std::uint64_t slot_count) noexcept {
  no_cancellation const not_cancelled;
  static_cast<void>(log_key());  // done now, because a signal handler must not create the key
  place_thread_states();
  find_thread_exit_mark();
  __atomic_store_n(&slots_per_log, slot_count, __ATOMIC_RELAXED);
  count_free_logs();
  std::array<char, 16> name{};
  __atomic_store_n(&can_read_names, read_thread_name(system_id_of_this_thread(), name), __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.attach_thread, &attach_this_thread, __ATOMIC_RELEASE);
}

/// Prepares this process for a session: registers `reset_after_fork`, and calls `identify_process`. Once per process is sufficient; once
/// per session or shared library is harmless.
inline void watch_forks() noexcept {
  static int const registered = ::pthread_atfork(nullptr, nullptr, [] { reset_after_fork(); });
  static_cast<void>(registered);
  static_cast<void>(identify_process());
}

/// Measures the cost of scopes on a separate log, without NVTX.
/// @return the minimum of several repetitions.
inline std::chrono::nanoseconds measure_cost_of_1000_scopes(std::uint32_t clock_flag) noexcept {
  constexpr std::uint64_t scopes = 1000;
  static site where{"overhead", __FILE__, __LINE__};
  std::uint64_t const what = tagged(where, event_kind::enter);
  constexpr std::uint64_t slot_count = 4 * scopes;
  alignas(log_alignment) unsigned char memory[sizeof(thread_log) + sizeof(log_chunk) + slot_count * sizeof(std::uint64_t)];
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto* const log = new (memory) thread_log;
    log->use(*new (memory + sizeof(thread_log)) log_chunk, slot_count, slot_count);
    auto const begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < scopes; ++i) {
      open_scope_word open = clock_flag == 0 ? log->enter(what) : 0;
      if (open == 0) {
        if (auto const claimed = log->claim(3)) open = log->open(claimed, what, ticks(clock_flag));
      }
      if (clock_flag != 0 || !log->close(open)) log->leave(open, ticks(clock_flag));
    }
    auto const taken = std::chrono::steady_clock::now() - begin;
    if (taken < best) best = taken;
  }
  return best;
}

/// Prepares the recorder for a session: logs, hooks and clock. To be called on the thread that creates the session. Nothing is recorded
/// yet.
/// @param log_slots maximum number of slots of a thread's log.
/// @param into receives the clock and the cost of scopes.
/// @return 0 or `use_monotonic_clock`.
inline std::uint32_t start_recording(std::uint64_t log_slots, profile_builder& into) {
  watch_forks();
  install_logs(log_slots);
  install_slow_path();
  bool const has_counter = counter_is_invariant();
  std::uint32_t const clock_flag = has_counter ? 0 : use_monotonic_clock;
  into.set(&quality_record::clock, has_counter ? "time-stamp counter" : "CLOCK_MONOTONIC");
  warm_up_log_of_this_thread();
  keep_spare_logs();
  into.set(&quality_record::cost_of_1000_scopes, measure_cost_of_1000_scopes(clock_flag));
  __atomic_fetch_add(&recorder.session, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&recorder.version, version, __ATOMIC_RELEASE);
  for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
    side->reset();
  }
  return clock_flag;
}

}  // namespace PROFKIT_NAMESPACE::detail
