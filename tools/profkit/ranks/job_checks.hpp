// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <set>
#include <string>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "rank_clocks.hpp"
#include "stale_ranks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// "rank 3", "ranks 3, 4 and 12 more". At most 4 numbers.
inline std::string rank_list(own_vector<std::uint32_t> const& ranks) {
  constexpr std::size_t max_ranks = 4;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), max_ranks); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > max_ranks) text += " and " + std::to_string(ranks.size() - max_ranks) + " more";
  return text;
}

/// Names the ranks whose value differs from that of most ranks: "GPU: NVIDIA H100 on rank 3, NVIDIA H200 on the others".
template <class ValueOf>
void name_differences(own_vector<job_rank> const& ranks, std::string const& what, ValueOf const& value_of, own_vector<std::string>& to) {
  std::map<std::string, own_vector<std::uint32_t>> by_value;
  for (job_rank const& each : ranks) {
    if (each.problem.empty()) by_value[value_of(each)].push_back(each.rank);
  }
  if (by_value.size() < 2) return;
  auto const usual =
      std::max_element(by_value.begin(), by_value.end(), [](auto const& a, auto const& b) { return a.second.size() < b.second.size(); });
  std::string text = what + ": ";
  constexpr std::size_t max_values = 3;
  std::size_t named = 0;
  std::size_t count = 0;
  for (auto const& [value, where] : by_value) {
    count += where.size();
    if (value == usual->first || ++named > max_values) continue;
    text += (value.empty() ? "unknown" : value) + " on " + rank_list(where) + ", ";
  }
  text += usual->first.empty() ? "unknown" : usual->first;
  if (named <= max_values) {
    text += " on the others";
  } else {
    std::size_t const more = named - max_values;
    text += " on " + (2 * usual->second.size() > count ? "most" : rank_list(usual->second));
    text += " and " + std::to_string(more) + (more == 1 ? " more value" : " more values");
  }
  to.push_back(std::move(text));
}

/// Names the ranks whose number is far from the median of all ranks.
/// @param min_share minimum distance from the median, as a share of it. If it is above 0, a median of 0 is unknown.
/// @param min_amount minimum distance from the median.
/// @param value_of n/a if it is unknown.
template <class ValueOf>
void name_outliers(own_vector<job_rank> const& ranks, std::string const& what, std::string const& unit, double min_share, double min_amount,
                   ValueOf const& value_of, own_vector<std::string>& to) {
  auto const known_value = [&](job_rank const& rank) -> std::optional<double> {
    constexpr double max_value = 1e15;
    std::optional<double> const value = rank.problem.empty() ? value_of(rank) : std::nullopt;
    return value && std::abs(*value) < max_value ? value : std::nullopt;  // false for NaN
  };
  own_vector<double> values;
  for (job_rank const& each : ranks) {
    if (auto const value = known_value(each)) values.push_back(*value);
  }
  if (values.size() < 2) return;
  double const median = median_in(values);
  if (min_share > 0.0 && median <= 0.0) return;
  for (job_rank const& each : ranks) {
    std::optional<double> const value = known_value(each);
    if (!value) continue;
    double const distance = *value < median ? median - *value : *value - median;
    if (distance <= 0.0 || distance < min_share * median || distance < min_amount) continue;
    std::string text = what;
    text.append(": ").append(std::to_string(std::llround(*value))).append(" ").append(unit);
    text.append(" on rank ").append(std::to_string(each.rank));
    text.append(", ").append(std::to_string(std::llround(median))).append(" ").append(unit).append(" is the median");
    to.push_back(std::move(text));
  }
}

/// Finds missing and different ranks. Ranks of another run get a problem.
/// @param ranks in order.
inline void check_job(own_vector<job_rank>& ranks, job_summary& to) {
  stale_rank_finder{ranks}.mark();
  std::map<std::uint32_t, job_rank const*> known;
  std::set<std::uint32_t> present;
  for (job_rank& each : ranks) {
    present.insert(each.rank);
    to.unknown += each.timeline.unknown_collectives;
    to.unknown_in_graphs += each.timeline.graph_collectives;
    if (each.problem.empty()) {
      auto const [at, is_first] = known.emplace(each.rank, &each);
      if (!is_first) each.problem = "there is another file of this rank: " + at->second->source;
    }
    if (!each.problem.empty()) to.problems.push_back("rank " + std::to_string(each.rank) + " (" + each.source + "): " + each.problem);
  }
  own_vector<std::uint32_t> missing;
  to.ranks_expected = expected_ranks(ranks);
  constexpr std::uint64_t max_expected = std::uint64_t{1} << 20U;
  for (std::uint32_t rank = 0; rank < std::min(to.ranks_expected, max_expected); ++rank) {
    if (present.count(rank) == 0) missing.push_back(rank);
  }
  if (!missing.empty()) to.problems.push_back(rank_list(missing) + (missing.size() == 1 ? " has" : " have") + " no file");
  std::set<std::uint32_t> sizes;
  for (job_rank const& each : ranks) {
    if (each.environment.rank) sizes.insert(each.environment.rank->size);
  }
  if (sizes.size() > 1) {
    to.problems.push_back("the files are of jobs with " + std::to_string(*sizes.begin()) + " and " + std::to_string(*sizes.rbegin()) +
                          " ranks: some may be left from another run");
  }
  name_differences(
      ranks, "measured steps", [](job_rank const& each) { return std::to_string(each.measured_steps); }, to.problems);
  name_differences(
      ranks, "program",
      [](job_rank const& each) { return each.environment.command.empty() ? std::string{} : each.environment.command.front(); },
      to.problems);
  name_differences(
      ranks, "GPU", [](job_rank const& each) { return each.environment.gpu; }, to.differences);
  name_differences(
      ranks, "driver", [](job_rank const& each) { return each.environment.driver; }, to.differences);
  name_differences(
      ranks, "CUDA", [](job_rank const& each) { return each.environment.cuda; }, to.differences);
  auto const clock = [](job_rank const& rank) { return rank.clocks.empty() ? nullptr : &rank.clocks.front(); };
  name_outliers(
      ranks, "SM clock", "MHz", 0.03, 0.0,
      [&](job_rank const& rank) { return clock(rank) ? std::optional{clock(rank)->mean_mhz} : std::nullopt; }, to.differences);
  name_outliers(
      ranks, "power", "W", 0.1, 20.0, [&](job_rank const& rank) { return clock(rank) ? clock(rank)->mean_watt : std::nullopt; },
      to.differences);
  name_outliers(
      ranks, "temperature", "degrees Celsius", 0.0, 10.0,
      [&](job_rank const& rank) {
        return clock(rank) && clock(rank)->max_celsius ? std::optional{static_cast<double>(*clock(rank)->max_celsius)} : std::nullopt;
      },
      to.differences);
  auto const percent = [](std::optional<share_of_unit> utilization_summary::*unit) {
    return [unit](job_rank const& rank) {
      bool const is_known = !rank.utilization.empty() && rank.utilization.front().*unit;
      return is_known ? std::optional{100.0 * (rank.utilization.front().*unit)->mean} : std::nullopt;
    };
  };
  name_outliers(ranks, "active SMs", "%", 0.0, 10.0, percent(&utilization_summary::sm_active), to.differences);
  name_outliers(ranks, "tensor pipes", "%", 0.0, 10.0, percent(&utilization_summary::tensor), to.differences);
  name_outliers(ranks, "memory bandwidth", "%", 0.0, 10.0, percent(&utilization_summary::dram), to.differences);
}

}  // namespace PROFKIT_NAMESPACE::detail
