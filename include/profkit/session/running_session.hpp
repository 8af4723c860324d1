// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "../analyze/verdict/stop_rule.hpp"
#include "../collect/collector_list.hpp"
#include "../collect/gpu_lag.hpp"
#include "../collect/host_environment.hpp"
#include "../collect/host_probe.hpp"
#include "../options.hpp"
#include "../profile/error.hpp"
#include "../profile/finite.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/memory_poll.hpp"
#include "../record/step.hpp"
#include "../report/report.hpp"
#include "console.hpp"
#include "measure_loop.hpp"
#include "recording_start.hpp"
#include "session_code.hpp"
#include "session_exit.hpp"
#include "session_journal.hpp"
#include "session_outputs.hpp"
#include "session_recording.hpp"
#include "session_thread.hpp"

namespace profkit::detail {

/// What `session` promises. A template, so that only the units that use it compile its functions; one unit of a program that defines
/// `PROFKIT_CODE_ELSEWHERE`.
template <class Unused>
class running_session final : public session_core, private ends_with_process {
 public:
  explicit running_session(options wanted) : options_{std::move(wanted)} {
    recording_.content().set(&profile::item_name, options_.item_name);
    recording_.content().set(&profile::precision, options_.precision);
    if (options_.wanted_interval) stop_rule_.emplace(*options_.wanted_interval, options_.warmup_steps, options_.most_steps);
    if (options_.enabled) {
      start();
    } else {
      recording_.content().set(&quality_record::not_recorded,
                               "profkit is off (PROFKIT=off, a PROFKIT that is not valid, or options::enabled)");
    }
  }

  raw_step begin_step() override {
    call const inside{*this};
    if (is_step_open_) throw error{"a profkit::step is open already; steps of one session cannot nest or overlap"};
    is_step_open_ = true;
    raw_step next;
    next.index = next_step_++;
    next.warmup = next.index < options_.warmup_steps;
    next.has_kernels = options_.collects_kernels_in(next.index);
    next.items = options_.items_per_step;
    next.model_flops = amount_or_zero(options_.model_flops_per_step);
    if (!is_running()) {
      if (is_of_parent() && !std::exchange(is_child_warned_, true)) warn("nothing is recorded here: " + why_not_in_child());
      return next;
    }
    // A session in static memory is constructed by now: at the exit it is ended before it is destroyed.
    if (next.index == 0) session_exit::watch(*this);
    if (!next.warmup) probe_host();
    recording_.expect_step();
    // Before the collectors' readings: a tool that records from here on may first take its time.
    if (!next.warmup) measure_loop_.open();
    std::uint64_t const begin = ticks(clock_flag_);
    recording_.begin_step({{}, next.index, next.warmup, next.items, next.model_flops, next.has_kernels, false});
    recording_.add_bookkeeping(ticks(clock_flag_) - begin);
    return next;
  }

  void end_step(raw_step const& done) noexcept override {
    call const inside{*this};
    is_step_open_ = false;
    if (!is_running()) return;
    try {
      recording_.end_step(done);
      if (thread_.failure().empty()) {
        recording_.drain_between_steps();
      } else {
        recording_.drain_without_thread();
      }
      if (stop_rule_ && !done.warmup) look_whether_enough(done);
    } catch (std::exception const& failure) {
      warn("step " + std::to_string(done.index) + " is lost: " + failure.what());
    }
    recording_.add_bookkeeping(ticks(clock_flag_) - done.end_ticks);
  }

  void take(std::unique_ptr<collector> taken) override {
    if (is_of_parent()) {
      recording_.keep(std::move(taken)).fail("the session is of the process that forked this one");
      return;
    }
    call const inside{*this};
    recording_.take(std::move(taken), [&](collector& latest, profile_builder& content) {
      if (!options_.enabled) {
        latest.fail("profkit is off");
      } else if (!is_running()) {
        latest.fail("the session has ended");
      } else if (latest.kind() == collector_kind::kernels && !options_.kernels) {
        latest.fail("switched off by kernels=off");
      } else {
        latest.use_clock(recording_.calendar());
        collector_list::guarded(latest, [&](collector& each) { each.start(content); });
        if (options_.memory_at_scopes && latest.status().works) latest.poll_at_scopes(content);
        session_exit::watch(*this);
      }
    });
  }

  profkit::report report() override {
    if (is_of_parent()) {
      if (report_) return *report_;
      return report_.emplace(report_in_child());
    }
    call const inside{*this};
    if (is_step_open_) throw error{"profkit::session::report() was called inside a step; call it when the step has ended"};
    profkit::report result = make_report();
    end_process_if_signalled();
    return result;
  }

  [[nodiscard]] bool end() noexcept override {
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

  [[nodiscard]] std::uint64_t wanted_steps() const noexcept override { return options_.most_wanted_steps(); }
  [[nodiscard]] std::uint64_t next_step() const noexcept override { return next_step_; }
  [[nodiscard]] bool has_enough() const noexcept override { return has_enough_; }

 private:
  /// In a call of the session. Other threads, and the end of the program, wait until it is over.
  struct call {
    explicit call(running_session& session) : session_{session.is_of_parent() ? nullptr : &session} {
      if (session_ == nullptr) return;
      session_->recording_.call_mutex().lock();
      ++session_->depth_;
    }
    ~call() {
      if (session_ == nullptr) return;
      --session_->depth_;
      session_->recording_.call_mutex().unlock();
    }
    call(call const&) = delete;
    call& operator=(call const&) = delete;

    running_session* session_;
  };

  [[nodiscard]] bool is_running() const noexcept { return __atomic_load_n(&recorder.owner, __ATOMIC_ACQUIRE) == this; }

  [[nodiscard]] bool is_of_parent() const noexcept override { return options_.enabled && ::getpid() != process_; }

  [[nodiscard]] std::string why_not_in_child() const {
    return "the session belongs to process " + std::to_string(process_) +
           ", the parent of this one, and stopped recording here at the fork; make the session after fork() or daemon()";
  }

  /// Of nothing: what the session holds may be half done by threads that only the parent has.
  [[nodiscard]] profkit::report report_in_child() const {
    auto nothing = std::make_shared<profile>();
    nothing->environment = describe_host();
    nothing->quality.not_recorded = why_not_in_child();
    profkit::report result{std::move(nothing)};  // "return profkit::report{...}" is beyond nvcc, in a class with a function of that name
    return result;
  }

  void start() {
    if (options_.log_slots_per_thread < 16) {
      throw error{"profkit::options::log_slots_per_thread is " + std::to_string(options_.log_slots_per_thread) +
                  "; it must be at least 16"};
    }
    void const* nobody = nullptr;
    if (!__atomic_compare_exchange_n(&recorder.owner, &nobody, static_cast<void const*>(this), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      throw error{"a profkit::session runs already; there can be one per process at a time. End it, or call its report(), first"};
    }
    try {
      if (!options_.journal.empty()) make_journal();
    } catch (...) {
      __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
      throw;
    }
    profile_builder& content = recording_.content();
    content.bound_records(options_.most_records);
    clock_flag_ = start_recording(options_.log_slots_per_thread, content);
    content.environment() = describe_host();
    recording_.start(clock_flag_, journal_ ? &*journal_ : nullptr);
    __atomic_fetch_or(&recorder.flags, recording | clock_flag_, __ATOMIC_RELEASE);
    start_thread();
    session_exit::watch(*this);
  }

  /// Where the environment asks for a journal that cannot be made, the session goes on without.
  void make_journal() {
    try {
      journal_.emplace(options_.journal);
    } catch (error const& failure) {
      bool const is_of_environment = options_.journal == options::from_env().journal;
      if (!is_of_environment) throw;
      std::string const reason = failure.what();
      recording_.has_no_journal(reason);
      warn(reason + ". The session goes on without it");
    }
  }

  void start_thread() {
    if (journal_) static_cast<void>(recording_.round([] { return false; }));  // the head of the file
    thread_.start([this] { return round(); });
    if (!thread_.failure().empty()) {
      recording_.has_no_thread(thread_.failure());
    } else if (options_.report_on_signals) {
      session_signals::install();
    }
  }

  /// On the session's thread.
  std::chrono::nanoseconds round() noexcept {
    auto const next = recording_.round([this] { return thread_.is_stopping() || session_signals::received_signal() != 0; });
    if (session_signals::received_signal() != 0 && options_.report_on_signals) end_by_signal();
    return next;
  }

  /// On the session's thread, while other threads of the program go on.
  void end_by_signal() noexcept {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    std::unique_lock<std::recursive_mutex> calls{recording_.call_mutex(), std::defer_lock};
    while (!calls.owns_lock() && std::chrono::steady_clock::now() < deadline) {
      if (thread_.is_stopping()) return;  // whoever ends the session lets the signal end the process
      calls = lock_within(recording_.call_mutex(), std::chrono::milliseconds{1});
    }
    if (calls.owns_lock()) {
      end_with_outputs();
    } else {
      warn("no report of the session that a signal ended: a collector is at work");
    }
    session_signals::end_process(session_signals::received_signal());
  }

  void end_process_if_signalled() noexcept {
    int const signal = options_.report_on_signals ? session_signals::received_signal() : 0;
    if (signal == 0) return;
    end_with_outputs();
    session_signals::end_process(signal);
  }

  void end_at_exit() noexcept override {
    if (is_of_parent()) {
      warn_if_orphaned();
      return;
    }
    bool const is_stopped = thread_.stop(std::chrono::seconds{1}) && !session_thread::is_current();
    if (!has_outputs(options_) && !journal_) {
      __atomic_fetch_and(&recorder.flags, ~recording, __ATOMIC_RELEASE);
      return;
    }
    auto const calls = lock_within(recording_.call_mutex(), is_ending_.load() ? max_wait_at_end : std::chrono::seconds{1});
    if (is_stopped && calls.owns_lock() && depth_ == 0) {
      end_with_outputs();
    } else {
      warn("no report of the session: exit() was called while a collector, or profkit itself, was at work");
    }
    end_process_if_signalled();
  }

  /// In the child of a `fork`: where its parent has ended, as with `daemon`, nobody gives a report.
  void warn_if_orphaned() const noexcept {
    bool const is_wanted = has_outputs(options_) || !options_.journal.empty();
    if (!is_wanted || report_ || ::kill(process_, 0) == 0 || errno != ESRCH) return;
    warn("no report: the session was made in process " + std::to_string(process_) +
         ", which has ended. After fork() or daemon(), make the session in the process that goes on");
  }

  /// Once. With the call lock.
  void end_with_outputs() noexcept {
    is_ending_.store(true);
    try {
      if (std::exchange(is_step_open_, false) && is_running()) recording_.abandon_step();
      if (has_outputs(options_) && (is_running() || report_) && !std::exchange(has_given_outputs_, true))
        write_outputs(make_report(), options_);
      stop();
    } catch (std::exception const& failure) {
      warn(failure.what());
    }
  }

  profkit::report make_report() {
    if (report_) return *report_;
    stop();
    recording_.describe_collectors();
    report_.emplace(std::make_shared<profile const>(recording_.content().take()));
    return *report_;
  }

  void stop() {
    if (!is_running()) return;
    host_probe_.end(host_speed_);
    measure_loop_.close();
    stop_polling();
    __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
    static_cast<void>(thread_.stop(max_wait_at_end));
    recording_.content().environment().host_speed = host_speed_;
    recording_.finish(stop_rule_ ? std::optional{stop_rule_->result()} : std::nullopt);
    if (options_.report_on_signals) session_signals::remove();
    __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
  }

  void look_whether_enough(raw_step const& done) {
    if (done.is_abandoned || done.is_excluded) return stop_rule_->leave_out(done.index);
    bool const has_gpu = recording_.times_steps();
    stop_rule_->add(static_cast<double>(done.end_ticks - done.begin_ticks));
    // Of the profile they look at GPU step times alone, which no other thread adds to.
    if (has_gpu) gpu_lag_.limit(done.index, recording_.content().so_far(), [this] { recording_.drain_collectors(); });
    milliseconds const tick = milliseconds{recording_.duration(1'000'000'000)} / 1e9;
    has_enough_ = stop_rule_->look(recording_.content().so_far(), has_gpu, tick);
  }

  /// Before the first measured step.
  void probe_host() {
    if (host_speed_) return;
    host_probe_.begin(host_speed_);
    if (host_speed_) recording_.edit([this](profile_builder& content) { content.environment().host_speed = host_speed_; });
  }

  /// A collector of the program may be at work.
  static constexpr std::chrono::hours max_wait_at_end{1};

  options options_;
  pid_t const process_ = ::getpid();
  bool is_child_warned_ = false;
  std::optional<session_journal> journal_;
  session_recording recording_;
  session_thread thread_;
  int depth_ = 0;                 ///< of calls of the session
  std::uint32_t clock_flag_ = 0;  ///< 0 or `use_monotonic_clock`
  std::uint64_t next_step_ = 0;
  std::optional<stop_rule> stop_rule_;  ///< with `steps=auto`
  bool has_enough_ = false;             ///< as it says
  gpu_lag gpu_lag_;
  host_probe host_probe_;
  std::optional<host_speed_record> host_speed_;
  bool is_step_open_ = false;
  measure_loop measure_loop_;
  std::optional<profkit::report> report_;
  bool has_given_outputs_ = false;
  std::atomic<bool> is_ending_{false};
};

template <class Unused>
std::unique_ptr<session_core> session_code<Unused>::make(options wanted) {
  return std::make_unique<running_session<Unused>>(std::move(wanted));
}

}  // namespace profkit::detail
