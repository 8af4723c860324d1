// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <profkit/impl/analyze/verdict/mean_interval.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A value of each rank in each compared step, in ms.
using rank_steps = own_vector<own_vector<double>>;

/// What the ranks did before their collectives: work of the GPU, or the time in which the GPU waited for the host.
struct work_times {
  rank_steps excess;          ///< beyond the median of the other ranks in the same collectives
  own_vector<double> own;     ///< by rank: its time in a mean step
  own_vector<double> others;  ///< by rank: that median in a mean step
  own_vector<double> usual;   ///< by rank: the time that differs between processes: `others`, or the time of the host behind it
};

/// The ranks whose own work delays the others.
struct delaying_ranks {
  own_vector<std::size_t> ranks;  ///< positions, longest excess first
  bool is_gpu = false;            ///< the excess is GPU time
  std::string path;               ///< the scope with the excess
  double own = 0.0;               ///< time of the first rank in the scope, ms in a mean step
  double excess = 0.0;            ///< of the first rank, ms in a mean step
  double low = 0.0;               ///< 95 % interval of `excess`
  double high = 0.0;
  double whole = 0.0;     ///< of the first rank in all scopes
  std::size_t steps = 0;  ///< number of steps with the excess; 0: it is in all steps
};

/// A rank whose host is slower than the others in each step, but not by more than hosts differ.
struct unproven_host {
  std::size_t rank = 0;  ///< position
  double excess = 0.0;   ///< ms in a mean step
};

/// Clips values at 3 robust standard deviations from the median, so that single long values do not dominate the mean. If more than a fifth
/// are so far away, these are another kind of step, and all values stay.
inline own_vector<double> without_extremes(own_vector<double> values) {
  constexpr double max_deviations = 3.0;
  constexpr double max_share = 0.2;
  std::optional<median_spread> const spread = median_and_mad(values);
  if (!spread) return values;
  double const limit = max_deviations * robust_deviation(values, *spread);
  auto const clipped = std::count_if(values.begin(), values.end(), [&](double each) { return std::abs(each - spread->median) > limit; });
  if (static_cast<double>(clipped) > max_share * static_cast<double>(values.size())) return values;
  for (double& value : values) value = std::clamp(value, spread->median - limit, spread->median + limit);
  return values;
}

/// @param counts by value: whether it counts as another one.
/// @return for each value, the median of the other ones; the value itself if there is none.
inline own_vector<double> medians_of_others(own_vector<double> const& values, own_vector<bool> const& counts) {
  own_vector<double> result = values;
  own_vector<double> sorted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (counts[i]) sorted.push_back(values[i]);
  }
  // At most four values around the middle decide.
  auto const low = static_cast<std::ptrdiff_t>((std::max<std::size_t>(sorted.size(), 2) - 2) / 2);
  if (sorted.empty()) return result;
  std::nth_element(sorted.begin(), sorted.begin() + low, sorted.end());
  std::partial_sort(sorted.begin() + low, sorted.begin() + std::min(low + 4, static_cast<std::ptrdiff_t>(sorted.size())), sorted.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t const others = sorted.size() - (counts[i] ? 1 : 0);
    if (others == 0) continue;
    auto const other = [&](std::size_t at) { return sorted[counts[i] && values[i] <= sorted[at] ? at + 1 : at]; };
    result[i] = 0.5 * (other((others - 1) / 2) + other(others / 2));
  }
  return result;
}

/// The quantile of Student's t distribution with a share `outside` above it.
inline double student_limit(double outside, double freedom) { return student_quantile(1.0 - 2.0 * outside, std::max(1.0, freedom)); }

/// Finds the ranks whose own work delays the others. Takes time proportional to ranks times steps.
///
/// A suspect is chosen on one half of the steps and judged on the other one, both ways. So the noise that makes a rank a suspect does not
/// count as evidence. The halves are blocks of neighbouring steps, because noise is correlated. Causes on the GPU and on the host are
/// judged separately, by their own times. A suspect is named if its excess
///
/// * is the largest of all ranks, or at least half of it, in both halves, and above chance in each of them;
/// * exceeds the differences between processes. These are those of the other ranks, or assumed ones: 14 % of the time of the host, as
///   `profkit compare` does (10 % of a machine, and 10 % of each scope), and 0.4 % of the time of the GPU. Ranks of one host share its
///   speed, so a host counts as one process if most of its ranks are suspects. The limits allow for the number of ranks.
///
/// If the excess is in some steps only, the number of these steps is judged instead of the mean: they must be more than this rank's share
/// of all such steps. Error rates: docs/distributed.md.
/// @tparam Source has the times:
///   `work_times const& all(bool is_gpu)`: of all scopes;
///   `std::optional<std::string> scope(bool is_gpu, std::size_t rank, own_vector<bool> const& steps)`: the scope with the excess of a rank
///   in some steps, if there is one;
///   `work_times in(bool is_gpu, std::string const& scope, own_vector<bool> const& counts)`: of a scope, beyond the median of the other
///   ranks that count.
template <class Source>
class straggler_rule {
 public:
  /// All arguments are borrowed.
  /// @param held the mean wait of the others in collectives that the rank started last.
  /// @param host_of number of the host of each rank.
  /// @param bound of the clocks, in ms.
  straggler_rule(Source& source, rank_steps const& held, own_vector<std::size_t> const& host_of, double bound)
      : source_{source}, held_{held}, host_of_{host_of}, bound_{bound}, steps_{held.empty() ? 0 : held.front().size()} {
    for (std::size_t step = 0; step < steps_; ++step) {
      std::size_t const quarter = 4 * step / steps_;  // as 0, 1, 1, 0, so that a drift is in both halves
      halves_[0].push_back(quarter == 0 || quarter == 3);
      halves_[1].push_back(!halves_[0].back());
    }
    for (own_vector<double> const& each : held) waits_.push_back(mean_of(each));
  }

  /// @return the ranks that delay the others; n/a if none does, or if that is not known.
  [[nodiscard]] std::optional<delaying_ranks> find() {
    std::optional<delaying_ranks> result;
    if (held_.size() < 2 || steps_ < min_steps_for_straggler) return result;
    for (bool const is_gpu : {true, false}) {
      for (auto const& suspects : {steady_suspects(source_.all(is_gpu).excess), steady_suspects(held_)}) {
        if (!suspects.empty()) keep(result, judge(is_gpu, suspects, false));
      }
      auto const rare = rare_suspects(source_.all(is_gpu).excess);
      if (!rare.empty()) keep(result, judge(is_gpu, rare, true));
    }
    return result;
  }

  /// After `find` named nobody: a host that is slower, but not by more than hosts differ.
  [[nodiscard]] std::optional<unproven_host> const& unproven() const noexcept { return unproven_; }

 private:
  static constexpr double chance = 0.01;  ///< of naming a rank of an even job, for each kind of test

  static double mean_of(own_vector<double> const& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
  }

  [[nodiscard]] double ranks() const { return static_cast<double>(held_.size()); }

  [[nodiscard]] double mean_in(own_vector<double> const& values, std::size_t half) const {
    double sum = 0.0;
    double count = 0.0;
    for (std::size_t i = 0; i < steps_; ++i) {
      if (!halves_[half][i]) continue;
      sum += values[i];
      count += 1.0;
    }
    return sum / count;
  }

  /// The ranks that have the largest mean, or at least half of it, in both halves; at most half of all ranks.
  [[nodiscard]] own_vector<std::size_t> largest(rank_steps const& values) const {
    own_vector<std::size_t> all(values.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t half = 0; half < halves_.size(); ++half) {
      own_vector<double> means;
      for (own_vector<double> const& each : values) means.push_back(mean_in(each, half));
      double const most = *std::max_element(means.begin(), means.end());
      auto const at_least = [&](double limit) {
        return static_cast<std::size_t>(std::count_if(means.begin(), means.end(), [&](double each) { return each >= limit; }));
      };
      double const limit = at_least(0.5 * most) <= std::max<std::size_t>(1, values.size() / 2) ? 0.5 * most : most;
      all.erase(std::remove_if(all.begin(), all.end(), [&](std::size_t each) { return most <= 0.0 || means[each] < limit; }), all.end());
    }
    return all;
  }

  [[nodiscard]] own_vector<std::size_t> steady_suspects(rank_steps const& values) const {
    rank_steps clipped;
    for (own_vector<double> const& each : values) clipped.push_back(without_extremes(each));
    return largest(clipped);
  }

  /// @return by rank and step: the value if it is far beyond the noise of all ranks, else 0.
  [[nodiscard]] static rank_steps events_of(rank_steps const& values) {
    constexpr double min_deviations = 6.0;
    own_vector<double> all;
    for (own_vector<double> const& each : values) all.insert(all.end(), each.begin(), each.end());
    median_spread const spread = *median_and_mad(all);
    double const limit = spread.median + min_deviations * robust_deviation(all, spread);
    rank_steps result = values;
    for (own_vector<double>& each : result) {
      for (double& value : each) value = value > limit ? value : 0.0;
    }
    return result;
  }

  /// Short disturbances of all ranks do not compare with the long ones of a rank.
  /// @return the events that are at least half as long as the mean event of a rank; 0 for all others.
  [[nodiscard]] static rank_steps as_long_as_usual(rank_steps events, std::size_t rank) {
    double const sum = std::accumulate(events[rank].begin(), events[rank].end(), 0.0);
    double const limit = 0.5 * sum / static_cast<double>(std::max<std::size_t>(steps_with(events[rank]), 1));
    for (own_vector<double>& each : events) {
      for (double& value : each) value = value >= limit ? value : 0.0;
    }
    return events;
  }

  [[nodiscard]] own_vector<std::size_t> rare_suspects(rank_steps const& values) const {
    own_vector<std::size_t> found = largest(events_of(values));
    if (found.size() > 1) found.clear();
    return found;
  }

  /// The number of steps with an event.
  static std::size_t steps_with(own_vector<double> const& events) {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [](double each) { return each > 0.0; }));
  }

  /// The number of events. Neighbouring steps are one event.
  static std::size_t count_of(own_vector<double> const& events) {
    std::size_t result = 0;
    for (std::size_t i = 0; i < events.size(); ++i) result += events[i] > 0.0 && (i == 0 || events[i - 1] <= 0.0) ? 1 : 0;
    return result;
  }

  void keep(std::optional<delaying_ranks>& to, std::optional<delaying_ranks> next) const {
    auto const cost = [&](delaying_ranks const& each) { return std::min(each.excess, waits_[each.ranks.front()]); };
    if (next && (!to || cost(*next) > cost(*to))) to = std::move(next);
  }

  /// Whether the others wait for a rank: longer than the clocks' bound, and at least twice as long as for other ranks.
  [[nodiscard]] bool is_awaited(own_vector<std::size_t> const& which) const {
    double own = 0.0;
    for (std::size_t const each : which) own += waits_[each];
    double const others = std::accumulate(waits_.begin(), waits_.end(), 0.0) - own;
    auto const inside = static_cast<double>(which.size());
    return own > 0.0 && own >= min_clock_bounds * bound_ && own / inside * (ranks() - inside) >= min_other_waits * others;
  }

  /// @param suspects chosen from the times of all scopes, or from the waits.
  std::optional<delaying_ranks> judge(bool is_gpu, own_vector<std::size_t> const& suspects, bool is_rare) {
    std::size_t const first = *std::max_element(suspects.begin(), suspects.end(), [&](std::size_t a, std::size_t b) {
      return mean_of(source_.all(is_gpu).excess[a]) < mean_of(source_.all(is_gpu).excess[b]);
    });
    auto const scopes = std::pair{source_.scope(is_gpu, first, halves_[0]), source_.scope(is_gpu, first, halves_[1])};
    if (!scopes.first || !scopes.second) return std::nullopt;
    std::string const path = common_path(*scopes.first, *scopes.second);
    if (path.empty() && scopes.first != scopes.second) return std::nullopt;
    own_vector<bool> counts(held_.size(), true);
    for (std::size_t const each : suspects) counts[each] = is_rare;
    work_times const times = source_.in(is_gpu, path, counts);
    delaying_ranks result;
    result.is_gpu = is_gpu;
    result.path = path;
    own_vector<double> series = times.excess[first];
    if (is_rare) {
      rank_steps const events = as_long_as_usual(events_of(times.excess), first);
      if (!is_frequent(events, first)) return std::nullopt;
      result.ranks = {first};
      result.steps = steps_with(events[first]);
    } else {
      result.ranks = steady(is_gpu, times, suspects);
      if (result.ranks.empty()) return std::nullopt;
      series = times.excess[result.ranks.front()];
      // A delay that is mostly in a few steps is not a delay of each step.
      if (median_and_mad(series)->median < 0.5 * mean_of(series)) return std::nullopt;
      series = without_extremes(std::move(series));
    }
    std::optional<mean_interval> const size = interval_of_mean(series);
    if (!is_awaited(result.ranks) || !size || size->mean <= 0.0) return std::nullopt;
    own_vector<double> const& whole = source_.all(is_gpu).excess[result.ranks.front()];
    result.whole = mean_of(is_rare ? whole : without_extremes(whole));
    result.own = times.own[result.ranks.front()];
    result.excess = size->mean;
    result.low = std::max(0.0, size->mean - size->half_width);
    result.high = size->mean + size->half_width;
    return result;
  }

  static std::string common_path(std::string const& a, std::string const& b) {
    std::size_t length = 0;
    for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
      bool const ends = (i == a.size() || a[i] == '/') && (i == b.size() || b[i] == '/');
      if (ends) length = i;
      if (i < a.size() && i < b.size() && a[i] != b[i]) break;
    }
    return a.substr(0, length);
  }

  /// Whether one rank has so many of the events that it is no chance.
  [[nodiscard]] bool is_frequent(rank_steps const& events, std::size_t rank) const {
    std::size_t all = 0;
    for (own_vector<double> const& each : events) all += count_of(each);
    std::size_t const own = count_of(events[rank]);
    constexpr std::size_t min_events = 3;
    if (own < min_events || mean_in(events[rank], 0) <= 0.0 || mean_in(events[rank], 1) <= 0.0) return false;
    auto const k = static_cast<double>(own);
    // The share of the binomial distribution at or above k. Source: DLMF 8.17.5.
    double const p = incomplete_beta(k, static_cast<double>(all) - k + 1.0, 1.0 / ranks());
    return p * ranks() < chance;
  }

  /// The mean of each rank, and what the ranks differ by.
  struct process_means {
    own_vector<double> of_rank;
    double middle = 0.0;     ///< mean of the others
    double deviation = 0.0;  ///< standard deviation of the others
    double freedom = 0.0;    ///< its degrees of freedom
    double others = 0.0;     ///< number of the others
  };

  /// The noise of the steps within a process, from the steps of all ranks: a few steps of one rank do not show how they are correlated.
  struct step_noise {
    double error = 0.0;    ///< standard error of the mean of a rank
    double freedom = 1.0;  ///< degrees of freedom

    explicit step_noise(rank_steps const& values) {
      double squares = 0.0;
      double products = 0.0;
      double ranks = 0.0;  // without those that have no other rank to be compared with
      for (own_vector<double> const& each : values) {
        double const mean = mean_of(each);
        ranks += std::any_of(each.begin(), each.end(), [&](double value) { return value != mean; }) ? 1.0 : 0.0;
        for (std::size_t i = 0; i < each.size(); ++i) {
          squares += (each[i] - mean) * (each[i] - mean);
          if (i > 0) products += (each[i] - mean) * (each[i - 1] - mean);
        }
      }
      if (squares <= 0.0) return;
      auto const steps = static_cast<double>(values.front().size());
      freedom = std::max(1.0, ranks - 1.0) * (steps - 1.0);
      constexpr double min_freedom = 12.0;   // fewer values show no autocorrelation
      constexpr double sure_freedom = 28.0;  // with fewer, a slow rank of 4 would not be found in 8 steps
      double const seen = products / squares;
      // Half a standard error more: an autocorrelation that is taken for too low names ranks of even jobs.
      double const above = freedom < sure_freedom ? 0.0 : 0.5 * std::sqrt(std::max(0.0, 1.0 - seen * seen) / freedom);
      double const decay = freedom < min_freedom ? 0.0 : decay_of(seen + above, values.front().size());
      // It also lowers the variance, and leaves fewer independent squares. Source: G. V. Bayley and J. M. Hammersley, Supplement to the
      // Journal of the Royal Statistical Society 8 (1946).
      double const of_mean = noise_model{1.0, decay}.variance_of_mean(values.front().size());
      error = std::sqrt(squares / (ranks * steps) / (1.0 - of_mean) * of_mean);
      freedom = std::max(1.0, freedom * (1.0 - decay * decay) / (1.0 + decay * decay));
    }

    /// The decay of the noise that has this autocorrelation in so many steps. The mean is estimated from the same steps, which lowers it.
    static double decay_of(double autocorrelation, std::size_t count) {
      auto const steps = static_cast<double>(count);
      double low = 0.0, high = 0.97;
      for (int i = 0; i < 20; ++i) {
        double const decay = 0.5 * (low + high);
        double const of_mean = noise_model{1.0, decay}.variance_of_mean(count);
        double const with_ends = 2.0 * (1.0 - std::pow(decay, steps)) / (steps * (1.0 - decay));  // of the mean and the first and last step
        double const expected = ((steps - 1.0) * decay - (steps + 1.0) * of_mean + with_ends) / (steps * (1.0 - of_mean));
        (expected < autocorrelation ? low : high) = decay;
      }
      return low;
    }

    [[nodiscard]] double limit(double outside) const { return error * student_limit(outside, freedom); }
  };

  /// @param unit_of number of the process of each rank, or of its host.
  /// @param is_suspect by rank.
  [[nodiscard]] static process_means compare(own_vector<double> const& means, own_vector<std::size_t> const& unit_of,
                                             own_vector<bool> const& is_suspect) {
    std::size_t const units = *std::max_element(unit_of.begin(), unit_of.end()) + 1;
    own_vector<double> sum(units), count(units);
    own_vector<bool> has_suspect(units);
    for (std::size_t i = 0; i < means.size(); ++i) {
      sum[unit_of[i]] += means[i];
      count[unit_of[i]] += 1.0;
      has_suspect[unit_of[i]] = has_suspect[unit_of[i]] || is_suspect[i];
    }
    own_vector<double> all, others;
    for (std::size_t i = 0; i < units; ++i) {
      all.push_back(sum[i] / std::max(1.0, count[i]));
      if (!has_suspect[i]) others.push_back(all.back());
    }
    process_means result;
    result.of_rank = means;
    result.others = static_cast<double>(others.size());
    if (others.empty()) return result;
    result.middle = mean_of(others);
    double squares = 0.0;
    for (double const each : others) squares += (each - result.middle) * (each - result.middle);
    result.freedom = result.others - 1.0;
    if (result.freedom > 0.0) result.deviation = std::sqrt(squares / result.freedom);
    if (std::count(is_suspect.begin(), is_suspect.end(), true) < 2) return result;
    // The suspects were taken from the upper end, so the spread below the median also counts. If they are half of all, they are far above.
    double const median = std::min(median_and_mad(all)->median, *std::max_element(others.begin(), others.end()));
    double below = 0.0, number = 0.0;
    for (double const each : all) {
      if (each >= median) continue;
      below += (median - each) * (median - each);
      number += 1.0;
    }
    if (number > 0.0) result.deviation = std::max(result.deviation, std::sqrt(below / number));
    return result;
  }

  /// @return the suspects whose excess is beyond chance and beyond the differences between processes, longest excess first.
  own_vector<std::size_t> steady(bool is_gpu, work_times const& times, own_vector<std::size_t> suspects) {
    rank_steps clipped;
    for (own_vector<double> const& each : times.excess) clipped.push_back(without_extremes(each));
    own_vector<double> whole;
    std::array<own_vector<double>, 2> half;
    for (own_vector<double> const& each : clipped) {
      whole.push_back(mean_of(each));
      for (std::size_t i = 0; i < 2; ++i) half[i].push_back(mean_in(each, i));
    }
    std::sort(suspects.begin(), suspects.end(), [&](std::size_t a, std::size_t b) { return whole[a] > whole[b]; });
    constexpr double min_share = 2.0 / 3.0;  // of normal noise in many ranks, few are so close to the largest
    double const most = whole[suspects.front()];
    suspects.erase(std::remove_if(suspects.begin(), suspects.end(), [&](std::size_t each) { return whole[each] < min_share * most; }),
                   suspects.end());
    own_vector<bool> is_suspect(whole.size());
    for (std::size_t const each : suspects) is_suspect[each] = true;
    for (std::size_t i = 0; i < whole.size(); ++i) {  // most ranks have the excess
      if (!is_suspect[i] && whole[i] >= min_share * most) return {};
    }
    own_vector<std::size_t> unit_of(whole.size());
    std::iota(unit_of.begin(), unit_of.end(), std::size_t{0});
    process_means const by_rank = compare(whole, unit_of, is_suspect);
    std::array<process_means, 2> const by_half{compare(half[0], unit_of, is_suspect), compare(half[1], unit_of, is_suspect)};
    step_noise const noise{clipped};
    own_vector<std::size_t> result;
    for (std::size_t const each : suspects) {
      if (!is_above_chance(noise, by_half, each)) continue;
      bool const is_host = !is_gpu && is_mostly_suspect_host(each, is_suspect);
      process_means const among = is_host ? compare(whole, host_of_, is_suspect) : by_rank;
      double const of_middle = std::sqrt(1.0 + 1.0 / std::max(1.0, among.others));
      double const between = (is_gpu ? gpu_spread : host_spread) * times.usual[each] * of_middle;
      double const p = chance / (among.others + 1.0);
      constexpr double many = 1e6;
      double const error = std::hypot(between, noise.error);
      // Only the noise is estimated. Source: F. E. Satterthwaite, Biometrics Bulletin 2 (1946).
      double const freedom = noise.error > 0.0 ? std::min(many, noise.freedom * std::pow(error / noise.error, 4.0)) : many;
      double const spread = among.deviation * of_middle;
      // Others that differ by more refute the assumption: by 3 standard errors of a standard deviation.
      bool const is_refuted = among.freedom >= 2.0 && spread > error * (1.0 + 3.0 / std::sqrt(2.0 * among.freedom));
      constexpr double more = 1.2;  // the other conditions make up for it
      double const assumed = std::max(is_refuted ? spread * student_limit(p, many) : 0.0, error * student_limit(more * p, freedom));
      double const measured = spread * student_limit(0.5 * p, among.freedom);
      bool const exceeds_measured = among.freedom >= 1.0 && whole[each] - std::max(0.0, among.middle) > measured;
      std::optional<mean_interval> const own = interval_of_mean(clipped[each]);
      if (!own || whole[each] <= own->cautious_half_width) continue;
      if (whole[each] > assumed || exceeds_measured) {
        result.push_back(each);
      } else if (!is_gpu && whole[each] > noise.limit(p) && !unproven_ && is_awaited({each})) {
        unproven_ = unproven_host{each, whole[each]};
      }
    }
    return result;
  }

  [[nodiscard]] bool is_mostly_suspect_host(std::size_t rank, own_vector<bool> const& is_suspect) const {
    std::size_t all = 0, suspects = 0;
    for (std::size_t i = 0; i < host_of_.size(); ++i) {
      if (host_of_[i] != host_of_[rank]) continue;
      ++all;
      suspects += is_suspect[i] ? 1 : 0;
    }
    return all > 1 && 2 * suspects > all;
  }

  /// Whether the excess is positive in both halves beyond chance: beyond the spread of the other ranks, or, if these are few, beyond the
  /// noise of the steps.
  [[nodiscard]] static bool is_above_chance(step_noise const& noise, std::array<process_means, 2> const& by_half, std::size_t rank) {
    constexpr double outside = 0.1;
    constexpr double min_others = 6.0;
    return std::all_of(by_half.begin(), by_half.end(), [&](process_means const& half) {
      double const mean = half.of_rank[rank];
      if (half.others < min_others) return mean > std::sqrt(2.0) * noise.limit(outside);
      return mean - half.middle > student_limit(outside, half.freedom) * half.deviation;
    });
  }

  static constexpr double host_spread = 0.14;
  static constexpr double gpu_spread = 0.004;

  Source& source_;
  rank_steps const& held_;
  own_vector<std::size_t> const& host_of_;
  double bound_;
  std::size_t steps_;
  std::array<own_vector<bool>, 2> halves_;  ///< by step
  own_vector<double> waits_;                ///< by rank: mean of `held_`
  std::optional<unproven_host> unproven_;
};

}  // namespace PROFKIT_NAMESPACE::detail
