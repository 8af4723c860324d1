// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <profkit/impl/analyze/time/quantiles.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/statistics.hpp>
#include <string>

namespace PROFKIT_NAMESPACE {

/// @brief Statistics of integers (nanoseconds or bytes), as defined by the summaries of Nsight Systems.
struct nsys_statistics {
  std::uint64_t count = 0;          ///< number of samples
  std::int64_t total = 0;           ///< sum of the samples, in their unit
  double mean = 0.0;                ///< `total` / `count`
  double median = 0.0;              ///< middle sample, or mean of the two middle ones
  std::int64_t min = 0;             ///< smallest sample
  std::int64_t max = 0;             ///< largest sample
  double standard_deviation = 0.0;  ///< sample standard deviation (n - 1); 0 for a single sample
};

/// @brief One row of a summary by name.
struct nsys_row {
  std::string name;         ///< as Nsight Systems prints it
  nsys_statistics samples;  ///< nanoseconds or bytes
};

namespace detail {

/// @param samples not empty; changes their order.
inline nsys_statistics nsys_statistics_of(detail::own_vector<std::int64_t>& samples) {
  nsys_statistics result;
  running_statistics spread;
  result.count = samples.size();
  std::uint64_t total = 0;  // modulo 2^64, because a damaged file can contain any number
  for (std::int64_t const sample : samples) {
    total += static_cast<std::uint64_t>(sample);
    spread.add(static_cast<double>(sample));
  }
  result.total = static_cast<std::int64_t>(total);
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  result.standard_deviation = spread.standard_deviation().value_or(0.0);
  result.median = *select_quantile(samples.begin(), samples.end(), 0.5, [](std::int64_t each) { return static_cast<double>(each); });
  auto const [least, most] = std::minmax_element(samples.begin(), samples.end());
  result.min = *least;
  result.max = *most;
  return result;
}

/// Numbers texts from 0. Equal texts have the same number.
class text_numbers {
 public:
  std::uint32_t operator()(std::string const& text) {
    auto const [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  [[nodiscard]] detail::own_vector<std::string> const& texts() const noexcept { return texts_; }

 private:
  detail::own_hash_map<std::string, std::uint32_t> numbers_;
  detail::own_vector<std::string> texts_;
};

/// Samples by name. A name is given by the position of a record in its list; several records may have the same name.
class nsys_groups {
 public:
  template <class Records, class NameOf>
  nsys_groups(Records const& records, NameOf&& name_of) {
    for (auto const& each : records) group_of_.push_back(names_(name_of(each)));
    samples_.resize(names_.texts().size());
  }

  void add(std::uint32_t record, std::int64_t sample) { samples_[group_of_[record]].push_back(sample); }

  /// @return the rows by total, largest first; rows with equal totals by name.
  [[nodiscard]] detail::own_vector<nsys_row> rows() && {
    detail::own_vector<nsys_row> result;
    for (std::size_t group = 0; group < samples_.size(); ++group) {
      if (!samples_[group].empty()) result.push_back({names_.texts()[group], nsys_statistics_of(samples_[group])});
    }
    std::sort(result.begin(), result.end(), [](nsys_row const& a, nsys_row const& b) {
      return a.samples.total != b.samples.total ? a.samples.total > b.samples.total : a.name < b.name;
    });
    return result;
  }

 private:
  text_numbers names_;
  detail::own_vector<std::uint32_t> group_of_;
  detail::own_vector<detail::own_vector<std::int64_t>> samples_;
};

}  // namespace detail
}  // namespace PROFKIT_NAMESPACE
