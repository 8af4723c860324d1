// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// Writes the reports of `PROFKIT=report=every:60s`: files in the output directory, or a line on stderr without a directory. They have
/// their own thread, so that neither an analysis nor a slow disk delays draining.
///
/// A report that takes longer than the period delays the next one. The thread rests at least as long as the report took, so it uses at most
/// half of one core.
class live_reports {
 public:
  live_reports() = default;
  live_reports(live_reports const&) = delete;
  live_reports& operator=(live_reports const&) = delete;
  ~live_reports() {
    stop();
    join();
  }

  /// Starts the thread. Does nothing without a period.
  /// @param wanted the options of the session; borrowed.
  /// @param take_snapshot called on the report thread.
  void start(options const& wanted, std::function<report()> take_snapshot) {
    if (wanted.report_every <= std::chrono::milliseconds{0}) return;
    wanted_ = &wanted;
    take_snapshot_ = std::move(take_snapshot);
    try {
      thread_ = std::make_unique<own_thread>("profkit report", [this] { run(); });
    } catch (std::exception const& failure) {
      warn("no reports while the program runs: ", failure.what());
    }
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
    clock::time_point next = clock::now() + wanted_->report_every;
    while (!is_stopping_.load()) {
      clock::time_point const now = clock::now();
      if (now < next) {
        wakes_.wait(next - now);
        continue;
      }
      make_report();
      clock::time_point const done = clock::now();
      next = std::max(next + wanted_->report_every, done + (done - now));
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
  std::string last_failure_;  ///< each message is printed once
  std::atomic<bool> is_stopping_{false};
  std::mutex output_mutex_;
  waker wakes_;
  std::unique_ptr<own_thread> thread_;
};

}  // namespace profkit::detail
