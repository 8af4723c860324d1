// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "../profile/profile.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/memory_poll.hpp"
#include "../record/recorder.hpp"
#include "../report/report.hpp"
#include "console.hpp"
#include "guarded_profile.hpp"
#include "session_exit.hpp"
#include "session_impl.hpp"
#include "session_outputs.hpp"
#include "session_thread.hpp"

namespace profkit::detail {

// The end of a running session: by its destructor, by `report()`, by `exit` or by a signal.

template <class Unused>
bool session_impl<Unused>::end() noexcept {
  if (is_of_parent()) {
    warn_if_orphaned();
    return false;
  }
  bool const is_stopped = thread_.stop(max_wait_at_end);
  bool was_step_open = false;
  {
    call const inside{*this};
    was_step_open = is_step_open_;
    end_with_outputs();
    end_process_if_signalled();
  }
  if (options_.enabled) session_exit::forget(*this);
  return is_stopped && !was_step_open && !session_exit::has_begun();  // other threads may still be in its steps
}

/// Runs on the session's thread while other threads of the program continue.
template <class Unused>
void session_impl<Unused>::end_by_signal() noexcept {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
  std::unique_lock<std::recursive_mutex> calls{recording_.call_mutex(), std::defer_lock};
  while (!calls.owns_lock() && std::chrono::steady_clock::now() < deadline) {
    if (thread_.is_stopping()) return;  // the thread that ends the session then raises the signal
    calls = lock_within(recording_.call_mutex(), std::chrono::milliseconds{1});
  }
  if (calls.owns_lock()) {
    end_with_outputs();
  } else {
    warn("no report after the signal: a collector is still running");
  }
  session_signals::end_process(session_signals::received_signal());
}

template <class Unused>
void session_impl<Unused>::end_process_if_signalled() noexcept {
  int const signal = options_.report_on_signals ? session_signals::received_signal() : 0;
  if (signal == 0) return;
  end_with_outputs();
  session_signals::end_process(signal);
}

template <class Unused>
void session_impl<Unused>::end_at_exit() noexcept {
  if (is_of_parent()) {
    warn_if_orphaned();
    return;
  }
  bool const is_stopped = thread_.stop(std::chrono::seconds{1}) && !session_thread::is_current();
  if (!has_outputs(options_) && !journal_) {
    __atomic_fetch_and(&recorder.flags, ~recording, __ATOMIC_RELEASE);
    live_reports_.stop();
    if (is_stopped) live_reports_.join();
    return;
  }
  auto calls = lock_within(recording_.call_mutex(), is_ending_.load() ? max_wait_at_end : std::chrono::seconds{1});
  if (is_stopped && calls.owns_lock() && depth_ == 0) {
    end_with_outputs();
  } else {
    warn("no report: exit() was called while a collector or profkit itself was running");
  }
  end_process_if_signalled();
  live_reports_.stop();
  if (!calls.owns_lock() || depth_ != 0) return;
  calls.unlock();
  live_reports_.join();  // after this, static memory that its thread uses is destroyed
}

/// Runs in the child of a `fork`. If the parent has ended, as after `daemon`, there is no report.
template <class Unused>
void session_impl<Unused>::warn_if_orphaned() const noexcept {
  bool const is_wanted = has_outputs(options_) || !options_.journal.empty();
  if (!is_wanted || report_ || !process_.has_ended()) return;
  warn("no report: the session was created in process " + std::to_string(process_.id()) +
       ", which has ended. After fork() or daemon(), create the session in the process that continues");
}

/// Runs once, with the call lock.
template <class Unused>
void session_impl<Unused>::end_with_outputs() noexcept {
  is_ending_.store(true);
  try {
    if (std::exchange(is_step_open_, false) && is_running()) recording_.counters().abandon_step();
    if (has_outputs(options_) && (is_running() || report_) && !std::exchange(has_given_outputs_, true))
      write_outputs(make_report(), options_);
    stop();
  } catch (std::exception const& failure) {
    warn(failure.what());
  }
}

template <class Unused>
profkit::report session_impl<Unused>::make_report() {
  if (report_) return *report_;
  stop();
  std::lock_guard<std::mutex> const no_snapshot{snapshot_mutex_};
  recording_.describe_collectors();
  std::optional<summary> figures = recording_.figures();
  report_.emplace(report_of(recording_.take_profile(), std::move(figures)));
  return *report_;
}

template <class Unused>
void session_impl<Unused>::stop() {
  if (!is_running()) return;
  live_reports_.stop();
  host_probe_.end(host_speed_);
  measure_loop_.close();
  stop_polling();
  __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
  static_cast<void>(thread_.stop(max_wait_at_end));
  recording_.counters().set_host_speed(host_speed_);
  recording_.finish(auto_stop_.result());
  if (options_.report_on_signals) session_signals::remove();
  __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
}

}  // namespace profkit::detail
