// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "statistics.hpp"
#include "summary.hpp"

namespace profkit {

namespace detail {

inline milliseconds to_ms(std::chrono::nanoseconds duration) { return std::chrono::duration_cast<milliseconds>(duration); }

inline std::optional<milliseconds> to_ms(std::optional<double> ms) {
  if (!ms) return std::nullopt;
  return milliseconds{*ms};
}

inline duration_summary summarize(running_statistics const& ms) {
  duration_summary result;
  result.count = ms.count();
  result.total = milliseconds{ms.total()};
  result.mean = to_ms(ms.mean());
  result.standard_deviation = to_ms(ms.standard_deviation());
  result.min = to_ms(ms.min());
  result.max = to_ms(ms.max());
  return result;
}

inline duration_summary summarize(std::vector<milliseconds> const& samples) {
  running_statistics statistics;
  std::vector<double> sorted;
  sorted.reserve(samples.size());
  for (milliseconds const sample : samples) {
    statistics.add(sample.count());
    sorted.push_back(sample.count());
  }
  std::sort(sorted.begin(), sorted.end());
  duration_summary result = summarize(statistics);
  result.median = to_ms(quantile(sorted, 0.5));
  result.p95 = to_ms(quantile(sorted, 0.95));
  return result;
}

/// Which moments count: those inside a measured step, or all of them where no step was made.
class measured_time {
 public:
  explicit measured_time(profile const& of) : has_steps_{!of.steps.empty()} {
    for (step_record const& step : of.steps) {
      if (!step.warmup) measured_.push_back(step.time);
    }
    std::sort(measured_.begin(), measured_.end(), [](interval const& a, interval const& b) { return a.begin < b.begin; });
  }

  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  [[nodiscard]] bool contains(timestamp moment) const {
    if (!has_steps_) return true;
    auto const after =
        std::upper_bound(measured_.begin(), measured_.end(), moment, [](timestamp at, interval const& step) { return at < step.begin; });
    if (after == measured_.begin()) return false;
    interval const& step = *std::prev(after);
    return moment < step.end || moment == step.begin;
  }

 private:
  bool has_steps_;
  std::vector<interval> measured_;
};

inline step_summary summarize_steps(profile const& of) {
  step_summary result;
  result.item_name = of.item_name;
  std::map<std::uint64_t, milliseconds> gpu_times;  // by step
  for (gpu_step_record const& step : of.gpu_steps) gpu_times[step.step] += to_ms(step.duration);
  for (step_record const& step : of.steps) {
    if (step.warmup) {
      ++result.warmup;
      continue;
    }
    result.items += step.items;
    result.host_samples.push_back(to_ms(step.time.duration()));
    auto const gpu_time = gpu_times.find(step.index);
    if (gpu_time != gpu_times.end()) result.gpu_samples.push_back(gpu_time->second);
  }
  result.host = summarize(result.host_samples);
  if (!result.gpu_samples.empty()) result.gpu = summarize(result.gpu_samples);
  if (result.items == 0 || !result.host.mean) return result;
  bool const device_is_slower = result.gpu && *result.gpu->mean > *result.host.mean;
  milliseconds const step_time = device_is_slower ? *result.gpu->mean : *result.host.mean;
  if (step_time.count() <= 0.0) return result;
  double const items_per_step = static_cast<double>(result.items) / static_cast<double>(result.host.count);
  result.items_per_second = items_per_step / std::chrono::duration<double>{step_time}.count();
  result.items_per_second_basis = device_is_slower ? "GPU step time" : "host step time";
  return result;
}

/// The rows of the tree, built from the paths that have scopes in the measured time.
class scope_tree {
 public:
  scope_tree(profile const& of, measured_time const& when)
      : of_{of}, host_(of.paths.size()), gpu_(of.paths.size()), rows_of_(of.paths.size()) {
    for (scope_record const& scope : of.scopes) {
      if (when.contains(scope.time.begin)) host_[scope.path].add(to_ms(scope.time.duration()).count());
    }
    for (gpu_scope_record const& scope : of.gpu_scopes) {
      if (when.contains(scope.begin)) gpu_[scope.path].add(to_ms(scope.duration).count());
    }
  }

  /// Parents before their children. A parent without a scope in the measured time (it was open all along) is a row with count 0.
  [[nodiscard]] std::vector<scope_summary> rows(milliseconds steps_total) && {
    std::vector<bool> is_wanted(of_.paths.size());
    for (std::size_t path = of_.paths.size(); path-- > 0;) {
      if (host_[path].count() > 0) is_wanted[path] = true;
      if (is_wanted[path] && has_parent(path)) is_wanted[of_.paths[path].parent] = true;
    }
    std::vector<std::vector<std::size_t>> children(of_.paths.size());
    std::vector<std::size_t> roots;
    for (std::size_t path = 0; path < of_.paths.size(); ++path) {
      if (is_wanted[path]) (has_parent(path) ? children[of_.paths[path].parent] : roots).push_back(path);
    }
    std::vector<std::size_t> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
      std::size_t const path = stack.back();
      stack.pop_back();
      add_row(path, steps_total);
      stack.insert(stack.end(), children[path].rbegin(), children[path].rend());
    }
    return std::move(rows_);
  }

 private:
  [[nodiscard]] bool has_parent(std::size_t path) const { return of_.paths[path].parent != path_record::no_parent; }

  void add_row(std::size_t path, milliseconds steps_total) {
    path_record const& record = of_.paths[path];
    scope_summary row;
    row.name = record.index ? record.name + "_" + std::to_string(*record.index) : record.name;
    row.path = row.name;
    row.source = record.file + ":" + std::to_string(record.line);
    row.host = summarize(host_[path]);
    row.host_self = row.host.total;
    if (gpu_[path].count() > 0) row.gpu_events = summarize(gpu_[path]);
    if (steps_total.count() > 0.0 && row.host.count > 0) row.share_of_steps = row.host.total / steps_total;
    if (has_parent(path)) {
      row.parent = rows_of_[record.parent];
      scope_summary& parent = rows_[*row.parent];
      row.path = parent.path + "/" + row.name;
      row.depth = parent.depth + 1;
      parent.host_self -= row.host.total;
      if (parent.host.total.count() > 0.0) row.share_of_parent = row.host.total / parent.host.total;
    }
    rows_of_[path] = rows_.size();
    rows_.push_back(std::move(row));
  }

  profile const& of_;
  std::vector<running_statistics> host_;  ///< by path, milliseconds
  std::vector<running_statistics> gpu_;
  std::vector<std::size_t> rows_of_;
  std::vector<scope_summary> rows_;
};

inline std::vector<memory_summary> summarize_memory(profile const& of) {
  std::map<std::uint64_t, bool> warmup_of;
  for (step_record const& step : of.steps) warmup_of[step.index] = step.warmup;
  std::vector<memory_summary> result;
  for (memory_record const& reading : of.memory) {
    auto const step = warmup_of.find(reading.step);
    bool const is_measured = step != warmup_of.end() && !step->second;
    if (!of.steps.empty() && !is_measured) continue;  // a step that was abandoned is not in the list
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
    statistics[sample.counter].add(sample.value);
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].name = of.counter_names[i];
    result[i].count = statistics[i].count();
    result[i].mean = statistics[i].mean().value_or(0.0);
    result[i].min = statistics[i].min().value_or(0.0);
    result[i].max = statistics[i].max().value_or(0.0);
  }
  result.erase(std::remove_if(result.begin(), result.end(), [](counter_summary const& each) { return each.count == 0; }), result.end());
  return result;
}

}  // namespace detail

/// What a profile comes to, over its measured steps. Pure; takes time in proportion to the records (times log of the steps).
[[nodiscard]] inline summary analyze(profile const& of) {
  detail::measured_time const when{of};
  summary result;
  result.environment = of.environment;
  result.covers_steps = when.has_steps();
  result.steps = detail::summarize_steps(of);
  result.scopes = detail::scope_tree{of, when}.rows(result.steps.host.total);
  result.memory = detail::summarize_memory(of);
  result.counters = detail::summarize_counters(of, when);
  result.collectors = of.collectors;
  result.quality = of.quality;
  for (scope_summary const& row : result.scopes) result.scopes_recorded += row.host.count;
  return result;
}

}  // namespace profkit
