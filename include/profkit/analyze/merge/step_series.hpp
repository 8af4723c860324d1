// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../../profile/time.hpp"
#include "../time/durations.hpp"

namespace profkit::detail {

/// Neighbouring steps, all of them warm-up or all of them measured.
struct step_group {
  std::uint64_t index = 0;  ///< `step_record::index` of the first
  timestamp begin{};        ///< beginning of the first step on the host
  bool is_warmup = false;
  std::uint64_t count = 1;
  std::chrono::nanoseconds total{};
  std::uint64_t chosen = 0;                ///< `step_record::index` of one of them, chosen at random
  std::chrono::nanoseconds chosen_time{};  ///< time of the chosen step

  template <class Archive>
  friend void fields(Archive& archive, step_group& state) {
    archive(state.index), archive(state.begin), archive(state.is_warmup), archive.amount(state.count), archive.amount(state.total);
    archive(state.chosen), archive(state.chosen_time);
  }

  [[nodiscard]] double mean_ms() const noexcept { return to_ms(total).count() / static_cast<double>(count); }
};

/// Step times in the order of recording, in bounded memory: groups of 1, 2, 4, 8, ... steps, at most `max_groups`. The groups depend only
/// on the step indices, not on the parts in which steps are added.
class step_series {
 public:
  static constexpr std::size_t max_groups = std::size_t{1} << 16U;

  void add(std::uint64_t index, bool is_warmup, timestamp begin, std::chrono::nanoseconds time) {
    if (is_warmup) {
      ++warmup_;
    } else {
      measured_.add(time);
    }
    put({index, begin, is_warmup, 1, time, index, time});
    fit();
  }

  /// Appends the following steps: the result is as if they had been added here.
  void append(step_series const& next) {
    measured_.add(next.measured_);
    warmup_ += next.warmup_;
    group(next.level_);
    for (step_group const& each : next.groups_) put(each);
    fit();
  }

  [[nodiscard]] std::vector<step_group> const& groups() const noexcept { return groups_; }

  /// Whether each group is one step.
  [[nodiscard]] bool is_single() const noexcept { return level_ == 0; }

  /// @return the statistics of the measured steps.
  [[nodiscard]] duration_statistics const& measured() const noexcept { return measured_; }

  /// @return the number of warm-up steps.
  [[nodiscard]] std::uint64_t warmup() const noexcept { return warmup_; }

 private:
  static constexpr unsigned max_level = 63;

  template <class Archive>
  friend void fields(Archive& archive, step_series& series) {
    archive(series.level_), archive.amount(series.warmup_), archive(series.measured_), archive(series.groups_);
    if constexpr (Archive::is_reader) archive.check(series.is_whole(), "the groups of steps do not fit their number");
  }

  /// Whether the groups contain exactly the counted steps.
  [[nodiscard]] bool is_whole() const noexcept {
    std::uint64_t warmup = 0;
    std::uint64_t measured = 0;
    for (step_group const& each : groups_) {
      if (each.begin < timestamp{} || each.count == 0 || (level_ == 0 && each.count > 1)) return false;
      (each.is_warmup ? warmup : measured) += each.count;
    }
    return level_ <= max_level && warmup == warmup_ && measured == measured_.count();
  }

  /// SplitMix64, so that each step of a group is equally likely to be chosen. Source: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast
  /// splittable pseudorandom number generators", OOPSLA (2014).
  static std::uint64_t scrambled(std::uint64_t value) noexcept {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

  void put(step_group const& next) {
    if (level_ == 0 || groups_.empty() || !belong_together(groups_.back(), next)) {
      groups_.push_back(next);
      return;
    }
    step_group& last = groups_.back();
    last.count += next.count;
    last.total += next.total;
    if (scrambled(next.chosen) < scrambled(last.chosen)) {
      last.chosen = next.chosen;
      last.chosen_time = next.chosen_time;
    }
  }

  [[nodiscard]] bool belong_together(step_group const& a, step_group const& b) const noexcept {
    return a.is_warmup == b.is_warmup && a.index >> level_ == b.index >> level_;
  }

  void fit() {
    while (groups_.size() > max_groups && level_ < max_level) group(level_ + 1);
  }

  /// Regroups to 2^level steps per group.
  void group(unsigned level) {
    if (level <= level_) return;
    level_ = level;
    std::vector<step_group> const before = std::exchange(groups_, {});
    for (step_group const& each : before) put(each);
  }

  std::vector<step_group> groups_;
  unsigned level_ = 0;  ///< a group has at most 2^level steps
  std::uint64_t warmup_ = 0;
  duration_statistics measured_;
};

}  // namespace profkit::detail
