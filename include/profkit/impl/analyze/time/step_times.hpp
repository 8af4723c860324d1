// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../readings.hpp"
#include "../verdict/series_description.hpp"
#include "../verdict/step_verdict.hpp"
#include "quantiles.hpp"
#include "step_series.hpp"
#include "trend_part.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// @return the level change of measured steps; n/a if there is none.
/// @param session_begin the beginning of the session.
/// @param is_of_gpu the times are GPU periods.
inline std::optional<level_change_summary> summarize_change(own_vector<step_group> const& steps, timestamp session_begin, bool is_of_gpu) {
  own_vector<double> ms;
  ms.reserve(steps.size());
  for (step_group const& step : steps) ms.push_back(step.mean_ms());
  auto const found = ::profkit::describe_parts(ms).change;
  if (!found) return std::nullopt;
  step_group const& step = steps[found->at];
  level_change_summary result;
  result.step = step.index;
  result.time = step.begin.time_since_epoch();
  result.begin = step.begin - session_begin;
  result.before = milliseconds{found->before};
  result.after = milliseconds{found->after};
  result.p_value = found->p_value;
  result.is_of_gpu = is_of_gpu;
  return result;
}

/// Computes the history of the measured steps of a run.
/// @param session_begin 0: unknown.
/// @param memory in the order of the first readings.
/// @param gpu GPU periods of the same steps if they are longer than the host times; otherwise null.
inline run_trend_summary summarize_trend(timestamp session_begin, step_list const& steps, trend_part const& parts,
                                         own_vector<memory_summary> const& memory, gpu_period_list const* gpu) {
  own_vector<step_group> by_time = steps.host().measured_groups();
  own_stable_sort(by_time.begin(), by_time.end(), [](step_group const& a, step_group const& b) { return a.begin < b.begin; });
  timestamp const begin = session_begin != timestamp{} || by_time.empty() ? session_begin : by_time.front().begin;
  run_trend_summary result = parts.summarize(begin, memory);
  result.change =
      gpu == nullptr ? summarize_change(by_time, begin, false) : summarize_change(gpu->measured().measured_groups(), begin, true);
  return result;
}

/// Statistics of steps: exact if each group has one step.
class step_figures {
 public:
  /// @param warmup the preceding warm-up steps; null: they are in `series`.
  explicit step_figures(step_series const& series, step_series const* warmup = nullptr)
      : series_{series}, is_single_{series.is_single() && (warmup == nullptr || warmup->is_single())} {
    if (warmup != nullptr) add(*warmup);
    add(series);
    if (is_single_) return;
    duration_summary const whole = series.measured().summarize();
    grouped_steps groups;
    groups.measured = whole.count;
    groups.warmup = series.warmup() + (warmup != nullptr ? warmup->warmup() : 0);
    if (whole.mean) groups.mean = whole.mean->count();
    if (whole.standard_deviation) groups.deviation = whole.standard_deviation->count();
    groups.sample = std::move(chosen_);
    times_.groups = std::move(groups);
  }

  [[nodiscard]] duration_summary times() const { return is_single_ ? summarize(samples_) : series_.measured().summarize(); }

  /// @return times of the measured steps in order, or means of groups.
  [[nodiscard]] own_vector<milliseconds> const& samples() const noexcept { return samples_; }

  [[nodiscard]] verdict_summary verdict(own_vector<clock_summary> const& clocks) const { return judge_steps(times_, clocks); }

 private:
  void add(step_series const& steps) {
    for (step_group const& each : steps.groups()) {
      times_.add(each.index, each.is_warmup, milliseconds{each.mean_ms()});
      if (each.is_warmup) continue;
      samples_.emplace_back(each.mean_ms());
      if (!is_single_) chosen_.push_back(to_ms(each.chosen_time).count());
    }
  }

  step_series const& series_;
  bool is_single_;
  timed_steps times_;
  own_vector<milliseconds> samples_;
  own_vector<double> chosen_;  ///< the time of one step of each group; empty if each group has one step
};

/// Computes the members from host times and CUDA events; `gpu_period`, its dependents and single values of the profile are filled later.
inline step_summary summarize_steps(step_list const& steps, own_vector<clock_summary> clocks) {
  step_summary result;
  result.excluded = steps.excluded().count();
  result.items = steps.items();
  result.between = steps.between().summarize();
  result.warmup = steps.host().warmup();
  result.clocks = std::move(clocks);
  step_figures const host{steps.host()};
  result.host = host.times();
  result.host_samples = host.samples();
  result.host_verdict = host.verdict(result.clocks);
  step_figures const gpu{steps.gpu()};
  if (gpu.samples().empty()) return result;
  result.gpu = gpu.times();
  result.gpu_samples = gpu.samples();
  result.gpu_verdict = gpu.verdict(result.clocks);
  return result;
}

/// The GPU period must exceed the host time by more than this share to become the step time. The GPU work of an asynchronous step ends some
/// microseconds after the step, even if the host is the limit.
inline constexpr double min_gpu_excess = 0.02;

/// @param busy_per_step GPU busy time per step: a lower bound of the step time.
/// @return n/a without a GPU period of a measured step.
inline std::optional<gpu_period_summary> summarize_gpu_period(gpu_period_list const& periods, milliseconds busy_per_step,
                                                              step_summary const& steps) {
  if (periods.count() == 0) return std::nullopt;
  gpu_period_summary result;
  step_figures const figures{periods.measured(), &periods.warmup()};
  result.time = figures.times();
  result.samples = figures.samples();
  result.verdict = figures.verdict(steps.clocks);
  result.host_mean = to_ms(periods.host()) / static_cast<double>(periods.count());
  result.median_steps_ahead = periods.ahead().quantile(0.5);
  result.max_steps_ahead = periods.ahead().quantile(1.0);
  result.is_longer = *result.time.mean > (1.0 + min_gpu_excess) * result.host_mean || busy_per_step > *steps.host.mean;
  return result;
}

/// Computes the throughput from the items and `loop_time`.
inline void set_throughput(step_summary& steps) {
  if (steps.items <= 0.0 || !steps.step_time) return;
  double const items_per_step = steps.items / static_cast<double>(steps.host.count);
  steps.items_per_second = items_per_step / std::chrono::duration<double>{loop_time(steps)}.count();
  steps.items_per_second_basis = loop_time_basis(steps);
}

/// Chooses the longest mean step time, because a host that runs ahead of its devices does not make a step fast. If CUDA events and kernels
/// agree, it is the time between the events.
inline void choose_step_time(step_summary& steps, milliseconds busy_per_step) {
  if (!steps.host.mean) return;
  steps.step_time = {*steps.host.mean, "host step time", steps.host_verdict.verdict};
  if (steps.gpu && *steps.gpu->mean > steps.step_time->mean)
    steps.step_time = {*steps.gpu->mean, "GPU step time", steps.gpu_verdict->verdict};
  if (steps.gpu_period && steps.gpu_period->is_longer) {
    milliseconds const period = *steps.gpu_period->time.mean;
    milliseconds const known = steps.step_time->mean;
    if (period > (1.0 + min_gpu_excess) * known || busy_per_step > known)
      steps.step_time = {period, "GPU step time (kernels)", steps.gpu_period->verdict.verdict};
  }
  if (steps.step_time->mean.count() <= 0.0) steps.step_time.reset();
  set_throughput(steps);
}

}  // namespace PROFKIT_NAMESPACE::detail
