// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../options.hpp"
#include "../../profile.hpp"
#include "../../report.hpp"
#include "../profile/file_access.hpp"
#include "../profile/numbers.hpp"
#include "../record/memory_poll.hpp"
#include "../record/own_thread.hpp"
#include "../record/recorder.hpp"
#include "../report/earlier_report.hpp"
#include "console.hpp"
#include "session_exit.hpp"
#include "session_impl.hpp"
#include "session_owner.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Whether the end of a session prints or writes anything.
[[nodiscard]] inline bool has_outputs(options const& wanted) noexcept {
  return wanted.enabled &&
         (wanted.print_report || wanted.full_report || wanted.trace || !wanted.output_directory.empty() || !wanted.metrics.empty());
}

/// Writes the files of a report. @return the last line of the first screen: the folder and the names of the files.
/// @param made `describe(last.summary())`.
inline std::string write_report_files(report const& last, document const& made, std::string const& directory, std::uint64_t trace_steps) {
  std::string text = shown_path(directory) + ":";
  for (std::string const& name : report_code::write(last.profile(), last.summary(), made, directory, trace_steps)) text += " " + name;
  return text;
}

/// Says that the report in the folder, which this one is about to replace, is of another program, or was written while this one ran.
inline void warn_of_other_report(report const& last, std::string const& directory) {
  environment_record const& own = last.profile().environment;
  std::optional<earlier_report> const there = read_report_head(std::filesystem::path{directory} / report_file_names.front());
  if (!there || there->process_id == 0 || there->process_id == own.process_id) return;
  bool const is_recent = there->written && *there->written >= last.profile().time.begin;
  bool const is_other = !there->program.empty() && !own.command.empty() && there->program != without_blanks(own.command.front());
  if (!is_recent && !is_other) return;
  warn("replacing the report of another process in " + shown_path(directory) + ": process " + std::to_string(there->process_id) + ", " +
       there->program + ". To keep both, choose another out=DIR");
}

/// Writes the outputs of an ended session: first the files, then the report on a standard stream. Failures are reported on stderr and do
/// not prevent other outputs.
inline void write_outputs(report const& last, options const& wanted, int descriptor = STDOUT_FILENO) noexcept {
  auto const attempt = [](auto&& output) {
    try {
      output();
    } catch (std::exception const& failure) {
      warn(failure.what());
    }
  };
  bool const has_directory = !wanted.output_directory.empty();
  std::optional<document> made;
  if (has_directory || wanted.full_report || wanted.print_report) attempt([&] { made = report_code::describe(last.summary()); });
  std::string files;
  if (made && has_directory) attempt([&] { warn_of_other_report(last, wanted.output_directory); });
  if (made && has_directory) attempt([&] { files = write_report_files(last, *made, wanted.output_directory, wanted.trace_steps); });
  if (wanted.trace && !has_directory) {
    attempt([&] {
      std::string const file = wanted.trace_file.empty() ? "trace.json" : wanted.trace_file;
      report_code::write_default_trace(last.profile(), file, wanted.trace_steps);
    });
  }
  if (made && wanted.full_report) {
    attempt([&] { print_report(descriptor, report_code::full_text(*made, false) + "\n"); });
  } else if (made && wanted.print_report) {
    attempt([&] { print_report(descriptor, report_code::first_screen(*made, descriptor, files) + "\n"); });
  }
}

/// If not null, called instead of `write_outputs`. For `profkit run`, which leaves standard output to the program.
inline void (*write_outputs_instead)(report const& last, options const& wanted) = nullptr;

// The end of a running session: by its destructor, by `report()`, by `exit` or by a signal. All of them ask the owner to end the recording.
// Those that also write outputs hold `session_exit::mutex`.

inline session_owner::round_result session_impl::round() {
  auto const result = recording_.round();
  if (is_of_parent()) return result;  // a collector forked
  control_.round();
  if (session_signals::received_signal() != 0 && options_.report_on_signals) end_by_signal();
  auto const now = std::chrono::steady_clock::now();
  if (now >= next_look_at_threads_) {
    next_look_at_threads_ = now + std::chrono::seconds{1};
    // After `pthread_exit` in `main`, the process ends with its last thread. The session's own threads must not keep it.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread of the program is left
    if (own_thread::are_others_gone()) std::exit(0);
  }
  return result;
}

inline bool session_impl::end() noexcept {
  if (is_of_parent()) {
    warn_if_orphaned();
    return false;
  }
  bool const is_step_open = is_step_open_.load();
  if (!options_.enabled) return !is_step_open;
  if (called_collector::is_on_this_thread() || ordered_mutex::is_any_held()) {
    if (!session_exit::has_begun()) warn("a session was destroyed by one of its collectors; it continues");
    return false;
  }
  {
    no_cancellation const whole;
    ordered_lock const ending{session_exit::mutex()};
    end_with_outputs();
    end_process_if_signalled();
    session_exit::forget(*this);
  }
  bool const are_threads_gone = owner_.join() && live_reports_.join();
  void const* mine = this;  // still set if there was no memory to end the recording
  if (are_threads_gone)
    __atomic_compare_exchange_n(&recorder.owner, &mine, static_cast<void const*>(nullptr), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (is_of_parent()) return false;                                        // a collector forked on this thread
  return are_threads_gone && !is_step_open && !session_exit::has_begun();  // other threads may still be in its steps
}

/// Runs on the owner's thread while other threads of the program continue.
inline void session_impl::end_by_signal() noexcept {
  if (!session_exit::mutex().try_lock()) return;  // the thread that ends the session raises the signal
  std::lock_guard<ordered_mutex> const ending{session_exit::mutex(), std::adopt_lock};
  end_process_if_signalled();
}

/// With `session_exit::mutex`, except by `report()`.
inline void session_impl::end_process_if_signalled() noexcept {
  int const signal = options_.report_on_signals ? session_signals::received_signal() : 0;
  if (signal == 0) return;
  end_with_outputs();
  if (is_of_parent()) return;
  session_signals::end_process(signal);
}

/// With `session_exit::mutex`.
inline void session_impl::end_at_exit() noexcept {
  if (is_of_parent()) return warn_if_orphaned();
  if (has_outputs(options_) || journal_) {
    end_with_outputs();
  } else {
    __atomic_fetch_and(&recorder.flags, ~recording, __ATOMIC_RELEASE);
    live_reports_.stop();
    owner_.end();
  }
  end_process_if_signalled();
  if (owner_.join()) control_.close();
  static_cast<void>(live_reports_.join());  // after this, static memory that the threads use is destroyed
}

/// Runs in the child of a `fork`. If the parent has ended, as after `daemon`, there is no report.
inline void session_impl::warn_if_orphaned() const noexcept {
  bool const is_wanted = (has_outputs(options_) || !options_.journal.empty()) && !is_in_library_of_run();
  if (!is_wanted || states_.is(session_state::ended) || !process_.has_ended()) return;
  char text[256];
  static_cast<void>(std::snprintf(text, sizeof text,
                                  "no report: the session was created in process %d, which has ended. After fork() or daemon(), create the "
                                  "session in the process that continues",
                                  int{process_.id()}));
  warn(text);
}

/// Runs with `session_exit::mutex`.
inline void session_impl::end_with_outputs() noexcept {
  usual_arithmetic const arithmetic;
  if (states_.is(session_state::running) && is_step_open_.load())
    recording_.counters().abandoned_steps.fetch_add(1, std::memory_order_relaxed);
  try {
    ask_to_end();
    if (is_of_parent()) return;  // a collector forked in its last functions, and the parent writes the outputs
    if (report_ && !options_.metrics.empty() && !std::exchange(has_last_metrics_, true)) {
      try {
        write_metrics_file(options_.metrics, metrics_text::of(report_->summary(), true));
      } catch (error const& failure) {
        warn(failure.what());
      }
    }
    bool const is_wanted = has_outputs(options_) && !std::exchange(has_given_outputs_, true);
    if (is_wanted && report_)
      write_outputs_instead != nullptr ? write_outputs_instead(*report_, options_) : write_outputs(*report_, options_);
    bool const is_said = owner_.calls().stuck() != nullptr;
    if (is_wanted && !report_ && !is_said) warn("no report: " + (why_no_report_.empty() ? why_no_answer() : why_no_report_));
  } catch (std::exception const& failure) {
    warn("no report: ", failure.what());
  }
  if (states_.is(session_state::ended)) return;
  owner_.end();  // without a report
  states_.move(session_state::ended);
}

/// @throws profkit::error, std::bad_alloc
inline profkit::report session_impl::ended_report() {
  if (!options_.enabled) return report_without_data("profkit is off (PROFKIT=off, a PROFKIT that is not valid, or options::enabled)");
  ask_to_end();
  if (states_.is(session_state::ended) && report_) return *report_;
  return report_without_data(states_.is(session_state::ended) ? why_no_report_ : why_no_answer());
}

/// Asks the owner to end the recording and to make the report, and waits for it.
inline void session_impl::ask_to_end() {
  if (states_.is(session_state::ended)) return;
  if (states_.move(session_state::ending)) {
    __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
    stop_polling();
    live_reports_.stop();
  }
  if (owner_.ask([this] { end_recording(); }) == session_owner::answer::too_late && owner_.calls().stuck() != nullptr)
    warn("no report: " + why_no_answer());
}

/// Runs on the owner's thread. If there is no memory before the profile is complete, another call continues.
inline void session_impl::end_recording() {
  if (states_.is(session_state::ended)) return;
  steps_.close();
  control_.close();
  recording_.finish(steps_.calls(), steps_.stop());
  try {
    std::shared_ptr<summary const> figures = recording_.figures();
    report_.emplace(report_of(recording_.take_profile(), std::move(figures)));
  } catch (std::exception const& failure) {
    why_no_report_ = failure.what();
    set_ended();
    throw;
  }
  set_ended();
}

inline void session_impl::set_ended() noexcept {
  if (options_.report_on_signals) session_signals::remove();
  __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
  states_.move(session_state::ended);
  owner_.end();
}

}  // namespace PROFKIT_NAMESPACE::detail
