// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../analyze/verdict/stop_rule.hpp"
#include "../collect/run_ahead_limiter.hpp"
#include "../options.hpp"
#include "../profile/time.hpp"
#include "../record/step.hpp"
#include "session_recording.hpp"

namespace profkit::detail {

/// With `steps=auto`, decides whether enough steps are measured. To be used on the step thread.
class auto_stop {
 public:
  explicit auto_stop(options const& wanted) {
    if (wanted.wanted_interval) rule_.emplace(*wanted.wanted_interval, wanted.warmup_steps, wanted.max_steps);
  }

  /// Adds a finished step. May wait for the GPU time of an earlier step.
  void add(raw_step const& done, session_recording& session) {
    if (!rule_ || done.warmup) return;
    if (done.is_abandoned || done.is_excluded) return rule_->leave_out(done.index);
    bool const has_gpu = session.times_steps();
    rule_->add(static_cast<double>(done.end_ticks - done.begin_ticks));
    profile const& gpu_times = session.gpu_times().step_times();
    if (has_gpu) run_ahead_limiter_.limit(done.index, gpu_times, [&session] { session.gpu_times().wait_for_step_times(); });
    milliseconds const tick = milliseconds{session.duration(1'000'000'000)} / 1e9;
    has_enough_ = rule_->look(gpu_times, has_gpu, tick);
  }

  [[nodiscard]] bool has_enough() const noexcept { return has_enough_; }

  /// The result of the stop rule; n/a without `steps=auto`.
  [[nodiscard]] std::optional<stop_record> result() const { return rule_ ? std::optional{rule_->result()} : std::nullopt; }

 private:
  std::optional<stop_rule> rule_;
  run_ahead_limiter run_ahead_limiter_;
  bool has_enough_ = false;
};

}  // namespace profkit::detail
