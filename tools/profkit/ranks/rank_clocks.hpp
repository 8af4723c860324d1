// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/impl/analyze/ranks/found_collectives.hpp>
#include <profkit/impl/analyze/time/quantiles.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <string>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A straight line: offset plus slope times x.
struct fitted_line {
  double offset = 0.0;  ///< value at x = 0
  double slope = 0.0;
  [[nodiscard]] double at(double x) const noexcept { return offset + slope * x; }
};

/// @return the median of values; 0 without values. Changes their order.
inline double median_in(own_vector<double>& values) {
  constexpr double middle = 0.5;
  return select_quantile(values.begin(), values.end(), middle, [](double value) { return value; }).value_or(0.0);
}

/// A sample of the ranks suffices for a median. @return the distance between sampled ranks.
inline std::size_t stride_of_sample(std::size_t ranks) noexcept {
  constexpr std::size_t enough = 64;
  return std::max<std::size_t>(1, ranks / enough);
}

/// @return the q-quantile as a value of the list, with q = `share`; 0 without values. Changes their order.
inline double quantile_in(own_vector<double>& values, double share) {
  if (values.empty()) return 0.0;
  auto const rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Tukey's resistant line: the slope between the medians of the first and the last third; the offset is the median of the residuals. Up to
/// a third of the points may be arbitrarily wrong. Source: Tukey, Exploratory Data Analysis, 1977, chapter 5.
/// @param points x and y, in the order of x.
/// @param has_slope false: only the median of y.
inline fitted_line resistant_line(own_vector<std::pair<double, double>> const& points, bool has_slope) {
  fitted_line result;
  constexpr std::size_t min_points = 9;
  if (has_slope && points.size() >= min_points) {
    std::size_t const third = points.size() / 3;
    auto const medians = [&](std::size_t from, std::size_t to) {
      own_vector<double> x;
      own_vector<double> y;
      for (std::size_t i = from; i < to; ++i) {
        x.push_back(points[i].first);
        y.push_back(points[i].second);
      }
      return std::array<double, 2>{median_in(x), median_in(y)};
    };
    auto const first = medians(0, third);
    auto const last = medians(points.size() - third, points.size());
    if (last[0] > first[0]) result.slope = (last[1] - first[1]) / (last[0] - first[0]);
  }
  own_vector<double> rest;
  rest.reserve(points.size());
  for (auto const& [x, y] : points) rest.push_back(y - result.slope * x);
  result.offset = median_in(rest);
  return result;
}

/// Estimates by how much the clock of each rank is ahead of the mean of all ranks, from the ends of collectives: all ranks leave an
/// all-reduce at about the same time. Even on one host, the clocks of GPUs differ by some microseconds. Collectives timed on the host by
/// the ranks of one machine share a clock and need no estimate. Collectives matched by their order may be different ones, so their ends do
/// not prove that the clocks of one machine differ: then there is one estimate for all ranks of a machine.
class rank_clocks {
 public:
  rank_clocks(own_vector<job_rank> const& ranks, own_vector<matched_collective> const& all) : ranks_{ranks}, ahead_(ranks.size()) {
    for (job_rank const& each : ranks) {
      if (machine_of(each) != machine_of(ranks.front())) summary_.has_many_hosts = true;
      for (timeline_collective const& one : each.timeline.collectives) base_ = std::min(base_, one.time.begin);
    }
    for (matched_collective const& each : all) {
      if (!each.is_common || each.is_contradictory || !ends_together(each)) continue;
      used_.push_back(&each);
      summary_.is_by_machine = summary_.is_by_machine || each.is_by_order;
    }
    std::map<std::string, std::size_t> machines;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      clock_of_.push_back(summary_.is_by_machine ? machines.try_emplace(machine_of(ranks[i]), machines.size()).first->second : i);
    summary_.is_one_clock =
        !summary_.has_many_hosts && std::none_of(all.begin(), all.end(), [&](auto const& each) { return on_gpu(each); });
    if (summary_.is_one_clock) return;
    summary_.collectives = used_.size();
    // One pass suffices if all ranks are in one communicator; chains of communicators need more.
    constexpr int max_passes = 16;
    bool const is_right = summary_.is_by_machine && !summary_.has_many_hosts;
    for (int pass = 0; !is_right && pass < max_passes && improve() > 100.0; ++pass) continue;
    measure();
  }

  /// @return the correction to subtract from the times of a collective.
  [[nodiscard]] std::chrono::nanoseconds shift(participant const& participant) const {
    return shift_at(participant.rank, end_of(participant));
  }

  /// @return the correction to subtract from a time of a rank.
  [[nodiscard]] std::chrono::nanoseconds shift_at(std::uint32_t rank, timestamp moment) const {
    // With times up to 2^62 ns, which `check_timeline` accepts, no difference of two corrected times overflows.
    constexpr double largest = 0x1p61 - 0x1p10;
    return std::chrono::nanoseconds{std::llround(std::min(largest, std::max(-largest, ahead_[rank].at(since_base(moment)))))};
  }

  /// @return the correction of a rank in the middle of its collectives, and its drift.
  [[nodiscard]] fitted_line ahead(std::size_t rank) const {
    auto const& own = ranks_[rank].timeline.collectives;
    if (own.empty()) return ahead_[rank];
    timestamp const middle = own.front().time.begin + (own.back().time.end - own.front().time.begin) / 2;
    return {ahead_[rank].at(since_base(middle)), ahead_[rank].slope};
  }

  [[nodiscard]] job_clock_summary const& summary() const noexcept { return summary_; }

 private:
  /// Whether all ranks leave the collective together. The root of a broadcast may leave before the others, and a rank may wait late for a
  /// non-blocking collective.
  [[nodiscard]] bool ends_together(matched_collective const& collective) const {
    constexpr std::chrono::microseconds soon{10};
    auto const is_late = [&](participant const& one) {
      timeline_collective const& each = collective_of(ranks_, one);
      return each.time.begin - start_of(each) > soon;
    };
    if (collective.is_message || std::any_of(collective.on.begin(), collective.on.end(), is_late)) return false;
    participant const& first = collective.on.front();
    rank_timeline const& timeline = ranks_[first.rank].timeline;
    return is_left_together(timeline.kinds[collective_of(ranks_, first).kind].function);
  }

  [[nodiscard]] bool on_gpu(matched_collective const& collective) const {
    participant const& first = collective.on.front();
    return !ranks_[first.rank].timeline.kinds[collective_of(ranks_, first).kind].is_host;
  }

  [[nodiscard]] timestamp end_of(participant const& participant) const { return collective_of(ranks_, participant).time.end; }
  [[nodiscard]] double since_base(timestamp moment) const { return static_cast<double>((moment - base_).count()); }

  /// The distances of the corrected ends from their mean.
  template <class Visit>
  void for_each_distance(Visit const& visit) const {
    own_vector<double> ends;
    for (matched_collective const* const each : used_) {
      ends.clear();
      double sum = 0.0;
      for (participant const& one : each->on) {
        double const end = since_base(end_of(one));
        ends.push_back(end - ahead_[one.rank].at(end));
        sum += ends.back();
      }
      double const mean = sum / static_cast<double>(ends.size());
      for (std::size_t i = 0; i < ends.size(); ++i) visit(each->on[i], ends[i] - mean);
    }
  }

  /// @return the largest change of an offset in ns.
  double improve() {
    own_vector<own_vector<std::pair<double, double>>> points(ranks_.size());
    for_each_distance([&](participant const& participant, double distance) {
      points[clock_of_[participant.rank]].emplace_back(since_base(end_of(participant)), distance);
    });
    double largest = 0.0;
    own_vector<fitted_line> lines(ranks_.size());
    for (std::size_t clock = 0; clock < points.size(); ++clock) {
      if (points[clock].empty()) continue;
      std::sort(points[clock].begin(), points[clock].end());
      fitted_line const line = resistant_line(points[clock], summary_.has_many_hosts);
      lines[clock] = line;
      largest = std::max({largest, std::abs(line.at(points[clock].front().first)), std::abs(line.at(points[clock].back().first))});
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ahead_[rank].offset += lines[clock_of_[rank]].offset;
      ahead_[rank].slope += lines[clock_of_[rank]].slope;
    }
    return largest;
  }

  void measure() {
    own_vector<double> distances;
    for_each_distance([&](participant const&, double distance) { distances.push_back(std::abs(distance)); });
    // No collective ends before its last rank starts.
    own_vector<double> early;
    own_vector<double> spread;
    for (matched_collective const* const each : used_) {
      double latest = -1e300;
      double earliest = 1e300;
      double last_end = -1e300;
      for (participant const& one : each->on) {
        interval const& time = collective_of(ranks_, one).time;
        double const shift = static_cast<double>(this->shift(one).count());
        latest = std::max(latest, since_base(time.begin) - shift);
        earliest = std::min(earliest, since_base(time.end) - shift);
        last_end = std::max(last_end, since_base(time.end) - shift);
      }
      spread.push_back(last_end - earliest);
      early.push_back(std::max(0.0, latest - earliest));
    }
    auto const ms = [](double ns) { return milliseconds{ns * 1e-6}; };
    constexpr double share = 0.95;
    summary_.residual_median = ms(median_in(distances));
    summary_.residual_p95 = ms(quantile_in(distances, share));
    summary_.bound = std::max(summary_.residual_p95, ms(quantile_in(early, share)));
    // Without a correction by rank, two clocks may differ by as much as the ends do.
    if (summary_.is_by_machine) summary_.bound = std::max(summary_.bound, ms(quantile_in(spread, share)));
  }

  own_vector<job_rank> const& ranks_;
  timestamp base_ = timestamp::max();
  own_vector<matched_collective const*> used_;
  own_vector<std::size_t> clock_of_;  ///< by rank: number of its clock; ranks with one number have one correction
  own_vector<fitted_line> ahead_;     ///< by rank: correction in ns, over ns since `base_` on its own clock
  job_clock_summary summary_;
};

}  // namespace PROFKIT_NAMESPACE::detail
