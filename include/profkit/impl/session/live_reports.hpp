// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "../../options.hpp"
#include "../../report.hpp"
#include "../record/log_memory.hpp"
#include "../record/own_thread.hpp"
#include "../report/headline.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Writes the reports of `PROFKIT=report=every:60s` and `report=every:1000`: files in the output directory, or a line on stderr without a
/// directory. They have their own thread, which asks the owner for snapshots. So neither an analysis nor a slow disk delays draining.
///
/// A report that takes longer than the period, or than the steps, delays the next one. The thread rests at least as long as the report
/// took, so it uses at most half of one core.
class live_reports {
 public:
  live_reports() = default;
  live_reports(live_reports const&) = delete;
  live_reports& operator=(live_reports const&) = delete;

  /// Starts the thread. Does nothing without a period or a number of steps.
  /// @param wanted the options of the session; borrowed.
  /// @param take_snapshot called on the report thread.
  void start(options const& wanted, std::function<report()> take_snapshot) {
    if (wanted.report_every <= std::chrono::milliseconds{0} && wanted.report_every_steps == 0) return;
    wanted_ = &wanted;
    take_snapshot_ = std::move(take_snapshot);
    try {
      thread_ = std::make_unique<own_thread>("profkit report", [this] { run(); });
    } catch (std::exception const& failure) {
      has_left_.store(true);
      warn("no reports while the program runs: ", failure.what());
    }
  }

  /// Requests a report if it is due after this step. Does not wait.
  /// @param done number of steps that have ended.
  void step_ended(std::uint64_t done) noexcept {
    if (wanted_ == nullptr || wanted_->report_every_steps == 0 || done % wanted_->report_every_steps != 0) return;
    is_requested_.store(true);
    wakes_.wake();
  }

  /// Prevents further output. Waits for a report that is being written, but not for a report that is being computed, and at most 10
  /// seconds.
  void stop() noexcept {
    is_stopping_.store(true);
    wakes_.wake();
    static_cast<void>(wait_until([this] { return !is_writing_.load(); }));
  }

  /// Waits for the end of the thread, after `stop`.
  /// @return false if it still writes a file after 10 seconds.
  [[nodiscard]] bool join() noexcept {
    if (thread_ == nullptr) return true;
    if (!wait_until([this] { return has_left_.load() || !is_writing_.load(); })) return false;
    thread_->join();
    thread_.reset();
    return true;
  }

 private:
  using clock = std::chrono::steady_clock;

  template <class Condition>
  [[nodiscard]] static bool wait_until(Condition const& condition) noexcept {
    auto const latest = clock::now() + std::chrono::seconds{10};
    while (!condition()) {
      if (clock::now() > latest) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
  }

  void run() noexcept {
    constexpr std::chrono::hours longest{24 * 365};
    bool const has_period = wanted_->report_every > std::chrono::milliseconds{0};
    clock::duration const period = std::min<std::chrono::milliseconds>(wanted_->report_every, longest);
    clock::time_point rested = clock::now();
    clock::time_point next = rested + (has_period ? period : longest);
    while (!is_stopping_.load()) {
      clock::time_point const now = clock::now();
      if (now < rested) {
        wakes_.wait(rested - now);
      } else if ((has_period && now >= next) || is_requested_.exchange(false)) {
        make_report();
        clock::time_point const done = clock::now();
        rested = done + (done - now);
        if (now >= next) next = std::max(next + period, rested);
      } else {
        wakes_.wait(std::min<clock::duration>(std::max(next - now, clock::duration{1'000'000}), std::chrono::hours{1}));
      }
    }
    has_left_.store(true);
  }

  void make_report() noexcept {
    try {
      report const so_far = take_snapshot_();
      is_writing_.store(true);
      if (!is_stopping_.load()) write(so_far);
      last_failure_.clear();
    } catch (std::exception const& failure) {  // for example a full disk; the next report tries again
      if (!is_stopping_.load()) warn_once(failure.what());
    }
    is_writing_.store(false);
  }

  void write(report const& so_far) const {
    if (wanted_->output_directory.empty()) {
      warn(status_line(so_far.summary(), so_far.profile().time.duration()));
    } else {
      so_far.write(wanted_->output_directory, wanted_->trace_steps);
    }
  }

  void warn_once(char const* failure) noexcept {
    if (last_failure_ == failure) return;
    try {
      last_failure_ = failure;
    } catch (std::exception const&) {  // no memory
    }
    warn(failure);
  }

  options const* wanted_ = nullptr;
  std::function<report()> take_snapshot_;
  std::string last_failure_;               ///< each message is printed once
  std::atomic<bool> is_requested_{false};  ///< by `step_ended`
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_writing_{false};
  std::atomic<bool> has_left_{false};
  waker wakes_;
  std::unique_ptr<own_thread> thread_;
};

}  // namespace profkit::detail
