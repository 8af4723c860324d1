// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/device_clocks.hpp"
#include "../merge/gpu_period_list.hpp"
#include "../merge/step_list.hpp"
#include "../summary.hpp"
#include "../verdict/step_verdict.hpp"
#include "durations.hpp"
#include "statistics.hpp"

namespace profkit::detail {

/// Host times and times between CUDA events. Without `gpu_period` and what depends on it, and without what a profile has once.
inline step_summary summarize_steps(step_list const& of, std::vector<clock_summary> clocks) {
  step_summary result;
  result.excluded = of.excluded();
  result.items = of.items();
  timed_steps host_times;
  timed_steps gpu_step_times;
  for (timed_step const& step : of.steps()) {
    host_times.add(step.index, step.is_warmup, to_ms(step.host));
    if (step.gpu) gpu_step_times.add(step.index, step.is_warmup, to_ms(*step.gpu));
    if (step.is_warmup) {
      ++result.warmup;
      continue;
    }
    result.host_samples.push_back(to_ms(step.host));
    if (step.gpu) result.gpu_samples.push_back(to_ms(*step.gpu));
  }
  result.host = summarize(result.host_samples);
  if (!result.gpu_samples.empty()) result.gpu = summarize(result.gpu_samples);
  result.clocks = std::move(clocks);
  result.host_verdict = judge_steps(host_times, result.clocks);
  if (result.gpu) result.gpu_verdict = judge_steps(gpu_step_times, result.clocks);
  return result;
}

/// The GPU's period has to exceed the host time by more than this share of it to be the step time. The work of a step that launches
/// asynchronously ends some microseconds after the step, also where the host is what limits it.
inline constexpr double least_gpu_excess = 0.02;

/// @param busy_per_step in which some operation of the measured steps ran: no step time may be shorter.
/// @return n/a without a window of a measured step.
inline std::optional<gpu_period_summary> summarize_gpu_period(gpu_period_list const& of, milliseconds busy_per_step,
                                                              step_summary const& steps) {
  if (of.measured().empty()) return std::nullopt;
  gpu_period_summary result;
  timed_steps times;
  for (gpu_period const& each : of.warmup()) times.add(each.index, true, to_ms(each.time));
  std::chrono::nanoseconds host{};
  std::vector<double> ahead;
  for (gpu_period const& each : of.measured()) {
    times.add(each.index, false, to_ms(each.time));
    result.samples.push_back(to_ms(each.time));
    host += each.host;
    if (each.steps_ahead) ahead.push_back(static_cast<double>(*each.steps_ahead));
  }
  result.time = summarize(result.samples);
  result.verdict = judge_steps(times, steps.clocks);
  result.host_mean = to_ms(host) / static_cast<double>(of.measured().size());
  std::sort(ahead.begin(), ahead.end());
  result.median_steps_ahead = quantile(ahead, 0.5);
  result.max_steps_ahead = quantile(ahead, 1.0);
  result.is_longer = *result.time.mean > (1.0 + least_gpu_excess) * result.host_mean || busy_per_step > *steps.host.mean;
  return result;
}

/// The longest of the mean step times: a host that runs ahead of its devices is not a fast step. Where CUDA events and kernels agree, it
/// is the time between the events.
inline void choose_step_time(step_summary& of, milliseconds busy_per_step) {
  if (!of.host.mean) return;
  of.step_time = {*of.host.mean, "host step time", of.host_verdict.verdict};
  if (of.gpu && *of.gpu->mean > of.step_time->mean) of.step_time = {*of.gpu->mean, "GPU step time", of.gpu_verdict->verdict};
  if (of.gpu_period && of.gpu_period->is_longer) {
    milliseconds const period = *of.gpu_period->time.mean;
    milliseconds const known = of.step_time->mean;
    if (period > (1.0 + least_gpu_excess) * known || busy_per_step > known)
      of.step_time = {period, "GPU step time (kernels)", of.gpu_period->verdict.verdict};
  }
  if (of.step_time->mean.count() <= 0.0) of.step_time.reset();
  if (of.items == 0 || !of.step_time) return;
  double const items_per_step = static_cast<double>(of.items) / static_cast<double>(of.host.count);
  of.items_per_second = items_per_step / std::chrono::duration<double>{of.step_time->mean}.count();
  of.items_per_second_basis = of.step_time->basis;
}

}  // namespace profkit::detail
