// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <ratio>
#include <thread>
#include <type_traits>
#include <utility>

#include "../../profile_builder.hpp"
#include "../record/quiet_thread.hpp"
#include "../record/recorder.hpp"
#include "cuda_driver.hpp"

namespace PROFKIT_NAMESPACE::detail {

template <class Function>
void find_stream_call(char const* name, Function*& into) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned version = 12000;
  cudaError_t const status = ::cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  cudaError_t const status = ::cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (succeeded(status) && found == cudaDriverEntryPointSuccess) into = reinterpret_cast<Function*>(function);
}

/// Looks up the driver functions. To be called before the functions below.
inline void find_stream_calls() noexcept {
  static bool const is_done = [] {
    find_stream_call("cuEventRecord", cuda.event_record);
    find_stream_call("cuStreamIsCapturing", cuda.stream_is_capturing);
    find_stream_call("cuCtxGetCurrent", cuda.ctx_get_current);
    find_stream_call("cuCtxPushCurrent", cuda.ctx_push_current);
    find_stream_call("cuCtxPopCurrent", cuda.ctx_pop_current);
    return true;
  }();
  static_cast<void>(is_done);
}

/// Whether the stream is being captured into a graph, so that its work does not run now. True if the stream cannot be queried.
inline bool is_capturing(cudaStream_t stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return cuda.stream_is_capturing == nullptr || cuda.stream_is_capturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// The CUDA context of the calling thread. A thread without one gets the primary context of its device, as with any runtime call. @return
/// null without a device.
inline CUcontext current_cuda_context() noexcept {
  auto const get = cuda.ctx_get_current;
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS || context != nullptr) return context;
  relaxed_capture_mode const relaxed;
  static_cast<void>(succeeded(cuda.free(nullptr)));
  return get(&context) == CUDA_SUCCESS ? context : nullptr;
}

/// Makes a context current on this thread during its lifetime. Without it, a call of the runtime on a thread that does not use CUDA would
/// create a context on device 0.
class context_guard {
 public:
  /// @param context null: no effect.
  explicit context_guard(CUcontext context) noexcept
      : is_pushed_{context != nullptr && cuda.ctx_push_current != nullptr && cuda.ctx_push_current(context) == CUDA_SUCCESS} {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() {
    CUcontext popped = nullptr;
    if (is_pushed_) static_cast<void>(cuda.ctx_pop_current(&popped));
  }

 private:
  bool is_pushed_;
};

/// Owns a CUDA event with timing, on the device that is current at construction.
class cuda_event {
 public:
  /// @throws profkit::error
  cuda_event() {
    find_stream_calls();
    cuda_check(cuda.event_create_with_flags(&event_, cudaEventDefault), "cudaEventCreateWithFlags");
  }
  cuda_event(cuda_event&& other) noexcept : event_{std::exchange(other.event_, nullptr)} {}
  cuda_event& operator=(cuda_event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  /// Failures are ignored: the driver may have shut down.
  ~cuda_event() {
    if (event_ != nullptr) static_cast<void>(succeeded(cuda.event_destroy(event_)));
  }

  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

  [[nodiscard]] bool record(cudaStream_t stream) const noexcept {
    return cuda.event_record != nullptr && cuda.event_record(event_, stream) == CUDA_SUCCESS;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Two events that time a part of a stream.
struct cuda_event_pair {
  cuda_event begin;
  cuda_event end;

  enum class state { pending, ready, failed };

  /// Never blocks. `duration` is set when ready. Resolution about 0.5 microseconds (CUDA runtime API, `cudaEventElapsedTime`).
  [[nodiscard]] state query(std::chrono::nanoseconds& duration) const noexcept {
    cudaError_t const status = cuda.event_query(end.get());
    float elapsed = 0.0F;
    if (status == cudaSuccess && cuda.event_elapsed_time(&elapsed, begin.get(), end.get()) == cudaSuccess) {
      duration = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<float, std::milli>{elapsed});
      return state::ready;
    }
    static_cast<void>(cuda.get_last_error());  // cudaErrorNotReady also becomes the last error
    return status == cudaErrorNotReady ? state::pending : state::failed;
  }
};

/// Calls `poll` until nothing is pending, for at most 5 seconds. Used at the end of a session, when the host may be ahead of the device.
/// Does not synchronise the device.
template <class Poll>
void poll_at_end(Poll&& poll) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
  while (!has_unseen_cuda_error() && poll() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

struct gpu_timing_log;

// A GPU scope passes through three kinds of threads:
//
// * Its own thread records the events, and finishes the timing.
// * The step thread queries the events between steps, because only threads that use CUDA may do that. It stores the duration.
// * The session's thread finds the path of the scope in its log. Once the duration is there, it adds the record and returns the timing.

/// `gpu_timing::state`. Not an enum class, because nvcc accepts only integers in atomic functions.
enum gpu_timing_state : std::uint8_t {
  timing_open,      ///< the scope has not ended
  timing_finished,  ///< set by the thread of the scope
  timing_ready,     ///< set by the step thread, after `gpu_timing::duration`
  timing_failed     ///< set by the step thread
};

/// The events of one GPU scope. Reused for later GPU scopes of the same thread and CUDA context. Aligned to a cache line.
struct alignas(64) gpu_timing : scope_note {
  cuda_event_pair events;
  CUcontext context = nullptr;
  int device = 0;
  std::uint32_t session = 0;
  bool is_timed = false;             ///< both events were recorded
  std::uint8_t state = timing_open;  ///< a `gpu_timing_state`
  std::chrono::nanoseconds duration{};
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

/// The GPU scopes of the process.
struct gpu_timing_lists {
  gpu_timing_log* logs = nullptr;
  bool is_listed = false;
  side_log side{};

  // Used by the step thread, and at the end of a session by the session's thread: finished timings without a duration, oldest first.
  gpu_timing* pending = nullptr;
  gpu_timing* newest_pending = nullptr;
  std::uint64_t pending_count = 0;

  scope_note_list known;  ///< used by the session's thread: timings whose paths are known and whose records are not in the profile
};

static_assert(std::is_trivially_destructible_v<gpu_timing_lists>, "GPU scopes may end in static destruction");

inline gpu_timing_lists gpu_timings{};

inline void poll_gpu_timings(std::int64_t max_ns);
inline void drain_gpu_timings(profile_builder& into, bool last);
inline void reset_gpu_timings();
inline std::int64_t oldest_gpu_timing();

/// Registers these logs for draining. Called by the first GPU scope of the process.
inline void list_gpu_timings() noexcept {
  if (__atomic_exchange_n(&gpu_timings.is_listed, true, __ATOMIC_ACQ_REL)) return;
  gpu_timings.side = {poll_gpu_timings,
                      drain_gpu_timings,
                      reset_gpu_timings,
                      oldest_gpu_timing,
                      version,
                      0,
                      __atomic_load_n(&recorder.side_logs, __ATOMIC_RELAXED)};
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

/// Fetches the next timing to be taken: the session's thread has written into it, so it is in the cache of another processor.
inline void prefetch_gpu_timing(gpu_timing const& timing) noexcept {
  constexpr std::size_t cache_line = 64;
  for (std::size_t at = 0; at < sizeof timing; at += cache_line) __builtin_prefetch(reinterpret_cast<char const*>(&timing) + at, 1);
}

inline gpu_timing* take_free_gpu_timing(gpu_timing_log& log, CUcontext context) noexcept {
  if (log.free == nullptr) log.free = log.returned.take_all();
  for (gpu_timing** link = &log.free; *link != nullptr; link = &(*link)->next) {
    gpu_timing* const timing = *link;
    if (timing->context != context) continue;
    *link = timing->next;
    if (timing->next != nullptr) prefetch_gpu_timing(*timing->next);
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

/// To be called without cancellation of the thread.
/// @return null if work on this stream cannot be timed now; the scope then counts as untimed.
inline gpu_timing* take_gpu_timing(cudaStream_t stream) noexcept {
  quiet_thread const quiet;  // it allocates, and an allocator of the program may open GPU scopes
  gpu_timing_log* const log = gpu_timing_log_of_this_thread();
  CUcontext const context = log == nullptr ? nullptr : current_cuda_context();
  gpu_timing* timing = nullptr;
  if (context != nullptr && is_session_of_this_version() && !is_capturing(stream)) {
    timing = take_free_gpu_timing(*log, context);
    if (timing == nullptr) {
      make_gpu_timings(*log, context);
      timing = take_free_gpu_timing(*log, context);
    }
  }
  if (timing == nullptr) {
    __atomic_fetch_add(&gpu_timings.side.untimed, 1, __ATOMIC_RELAXED);
    return nullptr;
  }
  timing->list = &gpu_timings.known;
  timing->state = timing_open;
  timing->session = __atomic_load_n(&recorder.session, __ATOMIC_RELAXED);
  return timing;
}

inline void finish_gpu_timing(gpu_timing& timing, cudaStream_t stream) noexcept {
  foreign_call const call;
  timing.is_timed = timing.is_timed && !is_capturing(stream) && timing.events.end.record(stream);
  __atomic_store_n(&timing.state, std::uint8_t{timing_finished}, __ATOMIC_RELEASE);
  timing.owner->finished.push(timing);
}

/// Reads the events of a finished timing. @return false if they are not complete.
inline bool read_gpu_timing(gpu_timing& timing) noexcept {
  if (timing.session != __atomic_load_n(&recorder.session, __ATOMIC_RELAXED)) {  // no session waits for it
    give_back_gpu_timing(timing);
    return true;
  }
  auto const state = timing.is_timed ? timing.events.query(timing.duration) : cuda_event_pair::state::failed;
  if (state == cuda_event_pair::state::pending) return false;
  std::uint8_t const known = state == cuda_event_pair::state::ready ? timing_ready : timing_failed;
  __atomic_store_n(&timing.state, known, __ATOMIC_RELEASE);
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

/// With more pending timings than this, reading may exceed its time limit: the events of many timings are in no cache when they are reused.
inline constexpr std::uint64_t max_pending_gpu_timings = 512;

/// Reads pending timings, oldest first, each at most once.
/// @param is_at_end called on a thread that may not use CUDA.
/// @param goes_on called before every eighth reading; reading stops if it returns false.
template <class Condition>
void read_gpu_timings(bool is_at_end, Condition&& goes_on) noexcept {
  take_finished_gpu_timings();
  if (gpu_timings.pending == nullptr || has_unseen_cuda_error()) return;
  relaxed_capture_mode const relaxed;
  std::uint64_t const count = gpu_timings.pending_count;
  for (std::uint64_t i = 0; i < count && (i % 8 != 0 || goes_on()); ++i) {
    gpu_timing& each = take_oldest_pending_gpu_timing();
    context_guard const on_device{is_at_end ? each.context : nullptr};
    if (!read_gpu_timing(each)) add_pending_gpu_timing(each);
  }
}

/// `side_log::poll`. Never blocks, except for up to 5 seconds at the end of the session. Takes longer than `max_ns` only if more than
/// `max_pending_gpu_timings` are pending, because their events take memory.
inline void poll_gpu_timings(std::int64_t max_ns) {
  if (max_ns != side_log::until_the_end) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds{max_ns};
    std::uint64_t reads_beyond = 128;  // groups of eight
    read_gpu_timings(false, [&] {
      return std::chrono::steady_clock::now() < deadline || (gpu_timings.pending_count > max_pending_gpu_timings && reads_beyond-- > 0);
    });
    return;
  }
  take_finished_gpu_timings();  // so that they are counted even if they cannot be read
  poll_at_end([] {
    read_gpu_timings(true, [] { return true; });
    return gpu_timings.pending != nullptr;
  });
}

/// Adds the record of a timing whose path and duration are known.
inline void add_record_of(gpu_timing const& timing, std::uint8_t state, profile_builder& into) {
  if (timing.path == path_record::no_parent) return;
  if (state == timing_ready) {
    into.add(gpu_scope_record{timing.path, timestamp{std::chrono::nanoseconds{timing.begin_ns}}, timing.device, timing.duration});
  } else {
    into.count(&quality_record::untimed_gpu_scopes);
  }
}

/// `side_log::drain`
inline void drain_gpu_timings(profile_builder& into, bool last) {
  scope_note_list& known = gpu_timings.known;
  scope_note* before = nullptr;
  for (scope_note* note = known.oldest; note != nullptr;) {
    auto& timing = static_cast<gpu_timing&>(*note);
    std::uint8_t const state = __atomic_load_n(&timing.state, __ATOMIC_ACQUIRE);
    note = note->newer;
    if (state == timing_open || state == timing_finished) {
      before = &timing;
      continue;
    }
    add_record_of(timing, state, into);
    (before == nullptr ? known.oldest : before->newer) = note;
    if (note == nullptr) known.newest = before;
    give_back_gpu_timing(timing);
  }
  if (!last) return;
  std::uint64_t unread = 0;
  for (gpu_timing const* timing = gpu_timings.pending; timing != nullptr; timing = timing->next)
    unread += timing->session == __atomic_load_n(&recorder.session, __ATOMIC_RELAXED) ? 1U : 0U;
  into.count(&quality_record::unread_gpu_times, unread);
  into.count(&quality_record::untimed_gpu_scopes, __atomic_exchange_n(&gpu_timings.side.untimed, std::uint64_t{0}, __ATOMIC_RELAXED));
  known = {};  // the next session returns those that are pending
}

/// The beginning of the oldest finished GPU scope that is not in the profile. Ignores scopes that are still in the logs, because they began
/// after all events that were read from the logs.
inline std::int64_t oldest_gpu_timing() {
  std::int64_t result = (std::numeric_limits<std::int64_t>::max)();
  for (scope_note const* note = gpu_timings.known.oldest; note != nullptr; note = note->newer) {
    bool const is_open = __atomic_load_n(&static_cast<gpu_timing const*>(note)->state, __ATOMIC_ACQUIRE) == timing_open;
    if (!is_open) result = (std::min)(result, note->begin_ns);
  }
  return result;
}

inline void reset_gpu_timings() {
  __atomic_store_n(&gpu_timings.side.untimed, std::uint64_t{0}, __ATOMIC_RELAXED);
  gpu_timings.known = {};
}

}  // namespace PROFKIT_NAMESPACE::detail
