// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "../../../statistics.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../windows/state.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Computes quantiles of durations in bounded memory, with a relative error of at most 1 %. Merging two sketches gives the same
/// result as adding all durations to one sketch, in any order.
///
/// A histogram with logarithmic buckets: each duration below 128 ns has its own bucket, and every further power of two has 64 buckets of
/// equal width. The middle of a bucket differs from each duration in it by at most 1/128 = 0.78 %. All durations of
/// `std::chrono::nanoseconds` (292 years) fit into `max_buckets`, so buckets are never merged. Durations of 0 and negative durations (from
/// clocks that disagree) share the bucket of 0. Minimum and maximum are exact.
///
/// Source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12
/// (2019), with the logarithm to base 2 interpolated linearly between powers of two, so that bucket indices need only integers and are
/// equal on every machine.
///
/// Not thread-safe: use one sketch per thread and merge them. Adding takes constant time. The first duration in a group of 32 buckets
/// allocates 64 bytes, and each 65,536th in a bucket 256 bytes for each group; this can throw `std::bad_alloc`. Nothing else throws.
///
///     profkit::quantile_sketch sketch;
///     for (std::chrono::nanoseconds each : durations) sketch.add(each);
///     double const p99_ns = sketch.quantile(0.99).value();
class quantile_sketch {
 public:
  /// @brief Adds one duration, of any sign.
  void add(std::chrono::nanoseconds duration) {
    increase(index_of(duration), 1);
    ++count_;
    min_ = std::min(min_, duration);
    max_ = std::max(max_, duration);
  }

  /// @brief Merges another sketch: the result is as if its durations had been added here. Exact, independent of the order of merging.
  void add(quantile_sketch const& other) {
    for (std::size_t i = 0; i < pages; ++i) {
      if (other.page_of_[i] == no_page) continue;
      for (std::size_t k = 0; k < page_size; ++k) increase(i * page_size + k, other.count_in(i * page_size + k));
    }
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  /// @brief Number of added durations.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// @brief The exact minimum; n/a without durations.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> min() const noexcept { return if_any(min_); }

  /// @brief The exact maximum; n/a without durations.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> max() const noexcept { return if_any(max_); }

  /// @brief The q-quantile in nanoseconds, interpolated like `quantile`, with a relative error of at most 1 %; n/a without durations.
  /// The time is proportional to the number of buckets in use, at most `max_buckets`.
  /// @param q from 0 to 1; not checked. 0 returns the exact minimum, 1 the exact maximum.
  [[nodiscard]] std::optional<double> quantile(double q) const {
    if (count_ == 0) return std::nullopt;
    double const position = q * static_cast<double>(count_ - 1);
    std::uint64_t const rank = std::min(static_cast<std::uint64_t>(position), count_ - 1);
    double const below = at_rank(rank);
    double const fraction = position - static_cast<double>(rank);
    if (fraction <= 0.0 || rank + 1 >= count_) return below;
    return below + fraction * (at_rank(rank + 1) - below);
  }

  /// @brief Memory in bytes, including the object. Proportional to the range of the durations, not to their number.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof(quantile_sketch) + touched_.capacity() * sizeof(page) + carried_.capacity() * sizeof(carried_page);
  }

 private:
  static constexpr unsigned octave_bits = 6;                           ///< 2^6 buckets per power of two
  static constexpr std::size_t exact = std::size_t{2} << octave_bits;  ///< each duration below this, in nanoseconds, has its own bucket
  static constexpr unsigned duration_bits = 63;                        ///< bits of the maximum duration

 public:
  /// @brief Maximum number of buckets, sufficient for every duration: 7 KiB of counts, and 29 KiB beyond 65,535 in a bucket.
  static constexpr std::size_t max_buckets = exact + ((duration_bits - octave_bits - 1) << octave_bits);

 private:
  /// Buckets are allocated in pages, because durations of one kind seldom span many powers of two.
  static constexpr std::size_t page_size = 32;
  using page = std::array<std::uint16_t, page_size>;  ///< the low bits of the counts: the sketches of many paths fit into a cache
  using carried_page = std::array<std::uint64_t, page_size>;

  static constexpr std::size_t pages = max_buckets / page_size;
  static constexpr std::uint8_t no_page = 0;  ///< value in `page_of_` for a page without durations
  static_assert(max_buckets % page_size == 0 && pages < std::numeric_limits<std::uint8_t>::max());

  /// The bucket of a duration. The highest set bit selects the power of two, the next `octave_bits` bits the bucket in it.
  static std::size_t index_of(std::chrono::nanoseconds duration) noexcept {
    if (duration.count() < static_cast<std::int64_t>(exact)) return static_cast<std::size_t>(std::max<std::int64_t>(duration.count(), 0));
    auto const ns = static_cast<std::uint64_t>(duration.count());
    auto const shift = static_cast<unsigned>(63 - __builtin_clzll(ns)) - octave_bits;
    return (std::size_t{shift} << octave_bits) + (ns >> shift);
  }

  /// The middle of a bucket in nanoseconds.
  static double middle_of(std::size_t index) noexcept {
    if (index < exact) return static_cast<double>(index);
    std::size_t const shift = (index >> octave_bits) - 1;
    std::uint64_t const width = std::uint64_t{1} << shift;
    std::uint64_t const first = (index - (shift << octave_bits)) * width;
    return static_cast<double>(first) + static_cast<double>(width - 1) / 2.0;
  }

  /// Adds to the count of a bucket. Allocates its page if needed.
  void increase(std::size_t index, std::uint64_t count) {
    std::size_t const which = index / page_size;
    if (__builtin_expect(page_of_[which] == no_page, 0)) make_page(which);
    std::uint16_t& low = touched_[page_of_[which] - 1U][index % page_size];
    count += low;
    if (__builtin_expect(count >> 16U != 0, 0)) carry(index, count >> 16U);
    low = static_cast<std::uint16_t>(count);
  }

  /// Separate from `increase`, which is inlined into the hottest loop of an analysis.
  __attribute__((noinline)) void make_page(std::size_t which) {
    touched_.emplace_back();
    page_of_[which] = static_cast<std::uint8_t>(touched_.size());
  }

  __attribute__((noinline)) void carry(std::size_t index, std::uint64_t count) {
    if (carried_.size() < touched_.size()) carried_.resize(touched_.size());
    carried_[page_of_[index / page_size] - 1U][index % page_size] += count;
  }

  /// The count of a bucket whose page exists.
  [[nodiscard]] std::uint64_t count_in(std::size_t index) const noexcept {
    std::size_t const which = page_of_[index / page_size] - std::size_t{1};
    std::uint64_t const high = which < carried_.size() ? carried_[which][index % page_size] << 16U : 0;
    return high + touched_[which][index % page_size];
  }

  using bucket_count = std::pair<std::uint16_t, std::uint64_t>;  ///< a bucket and the number of durations in it

  /// Describes the members for an archive, which contains the non-empty buckets in ascending order.
  template <class Archive>
  friend void fields(Archive& archive, quantile_sketch& value) {
    detail::own_vector<bucket_count> buckets = value.used_buckets();
    archive.amount(value.count_), archive(value.min_), archive(value.max_), archive(buckets);
    if constexpr (Archive::is_reader) archive.check(value.fill(buckets), "the buckets of a quantile sketch do not fit its durations");
  }

  /// The non-empty buckets, in ascending order.
  [[nodiscard]] detail::own_vector<bucket_count> used_buckets() const {
    detail::own_vector<bucket_count> result;
    for (std::size_t i = 0; i < pages; ++i) {
      for (std::size_t k = 0; page_of_[i] != no_page && k < page_size; ++k) {
        std::uint64_t const count = count_in(i * page_size + k);
        if (count > 0) result.emplace_back(static_cast<std::uint16_t>(i * page_size + k), count);
      }
    }
    return result;
  }

  /// Fills an empty sketch from an archive, whose content is not trusted.
  /// @return whether the buckets are consistent with the other members.
  bool fill(detail::own_vector<bucket_count> const& buckets) {
    std::uint64_t left = count_;
    std::size_t next = 0;
    for (auto const& [index, count] : buckets) {
      if (index < next || index >= max_buckets || count == 0 || count > left) return false;
      increase(index, count);
      left -= count;
      next = index + std::size_t{1};
    }
    if (left > 0) return false;
    if (buckets.empty()) return min_ == quantile_sketch{}.min_ && max_ == quantile_sketch{}.max_;
    return min_ <= max_ && index_of(min_) == buckets.front().first && index_of(max_) == buckets.back().first;
  }

  /// Estimates the duration at a rank, from 0 in ascending order.
  [[nodiscard]] double at_rank(std::uint64_t rank) const {
    auto const least = static_cast<double>(min_.count());
    auto const longest = static_cast<double>(max_.count());
    if (rank == 0) return least;
    if (rank + 1 == count_) return longest;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < pages; ++i) {
      if (page_of_[i] == no_page) continue;
      for (std::size_t k = 0; k < page_size; ++k) {
        seen += count_in(i * page_size + k);
        if (rank < seen) return std::clamp(middle_of(i * page_size + k), least, longest);
      }
    }
    return longest;
  }

  /// @return the value; n/a without durations.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> if_any(std::chrono::nanoseconds value) const noexcept {
    if (count_ == 0) return std::nullopt;
    return value;
  }

  std::uint64_t count_ = 0;
  std::chrono::nanoseconds min_ = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds max_ = std::chrono::nanoseconds::min();
  detail::own_vector<page> touched_;           ///< non-empty pages, in the order of their creation
  detail::own_vector<carried_page> carried_;   ///< of the same pages: the other bits of the counts; empty while all are 0
  std::array<std::uint8_t, pages> page_of_{};  ///< position in `touched_` + 1; `no_page` without a duration
};

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

/// Sorts positions of records by a number. Takes linear time if the numbers are spread evenly, as times and correlations are; n log n in
/// the worst case. Stable.
class bucket_order {
 public:
  explicit bucket_order(own_vector<std::uint64_t> const& numbers) : positions_(numbers.size()) {
    if (numbers.empty()) return;
    auto const [least, highest] = std::minmax_element(numbers.begin(), numbers.end());
    unsigned shift = 0;
    while ((*highest - *least) >> shift >= numbers.size()) ++shift;
    auto const bucket_of = [&, first = *least](std::uint64_t number) { return std::size_t{(number - first) >> shift}; };
    own_vector<std::uint32_t> ends(bucket_of(*highest) + 2);  // end of each bucket
    for (std::uint64_t const number : numbers) ++ends[bucket_of(number) + 1];
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    for (std::uint32_t i = 0; i < numbers.size(); ++i) positions_[ends[bucket_of(numbers[i])]++] = i;
    ends.pop_back();
    auto const before = [&](std::uint32_t a, std::uint32_t b) { return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : a < b; };
    std::uint32_t begin = 0;
    for (std::uint32_t const end : ends) {
      if (end - begin > 1) std::sort(positions_.begin() + begin, positions_.begin() + end, before);
      begin = end;
    }
  }

  [[nodiscard]] own_vector<std::uint32_t> const& positions() const& noexcept { return positions_; }
  [[nodiscard]] own_vector<std::uint32_t> positions() && noexcept { return std::move(positions_); }

 private:
  own_vector<std::uint32_t> positions_;
};

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

/// @brief Like `quantile`, for unsorted samples, in linear time on average. Reorders the samples.
///
/// Allocates no memory. Not thread-safe for samples that another thread uses.
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
  auto const rank = static_cast<typename std::iterator_traits<Iterator>::difference_type>(position);
  Iterator const at = first + rank;
  std::nth_element(first, at, last);
  Iterator const behind = std::min_element(at + 1, last);
  double const lower = number_of(*at);
  double const upper = behind == last ? lower : number_of(*behind);
  return lower + (position - static_cast<double>(rank)) * (upper - lower);
}

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

/// Exact sums of integers and of their squares, so adding is associative and independent of the order.
class exact_sums {
 public:
  void add(std::int64_t value) noexcept {
    sum_ += value;
    squares_ += wide_integer{value} * value;
  }

  /// Merges another object: the result is as if its values had been added here.
  void add(exact_sums const& other) noexcept {
    sum_ += other.sum_;
    squares_ += other.squares_;
  }

  [[nodiscard]] std::int64_t sum() const noexcept { return sum_; }

  /// @return the sum of squared deviations from the mean.
  /// @param count number of values, at least 1. Values of 0 need not have been added.
  [[nodiscard]] double squares_around_mean(std::uint64_t count) const noexcept {
    // Exact integers around the integer part of the mean; then a correction for its fraction.
    auto const n = static_cast<std::int64_t>(count);
    std::int64_t const whole = sum_ / n;
    auto const rest = static_cast<double>(sum_ % n);
    wide_integer const around_whole = squares_ - wide_integer{whole} * (2 * wide_integer{sum_} - wide_integer{whole} * n);
    return static_cast<double>(around_whole) - rest * rest / static_cast<double>(n);
  }

  /// Sample standard deviation (n - 1); n/a with fewer than two values.
  [[nodiscard]] std::optional<double> standard_deviation(std::uint64_t count) const noexcept {
    if (count < 2) return std::nullopt;
    double const squares = squares_around_mean(count);
    return std::sqrt((squares > 0.0 ? squares : 0.0) / static_cast<double>(count - 1));
  }

  auto members() { return listed(summed(sum_), summed(squares_)); }

 private:
  std::int64_t sum_ = 0;
  wide_integer squares_ = 0;
};

inline milliseconds to_ms(std::chrono::nanoseconds duration) { return std::chrono::duration_cast<milliseconds>(duration); }

inline std::optional<milliseconds> to_ms(std::optional<double> ms) {
  if (!ms) return std::nullopt;
  return milliseconds{*ms};
}

inline std::optional<milliseconds> quantile_of(quantile_sketch const& durations, double q) {
  std::optional<double> const ns = durations.quantile(q);
  if (!ns) return std::nullopt;
  return std::chrono::duration<double, std::nano>{*ns};
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

/// Statistics with exact quantiles of stored samples, such as steps.
inline duration_summary summarize(own_vector<milliseconds> const& samples) {
  running_statistics statistics;
  own_vector<double> sorted;
  sorted.reserve(samples.size());
  for (milliseconds const sample : samples) {
    statistics.add(sample.count());
    sorted.push_back(sample.count());
  }
  std::sort(sorted.begin(), sorted.end());
  duration_summary result = summarize(statistics);
  result.median = to_ms(quantile(sorted, 0.5));
  result.p95 = to_ms(quantile(sorted, 0.95));
  result.p99 = to_ms(quantile(sorted, 0.99));
  return result;
}

/// Statistics of durations in bounded memory. All sums are integers, so the order of adding does not matter.
class duration_statistics {
 public:
  void add(std::chrono::nanoseconds duration) {
    sums_.add(duration.count());
    quantiles_.add(duration);
  }

  /// Merges another object: the result is as if its durations had been added here.
  void add(duration_statistics const& other) {
    sums_.add(other.sums_);
    quantiles_.add(other.quantiles_);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return quantiles_.count(); }

  [[nodiscard]] duration_summary summarize() const {
    duration_summary result;
    result.count = count();
    result.total = to_ms(std::chrono::nanoseconds{sums_.sum()});
    if (result.count == 0) return result;
    result.mean = result.total / static_cast<double>(result.count);
    if (auto const deviation = sums_.standard_deviation(result.count)) {
      result.standard_deviation = std::chrono::duration<double, std::nano>{*deviation};
    }
    result.min = to_ms(*quantiles_.min());
    result.max = to_ms(*quantiles_.max());
    result.median = quantile_of(quantiles_, 0.5);
    result.p95 = quantile_of(quantiles_, 0.95);
    result.p99 = quantile_of(quantiles_, 0.99);
    return result;
  }

  auto members() { return listed(sums_, quantiles_); }

 private:
  exact_sums sums_;
  quantile_sketch quantiles_;
};

}  // namespace PROFKIT_NAMESPACE::detail
