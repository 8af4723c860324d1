// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../kinds/step_kinds.hpp"
#include "../windows/state.hpp"
#include "quantiles.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Neighbouring steps of one kind, all of them warm-up or all of them measured.
struct step_group {
  std::uint64_t index = 0;  ///< `step_record::index` of the first
  timestamp begin{};        ///< beginning of the first step on the host
  bool is_warmup = false;
  std::uint64_t count = 1;
  std::chrono::nanoseconds total{};
  std::uint64_t chosen = 0;                ///< `step_record::index` of one of them, chosen at random
  std::chrono::nanoseconds chosen_time{};  ///< time of the chosen step
  kind_key kind = no_kind;

  auto members() { return listed(index, begin, is_warmup, summed(count), summed(total), chosen, chosen_time, kind); }

  [[nodiscard]] double mean_ms() const noexcept { return to_ms(total).count() / static_cast<double>(count); }
};

/// Step times in the order of recording, in bounded memory: groups of 1, 2, 4, 8, ... steps, at most `max_groups`. The groups depend only
/// on the indices and kinds of the steps, not on the parts in which steps are added.
class step_series {
 public:
  static constexpr std::size_t max_groups = std::size_t{1} << 16U;

  /// @param kind kind of a measured step; ignored for warm-up steps.
  void add(std::uint64_t index, bool is_warmup, timestamp begin, std::chrono::nanoseconds time, kind_key kind = no_kind) {
    if (is_warmup) {
      kind = no_kind;
      ++warmup_;
    } else {
      measured_[kind].add(time);
    }
    put({index, begin, is_warmup, 1, time, index, time, kind});
    fit();
  }

  /// @return the series without kinds: neighbouring steps of all kinds share groups.
  [[nodiscard]] step_series of_all_kinds() const {
    step_series result;
    result.level_ = level_;
    result.warmup_ = warmup_;
    if (!measured_.empty()) result.measured_[no_kind] = measured();
    for (step_group each : groups_) {
      each.kind = no_kind;
      result.put(each);
    }
    return result;
  }

  [[nodiscard]] step_series of_kind(kind_key kind) const {
    step_series result;
    auto const times = measured_.find(kind);
    if (times == measured_.end()) return result;
    result.measured_.insert(*times);
    result.level_ = level_;
    for (step_group const& each : groups_) {
      if (!each.is_warmup && each.kind == kind) result.groups_.push_back(each);
    }
    return result;
  }

  [[nodiscard]] own_vector<step_group> const& groups() const noexcept { return groups_; }
  [[nodiscard]] own_vector<step_group> measured_groups() const {
    own_vector<step_group> result;
    std::copy_if(groups_.begin(), groups_.end(), std::back_inserter(result), [](step_group const& each) { return !each.is_warmup; });
    return result;
  }

  /// Whether each group is one step.
  [[nodiscard]] bool is_single() const noexcept { return level_ == 0; }

  [[nodiscard]] duration_statistics measured() const {
    duration_statistics result;
    for (auto const& each : measured_) result.add(each.second);
    return result;
  }

  /// @return the number of measured steps.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return std::accumulate(measured_.begin(), measured_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, auto const& each) { return sum + each.second.count(); });
  }

  /// @return the number of warm-up steps.
  [[nodiscard]] std::uint64_t warmup() const noexcept { return warmup_; }

  /// @return the binary logarithm of the maximum number of steps in a group.
  [[nodiscard]] unsigned level() const noexcept { return level_; }

  /// SplitMix64, so that each step of a group is equally likely to be chosen. Source: G. L. Steele Jr., D. Lea, C. H. Flood, "Fast
  /// splittable pseudorandom number generators", OOPSLA (2014).
  static std::uint64_t scrambled(std::uint64_t value) noexcept {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

  static constexpr unsigned max_level = 63;

 private:
  template <class Archive>
  friend void fields(Archive& archive, step_series& series) {
    archive(series.level_), archive.amount(series.warmup_), archive(series.measured_), archive(series.groups_);
    if constexpr (Archive::is_reader) archive.check(series.is_whole(), "the groups of steps do not fit their number");
  }

  /// Whether the groups contain exactly the counted steps.
  [[nodiscard]] bool is_whole() const {
    std::uint64_t warmup = 0;
    std::map<kind_key, std::uint64_t> measured;
    for (step_group const& each : groups_) {
      if (each.begin < timestamp{} || each.count == 0 || (level_ == 0 && each.count > 1)) return false;
      (each.is_warmup ? warmup : measured[each.kind]) += each.count;
    }
    bool const is_counted = std::equal(measured.begin(), measured.end(), measured_.begin(), measured_.end(),
                                       [](auto const& a, auto const& b) { return a.first == b.first && a.second == b.second.count(); });
    return level_ <= max_level && warmup == warmup_ && is_counted;
  }

  void put(step_group const& next) {
    if (level_ > 0) {  // groups of the same neighbouring steps, one per kind, are at the end
      for (auto each = groups_.rbegin(); each != groups_.rend() && each->index >> level_ == next.index >> level_; ++each) {
        if (each->is_warmup == next.is_warmup && each->kind == next.kind) return join(*each, next);
      }
    }
    groups_.push_back(next);
  }

  static void join(step_group& group, step_group const& next) {
    group.count += next.count;
    group.total += next.total;
    if (scrambled(next.chosen) < scrambled(group.chosen)) {
      group.chosen = next.chosen;
      group.chosen_time = next.chosen_time;
    }
  }

  void fit() {
    while (groups_.size() > max_groups && level_ < max_level) group(level_ + 1);
  }

  /// Regroups to 2^level steps per group.
  void group(unsigned level) {
    if (level <= level_) return;
    level_ = level;
    own_vector<step_group> const before = std::exchange(groups_, {});
    for (step_group const& each : before) put(each);
  }

  own_vector<step_group> groups_;
  unsigned level_ = 0;
  std::uint64_t warmup_ = 0;
  std::map<kind_key, duration_statistics> measured_;  ///< by kind
};

/// The steps in the order of recording.
class step_list {
 public:
  /// Adds the next steps.
  /// @param own the stretch in which they begin.
  /// @param kind_of maps the beginning of a measured step to its kind.
  template <class KindOf>
  void add(profile const& profile, interval const& own, KindOf const& kind_of) {
    own_hash_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by step
    for (gpu_step_record const& each : profile.gpu_steps) gpu_times[each.step] += each.duration;
    for (step_record const& each : profile.steps) {
      if (each.time.begin < own.begin || each.time.begin >= own.end) continue;
      if (each.is_excluded) {
        excluded_.add(each.index, false, each.time.begin, each.time.duration());
        continue;
      }
      kind_key const kind = each.is_measured() ? kind_of(each.time.begin) : no_kind;
      host_.add(each.index, each.warmup, each.time.begin, each.time.duration(), kind);
      if (auto const gpu = gpu_times.find(each.index); gpu != gpu_times.end()) {
        gpu_.add(each.index, each.warmup, each.time.begin, gpu->second, kind);
      }
      if (each.is_measured()) {
        add_time_before(each, kind);
        items_[kind] += static_cast<double>(each.items);
        model_flops_ += each.model_flops;
      }
    }
  }

  /// @return the list without kinds.
  [[nodiscard]] step_list of_all_kinds() const {
    step_list result = *this;
    result.host_ = host_.of_all_kinds();
    result.gpu_ = gpu_.of_all_kinds();
    return result;
  }

  /// @return the measured steps of one kind, without `model_flops`.
  [[nodiscard]] step_list of_kind(kind_key kind) const {
    step_list result;
    result.host_ = host_.of_kind(kind);
    result.gpu_ = gpu_.of_kind(kind);
    if (auto const items = items_.find(kind); items != items_.end()) result.items_.insert(*items);
    if (auto const times = between_.find(kind); times != between_.end()) result.between_.insert(*times);
    return result;
  }

  [[nodiscard]] step_series const& host() const noexcept { return host_; }

  /// @return the times between CUDA events.
  [[nodiscard]] step_series const& gpu() const noexcept { return gpu_; }

  /// @return host times of the excluded steps; the other lists do not contain them.
  [[nodiscard]] step_series const& excluded() const noexcept { return excluded_; }

  [[nodiscard]] double items() const noexcept {
    return std::accumulate(items_.begin(), items_.end(), 0.0, [](double sum, auto const& each) { return sum + each.second; });
  }

  /// @return the times between measured steps, see `step_summary::between`.
  [[nodiscard]] duration_statistics between() const {
    duration_statistics result;
    for (auto const& each : between_) result.add(each.second);
    return result;
  }

  /// @return model FLOPs of the measured steps, as counted by the program.
  [[nodiscard]] double model_flops() const noexcept { return model_flops_; }

 private:
  struct last_step {
    std::uint64_t index = 0;  ///< `step_record::index`
    timestamp end{};

    auto members() { return listed(index, end); }
  };

  /// Adds the time since the previous step. Unknown if that was not measured, or if steps overlap.
  void add_time_before(step_record const& step, kind_key kind) {
    if (last_ && last_->index + 1 == step.index && last_->end <= step.time.begin) between_[kind].add(step.time.begin - last_->end);
    last_ = {step.index, step.time.end};
  }

  template <class Archive>
  friend void fields(Archive& archive, step_list& steps) {
    archive(steps.host_), archive(steps.gpu_), archive(steps.excluded_), archive(steps.items_), archive(steps.model_flops_);
    archive(steps.between_), archive(steps.last_);
    if constexpr (Archive::is_reader) {
      bool const is_right = std::all_of(steps.items_.begin(), steps.items_.end(), [](auto const& each) { return each.second >= 0.0; });
      archive.check(is_right && steps.model_flops_ >= 0.0, "the work of steps is negative or not a number");
      archive.check(!steps.last_ || steps.last_->end >= timestamp{}, "a step ends before 1970");
    }
  }

  step_series host_;
  step_series gpu_;
  step_series excluded_;
  std::map<kind_key, double> items_;  ///< items of the measured steps, by kind; a sum of integers could overflow
  double model_flops_ = 0.0;
  std::map<kind_key, duration_statistics> between_;  ///< time before the measured steps, by their kind
  std::optional<last_step> last_;                    ///< the last measured step
};

}  // namespace PROFKIT_NAMESPACE::detail
