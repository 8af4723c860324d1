// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "../collect/collector_list.hpp"
#include "../collect/host_probe.hpp"
#include "../options.hpp"
#include "../profile/error.hpp"
#include "../profile/finite.hpp"
#include "../profile/profile.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/step.hpp"
#include "../report/report.hpp"
#include "auto_stop.hpp"
#include "console.hpp"
#include "find_rank.hpp"
#include "guarded_profile.hpp"
#include "live_reports.hpp"
#include "measure_loop.hpp"
#include "owning_process.hpp"
#include "rank_options.hpp"
#include "session_exit.hpp"
#include "session_factory.hpp"
#include "session_journal.hpp"
#include "session_outputs.hpp"
#include "session_recording.hpp"
#include "session_thread.hpp"

namespace profkit::detail {

/// The implementation of `session`. It is a class template with an unused parameter, so that only translation units that use it compile its
/// functions: all units, or with `PROFKIT_CODE_ELSEWHERE` only the one that includes `profkit/code.hpp`.
template <class Unused>
class session_impl final : public session_core, private ends_with_process {
 public:
  explicit session_impl(options wanted)
      : rank_{wanted.use_rank ? find_rank() : found_rank{}},
        options_{options_of_rank(std::move(wanted), rank_.rank)},
        auto_stop_{options_} {
    recording_.content().set(&profile::item_name, options_.item_name);
    recording_.content().set(&profile::precision, options_.precision);
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
      if (is_of_parent() && !std::exchange(is_child_warned_, true)) warn("this process records nothing: " + process_.why_not_in_child());
      return next;
    }
    // A session in static memory is constructed at the first step, so this registration makes the exit handler run before its destructor.
    if (next.index == 0) session_exit::watch(*this);
    if (!next.warmup) probe_host();
    recording_.expect_step();
    // Before the readings of the collectors, because a tool that starts recording here may need time.
    if (!next.warmup) measure_loop_.open();
    std::uint64_t const begin = ticks(clock_flag_);
    recording_.begin_step({{}, next.index, next.warmup, next.items, next.model_flops, next.has_kernels, false});
    recording_.counters().add_bookkeeping(ticks(clock_flag_) - begin);
    return next;
  }

  void end_step(raw_step const& done) noexcept override {
    call const inside{*this};
    is_step_open_ = false;
    if (!is_running()) return;
    try {
      recording_.end_step(done);
      if (thread_.failure().empty()) {
        recording_.gpu_times().read_scopes_if_due();
      } else {
        recording_.drain_without_thread();
      }
      auto_stop_.add(done, recording_);
      live_reports_.step_ended(done.index + 1);
    } catch (std::exception const& failure) {
      warn("step " + std::to_string(done.index) + " is lost: " + failure.what());
    }
    recording_.counters().add_bookkeeping(ticks(clock_flag_) - done.end_ticks);
  }

  void take(std::unique_ptr<collector> taken) override {
    if (is_of_parent()) {
      recording_.keep(std::move(taken)).fail("the session belongs to the parent process");
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
      } else if (latest.kind() == collector_kind::gpu_utilization && std::exchange(has_utilization_, true)) {
        latest.fail("the session already has this collector");
      } else {
        latest.use_clock(recording_.calendar());
        collector_list::guarded(latest, [&](collector& each) { each.start(content); });
        sample_source* const samples = latest.status().works ? latest.samples() : nullptr;
        if (samples != nullptr && !recording_.use_samples(*samples)) latest.fail("another collector takes samples already");
        if (options_.memory_at_scopes && latest.status().works) latest.poll_at_scopes(content);
        session_exit::watch(*this);
      }
    });
  }

  profkit::report report() override {
    if (is_of_parent()) {
      if (report_) return *report_;
      return report_.emplace(process_.report_in_child());
    }
    call const inside{*this};
    if (is_step_open_) throw error{"profkit::session::report() was called inside a step; call it when the step has ended"};
    profkit::report result = make_report();
    end_process_if_signalled();
    return result;
  }

  profkit::report snapshot() override {
    if (is_of_parent()) return process_.report_in_child();
    if (session_thread::is_current()) {
      throw error{
          "profkit::session::snapshot() was called by a collector, on the session's own thread; call it on a thread of the program"};
    }
    std::optional<recorded_so_far> so_far;
    {
      std::lock_guard<std::mutex> const one{snapshot_mutex_};
      if (is_running()) so_far = recording_.snapshot([this] { return !thread_.is_stopping(); });
    }
    if (so_far) return report_of(std::move(so_far->profile), std::move(so_far->figures));
    call const inside{*this};
    return make_report();
  }

  [[nodiscard]] bool end() noexcept override;

  [[nodiscard]] std::uint64_t wanted_steps() const noexcept override { return options_.max_wanted_steps(); }
  [[nodiscard]] std::uint64_t next_step() const noexcept override { return next_step_; }
  [[nodiscard]] bool has_enough() const noexcept override { return auto_stop_.has_enough(); }

 private:
  /// @param figures n/a: computed from the profile.
  static profkit::report report_of(profile recorded, std::optional<summary> figures) {
    auto content = std::make_shared<profile const>(std::move(recorded));
    if (!figures) {
      profkit::report result{std::move(content)};
      return result;
    }
    profkit::report result{std::move(content), std::make_shared<summary const>(*std::move(figures))};
    return result;
  }

  /// Holds the call lock during a session call. Other threads and the end of the program wait for it.
  struct call {
    explicit call(session_impl& session) : session_{session.is_of_parent() ? nullptr : &session} {
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

    session_impl* session_;
  };

  [[nodiscard]] bool is_running() const noexcept { return __atomic_load_n(&recorder.owner, __ATOMIC_ACQUIRE) == this; }

  [[nodiscard]] bool is_of_parent() const noexcept override { return options_.enabled && process_.is_parent(); }

  /// Runs on the session's thread.
  std::chrono::nanoseconds round() noexcept {
    auto const next = recording_.round([this] { return thread_.is_stopping() || session_signals::received_signal() != 0; });
    if (session_signals::received_signal() != 0 && options_.report_on_signals) end_by_signal();
    return next;
  }

  // session_start.hpp
  void start();
  void make_journal();
  void start_thread();
  [[nodiscard]] std::uint64_t max_kept_steps() const noexcept;

  // session_ending.hpp
  void end_by_signal() noexcept;
  void end_process_if_signalled() noexcept;
  void end_at_exit() noexcept override;
  void warn_if_orphaned() const noexcept;
  void end_with_outputs() noexcept;
  profkit::report make_report();
  void stop();

  /// Runs before the first measured step.
  void probe_host() {
    if (host_speed_) return;
    host_probe_.begin(host_speed_);
    recording_.counters().set_host_speed(host_speed_);
  }

  /// Long, because a collector of the program may be running.
  static constexpr std::chrono::hours max_wait_at_end{1};

  found_rank const rank_;
  options options_;
  owning_process const process_;
  bool is_child_warned_ = false;
  std::optional<session_journal> journal_;
  session_recording recording_;
  session_thread thread_;
  int depth_ = 0;                 ///< number of nested session calls
  std::uint32_t clock_flag_ = 0;  ///< 0 or `use_monotonic_clock`
  std::uint64_t next_step_ = 0;
  auto_stop auto_stop_;
  host_probe host_probe_;
  std::optional<host_speed_record> host_speed_;
  bool has_utilization_ = false;  ///< the program added a collector of this kind
  bool is_step_open_ = false;
  std::mutex snapshot_mutex_;  ///< held while the recording is copied; lock order: after the call lock
  measure_loop measure_loop_;
  std::optional<profkit::report> report_;
  bool has_given_outputs_ = false;
  std::atomic<bool> is_ending_{false};
  live_reports live_reports_;  ///< last member, because its thread uses the others
};

}  // namespace profkit::detail
