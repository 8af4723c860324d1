// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyze/analyze.hpp"
#include "analyze/stop_rule.hpp"
#include "collect/collector.hpp"
#include "collect/gpu_lag.hpp"
#include "collect/host_environment.hpp"
#include "options.hpp"
#include "profile/error.hpp"
#include "record/log_reader.hpp"
#include "record/memory_poll.hpp"
#include "record/overhead.hpp"
#include "record/step.hpp"
#include "report/report.hpp"

namespace profkit {

/// Records from its construction to `report()` or its end. One per process at a time; steps, `collect` and `report` belong to the
/// thread that made it, scopes to any thread.
///
/// With a tool attached that listens to NVTX, the range `measure_loop` of the domain `profkit` is open from just before the first measured
/// step until the session stops. It is a range of the process (start/end): those of scopes nest as they do without it.
///
///     profkit::session session{options};
///     for (profkit::step step : session) { ... }
///     fmt::print("{}\n", session.report());
class session final : public step_loop {
 public:
  /// @throws profkit::error if another session runs.
  explicit session(options wanted = options::from_env());

  /// Stops; prints and writes the report, and the trace, if the options say so. Errors go to stderr.
  ~session();

  /// Takes a collector: `session.collect(profkit::host_memory())`. One that cannot work says so in the report.
  /// @return the collector, which the session owns.
  template <class Collector>
  std::remove_reference_t<Collector>& collect(Collector&& collector) {
    static_assert(!std::is_lvalue_reference_v<Collector>, "the session owns its collectors: pass a temporary, or std::move");
    auto owned = std::make_unique<Collector>(std::forward<Collector>(collector));
    Collector& result = *owned;
    take(std::move(owned));
    return result;
  }

  /// Stops, drains and analyses. May wait up to 5 seconds for the GPU to complete what was timed. Does not synchronise the device, except
  /// that a collector of kernels waits until it has done its work.
  /// Called again, gives the same report.
  /// @throws profkit::error if a step is open.
  profkit::report report();

  /// Whether one more step is wanted, for loops that make their steps themselves: `while (session.wants_step())`. `warmup_steps` and
  /// `measured_steps` are; with `steps=auto`, as many as it takes to know their mean.
  [[nodiscard]] bool wants_step() const noexcept { return !has_enough_ && next_step_ < wanted_steps(); }

  class iterator {
   public:
    iterator(session* loop, std::uint64_t left) noexcept : loop_{loop}, left_{left} {}
    [[nodiscard]] step operator*() const { return step{*loop_}; }
    iterator& operator++() noexcept {
      --left_;
      return *this;
    }
    [[nodiscard]] bool operator!=(iterator const& other) const noexcept { return left_ != other.left_ && !loop_->has_enough_; }

   private:
    session* loop_;
    std::uint64_t left_;
  };
  [[nodiscard]] iterator begin() noexcept { return {this, wanted_steps()}; }
  [[nodiscard]] iterator end() noexcept { return {this, 0}; }

 private:
  /// A shorter line between clock anchors would carry their jitter into durations.
  static constexpr std::chrono::nanoseconds shortest_drain_interval = std::chrono::milliseconds{10};

  detail::raw_step begin_step() override;
  void end_step(detail::raw_step const& done) noexcept override;

  void start();
  void stop();
  [[nodiscard]] std::uint64_t wanted_steps() const noexcept { return options_.warmup_steps + options_.most_measured_steps(); }
  void open_measure_loop() noexcept;
  void close_measure_loop() noexcept;
  void look_whether_enough(detail::raw_step const& done);
  void drain(bool last);
  void take(std::unique_ptr<collector> taken);
  [[nodiscard]] bool is_running() const noexcept { return __atomic_load_n(&detail::recorder.owner, __ATOMIC_ACQUIRE) == this; }

  /// Runs `call` for every collector that works; what it throws ends that collector only.
  template <class Call>
  void for_each_collector(Call&& call) noexcept {
    for (auto const& each : collectors_) {
      if (each->status().works) guarded(*each, call);
    }
  }
  template <class Call>
  static void guarded(collector& each, Call&& call) noexcept {
    try {
      call(each);
    } catch (std::exception const& failure) {
      each.fail(failure.what());
    }
  }

  options options_;
  profile profile_;
  std::vector<std::unique_ptr<collector>> collectors_;
  std::optional<detail::log_reader> reader_;
  std::optional<detail::clock_line> clock_;
  std::vector<detail::raw_step> finished_steps_;  ///< not converted yet
  std::uint32_t clock_flag_ = 0;                  ///< 0 or `use_system_clock`
  std::uint64_t next_step_ = 0;
  std::optional<stop_rule> stop_rule_;  ///< with `steps=auto`
  bool has_enough_ = false;             ///< as it says
  detail::gpu_lag gpu_lag_;
  std::uint64_t bookkeeping_ticks_ = 0;
  std::int64_t start_ns_ = 0;
  bool is_step_open_ = false;
  std::optional<std::uint64_t> measure_loop_;  ///< number of the NVTX range
  std::optional<profkit::report> report_;
};

inline session::session(options wanted) : options_{std::move(wanted)} {
  profile_.item_name = options_.item_name;
  profile_.precision = options_.precision;
  if (options_.wanted_interval) stop_rule_.emplace(*options_.wanted_interval, options_.warmup_steps, options_.most_steps);
  if (options_.enabled) start();
}

inline session::~session() {
  try {
    bool const has_output = !options_.output_directory.empty();
    if (options_.enabled && (is_running() || report_) && (options_.print_report || has_output || options_.trace)) {
      profkit::report const last = report();
      if (options_.print_report) fmt::print("{}\n", last);
      if (has_output) last.write(options_.output_directory, options_.trace_steps);
      if (options_.trace && !has_output) last.write_trace("trace.json", options_.trace_steps);
    }
    stop();
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "profkit: %s\n", failure.what());
  }
}

inline void session::start() {
  if ((options_.log_slots_per_thread & (options_.log_slots_per_thread - 1)) != 0 || options_.log_slots_per_thread < 16) {
    throw error{"profkit::options::log_slots_per_thread is " + std::to_string(options_.log_slots_per_thread) +
                "; it must be a power of two, at least 16"};
  }
  void const* nobody = nullptr;
  if (!__atomic_compare_exchange_n(&detail::recorder.owner, &nobody, static_cast<void const*>(this), false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    throw error{"a profkit::session runs already; there can be one per process at a time. End it, or call its report(), first"};
  }
  detail::watch_forks();
  detail::slots_per_log = options_.log_slots_per_thread;
  detail::recorder.attach_thread = detail::attach_this_thread;
  bool const has_counter = detail::counter_is_invariant();
  clock_flag_ = has_counter ? 0 : detail::use_system_clock;
  profile_.quality.clock = has_counter ? "time-stamp counter" : "clock_gettime";
  profile_.quality.cost_of_1000_scopes = detail::measure_cost_of_1000_scopes(clock_flag_);
  profile_.environment = detail::describe_host();
  __atomic_fetch_add(&detail::recorder.session, 1, __ATOMIC_RELAXED);
  reader_.emplace();
  for (detail::side_log* side = __atomic_load_n(&detail::recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
    side->reset();
  }
  detail::clock_anchor const now = detail::read_anchor(clock_flag_);
  start_ns_ = now.ns;
  clock_.emplace(now);
  __atomic_fetch_or(&detail::recorder.flags, detail::recording | clock_flag_, __ATOMIC_RELEASE);
}

inline void session::take(std::unique_ptr<collector> taken) {
  collectors_.push_back(std::move(taken));
  collector& latest = *collectors_.back();
  if (!options_.enabled) {
    latest.fail("profkit is off");
  } else if (report_ || !is_running()) {
    latest.fail("the session has ended");
  } else if (latest.name() == "kernels" && !options_.kernels) {
    latest.fail("switched off by kernels=off");
  } else {
    guarded(latest, [&](collector& each) { each.start(profile_); });
    if (options_.memory_at_scopes && latest.status().works) latest.poll_at_scopes(profile_);
  }
}

inline void session::open_measure_loop() noexcept {
  if (measure_loop_ || (__atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE) & detail::nvtx_attached) == 0) return;
  static site where{"measure_loop", __FILE__, __LINE__};
  measure_loop_ = detail::recorder.nvtx_start(where);
}

inline void session::close_measure_loop() noexcept {
  if (!measure_loop_) return;
  detail::recorder.nvtx_end(*measure_loop_);
  measure_loop_.reset();
}

inline detail::raw_step session::begin_step() {
  if (is_step_open_) throw error{"a profkit::step is open already; steps of one session cannot nest or overlap"};
  is_step_open_ = true;
  detail::raw_step next;
  next.index = next_step_++;
  next.warmup = next.index < options_.warmup_steps;
  next.items = options_.items_per_step;
  next.model_flops = options_.model_flops_per_step;
  if (!is_running()) return next;
  // Before the collectors' readings: a tool that records from here on may first take its time.
  if (!next.warmup) open_measure_loop();
  std::uint64_t const begin = detail::ticks(clock_flag_);
  step_record const record{{}, next.index, next.warmup, next.items, next.model_flops};
  for_each_collector([&](collector& each) { each.before_step(record); });
  bookkeeping_ticks_ += detail::ticks(clock_flag_) - begin;
  return next;
}

inline void session::end_step(detail::raw_step const& done) noexcept {
  is_step_open_ = false;
  if (!is_running()) return;
  step_record const record{{}, done.index, done.warmup, done.items, done.model_flops};
  for_each_collector([&](collector& each) { each.after_step(record); });
  try {
    if (done.is_abandoned) {
      ++profile_.quality.abandoned_steps;
    } else {
      finished_steps_.push_back(done);
    }
    auto const now = static_cast<std::int64_t>(detail::system_clock_ticks());
    if (now - clock_->newest().ns >= shortest_drain_interval.count()) drain(false);
    if (stop_rule_ && !done.warmup && !done.is_abandoned) look_whether_enough(done);
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "profkit: step %llu is lost: %s\n", static_cast<unsigned long long>(done.index), failure.what());
  }
  bookkeeping_ticks_ += detail::ticks(clock_flag_) - done.end_ticks;
}

inline void session::look_whether_enough(detail::raw_step const& done) {
  bool has_gpu = false;
  for_each_collector([&](collector const& each) { has_gpu = has_gpu || each.times_steps(); });
  stop_rule_->add(static_cast<double>(done.end_ticks - done.begin_ticks));
  if (has_gpu) gpu_lag_.limit(done.index, profile_, [this] { for_each_collector([&](collector& each) { each.drain(profile_, false); }); });
  has_enough_ = stop_rule_->look(profile_, has_gpu, milliseconds{clock_->duration(1'000'000'000)} / 1e9);
}

inline void session::drain(bool last) {
  clock_->advance(detail::read_anchor(clock_flag_));
  reader_->drain(profile_, *clock_, last);
  for (detail::raw_step const& each : finished_steps_) {
    profile_.steps.push_back(
        {{clock_->convert(each.begin_ticks), clock_->convert(each.end_ticks)}, each.index, each.warmup, each.items, each.model_flops});
  }
  finished_steps_.clear();
  for (detail::side_log* side = __atomic_load_n(&detail::recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
    side->drain(profile_, last);
  }
  for_each_collector([&](collector& each) { each.drain(profile_, last); });
}

inline void session::stop() {
  if (!is_running()) return;
  close_measure_loop();
  detail::stop_polling();
  __atomic_fetch_and(&detail::recorder.flags, ~(detail::recording | detail::use_system_clock), __ATOMIC_RELEASE);
  drain(true);
  for_each_collector([](collector& each) { each.stop(); });
  profile_.time = {timestamp{std::chrono::nanoseconds{start_ns_}}, timestamp{std::chrono::nanoseconds{clock_->newest().ns}}};
  if (stop_rule_) profile_.stop = stop_rule_->result();
  profile_.quality.clock_changes = clock_->times_set();
  profile_.quality.bookkeeping = clock_->duration(bookkeeping_ticks_);
  __atomic_store_n(&detail::recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
}

inline profkit::report session::report() {
  if (report_) return *report_;
  if (is_step_open_) throw error{"profkit::session::report() was called inside a step; call it when the step has ended"};
  stop();
  for (auto const& each : collectors_) {
    collector_status const& status = each->status();
    profile_.collectors.push_back({std::string{each->name()}, status.works ? "collected" : "not collected", status.reason});
  }
  report_.emplace(std::make_shared<profile const>(std::move(profile_)));
  return *report_;
}

}  // namespace profkit
