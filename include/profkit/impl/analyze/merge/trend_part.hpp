// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_sort.hpp"
#include "../gpu/counted_operations.hpp"
#include "../time/durations.hpp"
#include "../time/trend_windows.hpp"

namespace profkit::detail {

/// The GPU busy time in each step: the length of the union of the operations.
/// @param steps in time order, disjoint.
/// @param operations in the order of their beginnings.
/// @param counts whether an operation counts.
template <class Counts>
own_vector<std::chrono::nanoseconds> busy_in(own_vector<interval> const& steps, own_vector<timed_operation> const& operations,
                                             Counts const& counts) {
  own_vector<std::chrono::nanoseconds> result(steps.size());
  timestamp until = timestamp::min();
  std::size_t first = 0;
  for (timed_operation const& each : operations) {
    timestamp const begin = std::max(each.time.begin, until);
    if (each.time.end <= begin || !counts(each)) continue;
    until = each.time.end;
    while (first < steps.size() && steps[first].end <= begin) ++first;
    for (std::size_t i = first; i < steps.size() && steps[i].begin < until; ++i)
      result[i] += std::min(until, steps[i].end) - std::max(begin, steps[i].begin);
  }
  return result;
}

/// The history of the measured steps of a stretch of time.
class trend_part {
 public:
  trend_part() = default;

  /// Adds the steps that begin in a stretch of time.
  /// @param operations in the order of their beginnings; null where kernels were not collected.
  /// @param counts whether an operation was launched in a measured step of any window.
  template <class Counts>
  trend_part(profile const& profile, interval const& own, own_vector<timed_operation> const* operations, Counts const& counts) {
    own_vector<step_record const*> steps;
    for (step_record const& step : profile.steps) {
      if (step.is_measured() && own.begin <= step.time.begin && step.time.begin < own.end) steps.push_back(&step);
    }
    own_stable_sort(steps.begin(), steps.end(), [](auto const* a, auto const* b) { return a->time.begin < b->time.begin; });
    own_vector<interval> times;
    times.reserve(steps.size());
    for (step_record const* step : steps) times.push_back(step->time);
    auto const busy = operations != nullptr ? busy_in(times, *operations, counts) : own_vector<std::chrono::nanoseconds>(steps.size());
    auto const memory = max_memory(profile, steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      step_record const& step = *steps[i];
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
      windows_.add(one);
    }
  }

  /// Appends the following steps.
  void append(trend_part const& next) {
    own_vector<std::size_t> column_of;
    column_of.reserve(next.memory_.size());
    columns known = columns_by_name();
    for (std::string const& name : next.memory_) column_of.push_back(column_named(name, known));
    trend_windows moved = next.windows_;
    moved.for_each([&](trend_window& each) {
      own_vector<std::optional<std::uint64_t>> bytes(memory_.size());
      for (std::size_t i = 0; i < each.memory_bytes.size(); ++i) bytes[column_of[i]] = each.memory_bytes[i];
      each.memory_bytes = std::move(bytes);
    });
    windows_.add(moved);
  }

  /// @param begin the beginning of the session.
  /// @param memory in the order of the first readings.
  [[nodiscard]] run_trend_summary summarize(timestamp begin, own_vector<memory_summary> const& memory) const {
    run_trend_summary result;
    columns left = columns_by_name();
    own_vector<std::size_t> shown;  // columns
    for (memory_summary const& row : memory) {
      auto const known = left.find(row.source + " " + row.quantity);
      if (known == left.end()) continue;
      result.memory.push_back(known->first);
      shown.push_back(known->second);
      left.erase(known);
    }
    for (trend_window const& each : windows_.windows()) {
      trend_window_summary& row = result.windows.emplace_back();
      row.first_step = each.first_step;
      row.begin = each.time.begin - begin;
      row.steps = each.steps;
      row.mean = to_ms(each.total) / static_cast<double>(each.steps);
      row.p95 = milliseconds{each.host.quantile(0.95).value_or(0.0) / 1e6};
      if (each.collected_time.count() > 0)
        row.gpu_busy_share = static_cast<double>(each.gpu_busy.count()) / static_cast<double>(each.collected_time.count());
      for (std::size_t const column : shown)
        row.memory_bytes.push_back(column < each.memory_bytes.size() ? each.memory_bytes[column] : std::nullopt);
    }
    return result;
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, trend_part& state) {
    archive(state.windows_), archive(state.memory_);
    if constexpr (Archive::is_reader) {
      for (trend_window const& each : state.windows_.windows())
        archive.check(each.memory_bytes.size() <= state.memory_.size(), "the history has memory without a name");
    }
  }

  using columns = own_hash_map<std::string, std::size_t>;

  [[nodiscard]] columns columns_by_name() const {
    columns result;
    for (std::size_t i = 0; i < memory_.size(); ++i) result.try_emplace(memory_[i], i);
    return result;
  }

  /// @param known `columns_by_name`, kept up to date.
  std::size_t column_named(std::string const& name, columns& known) {
    auto const [at, is_new] = known.try_emplace(name, memory_.size());
    if (is_new) memory_.push_back(name);
    return at->second;
  }

  /// The maximum readings of each step.
  own_vector<own_vector<std::optional<std::uint64_t>>> max_memory(profile const& profile, own_vector<step_record const*> const& steps) {
    own_vector<own_vector<std::optional<std::uint64_t>>> result(steps.size());
    own_hash_map<std::uint64_t, std::size_t> position;
    for (std::size_t i = 0; i < steps.size(); ++i) position[steps[i]->index] = i;
    columns known = columns_by_name();
    for (memory_record const& reading : profile.memory) {
      auto const step = position.find(reading.step);
      if (step == position.end()) continue;
      std::size_t const column = column_named(reading.source + " " + reading.quantity, known);
      auto& bytes = result[step->second];
      if (bytes.size() <= column) bytes.resize(column + 1);
      bytes[column] = std::max(bytes[column], std::optional{reading.current_bytes});
    }
    return result;
  }

  trend_windows windows_;
  own_vector<std::string> memory_;  ///< the quantity of each column of `trend_window::memory_bytes`
};

}  // namespace profkit::detail
