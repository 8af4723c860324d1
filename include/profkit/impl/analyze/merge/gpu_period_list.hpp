// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../../time.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../kinds/kind_names.hpp"
#include "step_series.hpp"

namespace profkit::detail {

/// The distribution of the number of steps by which the host was ahead of the devices.
class steps_ahead {
 public:
  void add(std::uint64_t steps) {
    ++times_[steps];
    ++count_;
  }

  void add(steps_ahead const& other) {
    for (auto const& [steps, times] : other.times_) times_[steps] += times;
    count_ += other.count_;
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

/// The GPU periods of the steps of a stretch of time, in time order.
class gpu_period_list {
 public:
  gpu_period_list() = default;

  /// @param periods GPU periods of steps of the profile.
  /// @param name_of maps the kind in a window to the kind in this list.
  template <class NameOf>
  gpu_period_list(profile const& profile, gpu_step_periods const& periods, NameOf const& name_of) {
    for (gpu_step_period const& each : periods.warmup) {
      step_record const& step = profile.steps[each.step];
      warmup_.add(step.index, true, step.time.begin, each.time.duration());
    }
    for (gpu_step_period const& each : periods.measured) {
      step_record const& step = profile.steps[each.step];
      kind_key const kind = name_of(each.kind);
      measured_.add(step.index, false, step.time.begin, each.time.duration(), kind);
      host_[kind] += step.time.duration();
      if (each.steps_ahead) ahead_.add(*each.steps_ahead);
    }
  }

  /// Appends the periods of the following steps.
  void append(gpu_period_list const& next) {
    warmup_.append(next.warmup_);
    measured_.append(next.measured_);
    for (auto const& [kind, time] : next.host_) host_[kind] += time;
    ahead_.add(next.ahead_);
  }

  /// @return the list without kinds.
  [[nodiscard]] gpu_period_list of_all_kinds() const {
    gpu_period_list result = *this;
    result.rename_kinds([](kind_key) { return no_kind; });
    return result;
  }

  /// @return the measured steps of one kind, without `ahead`.
  [[nodiscard]] gpu_period_list of_kind(kind_key kind) const {
    gpu_period_list result;
    result.measured_ = measured_.of_kind(kind);
    if (auto const host = host_.find(kind); host != host_.end()) result.host_.insert(*host);
    return result;
  }

  /// Changes the kinds of the measured steps.
  /// @param name_of maps an old kind to the new one.
  template <class NameOf>
  void rename_kinds(NameOf const& name_of) {
    measured_.rename_kinds(name_of);
    for (auto const& [kind, time] : std::exchange(host_, {})) host_[name_of(kind)] += time;
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

 private:
  template <class Archive>
  friend void fields(Archive& archive, gpu_period_list& periods) {
    archive(periods.warmup_), archive(periods.measured_), archive.amount(periods.host_), archive(periods.ahead_);
  }

  step_series warmup_;
  step_series measured_;
  std::map<kind_key, std::chrono::nanoseconds> host_;  ///< host time of the measured steps, by kind
  steps_ahead ahead_;
};

}  // namespace profkit::detail
