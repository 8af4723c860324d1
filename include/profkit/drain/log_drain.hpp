// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "../profile/profile_builder.hpp"
#include "../record/calendar_clock.hpp"
#include "../record/clock.hpp"
#include "../record/recorder.hpp"
#include "../record/step.hpp"
#include "../record/thread_registry.hpp"
#include "arrival.hpp"
#include "log_reader.hpp"
#include "step_queue.hpp"

namespace profkit::detail {

/// Makes records of the logs of all threads and of the steps, by one clock whose lines it draws. It starts with what is recorded after its
/// construction; what earlier sessions left is skipped.
///
/// `begin_step`, `end_step` and `duration` belong to the thread of the steps; all else to one thread at a time, which may be another.
class log_drain {
 public:
  /// A shorter line between clock anchors would carry their jitter into durations.
  static constexpr std::chrono::nanoseconds shortest_interval = std::chrono::milliseconds{10};

  /// @param into borrowed.
  /// @param clock_flag 0 or `use_monotonic_clock`.
  log_drain(profile_builder& into, std::uint32_t clock_flag)
      : into_{into}, reader_{into}, clock_flag_{clock_flag}, start_{anchor()}, clock_{start_}, read_until_{start_.ticks} {}

  /// A step is about to begin.
  void begin_step() {
    has_steps_.store(true, std::memory_order_relaxed);
    steps_.begin();
  }

  /// It comes into the profile with the next drain, unless it was abandoned.
  void end_step(raw_step const& done) { steps_.end(done); }

  /// How long so many ticks last.
  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const {
    if (auto const known = steps_.duration(ticks)) return *known;
    clock_line since_start{start_};
    since_start.advance(anchor());
    return since_start.duration(ticks);
  }

  /// Whether the next line of the clock would be long enough.
  [[nodiscard]] bool is_due() const noexcept {
    return monotonic_ns() + calendar_.offset_ns() - clock_.newest().ns >= shortest_interval.count();
  }

  /// Moves what was recorded up to now into the profile. Where that is much, in slices of time.
  /// @param last the session ends: take all that there is, whatever `goes_on` returns.
  /// @param goes_on called every 4,096 events, about 200 us. It may let others use the profile meanwhile. If it returns false, the drain
  /// ends there, and the next one takes the rest.
  /// @param after_slice called after each slice; `arrived` says what is in the profile then.
  /// @return how many slots were read.
  template <class Pause, class AfterSlice>
  std::uint64_t drain(bool last, Pause&& goes_on, AfterSlice&& after_slice) {
    calendar_.look();
    clock_.advance(anchor());
    take_steps();
    std::uint64_t const to = clock_.newest().ticks;
    std::uint64_t slots = 0;
    do {
      std::uint64_t until = to;
      is_whole_ = reader_.drain(clock_, until, false, slots, [&] { return goes_on() || last; });
      if (!is_whole_) break;
      read_until_ = until;
      if (until == to) add_steps();
      after_slice();
    } while (read_until_ < to);
    if (last) static_cast<void>(reader_.drain(clock_, read_until_, true, slots, goes_on));
    if (!last) keep_spare_logs();
    return slots;
  }

  /// How many have begun and not ended, as far as it has drained.
  [[nodiscard]] std::uint64_t open_scopes() const { return reader_.open_scopes(); }

  /// Whether a step has begun.
  [[nodiscard]] bool has_steps() const noexcept { return has_steps_.load(std::memory_order_relaxed); }

  /// What has arrived; nothing if the drain stopped before it was through with all logs.
  [[nodiscard]] std::optional<arrival> arrived() const {
    if (!is_whole_) return std::nullopt;
    arrival result;
    result.logs_until = clock_.convert(read_until_);
    result.has_steps = has_steps();
    reader_.describe_open(result);
    return result;
  }

  /// Whether a step has begun that is not in the profile.
  [[nodiscard]] bool has_unfinished_step() const { return !steps_to_add_.empty() || steps_.has_unfinished(); }

  /// From the beginning to the latest drain.
  [[nodiscard]] interval time() const noexcept {
    return {timestamp{std::chrono::nanoseconds{start_.ns}}, timestamp{std::chrono::nanoseconds{clock_.newest().ns}}};
  }

  [[nodiscard]] clock_line const& clock() const noexcept { return clock_; }
  [[nodiscard]] calendar_clock& calendar() noexcept { return calendar_; }

 private:
  void add_steps() {
    for (step_record const& step : steps_to_add_) into_.add(step);
    steps_to_add_.clear();
  }

  void take_steps() {
    for (auto const& [each, begin] : steps_.advance(clock_)) {
      interval const time{begin.value_or(clock_.convert(each.begin_ticks)), clock_.convert(each.end_ticks)};
      steps_to_add_.push_back({time, each.index, each.warmup, each.items, each.model_flops, each.has_kernels, each.is_excluded});
    }
  }

  [[nodiscard]] clock_anchor anchor() const noexcept {
    clock_anchor result = read_anchor(clock_flag_);
    result.ns += calendar_.offset_ns();
    return result;
  }

  profile_builder& into_;
  log_reader reader_;
  std::uint32_t clock_flag_;
  calendar_clock calendar_;
  clock_anchor start_;
  clock_line clock_;
  std::uint64_t read_until_;  ///< in ticks
  step_queue steps_;
  std::atomic<bool> has_steps_{false};
  bool is_whole_ = false;
  std::vector<step_record> steps_to_add_;  ///< when the scopes in them are drained
};

}  // namespace profkit::detail
