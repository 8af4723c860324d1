// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../record/recorder.hpp"

namespace profkit::detail {

/// The NVTX process range `measure_loop` around the measured steps. No effect if no tool listens.
class measure_loop {
 public:
  /// Begins the range, unless it is open.
  void open() noexcept {
    if (range_ || (__atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE) & nvtx_attached) == 0) return;
    static site where{"measure_loop", __FILE__, __LINE__};
    range_ = recorder.nvtx_start(where);
  }

  void close() noexcept {
    if (!range_) return;
    recorder.nvtx_end(*range_);
    range_.reset();
  }

 private:
  std::optional<std::uint64_t> range_;
};

}  // namespace profkit::detail
