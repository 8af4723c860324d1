// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace profkit {

/// Mean and spread of a stream of numbers, in one pass and without storing them.
/// Source: B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962).
class running_statistics {
 public:
  /// Takes one sample.
  void add(double value) noexcept {
    ++count_;
    total_ += value;
    double const delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
    min_ = count_ == 1 ? value : std::min(min_, value);
    max_ = count_ == 1 ? value : std::max(max_, value);
  }

  /// Merges another one: the result is as if each of its values had been added.
  /// Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
  /// Stanford STAN-CS-79-773 (1979).
  void add(running_statistics const& other) noexcept {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    auto const mine = static_cast<double>(count_);
    auto const theirs = static_cast<double>(other.count_);
    double const delta = other.mean_ - mean_;
    mean_ += delta * theirs / (mine + theirs);
    squares_ += other.squares_ + delta * delta * mine * theirs / (mine + theirs);
    count_ += other.count_;
    total_ += other.total_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  /// How many samples.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Their sum.
  [[nodiscard]] double total() const noexcept { return total_; }

  /// n/a without samples.
  [[nodiscard]] std::optional<double> mean() const noexcept { return if_any(mean_); }
  /// n/a without samples.
  [[nodiscard]] std::optional<double> min() const noexcept { return if_any(min_); }
  /// n/a without samples.
  [[nodiscard]] std::optional<double> max() const noexcept { return if_any(max_); }

  /// Sample standard deviation (divides by n - 1); n/a with fewer than two samples.
  [[nodiscard]] std::optional<double> standard_deviation() const noexcept {
    if (count_ < 2) return std::nullopt;
    return std::sqrt(std::max(0.0, squares_) / static_cast<double>(count_ - 1));
  }

 private:
  [[nodiscard]] std::optional<double> if_any(double value) const noexcept {
    if (count_ == 0) return std::nullopt;
    return value;
  }

  template <class Archive>
  friend void fields(Archive& archive, running_statistics& state) {
    archive(state.count_), archive(state.total_), archive(state.mean_), archive(state.squares_), archive(state.min_), archive(state.max_);
  }

  std::uint64_t count_ = 0;
  double total_ = 0.0;
  double mean_ = 0.0;
  double squares_ = 0.0;
  double min_ = 0.0;
  double max_ = 0.0;
};

namespace detail {

/// The q-quantile of so many samples, linear between neighbours; n/a without samples.
/// @param at gives the sample at a rank, counted from 0 in ascending order.
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

/// The q-quantile of sorted samples, linear between neighbours; n/a without samples.
/// Source: definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50
/// (1996); NumPy's default.
/// @param sorted ascending.
/// @param q from 0 to 1.
[[nodiscard]] inline std::optional<double> quantile(std::vector<double> const& sorted, double q) {
  return detail::interpolated_quantile(sorted.size(), q, [&](std::size_t rank) { return sorted[rank]; });
}

}  // namespace profkit
