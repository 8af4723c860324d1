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
#include "../gpu/gpu_step_windows.hpp"
#include "../summary.hpp"
#include "../verdict/step_verdict.hpp"
#include "durations.hpp"
#include "statistics.hpp"

namespace profkit::detail {

/// Host times and times between CUDA events. Without `gpu_period` and what depends on it.
inline step_summary summarize_steps(profile const& of) {
  step_summary result;
  result.item_name = of.item_name;
  std::map<std::uint64_t, milliseconds> gpu_times;  // by step
  for (gpu_step_record const& step : of.gpu_steps) gpu_times[step.step] += to_ms(step.duration);
  timed_steps host_times;
  timed_steps gpu_step_times;
  for (step_record const& step : of.steps) {
    if (step.is_excluded) {
      ++result.excluded;
      continue;
    }
    host_times.add(step.index, step.warmup, to_ms(step.time.duration()));
    auto const timed = gpu_times.find(step.index);
    if (timed != gpu_times.end()) gpu_step_times.add(step.index, step.warmup, timed->second);
    if (step.warmup) {
      ++result.warmup;
      continue;
    }
    result.items += step.items;
    result.host_samples.push_back(to_ms(step.time.duration()));
    if (timed != gpu_times.end()) result.gpu_samples.push_back(timed->second);
  }
  result.host = summarize(result.host_samples);
  if (!result.gpu_samples.empty()) result.gpu = summarize(result.gpu_samples);
  result.clocks = summarize_clocks(of);
  result.stop = of.stop;
  result.host_verdict = judge_steps(host_times, result.clocks);
  if (result.gpu) result.gpu_verdict = judge_steps(gpu_step_times, result.clocks);
  return result;
}

/// The GPU's period has to exceed the host time by more than this share of it to be the step time. The work of a step that launches
/// asynchronously ends some microseconds after the step, also where the host is what limits it.
inline constexpr double least_gpu_excess = 0.02;

/// @param busy_per_step in which some operation of the measured steps ran: no step time may be shorter.
/// @return n/a without a window of a measured step.
inline std::optional<gpu_period_summary> summarize_gpu_period(profile const& of, gpu_step_windows const& windows,
                                                              milliseconds busy_per_step, step_summary const& steps) {
  if (windows.measured.empty()) return std::nullopt;
  gpu_period_summary result;
  timed_steps times;
  for (gpu_step_window const& each : windows.warmup) times.add(of.steps[each.step].index, true, to_ms(each.time.duration()));
  running_statistics host;
  std::vector<double> ahead;
  for (gpu_step_window const& each : windows.measured) {
    step_record const& step = of.steps[each.step];
    times.add(step.index, false, to_ms(each.time.duration()));
    result.samples.push_back(to_ms(each.time.duration()));
    host.add(to_ms(step.time.duration()).count());
    if (each.steps_ahead) ahead.push_back(static_cast<double>(*each.steps_ahead));
  }
  result.time = summarize(result.samples);
  result.verdict = judge_steps(times, steps.clocks);
  result.host_mean = milliseconds{host.mean().value_or(0.0)};
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
