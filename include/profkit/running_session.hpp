// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "analyze/stop_rule.hpp"
#include "collect/collector_list.hpp"
#include "collect/gpu_lag.hpp"
#include "collect/host_environment.hpp"
#include "collect/host_probe.hpp"
#include "console.hpp"
#include "options.hpp"
#include "profile/error.hpp"
#include "profile/journal_encoder.hpp"
#include "profile/profile.hpp"
#include "record/log_drain.hpp"
#include "record/memory_poll.hpp"
#include "record/overhead.hpp"
#include "record/step.hpp"
#include "report/report.hpp"
#include "session_code.hpp"
#include "session_journal.hpp"
#include "session_outputs.hpp"

namespace profkit::detail {

/// What `session` promises. A template, so that only the units that use it compile its functions; one unit of a program that defines
/// `PROFKIT_CODE_ELSEWHERE`.
template <class Unused>
class running_session final : public session_core {
 public:
  explicit running_session(options wanted) : options_{std::move(wanted)} {
    profile_.item_name = options_.item_name;
    profile_.precision = options_.precision;
    if (options_.wanted_interval) stop_rule_.emplace(*options_.wanted_interval, options_.warmup_steps, options_.most_steps);
    if (options_.enabled) start();
  }

  ~running_session() override {
    try {
      if (has_outputs(options_) && (is_running() || report_)) write_outputs(report(), options_);
      stop();
    } catch (std::exception const& failure) {
      warn(failure.what());
    }
  }

  raw_step begin_step() override {
    if (is_step_open_) throw error{"a profkit::step is open already; steps of one session cannot nest or overlap"};
    is_step_open_ = true;
    raw_step next;
    next.index = next_step_++;
    next.warmup = next.index < options_.warmup_steps;
    next.has_kernels = options_.collects_kernels_in(next.index);
    next.items = options_.items_per_step;
    next.model_flops = amount_or_zero(options_.model_flops_per_step);
    if (!is_running()) return next;
    std::lock_guard<std::recursive_mutex> const lock{mutex_};
    if (!next.warmup) host_probe_.begin(profile_.environment.host_speed);
    logs_->begin_step();
    // Before the collectors' readings: a tool that records from here on may first take its time.
    if (!next.warmup) open_measure_loop();
    std::uint64_t const begin = ticks(clock_flag_);
    step_record const record{{}, next.index, next.warmup, next.items, next.model_flops, next.has_kernels, false};
    collectors_.for_each([&](collector& each) { each.prepare_step(record); });
    collectors_.for_each([&](collector& each) { each.before_step(record); });
    bookkeeping_ticks_ += ticks(clock_flag_) - begin;
    return next;
  }

  void end_step(raw_step const& done) noexcept override {
    is_step_open_ = false;
    if (!is_running()) return;
    try {
      keep_step(done);
      if (stop_rule_ && !done.warmup) look_whether_enough(done);
    } catch (std::exception const& failure) {
      warn("step " + std::to_string(done.index) + " is lost: " + failure.what());
    }
    std::lock_guard<std::recursive_mutex> const lock{mutex_};
    bookkeeping_ticks_ += ticks(clock_flag_) - done.end_ticks;
  }

  void take(std::unique_ptr<collector> taken) override {
    std::unique_lock<std::recursive_mutex> lock{mutex_, std::defer_lock};
    if (is_running()) lock.lock();
    collector& latest = collectors_.add(std::move(taken));
    if (!options_.enabled) {
      latest.fail("profkit is off");
    } else if (report_ || !is_running()) {
      latest.fail("the session has ended");
    } else if (latest.name() == "kernels" && !options_.kernels) {
      latest.fail("switched off by kernels=off");
    } else {
      latest.use_clock(logs_->calendar());
      collector_list::guarded(latest, [&](collector& each) { each.start(profile_); });
      if (options_.memory_at_scopes && latest.status().works) latest.poll_at_scopes(profile_);
    }
  }

  profkit::report report() override {
    if (report_) return *report_;
    if (is_step_open_) throw error{"profkit::session::report() was called inside a step; call it when the step has ended"};
    if (is_of_parent())
      throw error{"profkit::session::report() was called in the child of a fork; the session and its journal are the parent's"};
    stop();
    describe_collectors();
    report_.emplace(std::make_shared<profile const>(std::move(profile_)));
    return *report_;
  }

  [[nodiscard]] std::uint64_t wanted_steps() const noexcept override { return options_.most_wanted_steps(); }
  [[nodiscard]] std::uint64_t next_step() const noexcept override { return next_step_; }
  [[nodiscard]] bool has_enough() const noexcept override { return has_enough_; }
  [[nodiscard]] bool is_of_parent() const noexcept override { return journal_ && journal_->is_of_parent(); }

 private:
  [[nodiscard]] bool is_running() const noexcept { return __atomic_load_n(&recorder.owner, __ATOMIC_ACQUIRE) == this; }

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
    watch_forks();
    recorder.most_records = options_.most_records;
    install_logs(options_.log_slots_per_thread);
    install_unusual_scopes();
    bool const has_counter = counter_is_invariant();
    clock_flag_ = has_counter ? 0 : use_monotonic_clock;
    profile_.quality.clock = has_counter ? "time-stamp counter" : "CLOCK_MONOTONIC";
    warm_up_log_of_this_thread();
    keep_spare_logs();
    profile_.quality.cost_of_1000_scopes = measure_cost_of_1000_scopes(clock_flag_);
    profile_.environment = describe_host();
    __atomic_fetch_add(&recorder.session, 1, __ATOMIC_RELAXED);
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      side->reset();
    }
    logs_.emplace(clock_flag_);
    last_drain_ns_ = monotonic_ns();
    __atomic_fetch_or(&recorder.flags, recording | clock_flag_, __ATOMIC_RELEASE);
    if (journal_) journal_->start([this](bool last, std::string& to) { give_news(last, to); });
  }

  /// Where the environment asks for a journal that cannot be made, the session goes on without.
  void make_journal() {
    try {
      journal_.emplace(options_.journal);
    } catch (error const& failure) {
      bool const is_of_environment = options_.journal == options::from_env().journal;
      if (!is_of_environment) throw;
      no_journal_ = failure.what();
      warn(no_journal_ + ". The session goes on without it");
    }
  }

  void stop() {
    if (!is_running()) return;
    measure_host_again();
    close_measure_loop();
    stop_polling();
    __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
    if (journal_) journal_->catch_up();  // the last drain may wait for the GPU
    {
      std::lock_guard<std::recursive_mutex> const lock{mutex_};
      drain(true);
      collectors_.for_each([](collector& each) { each.stop(); });
      if (stop_rule_) profile_.stop = stop_rule_->result();
      describe_so_far();
      is_complete_ = true;
    }
    if (journal_) journal_->finish();
    __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
  }

  void measure_host_again() {
    std::lock_guard<std::recursive_mutex> const lock{mutex_};
    host_probe_.end(profile_.environment.host_speed);
  }

  void keep_step(raw_step const& done) {
    std::lock_guard<std::recursive_mutex> const lock{mutex_};
    step_record const record{{}, done.index, done.warmup, done.items, done.model_flops, done.has_kernels, done.is_excluded};
    collectors_.for_each([&](collector& each) { each.after_step(record); });
    logs_->end_step(done);
    if (done.is_abandoned) ++profile_.quality.abandoned_steps;
    if (monotonic_ns() - last_drain_ns_ >= log_drain::shortest_interval.count()) drain(false);
  }

  void drain(bool last) {
    if (last || logs_->is_due()) logs_->drain(profile_, last);
    last_drain_ns_ = monotonic_ns();
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      side->drain(profile_, last);
    }
    collectors_.for_each([&](collector& each) { each.drain(profile_, last); });
  }

  /// On the journal's thread. @param last the program ends; the session may not have.
  void give_news(bool last, std::string& to) {
    // The steps come first; and the program may end while one of its collectors is at work.
    std::unique_lock<std::recursive_mutex> const lock = lock_within(mutex_, std::chrono::seconds{1});
    if (!lock.owns_lock()) return;
    if (!is_complete_) {
      if (last || logs_->is_due()) logs_->drain(profile_, false);
      collectors_.drain_in_step(profile_);
      describe_so_far();
    }
    std::uint64_t& open = profile_.quality.open_scopes;
    std::uint64_t const left_open = open;
    if (!is_complete_) open += logs_->open_scopes();  // for whoever reads it if this is the last that is written
    encoder_.append(profile_, is_complete_, to);
    open = left_open;
  }

  void describe_so_far() {
    profile_.time = logs_->time();
    profile_.quality.clock_changes = logs_->calendar().changes();
    profile_.quality.clock_change = logs_->calendar().change();
    profile_.quality.bookkeeping = logs_->clock().duration(bookkeeping_ticks_);
    describe_collectors();
  }

  void describe_collectors() {
    collectors_.describe(profile_);
    if (!no_journal_.empty()) profile_.collectors.push_back({"journal", "not written", no_journal_});
    if (!journal_) return;
    std::string const failure = journal_->failure();
    profile_.collectors.push_back({"journal", failure.empty() ? "written" : "not written", failure.empty() ? journal_->file() : failure});
  }

  void look_whether_enough(raw_step const& done) {
    if (done.is_abandoned || done.is_excluded) return stop_rule_->leave_out(done.index);
    bool const has_gpu = collectors_.time_steps();
    stop_rule_->add(static_cast<double>(done.end_ticks - done.begin_ticks));
    // Of the profile they look at GPU step times alone, which no other thread adds to.
    if (has_gpu) {
      gpu_lag_.limit(done.index, profile_, [this] {
        std::lock_guard<std::recursive_mutex> const lock{mutex_};
        collectors_.for_each([&](collector& each) { each.drain(profile_, false); });
      });
    }
    std::unique_lock<std::recursive_mutex> lock{mutex_};
    milliseconds const tick = milliseconds{logs_->clock().duration(1'000'000'000)} / 1e9;
    lock.unlock();
    has_enough_ = stop_rule_->look(profile_, has_gpu, tick);
  }

  void open_measure_loop() noexcept {
    if (measure_loop_ || (__atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE) & nvtx_attached) == 0) return;
    static site where{"measure_loop", __FILE__, __LINE__};
    measure_loop_ = recorder.nvtx_start(where);
  }

  void close_measure_loop() noexcept {
    if (!measure_loop_) return;
    recorder.nvtx_end(*measure_loop_);
    measure_loop_.reset();
  }

  options options_;
  std::optional<session_journal> journal_;
  std::string no_journal_;  ///< why there is none though one is wanted
  /// Of all that the journal's thread uses, too: the profile, the collectors, the logs as far as they are read, and clocks. The session's
  /// thread holds it between steps; a collector may ask for more than it is given, such as another collector.
  std::recursive_mutex mutex_;
  profile profile_;
  collector_list collectors_;
  std::optional<log_drain> logs_;  ///< once the session runs
  journal_encoder encoder_;
  std::int64_t last_drain_ns_ = 0;  ///< of the collectors
  bool is_complete_ = false;        ///< drained for the last time
  std::uint32_t clock_flag_ = 0;    ///< 0 or `use_monotonic_clock`
  std::uint64_t next_step_ = 0;
  std::optional<stop_rule> stop_rule_;  ///< with `steps=auto`
  bool has_enough_ = false;             ///< as it says
  gpu_lag gpu_lag_;
  host_probe host_probe_;
  std::uint64_t bookkeeping_ticks_ = 0;
  bool is_step_open_ = false;
  std::optional<std::uint64_t> measure_loop_;  ///< number of the NVTX range
  std::optional<profkit::report> report_;
};

template <class Unused>
std::unique_ptr<session_core> session_code<Unused>::make(options wanted) {
  return std::make_unique<running_session<Unused>>(std::move(wanted));
}

}  // namespace profkit::detail
