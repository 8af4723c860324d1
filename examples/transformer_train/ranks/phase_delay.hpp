// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

/// Delays phases of each step on the ranks that `--slow-rank` names.
class phase_delay {
 public:
  /// Waits for the GPU if one is to be delayed, to measure its cycles per millisecond.
  phase_delay(run_config const& config, compute_device const& device) : device_{device} {
    for (slow_rank const& each : config.slow_ranks) {
      if (each.rank != config.ranks.rank) continue;
      std::int64_t cycles = 0;
      if (each.kind == delay_kind::gpu) cycles = static_cast<std::int64_t>(each.delay_ms * device.cycles_per_millisecond());
      delays_.push_back({each, cycles});
    }
  }

  /// Call it at the beginning of a phase. A GPU delay does not block this thread.
  void in(step_phase phase) const {
    for (delay const& each : delays_) {
      if (each.slow.phase != phase) continue;
      if (each.slow.kind == delay_kind::gpu) {
        device_.spin(each.cycles);
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{each.slow.delay_ms});
      }
    }
  }

 private:
  struct delay {
    slow_rank slow;
    std::int64_t cycles;
  };

  compute_device device_;
  std::vector<delay> delays_;
};

}  // namespace trainer
