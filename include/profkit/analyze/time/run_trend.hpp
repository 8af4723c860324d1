// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../profile/profile.hpp"
#include "../gpu/gpu_step_windows.hpp"
#include "../gpu/timed_operation.hpp"
#include "../verdict/level_change.hpp"
#include "../verdict/run_trend_summary.hpp"
#include "durations.hpp"
#include "trend_windows.hpp"

namespace profkit::detail {

/// How long some operation ran in each of these intervals: the length of the union.
/// @param steps in the order of time, without overlap.
/// @param operations in the order of their beginnings; those that do not count are left out.
inline std::vector<std::chrono::nanoseconds> busy_in(std::vector<interval> const& steps, std::vector<timed_operation> const& operations) {
  std::vector<std::chrono::nanoseconds> result(steps.size());
  timestamp until = timestamp::min();
  std::size_t first = 0;
  for (timed_operation const& each : operations) {
    timestamp const begin = std::max(each.time.begin, until);
    if (!each.is_counted() || each.time.end <= begin) continue;
    until = each.time.end;
    while (first < steps.size() && steps[first].end <= begin) ++first;
    for (std::size_t i = first; i < steps.size() && steps[i].begin < until; ++i)
      result[i] += std::min(until, steps[i].end) - std::max(begin, steps[i].begin);
  }
  return result;
}

/// Makes the history of the measured steps of a profile.
class run_trend {
 public:
  /// @param of borrowed.
  explicit run_trend(profile const& of) : of_{of} {
    for (step_record const& step : of.steps) {
      if (step.is_measured()) steps_.push_back(&step);
    }
    std::stable_sort(steps_.begin(), steps_.end(), [](auto const* a, auto const* b) { return a->time.begin < b->time.begin; });
    begin_ = of.time.begin != timestamp{} || steps_.empty() ? of.time.begin : steps_.front()->time.begin;
  }

  /// @param operations in the order of their beginnings; null where kernels were not collected.
  /// @param gpu the steps' windows on the devices, where these are longer than the steps on the host; else null.
  [[nodiscard]] run_trend_summary summarize(std::vector<timed_operation> const* operations, gpu_step_windows const* gpu) const {
    run_trend_summary result;
    add_windows(operations, result);
    result.change = gpu != nullptr ? change_on_gpu(*gpu) : change_on_host();
    return result;
  }

 private:
  void add_windows(std::vector<timed_operation> const* operations, run_trend_summary& to) const {
    std::vector<interval> times;
    for (step_record const* step : steps_) times.push_back(step->time);
    auto const busy = operations != nullptr ? busy_in(times, *operations) : std::vector<std::chrono::nanoseconds>(steps_.size());
    auto const memory = highest_memory(to.memory);
    trend_windows windows;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      step_record const& step = *steps_[i];
      trend_window one;
      one.first_step = step.index;
      one.time = step.time;
      one.steps = 1;
      one.total = step.time.duration();
      one.host.add(one.total);
      if (operations != nullptr && step.has_kernels) {
        one.collected_time = one.total;
        one.gpu_busy = busy[i];
      }
      one.memory_bytes = memory[i];
      windows.add(one);
    }
    for (trend_window const& each : windows.windows()) {
      trend_window_summary row;
      row.first_step = each.first_step;
      row.begin = each.time.begin - begin_;
      row.steps = each.steps;
      row.mean = to_ms(each.total) / static_cast<double>(each.steps);
      row.p95 = milliseconds{each.host.quantile(0.95).value_or(0.0) / 1e6};
      if (each.collected_time.count() > 0)
        row.gpu_busy_share = static_cast<double>(each.gpu_busy.count()) / static_cast<double>(each.collected_time.count());
      row.memory_bytes = each.memory_bytes;
      row.memory_bytes.resize(to.memory.size());
      to.windows.push_back(row);
    }
  }

  /// The readings of each measured step. @param names gets what was read.
  [[nodiscard]] std::vector<std::vector<std::optional<std::uint64_t>>> highest_memory(std::vector<std::string>& names) const {
    std::vector<std::vector<std::optional<std::uint64_t>>> result(steps_.size());
    std::unordered_map<std::uint64_t, std::size_t> position;
    for (std::size_t i = 0; i < steps_.size(); ++i) position[steps_[i]->index] = i;
    for (memory_record const& reading : of_.memory) {
      auto const step = position.find(reading.step);
      if (step == position.end()) continue;
      std::string const name = reading.source + " " + reading.quantity;
      auto const known = std::find(names.begin(), names.end(), name);
      auto const column = static_cast<std::size_t>(known - names.begin());
      if (known == names.end()) names.push_back(name);
      auto& bytes = result[step->second];
      if (bytes.size() <= column) bytes.resize(column + 1);
      bytes[column] = std::max(bytes[column], std::optional{reading.current_bytes});
    }
    return result;
  }

  [[nodiscard]] std::optional<level_change_summary> change_on_host() const {
    std::vector<double> ms;
    for (step_record const* step : steps_) ms.push_back(to_ms(step->time.duration()).count());
    auto const found = find_level_change(ms);
    if (!found) return std::nullopt;
    return summary_of(*found, *steps_[found->at], false);
  }

  [[nodiscard]] std::optional<level_change_summary> change_on_gpu(gpu_step_windows const& gpu) const {
    std::vector<double> ms;
    for (gpu_step_window const& each : gpu.measured) ms.push_back(to_ms(each.time.duration()).count());
    auto const found = find_level_change(ms);
    if (!found) return std::nullopt;
    return summary_of(*found, of_.steps[gpu.measured[found->at].step], true);
  }

  [[nodiscard]] level_change_summary summary_of(level_change const& of, step_record const& step, bool is_of_gpu) const {
    level_change_summary result;
    result.step = step.index;
    result.time = step.time.begin.time_since_epoch();
    result.begin = step.time.begin - begin_;
    result.before = milliseconds{of.before};
    result.after = milliseconds{of.after};
    result.p_value = of.p_value;
    result.is_of_gpu = is_of_gpu;
    return result;
  }

  profile const& of_;
  std::vector<step_record const*> steps_;  ///< measured, in the order of time
  timestamp begin_;                        ///< of the session
};

}  // namespace profkit::detail
