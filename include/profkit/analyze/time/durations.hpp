// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "select_quantile.hpp"
#include "statistics.hpp"

namespace profkit::detail {

inline milliseconds to_ms(std::chrono::nanoseconds duration) { return std::chrono::duration_cast<milliseconds>(duration); }

inline std::optional<milliseconds> to_ms(std::optional<double> ms) {
  if (!ms) return std::nullopt;
  return milliseconds{*ms};
}

inline duration_summary summarize(running_statistics const& ms) {
  duration_summary result;
  result.count = ms.count();
  result.total = milliseconds{ms.total()};
  result.mean = to_ms(ms.mean());
  result.standard_deviation = to_ms(ms.standard_deviation());
  result.min = to_ms(ms.min());
  result.max = to_ms(ms.max());
  return result;
}

inline duration_summary summarize(std::vector<milliseconds> const& samples) {
  running_statistics statistics;
  std::vector<double> sorted;
  sorted.reserve(samples.size());
  for (milliseconds const sample : samples) {
    statistics.add(sample.count());
    sorted.push_back(sample.count());
  }
  std::sort(sorted.begin(), sorted.end());
  duration_summary result = summarize(statistics);
  result.median = to_ms(quantile(sorted, 0.5));
  result.p95 = to_ms(quantile(sorted, 0.95));
  return result;
}

/// Durations of many groups, one group after the other in one piece of memory. How many each has is known before.
class grouped_durations {
 public:
  using iterator = std::vector<std::chrono::nanoseconds>::iterator;

  /// Some of the durations. Taking a quantile changes their order within it.
  struct range {
    iterator first;
    iterator last;
  };

  grouped_durations() = default;

  explicit grouped_durations(std::vector<std::size_t> const& sizes) : ends_(sizes.size()) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ends_[i] = total;  // of what is there so far
      total += sizes[i];
    }
    samples_.resize(total);
  }

  void add(std::size_t group, std::chrono::nanoseconds duration) { samples_[ends_[group]++] = duration; }

  /// The groups [first, last), once each is complete.
  [[nodiscard]] range groups(std::size_t first, std::size_t last) {
    auto const end_of = [&](std::size_t group) { return static_cast<std::ptrdiff_t>(group == 0 ? 0 : ends_[group - 1]); };
    return {samples_.begin() + end_of(first), samples_.begin() + end_of(last)};
  }

  [[nodiscard]] range group(std::size_t which) { return groups(which, which + 1); }

 private:
  std::vector<std::size_t> ends_;
  std::vector<std::chrono::nanoseconds> samples_;
};

inline std::optional<milliseconds> quantile_of(grouped_durations::range of, double q) {
  return to_ms(select_quantile(of.first, of.last, q, [](std::chrono::nanoseconds each) { return to_ms(each).count(); }));
}

/// @param ms of the durations.
inline duration_summary summarize(grouped_durations::range of, running_statistics const& ms) {
  duration_summary result = summarize(ms);
  result.median = quantile_of(of, 0.5);
  result.p95 = quantile_of(of, 0.95);
  return result;
}

inline duration_summary summarize(grouped_durations::range of) {
  running_statistics ms;
  std::for_each(of.first, of.last, [&](std::chrono::nanoseconds each) { ms.add(to_ms(each).count()); });
  return summarize(of, ms);
}

/// The same with the statistics of each group, added up as the durations come: where groups take turns, the divisions of one need not wait
/// for those of another.
class summed_durations {
 public:
  summed_durations() = default;
  explicit summed_durations(std::vector<std::size_t> const& sizes) : durations_{sizes}, ms_(sizes.size()) {}

  void add(std::size_t group, std::chrono::nanoseconds duration) {
    durations_.add(group, duration);
    ms_[group].add(to_ms(duration).count());
  }

  [[nodiscard]] grouped_durations& durations() noexcept { return durations_; }

  /// Of a group that is complete.
  [[nodiscard]] duration_summary summarize(std::size_t group) { return detail::summarize(durations_.group(group), ms_[group]); }

 private:
  grouped_durations durations_;
  std::vector<running_statistics> ms_;  ///< by group
};

}  // namespace profkit::detail
