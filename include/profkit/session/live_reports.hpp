// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "../options.hpp"
#include "../record/own_thread.hpp"
#include "../record/waker.hpp"
#include "../report/report.hpp"
#include "../report/status_line.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Writes the reports of `PROFKIT=report=every:60s` and `report=every:1000`: files in the output directory, or a line on stderr without a
/// directory. They have their own thread, so neither an analysis nor a slow disk delays draining.
///
/// A report that takes longer than the period, or than the steps, delays the next one. The thread rests at least as long as the report
/// took, so it uses at most half of one core.
class live_reports {
 public:
  live_reports() = default;
  live_reports(live_reports const&) = delete;
  live_reports& operator=(live_reports const&) = delete;
  ~live_reports() {
    stop();
    join();
  }

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

  /// Prevents further output. Waits for a report that is being written, but not for a report that is being computed.
  void stop() noexcept {
    is_stopping_.store(true);
    wakes_.wake();
    std::lock_guard<std::mutex> const not_writing{output_mutex_};
  }

  /// Waits for the thread, after `stop`. Must not be called with a lock of the session.
  void join() noexcept {
    if (thread_ == nullptr) return;
    thread_->join();
    thread_.reset();
  }

 private:
  using clock = std::chrono::steady_clock;

  void run() noexcept {
    bool const has_period = wanted_->report_every > std::chrono::milliseconds{0};
    clock::time_point rested = clock::now();
    clock::time_point next = has_period ? rested + wanted_->report_every : clock::time_point::max();
    while (!is_stopping_.load()) {
      clock::time_point const now = clock::now();
      if (now < rested) {
        wakes_.wait(rested - now);
      } else if (now >= next || is_requested_.exchange(false)) {
        make_report();
        clock::time_point const done = clock::now();
        rested = done + (done - now);
        if (now >= next) next = std::max(next + wanted_->report_every, rested);
      } else {
        constexpr std::chrono::hours longest{1};
        wakes_.wait(std::min<clock::duration>(next - now, longest));
      }
    }
  }

  void make_report() noexcept {
    try {
      report const so_far = take_snapshot_();
      std::lock_guard<std::mutex> const writing{output_mutex_};
      if (is_stopping_.load()) return;
      if (wanted_->output_directory.empty()) {
        warn(status_line(so_far.summary(), so_far.profile().time.duration()));
      } else {
        so_far.write(wanted_->output_directory, wanted_->trace_steps);
      }
      last_failure_.clear();
    } catch (std::exception const& failure) {  // for example a full disk; the next report tries again
      if (std::exchange(last_failure_, failure.what()) != failure.what()) warn(failure.what());
    }
  }

  options const* wanted_ = nullptr;
  std::function<report()> take_snapshot_;
  std::string last_failure_;               ///< each message is printed once
  std::atomic<bool> is_requested_{false};  ///< by `step_ended`
  std::atomic<bool> is_stopping_{false};
  std::mutex output_mutex_;
  waker wakes_;
  std::unique_ptr<own_thread> thread_;
};

}  // namespace profkit::detail
