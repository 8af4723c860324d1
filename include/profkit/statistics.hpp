// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Mean, standard deviation and quantiles.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "impl/profile/numbers.hpp"
#include "impl/profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Mean, standard deviation, minimum and maximum of a stream of numbers, without storing them.
///
///     profkit::running_statistics milliseconds;
///     for (double each : samples) milliseconds.add(each);
///     double const mean = milliseconds.mean().value();
///
/// All results have the unit of the samples. Samples must be finite; mean, minimum and maximum are then finite, while the total and the
/// standard deviation of huge samples can be infinite. Takes 48 bytes and constant time per sample; never allocates and never
/// throws. Not thread-safe: use one object per thread and merge them.
///
/// Sources: B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962), for one
/// sample; T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37 (1983),
/// for merging. Both avoid the cancellation of a sum of squares.
class running_statistics {
 public:
  /// @brief Adds one sample.
  void add(double value) noexcept {
    ++count_;
    total_ += value;
    double const delta = value - mean_;
    auto const samples = static_cast<double>(count_);
    // The difference of finite values can be infinite; their shares are not.
    mean_ += detail::is_finite(delta) ? delta / samples : value / samples - mean_ / samples;
    squares_ += delta * (value - mean_);
    min_ = count_ == 1 ? value : std::min(min_, value);
    max_ = count_ == 1 ? value : std::max(max_, value);
  }

  /// @brief Merges another object: the result is as if its samples had been added here, except for rounding.
  void add(running_statistics const& other) noexcept {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    auto const mine = static_cast<double>(count_);
    auto const theirs = static_cast<double>(other.count_);
    double const delta = other.mean_ - mean_;
    double const share = delta * theirs;
    mean_ = detail::is_finite(share) ? mean_ + share / (mine + theirs)
                                     : mean_ * (mine / (mine + theirs)) + other.mean_ * (theirs / (mine + theirs));
    squares_ += other.squares_ + delta * delta * mine * theirs / (mine + theirs);
    count_ += other.count_;
    total_ += other.total_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  /// @brief Number of samples.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// @brief Sum of the samples.
  [[nodiscard]] double total() const noexcept { return total_; }

  /// @brief Mean of the samples; n/a without samples.
  [[nodiscard]] std::optional<double> mean() const noexcept { return if_any(mean_); }
  /// @brief Minimum; n/a without samples.
  [[nodiscard]] std::optional<double> min() const noexcept { return if_any(min_); }
  /// @brief Maximum; n/a without samples.
  [[nodiscard]] std::optional<double> max() const noexcept { return if_any(max_); }

  /// @brief Sample standard deviation (n - 1); n/a with fewer than two samples.
  [[nodiscard]] std::optional<double> standard_deviation() const noexcept {
    if (count_ < 2) return std::nullopt;
    return std::sqrt(std::max(0.0, squares_) / static_cast<double>(count_ - 1));
  }

 private:
  /// @return the value; n/a without samples.
  [[nodiscard]] std::optional<double> if_any(double value) const noexcept {
    if (count_ == 0) return std::nullopt;
    return value;
  }

  /// Describes the members for an archive.
  template <class Archive>
  friend void fields(Archive& archive, running_statistics& state) {
    archive(state.count_), archive(state.total_), archive(state.mean_), archive(state.squares_), archive(state.min_), archive(state.max_);
  }

  std::uint64_t count_ = 0;
  double total_ = 0.0;
  double mean_ = 0.0;
  double squares_ = 0.0;  ///< sum of the squared differences from the mean
  double min_ = 0.0;
  double max_ = 0.0;
};

namespace detail {

/// The q-quantile of `count` samples, interpolated linearly; n/a without samples.
/// @param at returns the sample at a rank, from 0 in ascending order.
template <class At>
[[nodiscard]] std::optional<double> interpolated_quantile(std::size_t count, double q, At const& at) {
  if (count == 0) return std::nullopt;
  double const position = q * static_cast<double>(count - 1);
  auto const below = static_cast<std::size_t>(position);
  double const fraction = position - static_cast<double>(below);
  double const lower = at(below);
  return lower + fraction * (at(std::min(below + 1, count - 1)) - lower);
}

}  // namespace detail

/// @brief The q-quantile of sorted samples, interpolated linearly; n/a without samples. Source: definition 7 of R. J. Hyndman and Y. Fan,
/// "Sample quantiles in statistical packages", The American Statistician 50 (1996); the default of NumPy.
///
/// Takes constant time. Thread-safe. For unsorted samples, `select_quantile` is faster than sorting; for many samples, `quantile_sketch`
/// needs less memory.
/// @param sorted samples in ascending order; not checked.
/// @param q from 0 to 1, such as 0.5 for the median; not checked.
/// @return in the unit of the samples.
[[nodiscard]] inline std::optional<double> quantile(::profkit::detail::own_vector<double> const& sorted, double q) {
  return detail::interpolated_quantile(sorted.size(), q, [&](std::size_t rank) { return sorted[rank]; });
}

}  // namespace PROFKIT_NAMESPACE
