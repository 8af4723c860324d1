// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/validate.hpp"
#include "../kinds/step_kinds.hpp"
#include "../time/measured_time.hpp"
#include "../time/step_series.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace PROFKIT_NAMESPACE::detail {

struct gpu_step_period {
  std::size_t step = 0;  ///< position in `profile::steps`
  interval time;
  /// Number of later steps that had begun on the host when the work of this step completed; n/a if it launched nothing.
  std::optional<std::uint64_t> steps_ahead{};
  kind_key kind = no_kind;  ///< kind of a measured step
  timestamp begin{};        ///< beginning of a measured step on the host

  template <class Archive>
  friend void fields(Archive& archive, gpu_step_period& state) {
    archive(state.step), archive(state.time), archive(state.steps_ahead), archive(state.kind), archive(state.begin);
    if constexpr (Archive::is_reader) {
      archive.check(timestamp{} <= state.time.begin && state.time.begin <= state.time.end, "a step ends on the devices before it begins");
    }
  }
};

/// The GPU periods of the steps with kernels collected, in time order. Those of measured steps do not overlap and contain every operation
/// launched in a measured step, so GPU busy time cannot exceed their length.
///
/// The period of a step ends with the last operation launched in it. It begins when all earlier work is complete and the step has begun on
/// the host. It begins no later than the first operation of this step or a later one, because such an operation can overlap earlier work.
/// If the host waits for the devices in each step, the periods lie inside the steps; if it runs ahead, they follow each other without gaps.
///
/// Steps after the last step with GPU work have no period, because their operations may be missing, for example in the journal of a killed
/// program.
struct gpu_step_periods {
  own_vector<gpu_step_period> warmup;
  own_vector<gpu_step_period> measured;
};

/// The ends of the latest periods.
struct gpu_step_period_ends {
  timestamp warmup = timestamp::min();
  timestamp measured = timestamp::min();

  auto members() { return listed(warmup, measured); }
};

/// Rejects periods from a file that overlap or are not in time order.
inline void check_periods(own_vector<gpu_step_period> const& periods) {
  for (std::size_t i = 1; i < periods.size(); ++i) {
    check_read(periods[i - 1].time.end <= periods[i].time.begin, "steps overlap on the devices");
  }
}

/// A part of the GPU period of a measured step.
struct gpu_wall_part {
  interval time;
  kind_key kind = no_kind;  ///< kind of the step
  timestamp step{};         ///< beginning of the step on the host
};

/// The non-empty intersections of the periods with a stretch of time.
inline own_vector<gpu_wall_part> parts_in(own_vector<gpu_step_period> const& measured, interval const& own) {
  own_vector<gpu_wall_part> result;
  for (gpu_step_period const& each : measured) {
    interval const part{std::max(each.time.begin, own.begin), std::min(each.time.end, own.end)};
    if (part.begin < part.end) result.push_back({part, each.kind, each.begin});
  }
  return result;
}

/// Computes GPU periods. Takes time proportional to the operations (n log n if launches are out of order).
class gpu_step_period_finder {
 public:
  gpu_step_period_finder(profile const& profile, attribution const& launched)
      : profile_{profile}, order_(profile.steps.size()), own_(profile.steps.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    own_stable_sort(order_.begin(), order_.end(),
                    [&](std::size_t a, std::size_t b) { return profile.steps[a].time.begin < profile.steps[b].time.begin; });
    begins_.reserve(order_.size());
    for (std::size_t const step : order_) begins_.push_back(profile.steps[step].time.begin);
    earlier_end_.assign(order_.size() + 1, timestamp::min());
    for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i)
      add(profile.gpu_operations[i].time, launch_moment(profile, launched, i));
    for (std::size_t i = 1; i < earlier_end_.size(); ++i) earlier_end_[i] = std::max(earlier_end_[i], earlier_end_[i - 1]);
  }

  /// @param from steps that begin earlier get no period.
  /// @param before the ends of the periods of earlier steps.
  [[nodiscard]] gpu_step_periods find(timestamp from = timestamp::min(), gpu_step_period_ends const& before = {}) const {
    own_vector<std::size_t> warmup;
    own_vector<std::size_t> measured;
    for (std::size_t i = 0; i < steps_with_work_; ++i) {
      step_record const& step = profile_.steps[order_[i]];
      if (step.time.begin < from) continue;
      if (step.has_kernels && step.warmup) warmup.push_back(i);
      if (step.has_kernels && step.is_measured()) measured.push_back(i);
    }
    gpu_step_periods result{periods(warmup, before.warmup), periods(measured, before.measured)};
    if (result.measured.empty()) return result;
    measured_time const all{profile_};
    step_kinds const kinds{profile_, all};
    for (gpu_step_period& each : result.measured) {
      each.begin = profile_.steps[each.step].time.begin;
      each.kind = kinds.of_step_at(each.begin);
    }
    return result;
  }

 private:
  void add(interval const& operation, timestamp launch) {
    std::size_t const begun = steps_begun_at(launch);
    earlier_end_[begun] = std::max(earlier_end_[begun], operation.end);
    if (begun == 0) return;
    interval const& step = profile_.steps[order_[begun - 1]].time;
    if (launch >= step.end && launch != step.begin) return;
    own_[begun - 1].add(operation);
    steps_with_work_ = std::max(steps_with_work_, begun);
  }

  /// Searches from the previous result, because consecutive launches are mostly in the same step.
  [[nodiscard]] std::size_t steps_begun_at(timestamp moment) {
    bool const is_same =
        (last_begun_ == 0 || begins_[last_begun_ - 1] <= moment) && (last_begun_ == begins_.size() || moment < begins_[last_begun_]);
    if (!is_same) last_begun_ = count_begun(moment);
    return last_begun_;
  }

  [[nodiscard]] std::size_t count_begun(timestamp moment) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), moment) - begins_.begin());
  }

  /// @param steps positions in `order_`, in increasing order.
  /// @param end the end of the previous period.
  [[nodiscard]] own_vector<gpu_step_period> periods(own_vector<std::size_t> const& steps, timestamp end) const {
    own_vector<timestamp> first_start(steps.size() + 1, timestamp::max());  // first start of operations launched in a step or later
    for (std::size_t i = steps.size(); i-- > 0;) first_start[i] = std::min(first_start[i + 1], own_[steps[i]].begin);
    own_vector<gpu_step_period> result;
    result.reserve(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::size_t const step = steps[i];
      timestamp const earlier_work_done = std::max(begins_[step], earlier_end_[step]);
      timestamp const begin = std::max(end, std::min(earlier_work_done, first_start[i]));
      end = std::max(begin, own_[step].end);
      result.push_back({order_[step], {begin, end}});
      if (own_[step].is_empty()) continue;
      std::size_t const begun = count_begun(own_[step].end);
      result.back().steps_ahead = begun > step + 1 ? begun - step - 1 : 0;
    }
    return result;
  }

  profile const& profile_;
  own_vector<std::size_t> order_;      ///< positions in `profile::steps`, in time order
  own_vector<timestamp> begins_;       ///< beginnings of the steps, in that order
  own_vector<operation_span> own_;     ///< operations launched in each step, in that order
  own_vector<timestamp> earlier_end_;  ///< by number of begun steps: the latest end of operations launched until then
  std::size_t steps_with_work_ = 0;    ///< number of steps up to the last one with GPU work
  std::size_t last_begun_ = 0;
};

/// The distribution of the number of steps by which the host was ahead of the devices.
class steps_ahead {
 public:
  void add(std::uint64_t steps) {
    ++times_[steps];
    ++count_;
  }

  /// Linear between neighbours, like `profkit::quantile`. @param q from 0 to 1.
  [[nodiscard]] std::optional<double> quantile(double q) const {
    return interpolated_quantile(count_, q, [this](std::size_t rank) { return at(rank); });
  }

 private:
  /// @return the value at a rank in ascending order.
  [[nodiscard]] double at(std::uint64_t rank) const {
    auto each = times_.begin();
    for (std::uint64_t before = each->second; before <= rank; before += each->second) ++each;
    return static_cast<double>(each->first);
  }

  template <class Archive>
  friend void fields(Archive& archive, steps_ahead& state) {
    archive.amount(state.times_), archive(state.count_);
    if constexpr (Archive::is_reader) {
      std::uint64_t count = 0;
      for (auto const& [steps, times] : state.times_) count += times;
      archive.check(count == state.count_, "it is not known how far the host was ahead in all steps");
    }
  }

  std::map<std::uint64_t, std::uint64_t> times_;  ///< number of occurrences, by number of steps
  std::uint64_t count_ = 0;
};

/// The GPU periods of the steps, in time order.
class gpu_period_list {
 public:
  /// Adds the periods of the next steps.
  /// @param periods GPU periods of steps of the profile.
  /// @param kept maps the kind in a window to the kind in this list.
  template <class Kept>
  void add(profile const& profile, gpu_step_periods const& periods, Kept const& kept) {
    for (gpu_step_period const& each : periods.warmup) {
      step_record const& step = profile.steps[each.step];
      warmup_.add(step.index, true, step.time.begin, each.time.duration());
    }
    for (gpu_step_period const& each : periods.measured) {
      step_record const& step = profile.steps[each.step];
      kind_key const kind = kept(each.kind);
      measured_.add(step.index, false, step.time.begin, each.time.duration(), kind);
      host_[kind] += step.time.duration();
      if (each.steps_ahead) ahead_.add(*each.steps_ahead);
    }
  }

  /// @return the list without kinds.
  [[nodiscard]] gpu_period_list of_all_kinds() const {
    gpu_period_list result = *this;
    result.measured_ = measured_.of_all_kinds();
    return result;
  }

  /// @return the measured steps of one kind, without `ahead`.
  [[nodiscard]] gpu_period_list of_kind(kind_key kind) const {
    gpu_period_list result;
    result.measured_ = measured_.of_kind(kind);
    if (auto const host = host_.find(kind); host != host_.end()) result.host_.insert(*host);
    return result;
  }

  [[nodiscard]] step_series const& warmup() const noexcept { return warmup_; }
  [[nodiscard]] step_series const& measured() const noexcept { return measured_; }

  /// @return the number of measured steps.
  [[nodiscard]] std::uint64_t count() const noexcept { return measured_.count(); }

  /// @return the host time of the measured steps.
  [[nodiscard]] std::chrono::nanoseconds host() const noexcept {
    return std::accumulate(host_.begin(), host_.end(), std::chrono::nanoseconds{},
                           [](auto sum, auto const& each) { return sum + each.second; });
  }

  /// @return `gpu_step_period::steps_ahead` of the measured steps.
  [[nodiscard]] steps_ahead const& ahead() const noexcept { return ahead_; }

  auto members() { return listed(warmup_, measured_, summed(host_), ahead_); }

 private:
  step_series warmup_;
  step_series measured_;
  std::map<kind_key, std::chrono::nanoseconds> host_;  ///< host time of the measured steps, by kind
  steps_ahead ahead_;
};

}  // namespace PROFKIT_NAMESPACE::detail
