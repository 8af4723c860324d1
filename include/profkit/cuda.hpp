// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Features that need the CUDA runtime: GPU scopes, the step timer, device memory, GPU clocks. Link `profkit::cuda`.
///
///     PROF_GPU_SCOPE("forward", stream);   a scope that also records CUDA events on the stream

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "impl/collect/cuda_collectors.hpp"
#include "impl/collect/cuda_timing_log.hpp"
#include "impl/record/scope.hpp"
#include "scope.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A scope that also records a CUDA event on a stream at its beginning and at its end. Use it through `PROF_GPU_SCOPE`.
///
/// Does not synchronise the device and never throws. Under stream capture, without a device, or for a stream of another device it is a
/// plain scope, and its GPU time is n/a; `quality_record` counts such scopes. The session reads the events when they are complete
/// (`gpu_scope_record`). Source: `cudaEventElapsedTime`, resolution about 0.5 us. Costs about 2 us while a session runs, otherwise as much
/// as a plain scope. Must not be used in signal handlers.
class gpu_scope : private scope {
 public:
  /// @brief Begins the scope and records the first event.
  /// @param where the source location and name.
  /// @param stream borrowed; the scope times the work launched on it until the end of the scope.
  [[nodiscard]] gpu_scope(site& where, cudaStream_t stream) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags != 0, 0)) begin_timed(flags, where, stream);
  }

  /// @brief Begins a scope with an optional stream, for programs that also run without a GPU.
  /// @param where the source location and name.
  /// @param stream `std::nullopt` for a plain scope.
  [[nodiscard]] gpu_scope(site& where, std::optional<cudaStream_t> stream) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags == 0, 1)) return;
    if (stream) {
      begin_timed(flags, where, *stream);
    } else {
      begin(flags, where);
    }
  }

  /// @brief Records the second event and ends the scope.
  ~gpu_scope() {
    if (timing_ != nullptr) detail::finish_gpu_timing(*timing_, stream_);
  }

 private:
  void begin_timed(std::uint32_t flags, site& where, cudaStream_t stream) noexcept {
    detail::no_cancellation const not_cancelled;  // once for both calls: its atomic operations take 20 ns
    detail::gpu_timing* const timing = (flags & detail::recording) != 0 && !detail::is_quiet() ? detail::take_gpu_timing(stream) : nullptr;
    if (timing == nullptr) {
      begin(flags, where);
      return;
    }
    begin(flags, where, detail::event_kind::enter_noted, reinterpret_cast<std::uint64_t>(static_cast<detail::scope_note*>(timing)));
    if (!is_recorded()) {
      detail::give_back_gpu_timing(*timing);
      return;
    }
    detail::quiet_thread const quiet;
    timing->is_timed = timing->events.begin.record(stream);
    timing_ = timing;
    stream_ = stream;
  }

  detail::gpu_timing* timing_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace PROFKIT_NAMESPACE

#ifndef PROFKIT_DISABLE
/// @brief Opens a scope to the end of the block and times `stream` between two CUDA events. Does not synchronise the device. Costs about
/// 2 us while a session runs.
#define PROF_GPU_SCOPE(name, stream) \
  ::profkit::gpu_scope PROFKIT_VARIABLE { PROFKIT_SITE("" name), stream }
#else
#define PROF_GPU_SCOPE(name, stream) static_cast<void>(sizeof(stream))
#endif
