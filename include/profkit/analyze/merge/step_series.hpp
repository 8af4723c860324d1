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
  timestamp begin{};        ///< of the first, on the host
  bool is_warmup = false;
  std::uint64_t count = 1;
  std::chrono::nanoseconds total{};
  std::uint64_t chosen = 0;                ///< `step_record::index` of one of them, chosen at random
  std::chrono::nanoseconds chosen_time{};  ///< of that one

  template <class Archive>
  friend void fields(Archive& archive, step_group& state) {
    archive(state.index), archive(state.begin), archive(state.is_warmup), archive.amount(state.count), archive.amount(state.total);
    archive(state.chosen), archive(state.chosen_time);
  }

  [[nodiscard]] double mean_ms() const noexcept { return to_ms(total).count() / static_cast<double>(count); }
};

/// The times of steps, in the order in which they were recorded, in bounded memory: groups of one step each, or of 2, 4, 8, ... where there
/// are more than `max_groups`. Which steps are in a group depends on their indices alone; so it does not matter in which parts they come.
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

  /// Merges another one: the result is as if its steps had been added here.
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

  /// Of the measured steps.
  [[nodiscard]] duration_statistics const& measured() const noexcept { return measured_; }

  /// How many steps are warm-up.
  [[nodiscard]] std::uint64_t warmup() const noexcept { return warmup_; }

 private:
  static constexpr unsigned max_level = 63;

  template <class Archive>
  friend void fields(Archive& archive, step_series& series) {
    archive(series.level_), archive.amount(series.warmup_), archive(series.measured_), archive(series.groups_);
    if constexpr (Archive::is_reader) archive.check(series.is_whole(), "the groups of steps do not fit their number");
  }

  /// Whether the groups are those of the steps that were counted.
  [[nodiscard]] bool is_whole() const noexcept {
    std::uint64_t warmup = 0;
    std::uint64_t measured = 0;
    for (step_group const& each : groups_) {
      if (each.begin < timestamp{} || each.count == 0 || (level_ == 0 && each.count > 1)) return false;
      (each.is_warmup ? warmup : measured) += each.count;
    }
    return level_ <= max_level && warmup == warmup_ && measured == measured_.count();
  }

  /// SplitMix64: the steps of a group are equally likely to be its smallest. Source: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast
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

  /// Puts 2^level steps into a group.
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
