// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "../../profile/own_memory.hpp"

namespace profkit {

namespace detail {

/// Two samples that probably enclose the sample of a rank, and the estimated number of samples between them.
template <class Sample>
struct likely_bounds {
  Sample low;
  Sample high;
  std::size_t count;
};

/// Estimates the bounds from a few samples at regular distances.
/// @param count number of samples, at least 512.
template <class Iterator>
auto find_likely_bounds(Iterator first, std::size_t count, std::size_t rank) {
  using sample = typename std::iterator_traits<Iterator>::value_type;
  std::size_t const looked_at = std::min(count / 16, std::size_t{512});
  detail::own_vector<sample> few;
  few.reserve(looked_at);
  for (std::size_t i = 0; i < looked_at; ++i) {
    few.push_back(first[static_cast<typename std::iterator_traits<Iterator>::difference_type>(i * count / looked_at)]);
  }
  std::sort(few.begin(), few.end());
  // Three standard deviations of the rank in the subset.
  double const share = static_cast<double>(rank) / static_cast<double>(count);
  double const at = share * static_cast<double>(looked_at);
  double const reach = 2.0 + 3.0 * std::sqrt(at * (1.0 - share));
  auto const low = static_cast<std::size_t>(std::max(0.0, at - reach));
  std::size_t const high = std::min(looked_at - 1, static_cast<std::size_t>(at + reach));
  return likely_bounds<sample>{few[low], few[high], (high - low + 2) * count / looked_at};
}

/// Selects the samples at a rank (from 0) and at the next rank in ascending order; the last sample is its own successor.
template <class Iterator>
auto part_at(Iterator first, Iterator last, std::size_t rank) {
  Iterator const at = first + static_cast<typename std::iterator_traits<Iterator>::difference_type>(rank);
  std::nth_element(first, at, last);
  Iterator const behind = std::min_element(at + 1, last);
  return std::make_pair(*at, behind == last ? *at : *behind);
}

/// Like the function above, faster for many samples.
template <class Iterator>
auto select_neighbours(Iterator first, Iterator last, std::size_t rank) {
  using sample = typename std::iterator_traits<Iterator>::value_type;
  auto const count = static_cast<std::size_t>(std::distance(first, last));
  constexpr std::size_t min_sample_count = 1024;
  if (count >= min_sample_count) {
    // Most samples lie outside the bounds. Comparing them without branches avoids mispredictions.
    auto const bounds = find_likely_bounds(first, count, rank);
    detail::own_vector<sample> near(bounds.count + bounds.count / 2);
    std::size_t const most = near.size() - 1;
    std::size_t below = 0;
    std::size_t inside = 0;
    for (Iterator each = first; each != last && inside < most; ++each) {
      near[inside] = *each;
      std::size_t const is_below = *each < bounds.low ? 1U : 0U;
      below += is_below;
      inside += (bounds.high < *each ? 0U : 1U) - is_below;
    }
    if (inside < most && below <= rank && rank + 1 < below + inside) {
      near.resize(inside);
      return part_at(near.begin(), near.end(), rank - below);
    }
  }
  return part_at(first, last, rank);
}

}  // namespace detail

/// @brief Like `quantile`, for unsorted samples, in linear time. Reorders the samples. Source: R. W. Floyd, R. L. Rivest, "Expected time
/// bounds for selection", Communications of the ACM 18 (1975).
///
/// Allocates memory for a part of the samples if there are 1,024 or more. Not thread-safe for samples that another thread uses.
///
///     auto const to_ms = [](std::chrono::nanoseconds each) { return static_cast<double>(each.count()) / 1e6; };
///     std::optional<double> const p99_ms = profkit::select_quantile(times.begin(), times.end(), 0.99, to_ms);
/// @param first the beginning of the samples; a random access iterator.
/// @param last the end of the samples.
/// @param q from 0 to 1; not checked.
/// @param number_of increasing function from a sample to a number, such as a conversion of units.
/// @return n/a without samples; in the unit of `number_of`.
template <class Iterator, class NumberOf>
[[nodiscard]] std::optional<double> select_quantile(Iterator first, Iterator last, double q, NumberOf number_of) {
  if (first == last) return std::nullopt;
  double const position = q * static_cast<double>(std::distance(first, last) - 1);
  auto const rank = static_cast<std::size_t>(position);
  auto const [at, behind] = detail::select_neighbours(first, last, rank);
  double const lower = number_of(at);
  return lower + (position - static_cast<double>(rank)) * (number_of(behind) - lower);
}

}  // namespace profkit
