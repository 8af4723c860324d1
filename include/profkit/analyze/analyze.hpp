// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "../profile/finite.hpp"
#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "gpu/attribution.hpp"
#include "gpu/counted_operations.hpp"
#include "gpu/gpu_idle.hpp"
#include "gpu/gpu_step_windows.hpp"
#include "gpu/gpu_summary.hpp"
#include "gpu/gpu_work.hpp"
#include "gpu/kernel_class.hpp"
#include "gpu/step_budget.hpp"
#include "memory/scope_memory.hpp"
#include "summary.hpp"
#include "time/adopted_scopes.hpp"
#include "time/durations.hpp"
#include "time/measured_time.hpp"
#include "time/path_tree.hpp"
#include "time/run_trend.hpp"
#include "time/scope_rows.hpp"
#include "time/statistics.hpp"
#include "time/step_times.hpp"
#include "time/time_per_step.hpp"
#include "work/model_flops.hpp"
#include "work/scope_work.hpp"

namespace profkit {

namespace detail {

inline std::vector<memory_summary> summarize_memory(profile const& of) {
  std::set<std::uint64_t> measured;
  for (step_record const& step : of.steps) {
    if (step.is_measured()) measured.insert(step.index);
  }
  std::vector<memory_summary> result;
  for (memory_record const& reading : of.memory) {
    if (!of.steps.empty() && measured.count(reading.step) == 0) continue;
    auto row = std::find_if(result.begin(), result.end(),
                            [&](memory_summary const& each) { return each.source == reading.source && each.quantity == reading.quantity; });
    if (row == result.end()) {
      result.push_back({reading.source, reading.quantity, 0, reading.current_bytes, 0, 0, std::nullopt, reading.peak_note});
      row = std::prev(result.end());
    }
    ++row->samples;
    row->last_bytes = reading.current_bytes;
    row->highest_sample_bytes = std::max(row->highest_sample_bytes, reading.current_bytes);
    if (reading.peak_bytes) row->peak_bytes = std::max(row->peak_bytes.value_or(0), *reading.peak_bytes);
  }
  return result;
}

inline std::vector<counter_summary> summarize_counters(profile const& of, measured_time const& when) {
  std::vector<running_statistics> statistics(of.counter_names.size());
  std::vector<counter_summary> result(of.counter_names.size());
  std::vector<timestamp> last(of.counter_names.size());
  for (counter_record const& sample : of.counters) {
    if (!when.contains(sample.time)) continue;
    if (sample.time >= last[sample.counter]) {  // threads are not in order of time among each other
      last[sample.counter] = sample.time;
      result[sample.counter].last = sample.value;
    }
    ++result[sample.counter].count;
    if (is_finite(sample.value)) {
      statistics[sample.counter].add(sample.value);
    } else {
      ++result[sample.counter].not_finite;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    result[i].name = of.counter_names[i];
    result[i].mean = statistics[i].mean().value_or(none);
    result[i].min = statistics[i].min().value_or(none);
    result[i].max = statistics[i].max().value_or(none);
  }
  result.erase(std::remove_if(result.begin(), result.end(), [](counter_summary const& each) { return each.count == 0; }), result.end());
  return result;
}

struct gpu_analysis {
  gpu_analysis(profile const& of, measured_time const& when, path_tree const& tree)
      : launched{attribute(of)}, counted{of, launched, when}, work{of, launched, counted, tree} {
    if (when.steps().empty()) return;
    windows = gpu_step_window_finder{of, launched}.find();
    busy_per_step = work.of_all().busy / static_cast<double>(when.steps().size());
  }

  /// @param is_of_gpu of the steps' windows on the devices, else of the steps on the host.
  void find_idle(profile const& of, measured_time const& when, bool is_of_gpu, kernel_class_rules const& classes) {
    if (!when.has_steps()) return;
    measured_time const wall = is_of_gpu ? measured_time::of_stretches(times_of(windows.measured)) : when;
    idle = find_gpu_idle(of, launched, when, counted, wall);
    budget = step_budget{of, wall, counted, *idle, classes}.summarize();
    budget->is_of_gpu = is_of_gpu;
    if (is_of_gpu) budget->steps = windows.measured.size();
  }

  attribution launched;
  counted_operations counted;
  gpu_work work;
  gpu_step_windows windows;
  milliseconds busy_per_step{};  ///< with an operation of the steps in which kernels were collected
  std::optional<gpu_idle> idle;
  std::optional<budget_summary> budget;

 private:
  /// Without those that take no time.
  static std::vector<interval> times_of(std::vector<gpu_step_window> const& of) {
    std::vector<interval> result;
    for (gpu_step_window const& each : of) {
      if (each.time.begin < each.time.end) result.push_back(each.time);
    }
    return result;
  }
};

inline gpu_summary summarize_gpu(profile const& of, measured_time const& when, gpu_analysis& gpu, time_per_step const& steps,
                                 kernel_class_rules const& classes) {
  gpu_summary result;
  result.all = gpu.work.of_all();
  if (gpu.idle) result.idle = {to_ms(gpu.idle->total), to_ms(gpu.idle->unattributed)};
  result.unattributed_operations = gpu.work.unattributed_operations();
  result.unattributed_kernels = gpu.work.unattributed_kernels();
  result.unattributed_time = result.all.kernel_self;
  graph_node_index const captured{of};
  gpu.counted.for_each([&](timed_operation const& each) {
    if (each.latency != timed_operation::no_latency) return;
    if (gpu.launched.launch_of[each.record] == attribution::none) ++result.unknown_launches;
    std::uint64_t const node = of.gpu_operations[each.record].graph_node;
    if (node == 0) return;
    ++result.operations_of_graphs;
    if (!captured.find(node)) ++result.operations_of_unknown_graphs;
  });
  summarize_names(result, of, gpu.counted.all(), classes, &steps);
  if (of.has_all_api_calls) result.api = summarize_api(of, when);
  result.steps = when.steps().size();
  return result;
}

}  // namespace detail

/// What a program may want otherwise in an analysis.
struct analyze_options {
  kernel_class_rules kernel_classes = default_kernel_classes();
};

/// What a profile comes to, over its measured steps. Pure; takes time in proportion to the records (n log n if they are out of order).
[[nodiscard]] inline summary analyze(profile const& of, analyze_options const& with = {}) {
  detail::measured_time const when{of};
  detail::measured_time const with_kernels = detail::measured_time::with_kernels(of);
  detail::path_tree const tree{of.paths};
  summary result;
  result.environment = of.environment;
  result.covers_steps = when.has_steps();
  result.steps = detail::summarize_steps(of);
  std::optional<detail::gpu_analysis> gpu;
  if (has_kernels(of)) {
    gpu.emplace(of, with_kernels, tree);
    result.steps.gpu_period = detail::summarize_gpu_period(of, gpu->windows, gpu->busy_per_step, result.steps);
    gpu->find_idle(of, with_kernels, result.steps.gpu_period && result.steps.gpu_period->is_longer, with.kernel_classes);
    result.budget = gpu->budget;
  }
  detail::choose_step_time(result.steps, gpu ? gpu->busy_per_step : milliseconds{});
  detail::time_per_step const steps{of, when, with_kernels, gpu ? &gpu->counted : nullptr};
  if (gpu) result.gpu = detail::summarize_gpu(of, with_kernels, *gpu, steps, with.kernel_classes);
  detail::scope_rows const rows{of, when, tree, steps, gpu ? &gpu->work : nullptr, gpu && gpu->idle ? &*gpu->idle : nullptr};
  result.scopes = rows.by_path(result.steps.host.total);
  result.names = rows.by_name();
  detail::summarize_scope_memory(result, of, when, rows.paths());
  std::vector<std::uint32_t> adopted;  // paths
  result.adopted = detail::summarize_adopted(of, when, tree, gpu ? &gpu->launched : nullptr, gpu ? &gpu->counted : nullptr, &adopted);
  result.limits = detail::summarize_limits(of);
  detail::scope_work work{of, gpu ? with_kernels : when, tree};
  work.fill(result, rows.paths(), rows.names());
  work.fill_backward(result, adopted);
  result.model = detail::summarize_model(of, result.steps, result.limits, work);
  result.memory = detail::summarize_memory(of);
  result.counters = detail::summarize_counters(of, when);
  bool const is_gpu_longer = result.steps.gpu_period && result.steps.gpu_period->is_longer;
  result.trend = detail::run_trend{of}.summarize(gpu ? &gpu->counted.all() : nullptr, is_gpu_longer ? &gpu->windows : nullptr);
  result.collectors = of.collectors;
  result.quality = of.quality;
  for (scope_summary const& row : result.scopes) result.scopes_recorded += row.host.count;
  return result;
}

}  // namespace profkit
