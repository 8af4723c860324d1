// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "../../../error.hpp"
#include "../../../options.hpp"
#include "../../../profile.hpp"
#include "../../../report.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/atomic_file.hpp"
#include "../../profile/file_access.hpp"
#include "../../record/log_memory.hpp"
#include "../../record/own_thread.hpp"
#include "../../report/headline.hpp"
#include "../../report/report_view.hpp"
#include "../../report/shown_text.hpp"
#include "../console.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The beginning of each file of metrics.
inline constexpr std::string_view metrics_magic = "# HELP profkit_";

/// Replaces the file of `PROFKIT=metrics=FILE`.
/// @throws profkit::error that names the file and the reason, also if the file is not empty and is no file of metrics.
inline void write_metrics_file(std::string const& path, std::string_view text) {
  std::error_code failure;
  bool const has_content = std::filesystem::is_regular_file(path, failure) && std::filesystem::file_size(path, failure) > 0;
  if (has_content && !begins_with(path, metrics_magic))
    throw error{
        "cannot write " + shown_path(path) + ": it exists and is not a file of profkit's metrics. Remove it, or choose another name",
        EEXIST};
  write_file(path, text);
}

/// The figures of a session in Prometheus' text format, version 0.0.4. Source: "Exposition formats" in Prometheus' documentation.
class metrics_text {
 public:
  /// @param all the figures so far.
  /// @param has_ended the session has ended.
  [[nodiscard]] static std::string of(summary const& all, bool has_ended) {
    metrics_text made{all.environment};
    made.add_steps(all);
    made.add_devices(all);
    made.add_memory(all);
    made.add_communication(all.timeline);
    made.one("session_seconds", "gauge", "Time since the session began.", all.elapsed.count() / 1e3);
    made.one("session_ended", "gauge", "1 if the session has ended.", has_ended ? 1.0 : 0.0);
    made.one("dropped_events_total", "counter", "Scopes and counters that were not recorded.",
             static_cast<double>(all.quality.dropped_events));
    return std::move(made.text_);
  }

 private:
  explicit metrics_text(environment_record const& where) {
    std::string const program = where.command.empty() ? std::string{} : where.command.front();
    labels_ = label("program", program.substr(program.rfind('/') + 1)) + "," +
              label("rank", where.rank ? std::to_string(where.rank->rank) : std::string{}) + "," +
              label("pid", std::to_string(where.process_id));
  }

  /// A label with its value as UTF-8, escaped.
  [[nodiscard]] static std::string label(char const* name, std::string_view value) {
    std::string result = std::string{name} + "=\"";
    for (char const each : as_utf8(value)) {
      if (each == '\\' || each == '"') result += '\\';
      result += each == '\n' ? std::string{"\\n"} : std::string(1, each);
    }
    return result + '"';
  }

  void begin(char const* name, char const* type, char const* help) {
    text_ += fmt::format("# HELP profkit_{0} {1}\n# TYPE profkit_{0} {2}\n", name, help, type);
  }
  void sample(std::string const& name, std::string const& more, double value) {
    if (std::isfinite(value)) text_ += fmt::format("profkit_{}{{{}{}{}}} {}\n", name, labels_, more.empty() ? "" : ",", more, value);
  }
  void one(char const* name, char const* type, char const* help, std::optional<double> value) {
    if (!value) return;
    begin(name, type, help);
    sample(name, {}, *value);
  }
  /// Samples of a list: `more_of` returns the labels of an entry, `value_of` its value or n/a.
  template <class List, class Labels, class Value>
  void each_of(char const* name, char const* help, List const& list, Labels const& more_of, Value const& value_of) {
    bool has_begun = false;
    for (auto const& each : list) {
      std::optional<double> const value = value_of(each);
      if (!value) continue;
      if (!std::exchange(has_begun, true)) begin(name, "gauge", help);
      sample(name, more_of(each), *value);
    }
  }

  void add_steps(summary const& all) {
    step_summary const& steps = all.steps;
    begin("steps_total", "counter", "Steps that have ended, by kind.");
    sample("steps_total", R"(kind="measured")", static_cast<double>(all.covers_steps ? steps.host.count : 0));
    sample("steps_total", R"(kind="warmup")", static_cast<double>(steps.warmup));
    sample("steps_total", R"(kind="excluded")", static_cast<double>(steps.excluded));
    sample("steps_total", R"(kind="abandoned")", static_cast<double>(all.quality.abandoned_steps));
    if (!all.covers_steps || steps.host.count == 0) return;
    begin("step_seconds", "summary", "Host time of the measured steps; quantiles of the whole session.");
    std::pair<char const*, std::optional<milliseconds>> const quantiles[] = {
        {R"(quantile="0.5")", steps.host.median}, {R"(quantile="0.95")", steps.host.p95}, {R"(quantile="0.99")", steps.host.p99}};
    for (auto const& [more, time] : quantiles) sample("step_seconds", more, time ? time->count() / 1e3 : std::nan(""));
    sample("step_seconds_sum", {}, steps.host.total.count() / 1e3);
    sample("step_seconds_count", {}, static_cast<double>(steps.host.count));
    if (!all.trend.windows.empty())
      one("recent_step_seconds", "gauge", "Mean host time of the latest steps.", all.trend.windows.back().mean.count() / 1e3);
    if (steps.items_per_second) {
      begin("items_total", "counter", "Items of the measured steps.");
      sample("items_total", label("item", steps.item_name), steps.items);
      begin("items_per_second", "gauge", "Items per second of the measured steps.");
      sample("items_per_second", label("item", steps.item_name), *steps.items_per_second);
    }
    if (!all.model) return;
    one("model_flops_per_second", "gauge", "Floating-point operations of the model per second.", all.model->flops_per_second);
    one("model_flops_utilization_ratio", "gauge", "Share of the published peak of the device (MFU).", all.model->utilization);
  }

  void add_devices(summary const& all) {
    if (all.budget && all.budget->wall.count() > 0.0) {
      budget_summary const& budget = *all.budget;
      one("gpu_busy_ratio", "gauge", "Share of the step time with a running GPU operation.", budget.busy / budget.wall);
      static constexpr std::array<char const*, idle_causes> causes{"launching", "host", "synchronisation", "copy", "queued"};
      begin("gpu_idle_ratio", "gauge", "Share of the step time in which the GPU was idle, by cause.");
      std::array<milliseconds, idle_causes> const idle = idle_of_all(budget);
      for (std::size_t cause = 0; cause < causes.size(); ++cause)
        sample("gpu_idle_ratio", label("cause", causes[cause]), idle[cause] / budget.wall);
    }
    auto const device = [](auto const& each) { return label("device", std::to_string(each.device)); };
    auto const& clocks = all.steps.clocks;
    each_of("gpu_power_watts", "Mean power after the measured steps.", clocks, device, [](auto const& each) { return each.mean_watt; });
    each_of("gpu_energy_per_step_joules", "Mean power times the wall time of the loop for a step.", clocks, device, [&](auto const& each) {
      return each.mean_watt ? std::optional{*each.mean_watt * loop_time(all.steps).count() / 1e3} : std::nullopt;
    });
    each_of(
        "energy_per_step_joules", "Measured energy of a step.", all.energy, [](auto const& each) { return label("meter", each.meter); },
        [](auto const& each) { return std::optional{each.joules_per_step}; });
    each_of("gpu_temperature_max_celsius", "Highest temperature in measured steps.", clocks, device,
            [](auto const& each) { return each.max_celsius ? std::optional<double>{*each.max_celsius} : std::nullopt; });
    each_of("gpu_throttled_ratio", "Share of the readings that show a reduced clock.", clocks, device, [](auto const& each) {
      return each.readings > 0 ? std::optional{static_cast<double>(each.throttled_readings) / static_cast<double>(each.readings)}
                               : std::nullopt;
    });
    each_of("gpu_sm_active_ratio", "Share of the time in which a multiprocessor had a warp, by all programs.", all.utilization, device,
            [](auto const& each) { return each.sm_active ? std::optional{each.sm_active->mean} : std::nullopt; });
  }

  void add_memory(summary const& all) {
    auto const bytes = [](auto value) { return std::optional{static_cast<double>(value)}; };
    auto const source = [](auto const& each) { return label("source", each.source); };
    auto const quantity = [&](memory_summary const& each) { return source(each) + "," + label("quantity", each.quantity); };
    each_of("memory_bytes", "Memory at the end of the last measured step.", all.memory, quantity,
            [&](auto const& each) { return bytes(each.last_bytes); });
    each_of("memory_max_bytes", "Highest reading after a measured step.", all.memory, quantity,
            [&](auto const& each) { return bytes(each.max_sample_bytes); });
    each_of("memory_capacity_bytes", "Size of the memory.", all.memory, quantity,
            [&](auto const& each) { return each.capacity_bytes ? bytes(*each.capacity_bytes) : std::nullopt; });
    each_of("allocated_bytes", "Live allocations at the end of the last measured step.", all.allocators, source,
            [&](auto const& each) { return bytes(each.last_bytes); });
    each_of("allocated_max_bytes", "Most live allocations in a measured step.", all.allocators, source,
            [&](auto const& each) { return bytes(each.max_bytes); });
  }

  /// Of a long session, the timeline has a sample of the steps, so these are means.
  void add_communication(std::optional<rank_timeline> const& timeline) {
    std::chrono::duration<double> all{};
    std::chrono::duration<double> exposed{};
    double steps = 0.0;
    for (std::size_t i = 0; timeline && i < timeline->steps.size(); ++i) {
      timeline_step const& each = timeline->steps[i];
      if (!each.is_measured) continue;
      all += each.communication;
      exposed += each.exposed;
      steps += 1.0;
    }
    if (steps == 0.0) return;
    one("communication_per_step_seconds", "gauge", "Mean time of a step in collectives and messages, with their waits.",
        all.count() / steps);
    one("exposed_communication_per_step_seconds", "gauge", "The part of it in which nothing else ran.", exposed.count() / steps);
  }

  std::string labels_;
  std::string text_;
};

/// Writes the metrics of `PROFKIT=metrics=FILE`, and the reports of `PROFKIT=report=every:60s` and `report=every:1000`: files in the output
/// directory, or a line on stderr without a directory. They have their own thread, which asks the owner for snapshots. So neither an
/// analysis nor a slow disk delays draining.
///
/// A report that takes longer than the period, or than the steps, delays the next one. The thread rests at least as long as the report
/// took, so it uses at most half of one core.
class live_reports {
 public:
  live_reports() = default;
  live_reports(live_reports const&) = delete;
  live_reports& operator=(live_reports const&) = delete;

  /// The functions of a session that the thread calls.
  struct sources {
    std::function<report()> take_snapshot;
    std::function<std::optional<summary>()> take_figures;   ///< n/a if there is no answer
    std::function<void(std::string)> tell_metrics_failure;  ///< empty: the last metrics were written
  };

  /// Starts the thread. Does nothing without a period, a number of steps, or metrics.
  /// @param wanted the options of the session; borrowed.
  /// @param from called on the report thread.
  /// @param metrics_failed whether the first metrics could not be written.
  void start(options const& wanted, sources from, bool metrics_failed) {
    if (wanted.report_every <= std::chrono::milliseconds{0} && wanted.report_every_steps == 0 && wanted.metrics.empty()) return;
    wanted_ = &wanted;
    from_ = std::move(from);
    metrics_failed_ = metrics_failed;
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
    clock::duration const metrics_period = std::max<std::chrono::milliseconds>(wanted_->metrics_every, std::chrono::milliseconds{1});
    clock::time_point rested = clock::now();
    clock::time_point next = rested + (has_period ? period : longest);
    clock::time_point next_metrics = rested + (wanted_->metrics.empty() ? longest : std::min<clock::duration>(metrics_period, longest));
    while (!is_stopping_.load()) {
      clock::time_point const now = clock::now();
      if (now < rested) {
        wakes_.wait(rested - now);
      } else if ((has_period && now >= next) || is_requested_.exchange(false)) {
        make_report();
        clock::time_point const done = clock::now();
        rested = done + (done - now);
        if (now >= next) next = std::max(next + period, rested);
      } else if (now >= next_metrics) {
        write_metrics();
        clock::time_point const done = clock::now();
        rested = done + (done - now);
        next_metrics = std::max(next_metrics + metrics_period, rested);
      } else {
        wakes_.wait(
            std::min<clock::duration>(std::max(std::min(next, next_metrics) - now, clock::duration{1'000'000}), std::chrono::hours{1}));
      }
    }
    has_left_.store(true);
  }

  void write_metrics() noexcept {
    try {
      std::optional<summary> const so_far = from_.take_figures();
      if (!so_far) return;
      std::string const text = metrics_text::of(*so_far, false);
      is_writing_.store(true);
      if (!is_stopping_.load()) write_metrics_file(wanted_->metrics, text);
      is_writing_.store(false);
      if (std::exchange(metrics_failed_, false)) from_.tell_metrics_failure({});
    } catch (std::exception const& failure) {  // the next ones are tried again
      is_writing_.store(false);
      if (is_stopping_.load() || std::exchange(metrics_failed_, true)) return;
      from_.tell_metrics_failure(failure.what());
    }
  }

  void make_report() noexcept {
    try {
      report const so_far = from_.take_snapshot();
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
  sources from_;
  bool metrics_failed_ = false;
  std::string last_failure_;               ///< each message is printed once
  std::atomic<bool> is_requested_{false};  ///< by `step_ended`
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_writing_{false};
  std::atomic<bool> has_left_{false};
  waker wakes_;
  std::unique_ptr<own_thread> thread_;
};

}  // namespace PROFKIT_NAMESPACE::detail
