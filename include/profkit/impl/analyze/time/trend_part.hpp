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
#include "../../profile/own_memory.hpp"
#include "../gpu/counted_operations.hpp"
#include "quantiles.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A window of consecutive steps of a run.
struct trend_window {
  std::uint64_t first_step = 0;                                   ///< `step_record::index`
  interval time;                                                  ///< from the beginning of the first step to the end of the last
  std::uint64_t steps = 0;                                        ///< number of steps
  std::chrono::nanoseconds total{};                               ///< sum of the steps' host times
  quantile_sketch host;                                           ///< quantiles of the steps' host times
  std::chrono::nanoseconds collected_time{};                      ///< sum of host times of the steps with kernels collected
  std::chrono::nanoseconds gpu_busy{};                            ///< GPU busy time of these steps
  std::uint64_t energy_steps = 0;                                 ///< number of steps with known energy, by the first meter
  std::uint64_t microjoules = 0;                                  ///< energy of these steps
  detail::own_vector<std::optional<std::uint64_t>> memory_bytes;  ///< maximum reading of each quantity; n/a if it was not read

  /// @brief Describes the members for an archive.
  template <class Archive>
  friend void fields(Archive& archive, trend_window& state) {
    archive(state.first_step), archive(state.time), archive.amount(state.steps), archive.amount(state.total), archive(state.host);
    archive.amount(state.collected_time), archive.amount(state.gpu_busy), archive(state.memory_bytes);
    archive(state.energy_steps), archive(state.microjoules);
    if constexpr (Archive::is_reader) {
      archive.check(state.steps > 0 && state.steps == state.host.count(),
                    "a window of the history has different numbers of steps and times");
      archive.check(timestamp{} <= state.time.begin && state.time.begin <= state.time.end, "a window of the history ends before it begins");
    }
  }

  /// @brief Appends the following window.
  void add(trend_window const& next) {
    if (steps == 0) {
      *this = next;
      return;
    }
    time.end = std::max(time.end, next.time.end);
    steps += next.steps;
    total += next.total;
    host.add(next.host);
    collected_time += next.collected_time;
    gpu_busy += next.gpu_busy;
    energy_steps += next.energy_steps;
    microjoules += next.microjoules;
    if (memory_bytes.size() < next.memory_bytes.size()) memory_bytes.resize(next.memory_bytes.size());
    for (std::size_t i = 0; i < next.memory_bytes.size(); ++i) memory_bytes[i] = std::max(memory_bytes[i], next.memory_bytes[i]);
  }
};

/// @brief The history of a run in at most `max_windows` windows of equally many steps. Beyond that number, neighbours are merged, and the
/// number of steps per window doubles.
///
/// A window contains the steps whose indices, divided by a power of two, are equal. So the result does not depend on the parts in which
/// steps are added. A value: parts of a run can be built separately and appended in order. Not thread-safe.
class trend_windows {
 public:
  static constexpr std::size_t max_windows = 512;  ///< beyond this number neighbours are merged

  /// @brief Appends the next step, or the next window.
  void add(trend_window const& next) {
    if (windows_.empty() || group_of(windows_.back()) != group_of(next)) windows_.emplace_back();
    windows_.back().add(next);
    while (windows_.size() > max_windows) merge_neighbours();
  }

  /// @brief Appends the following part of the run.
  void add(trend_windows const& later) {
    while (level_ < later.level_) merge_neighbours();
    for (trend_window const& each : later.windows_) add(each);
  }

  /// @brief Changes all windows.
  /// @param change called with each window; must not change its steps.
  template <class Change>
  void for_each(Change const& change) {
    for (trend_window& each : windows_) change(each);
  }

  /// @brief Adds energy to the window of its last step.
  void add(energy_record const& energy) {
    auto const is_in = [&](trend_window const& each) { return each.first_step >> level_ == energy.step >> level_; };
    auto const window = std::find_if(windows_.rbegin(), windows_.rend(), is_in);
    if (window == windows_.rend()) return;
    window->energy_steps += energy.steps;
    window->microjoules += energy.microjoules;
  }

  /// @brief The windows in time order.
  [[nodiscard]] detail::own_vector<trend_window> const& windows() const noexcept { return windows_; }

 private:
  static constexpr unsigned max_level = 63;

  template <class Archive>
  friend void fields(Archive& archive, trend_windows& state) {
    archive(state.level_), archive(state.windows_);
    if constexpr (Archive::is_reader) {
      archive.check(state.level_ <= max_level && state.windows_.size() <= max_windows,
                    "the history has too many windows, or too large ones");
    }
  }

  [[nodiscard]] std::uint64_t group_of(trend_window const& window) const noexcept { return window.first_step >> level_; }

  void merge_neighbours() {
    // Indices that do not increase could need more windows; these are merged into one.
    bool const is_last_level = level_ == max_level;
    if (!is_last_level) ++level_;
    detail::own_vector<trend_window> merged;
    for (trend_window const& each : windows_) {
      bool const is_same = !merged.empty() && (is_last_level || group_of(merged.back()) == group_of(each));
      if (!is_same) merged.emplace_back();
      merged.back().add(each);
    }
    windows_ = std::move(merged);
  }

  unsigned level_ = 0;  ///< 2^level steps per window
  detail::own_vector<trend_window> windows_;
};

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

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

  /// Adds the energy of the first meter that became known in a stretch of time, after its steps.
  void add_energy(profile const& profile, interval const& own) {
    for (energy_record const& each : profile.energy) {
      if (each.meter == 0 && each.path == path_record::no_parent && own.begin <= each.time && each.time < own.end) windows_.add(each);
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
      if (each.energy_steps > 0) row.joules_per_step = static_cast<double>(each.microjoules) / 1e6 / static_cast<double>(each.energy_steps);
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

}  // namespace PROFKIT_NAMESPACE::detail
