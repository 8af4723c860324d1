// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A sampled function on the ranks that have samples of it.
struct function_on_ranks {
  struct on_rank {
    std::size_t rank = 0;
    std::uint64_t samples = 0;
    double ms = 0.0;  ///< processor time per step, in ms
  };
  own_vector<on_rank> found;
  std::string file;  ///< on the first rank that knows it
  std::uint32_t line = 0;

  /// Summarizes the function. The variance of a number of samples equals its mean; differences up to 4 standard deviations are sampling
  /// noise.
  /// @param ranks number of ranks with host samples; those without samples of this function took no time in it.
  void fill(job_function_summary& to, std::size_t ranks, milliseconds step) const {
    on_rank most = found.front();
    own_vector<double> others;
    for (on_rank const& each : found) {
      to.samples += each.samples;
      to.time += milliseconds{each.ms / static_cast<double>(ranks)};
      if (each.ms > most.ms) most = each;
    }
    for (on_rank const& each : found) {
      if (each.rank != most.rank) others.push_back(each.ms);
    }
    to.rank = most.rank;
    to.own = milliseconds{most.ms};
    if (ranks < 2) return;
    double const median = median_of(others, ranks - 1);
    to.others = milliseconds{median};
    double const of_one_sample = most.ms / static_cast<double>(most.samples);
    double const deviation = std::sqrt((most.ms + median) * of_one_sample);
    double const excess = most.ms - median;
    to.is_different = excess > 0.25 * median && excess > 0.01 * step.count() && excess > 4.0 * deviation;
  }

 private:
  /// The median of some times and of as many zeros as are missing.
  static double median_of(own_vector<double>& times, std::size_t count) {
    times.resize(std::min(times.size(), count));
    std::size_t const zeros = count - times.size();
    if (count / 2 < zeros) return 0.0;
    auto const middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2 - zeros);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
};

/// Merges the functions of all ranks with host samples. The longest come first.
inline void merge_functions(own_vector<job_rank> const& ranks, job_summary& to) {
  constexpr std::size_t max_functions = 64;
  using key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<key, function_on_ranks> functions;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    job_rank const& from = ranks[rank];
    if (!from.host_samples || from.host_samples->samples == 0 || from.measured_steps == 0) continue;
    ++to.sampled_ranks;
    for (sampled_scope_summary const& scope : from.host_samples->scopes) {
      for (sampled_function_summary const& each : scope.functions) {
        if (each.samples == 0) continue;
        function_on_ranks& function = functions[key{scope.path, each.name, each.module, each.caller}];
        if (function.file.empty()) {
          function.file = each.file;
          function.line = each.line;
        }
        function.found.push_back({rank, each.samples, each.time.count() / static_cast<double>(from.measured_steps)});
      }
    }
  }
  for (auto const& [function, on_ranks] : functions) {
    job_function_summary row;
    std::tie(row.path, row.name, row.module, row.caller) = function;
    row.file = on_ranks.file;
    row.line = on_ranks.line;
    on_ranks.fill(row, to.sampled_ranks, to.step);
    to.functions.push_back(std::move(row));
  }
  own_stable_sort(to.functions.begin(), to.functions.end(), [](auto const& a, auto const& b) { return a.time > b.time; });
  if (to.functions.size() > max_functions) to.functions.resize(max_functions);
}

}  // namespace PROFKIT_NAMESPACE::detail
