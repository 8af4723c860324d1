// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "quantiles.hpp"

namespace profkit {

/// @brief A window of consecutive steps of a run.
struct trend_window {
  std::uint64_t first_step = 0;                                   ///< `step_record::index`
  interval time;                                                  ///< from the beginning of the first step to the end of the last
  std::uint64_t steps = 0;                                        ///< number of steps
  std::chrono::nanoseconds total{};                               ///< sum of the steps' host times
  quantile_sketch host;                                           ///< quantiles of the steps' host times
  std::chrono::nanoseconds collected_time{};                      ///< sum of host times of the steps with kernels collected
  std::chrono::nanoseconds gpu_busy{};                            ///< GPU busy time of these steps
  detail::own_vector<std::optional<std::uint64_t>> memory_bytes;  ///< maximum reading of each quantity; n/a if it was not read

  /// @brief Describes the members for an archive.
  template <class Archive>
  friend void fields(Archive& archive, trend_window& state) {
    archive(state.first_step), archive(state.time), archive.amount(state.steps), archive.amount(state.total), archive(state.host);
    archive.amount(state.collected_time), archive.amount(state.gpu_busy), archive(state.memory_bytes);
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

  /// @brief The windows in time order.
  [[nodiscard]] detail::own_vector<trend_window> const& windows() const noexcept { return windows_; }

  /// @brief Number of steps of every window except the first and the last; a window has fewer if steps are missing, such as excluded ones.
  [[nodiscard]] std::uint64_t steps_per_window() const noexcept { return std::uint64_t{1} << level_; }

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

}  // namespace profkit
