// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "../profile/profile_builder.hpp"
#include "../record/quiet_thread.hpp"
#include "../record/recorder.hpp"
#include "cuda_event_pair.hpp"

namespace profkit::detail {

struct gpu_timing_log;

/// The events of one GPU scope. Reused for later GPU scopes of the same thread and CUDA context.
struct gpu_timing : scope_note {
  cuda_event_pair events;
  CUcontext context = nullptr;
  int device = 0;
  std::uint32_t session = 0;
  bool is_timed = false;  ///< both events were recorded
  gpu_timing_log* owner = nullptr;
  gpu_timing* next = nullptr;
};

/// A lock-free stack: any thread may push, one thread takes all entries.
class gpu_timing_stack {
 public:
  void push(gpu_timing& timing) noexcept {
    timing.next = __atomic_load_n(&top_, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&top_, &timing.next, &timing, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }
  [[nodiscard]] gpu_timing* take_all() noexcept { return __atomic_exchange_n(&top_, static_cast<gpu_timing*>(nullptr), __ATOMIC_ACQ_REL); }

 private:
  gpu_timing* top_ = nullptr;
};

/// The GPU scopes of one thread. A new thread takes over the log of an ended one. Never freed.
struct gpu_timing_log {
  gpu_timing* free = nullptr;  ///< used by the owning thread only
  gpu_timing_stack finished;   ///< from the thread to the session
  gpu_timing_stack returned;   ///< from the session to the thread
  bool is_owned = true;
  gpu_timing_log* next = nullptr;
};

/// The state that all threads share.
struct gpu_timing_state {
  gpu_timing_log* logs = nullptr;
  std::uint64_t untimed = 0;
  bool is_listed = false;
  side_log side;
  gpu_timing* pending = nullptr;  ///< used by the session only: finished timings that cannot be read yet, oldest first
  gpu_timing* newest_pending = nullptr;
  std::uint64_t pending_count = 0;
};

static_assert(std::is_trivially_destructible_v<gpu_timing_state>, "GPU scopes may end in static destruction");

inline gpu_timing_state gpu_timings{};

inline void drain_gpu_timings(profile_builder& into, std::int64_t max_ns);
inline void reset_gpu_timings();
inline std::int64_t oldest_gpu_timing();

/// Registers these logs for draining. Called by the first GPU scope of the process.
inline void list_gpu_timings() noexcept {
  if (__atomic_exchange_n(&gpu_timings.is_listed, true, __ATOMIC_ACQ_REL)) return;
  gpu_timings.side = {drain_gpu_timings, reset_gpu_timings, oldest_gpu_timing, __atomic_load_n(&recorder.side_logs, __ATOMIC_RELAXED)};
  while (!__atomic_compare_exchange_n(&recorder.side_logs, &gpu_timings.side.next, &gpu_timings.side, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

inline gpu_timing_log* gpu_timing_log_of_this_thread() noexcept {
  struct ownership {
    gpu_timing_log* log = nullptr;
    ~ownership() {
      if (log != nullptr) __atomic_store_n(&log->is_owned, false, __ATOMIC_RELEASE);
    }
  };
  static thread_local ownership mine;
  if (mine.log != nullptr) return mine.log;
  find_stream_calls();
  list_gpu_timings();
  for (gpu_timing_log* log = __atomic_load_n(&gpu_timings.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    if (!__atomic_exchange_n(&log->is_owned, true, __ATOMIC_ACQ_REL)) return mine.log = log;
  }
  auto* const log = new (std::nothrow) gpu_timing_log;
  if (log == nullptr) return nullptr;
  log->next = __atomic_load_n(&gpu_timings.logs, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&gpu_timings.logs, &log->next, log, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return mine.log = log;
}

/// Returns a timing to the thread that created it, for reuse.
inline void give_back_gpu_timing(gpu_timing& timing) noexcept { timing.owner->returned.push(timing); }

inline gpu_timing* take_free_gpu_timing(gpu_timing_log& log, CUcontext context) noexcept {
  if (log.free == nullptr) log.free = log.returned.take_all();
  for (gpu_timing** link = &log.free; *link != nullptr; link = &(*link)->next) {
    gpu_timing* const timing = *link;
    if (timing->context != context) continue;
    *link = timing->next;
    return timing;
  }
  return nullptr;
}

/// Creates several timings at once, so that enough of them exist after warm-up even if the device is behind the host.
inline void make_gpu_timings(gpu_timing_log& log, CUcontext context) noexcept {
  constexpr int batch = 64;
  int device = 0;
  if (!succeeded(cuda.get_device(&device))) return;
  relaxed_capture_mode const relaxed;
  for (int i = 0; i < batch; ++i) {
    try {
      auto* const timing = new gpu_timing;
      timing->context = context;
      timing->device = device;
      timing->owner = &log;
      timing->next = log.free;
      log.free = timing;
    } catch (...) {  // no memory or no device: the scope has no GPU time
      return;
    }
  }
}

/// @return null if work on this stream cannot be timed now; the scope then counts as untimed.
inline gpu_timing* take_gpu_timing(cudaStream_t stream) noexcept {
  foreign_call const call;  // it allocates, and an allocator of the program may open GPU scopes
  gpu_timing_log* const log = gpu_timing_log_of_this_thread();
  CUcontext const context = log == nullptr ? nullptr : current_cuda_context();
  gpu_timing* timing = nullptr;
  if (context != nullptr && !is_capturing(stream)) {
    timing = take_free_gpu_timing(*log, context);
    if (timing == nullptr) {
      make_gpu_timings(*log, context);
      timing = take_free_gpu_timing(*log, context);
    }
  }
  if (timing == nullptr) {
    __atomic_fetch_add(&gpu_timings.untimed, 1, __ATOMIC_RELAXED);
    return nullptr;
  }
  timing->resolved = false;
  timing->session = __atomic_load_n(&recorder.session, __ATOMIC_RELAXED);
  return timing;
}

inline void finish_gpu_timing(gpu_timing& timing, cudaStream_t stream) noexcept {
  foreign_call const call;
  timing.is_timed = timing.is_timed && !is_capturing(stream) && timing.events.end.record(stream);
  timing.owner->finished.push(timing);
}

/// Reads a finished timing if its events are complete. @return whether the timing can be reused.
inline bool read_gpu_timing(gpu_timing& timing, profile_builder& into) {
  if (timing.session != recorder.session) return true;  // the timing belongs to an earlier session
  if (!timing.resolved) return false;                   // its scope is still in the log of its thread
  if (timing.path == path_record::no_parent) return true;
  std::chrono::nanoseconds duration{};
  auto const state = timing.is_timed ? timing.events.query(duration) : cuda_event_pair::state::failed;
  if (state == cuda_event_pair::state::pending) return false;
  if (state == cuda_event_pair::state::ready) {
    into.add(gpu_scope_record{timing.path, timestamp{std::chrono::nanoseconds{timing.begin_ns}}, timing.device, duration});
  } else {
    into.count(&quality_record::untimed_gpu_scopes);
  }
  return true;
}

inline void add_pending_gpu_timing(gpu_timing& timing) noexcept {
  timing.next = nullptr;
  (gpu_timings.pending == nullptr ? gpu_timings.pending : gpu_timings.newest_pending->next) = &timing;
  gpu_timings.newest_pending = &timing;
  ++gpu_timings.pending_count;
}

inline gpu_timing& take_oldest_pending_gpu_timing() noexcept {
  gpu_timing& oldest = *gpu_timings.pending;
  gpu_timings.pending = oldest.next;
  --gpu_timings.pending_count;
  return oldest;
}

/// Takes the finished timings of all threads.
inline void take_finished_gpu_timings() noexcept {
  for (gpu_timing_log* log = __atomic_load_n(&gpu_timings.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    gpu_timing* oldest = nullptr;
    for (gpu_timing* timing = log->finished.take_all(); timing != nullptr;) {  // in the order from newest to oldest
      gpu_timing& each = *std::exchange(timing, timing->next);
      each.next = std::exchange(oldest, &each);
    }
    while (oldest != nullptr) add_pending_gpu_timing(*std::exchange(oldest, oldest->next));
  }
}

/// The number of pending timings that satisfy the condition.
template <class Condition>
std::uint64_t count_pending_gpu_timings(Condition&& condition) {
  std::uint64_t count = 0;
  for (gpu_timing const* timing = gpu_timings.pending; timing != nullptr; timing = timing->next) count += condition(*timing) ? 1U : 0U;
  return count;
}

/// With more pending timings than this, reading may exceed its time limit.
inline constexpr std::uint64_t max_pending_gpu_timings = 4096;

/// Reads pending timings, oldest first, each at most once.
/// @param goes_on called before every eighth reading; reading stops if it returns false.
template <class Condition>
void read_gpu_timings(profile_builder& into, Condition&& goes_on) {
  take_finished_gpu_timings();
  if (gpu_timings.pending == nullptr || has_unseen_cuda_error()) return;
  relaxed_capture_mode const relaxed;
  std::uint64_t const count = gpu_timings.pending_count;
  for (std::uint64_t i = 0; i < count && (i % 8 != 0 || goes_on()); ++i) {
    gpu_timing& each = take_oldest_pending_gpu_timing();
    if (read_gpu_timing(each, into)) {
      give_back_gpu_timing(each);
    } else {
      add_pending_gpu_timing(each);
    }
  }
}

/// Drains GPU timings. Never blocks, except for up to 5 seconds at the end of the session. Takes longer than `max_ns` only if more than
/// `max_pending_gpu_timings` are pending, because their events take memory.
inline void drain_gpu_timings(profile_builder& into, std::int64_t max_ns) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds{max_ns};
  if (max_ns != side_log::until_the_end) {
    std::uint64_t reads_beyond = 128;  // groups of eight
    read_gpu_timings(into, [&] {
      return std::chrono::steady_clock::now() < deadline || (gpu_timings.pending_count > max_pending_gpu_timings && reads_beyond-- > 0);
    });
    return;
  }
  take_finished_gpu_timings();  // so that they are counted even if they cannot be read
  poll_at_end([&into] {
    read_gpu_timings(into, [] { return true; });
    // Unresolved timings finished after the logs were drained, so waiting does not help them.
    return count_pending_gpu_timings([](gpu_timing const& timing) { return timing.resolved; }) > 0;
  });
  into.count(&quality_record::unread_gpu_times,
             count_pending_gpu_timings([](gpu_timing const& timing) { return timing.session == recorder.session; }));
  into.count(&quality_record::untimed_gpu_scopes, __atomic_exchange_n(&gpu_timings.untimed, std::uint64_t{0}, __ATOMIC_RELAXED));
}

/// The beginning of the oldest pending timing. Ignores timings whose scopes are still in the logs, because they began after all events that
/// were read from the logs.
inline std::int64_t oldest_gpu_timing() {
  take_finished_gpu_timings();
  std::int64_t result = std::numeric_limits<std::int64_t>::max();
  for (gpu_timing const* timing = gpu_timings.pending; timing != nullptr; timing = timing->next) {
    if (timing->resolved && timing->session == recorder.session) result = std::min(result, timing->begin_ns);
  }
  return result;
}

inline void reset_gpu_timings() { __atomic_store_n(&gpu_timings.untimed, std::uint64_t{0}, __ATOMIC_RELAXED); }

}  // namespace profkit::detail
