// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "../record/scope.hpp"
#include "cuda_timing_log.hpp"

namespace profkit {

/// A scope that also records a CUDA event on a stream where it begins and where it ends. Use it through `PROF_GPU_SCOPE`.
///
/// Does not synchronise. Under stream capture, without a device or for a stream of another device it is a plain scope, whose GPU
/// time is n/a. Costs about 2 microseconds while a session runs, no more than a plain scope otherwise.
class gpu_scope : private scope {
 public:
  /// @param where the place in the source.
  /// @param stream borrowed; work launched on it in between is what is timed.
  [[nodiscard]] gpu_scope(site& where, cudaStream_t stream) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags != 0, 0)) begin_timed(flags, where, stream);
  }

  /// @param where the place in the source.
  /// @param stream without one it is a plain scope: for programs that also run without a GPU.
  [[nodiscard]] gpu_scope(site& where, std::optional<cudaStream_t> stream) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags == 0, 1)) return;
    if (stream) {
      begin_timed(flags, where, *stream);
    } else {
      begin(flags, where);
    }
  }

  ~gpu_scope() {
    if (timing_ != nullptr) detail::finish_gpu_timing(*timing_, stream_);
  }

 private:
  void begin_timed(std::uint32_t flags, site& where, cudaStream_t stream) noexcept {
    detail::gpu_timing* const timing = (flags & detail::recording) != 0 ? detail::take_gpu_timing(stream) : nullptr;
    if (timing == nullptr) {
      begin(flags, where);
      return;
    }
    begin(flags, where, detail::event_kind::enter_noted, reinterpret_cast<std::uint64_t>(static_cast<detail::scope_note*>(timing)));
    if (!is_recorded()) {
      detail::give_back_gpu_timing(*timing);
      return;
    }
    timing->is_timed = timing->events.begin.record(stream);
    timing_ = timing;
    stream_ = stream;
  }

  detail::gpu_timing* timing_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace profkit
