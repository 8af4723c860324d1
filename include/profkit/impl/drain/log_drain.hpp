// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "../../profile_builder.hpp"
#include "../../step.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/profile_follower.hpp"
#include "../record/clock.hpp"
#include "../record/handoff_queue.hpp"
#include "../record/recorder.hpp"
#include "../record/thread_registry.hpp"
#include "log_reader.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Converts the logs of all threads, and the steps, to records with times on one clock, which it calibrates. Skips records from before its
/// construction.
///
/// Thread safety: `begin_step`, `end_step` and `duration` on the step thread; all other functions on one thread at a time.
class log_drain {
 public:
  /// Minimum time between clock anchors. The jitter of closer anchors would affect durations.
  static constexpr std::chrono::nanoseconds min_interval = std::chrono::milliseconds{10};

  /// @param into borrowed.
  /// @param clock_flag 0 or `use_monotonic_clock`.
  log_drain(profile_builder& into, std::uint32_t clock_flag)
      : into_{into}, reader_{into}, clock_flag_{clock_flag}, start_{anchor()}, clock_{start_}, read_until_{start_.ticks} {}

  /// Charges the samples of a source to scopes, from now on: see `log_reader::use_samples`. @param to null: the profile.
  void use_samples(sample_source* from, profile_builder* to = nullptr) noexcept { reader_.use_samples(from, to != nullptr ? to : &into_); }

  /// To be called before a step begins.
  void begin_step() noexcept {
    has_steps_.store(true, std::memory_order_relaxed);
    is_step_open_.store(true, std::memory_order_relaxed);
  }

  /// To be called after a step ended. The next drain adds it to the profile, unless it was abandoned.
  void end_step(raw_step const& done) {
    if (!done.is_abandoned) steps_.push(done);
    is_step_open_.store(false, std::memory_order_release);
  }

  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const {
    clock_line since_start{start_};
    since_start.advance(anchor());
    return since_start.duration(ticks);
  }

  /// The time until the next clock anchor may be set; 0 or negative if it may be now.
  [[nodiscard]] std::chrono::nanoseconds until_due() const noexcept {
    return min_interval - std::chrono::nanoseconds{monotonic_ns() + calendar_.offset_ns() - clock_.newest().ns};
  }

  /// Moves everything recorded so far to the profile, in slices of time if the logs are long.
  ///
  /// A stopped drain leaves events from before the newest clock anchor. The next drain reads them first, before it advances the clock. So
  /// each tick has exactly one time, which is on the line between the anchors before and after it.
  /// @param last true: the session ends, so drain everything and ignore the result of `goes_on`.
  /// @param goes_on called every 4,096 events, about 200 us. It may let other threads use the profile. If it returns false, the drain stops
  /// and the next one continues.
  /// @param after_slice called after each slice; `arrived` then describes the profile.
  /// @return the number of slots read.
  template <class Pause, class AfterSlice>
  std::uint64_t drain(bool last, Pause&& goes_on, AfterSlice&& after_slice) {
    calendar_.look();
    std::uint64_t slot_count = 0;
    auto const pause = [&] { return goes_on() || last; };
    is_whole_ = read_until_ == clock_.newest().ticks || drain_to_anchor(slot_count, pause, after_slice);
    if (is_whole_) {
      clock_.advance(anchor());
      take_steps(clock_.newest().ticks);
      reader_.read_samples();
      is_whole_ = drain_to_anchor(slot_count, pause, after_slice);
    }
    if (last) {
      reader_.read_samples();
      static_cast<void>(reader_.drain(clock_, read_until_, true, slot_count, pause));
      take_steps(~std::uint64_t{0});
      add_steps(~std::uint64_t{0});
      into_.count(&quality_record::open_scopes, open_scopes());  // at the end: without memory, the drain is repeated
    } else {
      keep_spare_logs();
    }
    return slot_count;
  }

  /// The number of open scopes in the drained part of the logs.
  [[nodiscard]] std::uint64_t open_scopes() const { return reader_.open_scopes(); }

  /// Whether a step has begun.
  [[nodiscard]] bool has_steps() const noexcept { return has_steps_.load(std::memory_order_relaxed); }

  /// The state of the arrived data; nothing if the drain stopped before it had read all logs.
  [[nodiscard]] std::optional<arrival> arrived() const {
    if (!is_whole_) return std::nullopt;
    arrival result;
    result.logs_until = clock_.convert(read_until_);
    result.read_at = timestamp{std::chrono::nanoseconds{clock_.newest().ns}};
    result.has_steps = has_steps();
    reader_.describe_open(result);
    return result;
  }

  /// What is open in the drained part of the logs.
  [[nodiscard]] journal_open open() const {
    journal_open result;
    result.time = clock_.convert(read_until_);
    reader_.describe_open(result);
    return result;
  }

  /// Whether a step has begun that the profile does not contain yet.
  [[nodiscard]] bool has_unfinished_step() {
    return is_step_open_.load(std::memory_order_acquire) || !steps_to_add_.empty() || steps_.front() != nullptr;
  }

  /// The interval from the beginning to the latest drain.
  [[nodiscard]] interval time() const noexcept {
    return {timestamp{std::chrono::nanoseconds{start_.ns}}, timestamp{std::chrono::nanoseconds{clock_.newest().ns}}};
  }

  [[nodiscard]] clock_line const& clock() const noexcept { return clock_; }
  [[nodiscard]] calendar_clock& calendar() noexcept { return calendar_; }

 private:
  /// Reads the logs up to the newest clock anchor. @return false if it was stopped.
  template <class Pause, class AfterSlice>
  bool drain_to_anchor(std::uint64_t& slot_count, Pause& pause, AfterSlice& after_slice) {
    std::uint64_t const to = clock_.newest().ticks;
    do {
      std::uint64_t until = to;
      is_whole_ = reader_.drain(clock_, until, false, slot_count, pause);
      if (!is_whole_) return false;
      read_until_ = until;
      add_steps(until);
      after_slice();
    } while (read_until_ < to);
    return true;
  }

  /// Adds the steps that ended until a moment up to which all logs were read: a step writes the end of its scope before it is taken.
  void add_steps(std::uint64_t until_ticks) {
    for (; !steps_to_add_.empty() && steps_to_add_.front().end_ticks <= until_ticks; steps_to_add_.pop_front()) {
      raw_step const& each = steps_to_add_.front();
      into_.add_unchecked(
          step_record{time_of(each), each.index, each.warmup, each.items, each.model_flops, each.has_kernels, each.is_excluded});
    }
  }

  /// The time of a step whose scopes are drained: the time of its own scope, if that was recorded.
  [[nodiscard]] interval time_of(raw_step const& step) {
    timestamp const end = clock_.convert(step.end_ticks);
    std::optional<interval> const scope = reader_.take_step(step.begin_ticks);
    if (!scope) return {clock_.convert(step.begin_ticks), end};
    return {scope->begin, std::max(scope->end, end)};  // if an outer scope ended the step's scope, the scope is shorter than the step
  }

  /// Takes the steps that ended until a moment. Later steps stay, because the logs of their scopes are read at a later anchor of the clock.
  void take_steps(std::uint64_t until_ticks) {
    for (raw_step const* each = steps_.front(); each != nullptr && each->end_ticks <= until_ticks; each = steps_.front()) {
      steps_to_add_.push_back(*each);
      steps_.pop();
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
  std::uint64_t read_until_;       ///< end of the part of the logs that was read, in ticks
  handoff_queue<raw_step> steps_;  ///< from the step thread
  std::atomic<bool> has_steps_{false};
  std::atomic<bool> is_step_open_{false};
  bool is_whole_ = false;
  own_deque<raw_step> steps_to_add_;  ///< steps whose scopes are not drained yet, in the order of their ends
};

/// Decides when the session's thread drains next: soon if much is recorded, and late enough that draining uses at most a given share of one
/// core.
///
/// Waiting does not save work; it only spreads a burst over time. So the share applies only while the logs are short. The next round begins
/// before they reach `backlog_slots` at the recent rate of writing. It begins immediately after a round that read as many slots.
class drain_pace {
 public:
  /// The results of one round of draining.
  struct round {
    std::chrono::nanoseconds taken{};                                  ///< elapsed time
    std::chrono::nanoseconds busy{};                                   ///< processor time
    std::uint64_t slot_count = 0;                                      ///< slots read from all logs
    std::chrono::nanoseconds period{std::chrono::nanoseconds::max()};  ///< time between the beginnings of the previous and this round
  };

  /// The period if little is recorded.
  static constexpr std::chrono::milliseconds idle_period{25};
  /// The period if more is recorded.
  static constexpr std::chrono::nanoseconds busy_period = log_drain::min_interval + std::chrono::microseconds{100};
  /// 8 MiB of logs.
  static constexpr std::uint64_t backlog_slots = std::uint64_t{1} << 20U;

  /// @param max_share share of one core, above 0 and at most 1.
  /// @param has_journal true: records must reach a file soon.
  explicit drain_pace(double max_share = 1.0, bool has_journal = false) noexcept : max_share_{max_share}, has_journal_{has_journal} {}

  /// @return the pause if another thread waits for the next round.
  [[nodiscard]] static std::chrono::nanoseconds soon_after(std::chrono::nanoseconds taken) noexcept {
    return std::max(busy_period - taken, std::chrono::nanoseconds{0});
  }

  /// @return the pause before the next round.
  [[nodiscard]] std::chrono::nanoseconds wait_after(round const& done) const noexcept {
    constexpr std::uint64_t many_slots = std::uint64_t{1} << 15U;
    bool const is_soon = done.slot_count >= (has_journal_ ? 1 : many_slots);
    std::chrono::nanoseconds const wait = is_soon ? busy_period - done.taken : idle_period;
    if (done.slot_count >= backlog_slots) return soon_after(done.taken);
    std::chrono::milliseconds const max_wait{has_journal_ ? 40 : 100};
    auto const for_share =
        std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(done.busy.count()) / max_share_)} - done.taken;
    std::chrono::nanoseconds const longest = std::min<std::chrono::nanoseconds>(max_wait, until_backlog(done) - done.taken);
    return std::clamp(std::max(wait, for_share), std::chrono::nanoseconds{0}, std::max(longest, soon_after(done.taken)));
  }

 private:
  /// The time from the beginning of a round until the logs have `backlog_slots`.
  [[nodiscard]] static std::chrono::nanoseconds until_backlog(round const& done) noexcept {
    double const ns =
        static_cast<double>(done.period.count()) * (static_cast<double>(backlog_slots) / static_cast<double>(done.slot_count + 1));
    return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, 1e9))};
  }

  double max_share_;
  bool has_journal_;
};

}  // namespace PROFKIT_NAMESPACE::detail
