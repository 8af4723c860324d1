// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <profkit/impl/analyze/verdict/mean_interval.hpp>
#include <profkit/impl/analyze/verdict/outliers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/profile/own_sort.hpp>
#include <utility>

#include "job_summary.hpp"

namespace profkit::detail {

/// Clips values at 3 robust standard deviations from the median, so that single long values do not dominate the mean.
inline own_vector<double> without_extremes(own_vector<double> values) {
  constexpr double max_deviations = 3.0;
  std::optional<median_spread> const spread = median_and_mad(values);
  if (!spread) return values;
  double const limit = max_deviations * robust_deviation(values, *spread);
  for (double& value : values) value = std::clamp(value, spread->median - limit, spread->median + limit);
  return values;
}

/// Finds the ranks for which the others wait, from the waits that each rank imposes in each step.
class holding_ranks {
 public:
  /// @param held by rank: the imposed waits in each compared step, in ms.
  /// @param ranks the ranks; `host` and `imposed_exposed` must be filled.
  holding_ranks(own_vector<own_vector<double>> const& held, own_vector<job_rank_summary> const& ranks)
      : held_{held}, ranks_{ranks}, order_(held.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (own_vector<double> const& each : held) means_.push_back(std::accumulate(each.begin(), each.end(), 0.0) / steps());
    own_stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return means_[a] > means_[b]; });
  }

  /// Ranks that are equally slow take turns in starting last. So three candidates are tried in this order: the ranks before the largest
  /// drop of the imposed waits, the first rank alone, and all ranks of its host.
  ///
  /// A candidate is accepted if the waits that it imposes are long, cost time, are at least twice those of the other ranks, and are not due
  /// to chance. Long means at least 2 % of the step and at least 3 times the clocks' bound.
  ///
  /// They cost time if at least 2 % of the step remain without the time in which the waiting GPUs have other work, or if the candidate
  /// takes so much longer than the others in one scope. Otherwise its delay may be hidden. The second condition is needed because a
  /// collective that waits on a GPU takes processors from the work beside it. On two H100, a GPU that was 3 ms slower in each step of 101
  /// ms made the computing of the other one 3 ms longer, and left it only 0.6 ms without work.
  ///
  /// Random delays hit all ranks alike, and a busy host delays the same rank for some steps. So the mean distance to the others, without
  /// extremes, must be at least 2.5 half-widths of its 95 % interval, which accounts for autocorrelation. With fewer than
  /// `min_steps_for_straggler` steps, any delay may be chance.
  /// @param excess_of the time by which a candidate (a list of positions) takes longer than the others in one scope, in ms a step.
  /// @return positions, longest imposed waits first; empty if no candidate is accepted.
  template <class ExcessOf>
  [[nodiscard]] own_vector<std::size_t> find(double step, double bound, ExcessOf const& excess_of) const {
    if (!can_be_judged()) return {};
    std::size_t count = 1;
    for (std::size_t i = 2; i <= held_.size() / 2; ++i) {
      if (drop_after(i) > drop_after(count)) count = i;
    }
    own_vector<std::size_t> on_host;
    for (std::size_t const each : order_) {
      if (ranks_[each].host == ranks_[order_.front()].host) on_host.push_back(each);
    }
    if (on_host.size() > held_.size() / 2) on_host.clear();
    own_vector<std::size_t> const before_drop{order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count)};
    for (own_vector<std::size_t> const& each : {before_drop, {order_.front()}, on_host}) {
      if (!each.empty() && judge(each, step, bound, excess_of) == lateness::steady) return each;
    }
    return {};
  }

  /// If no candidate is accepted: the rank with the longest imposed waits, if only chance speaks against it. Parameters as in `find`.
  template <class ExcessOf>
  [[nodiscard]] std::optional<std::size_t> find_irregular(double step, double bound, ExcessOf const& excess_of) const {
    if (!can_be_judged() || judge({order_.front()}, step, bound, excess_of) != lateness::irregular) return std::nullopt;
    return order_.front();
  }

  /// Whether waits of this length are a considerable part of a step.
  [[nodiscard]] static bool is_long(double waits, double step, double bound) noexcept {
    constexpr double min_bounds = 3.0;
    return waits >= min_straggler_share * step && waits >= min_bounds * bound && waits > 0.0;
  }

 private:
  enum class lateness {
    none,       ///< the others do not wait, the waits cost nothing, or other ranks impose similar ones
    irregular,  ///< it may be chance
    steady
  };

  [[nodiscard]] bool can_be_judged() const { return held_.size() > 1 && held_.front().size() >= min_steps_for_straggler; }
  [[nodiscard]] double steps() const { return static_cast<double>(std::max<std::size_t>(held_.front().size(), 1)); }
  [[nodiscard]] double drop_after(std::size_t count) const { return means_[order_[count - 1]] - means_[order_[count]]; }

  template <class ExcessOf>
  [[nodiscard]] lateness judge(own_vector<std::size_t> const& which, double step, double bound, ExcessOf const& excess_of) const {
    constexpr double min_others = 2.0;
    constexpr double min_half_widths = 2.5;
    auto const inside = static_cast<double>(which.size());
    auto const outside = static_cast<double>(held_.size() - which.size());
    own_vector<double> own(held_.front().size());  // by step
    own_vector<double> all(own.size());
    double exposed = 0.0;
    for (std::size_t const each : which) {
      add(own, held_[each]);
      exposed += ranks_[each].imposed_exposed.count();
    }
    for (own_vector<double> const& each : held_) add(all, each);
    double const mean = std::accumulate(own.begin(), own.end(), 0.0) / steps();
    double const others = (std::accumulate(all.begin(), all.end(), 0.0) / steps() - mean) / outside;
    own_vector<double> distances;
    for (std::size_t k = 0; k < own.size(); ++k) distances.push_back(own[k] / inside - (all[k] - own[k]) / outside);
    std::optional<mean_interval> const distance = interval_of_mean(without_extremes(std::move(distances)));
    bool const is_chance = !distance || distance->mean < min_half_widths * distance->cautious_half_width;
    if (!is_long(mean, step, bound) || mean / inside < min_others * others) return lateness::none;
    if (exposed < min_straggler_share * step && excess_of(which) < min_straggler_share * step) return lateness::none;
    return is_chance ? lateness::irregular : lateness::steady;
  }

  static void add(own_vector<double>& to, own_vector<double> const& more) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += more[k];
  }

  own_vector<own_vector<double>> const& held_;
  own_vector<job_rank_summary> const& ranks_;
  own_vector<std::size_t> order_;  ///< positions of the ranks, by `means_`, largest first
  own_vector<double> means_;       ///< mean imposed wait, by rank
};

}  // namespace profkit::detail
