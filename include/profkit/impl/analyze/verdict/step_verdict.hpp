// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../../profile.hpp"
#include "../../../statistics.hpp"
#include "../../profile/own_memory.hpp"
#include "../step_kind_summary.hpp"
#include "mean_interval.hpp"
#include "series_description.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The rule of `steps=auto`: stop when the half-width of the 95 % interval of the mean step time is at most a given share of the
/// mean. The step time is host time, or GPU time if that is known and longer.
///
/// It checks after 60 steps, and then after each further quarter. Fewer than 60 steps miss a kind of step with a frequency of 1 in 20 with
/// a probability above 5 %. Each check is another chance to stop by coincidence, so checks are rare. Coverage of the final interval:
/// docs/statistics.md.
class stop_rule {
 public:
  /// @brief Creates the rule.
  /// @param wanted half-width relative to the mean, such as 0.01.
  /// @param warmup number of warm-up steps.
  /// @param max_steps maximum number of measured steps.
  stop_rule(double wanted, std::uint64_t warmup, std::uint64_t max_steps) noexcept
      : warmup_{warmup}, result_{wanted, {}, false, max_steps} {}

  /// @brief Adds the host time of the next measured step.
  void add(double ticks) { ticks_.push_back(ticks); }

  /// @brief Excludes a step after the warm-up. Its GPU time does not count.
  /// @param step `step_record::index`, in increasing order.
  void leave_out(std::uint64_t step) { left_out_.push_back(step); }

  /// @brief Decides whether to stop. To be called after each step.
  /// @param so_far contains the GPU step times known so far.
  /// @param has_gpu whether GPU step times exist; then at least 60 must be known.
  /// @param tick the duration of a tick of `add`.
  [[nodiscard]] bool look(profile const& so_far, bool has_gpu, milliseconds tick) {
    if (ticks_.size() >= next_look_ && !is_known_) {
      next_look_ += next_look_ / 4;
      is_known_ = is_mean_known(so_far, has_gpu, tick);
    }
    return is_known_ || ticks_.size() >= result_.max_steps;
  }

  /// @brief The result for the profile.
  [[nodiscard]] stop_record const& result() const noexcept { return result_; }

 private:
  static constexpr std::size_t min_steps = 60;

  [[nodiscard]] bool is_mean_known(profile const& so_far, bool has_gpu, milliseconds tick) {
    detail::own_vector<double> const gpu = gpu_ms(so_far);
    if (has_gpu && gpu.size() < min_steps) return false;
    auto const mean = [](detail::own_vector<double> const& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    result_.is_of_gpu = has_gpu && mean(gpu) > mean(ticks_) * tick.count();
    auto const interval = interval_of_mean(result_.is_of_gpu ? gpu : ticks_);
    result_.reached = interval ? interval->relative() : std::nullopt;
    if (!result_.reached) return false;
    return *result_.reached <= result_.wanted;
  }

  [[nodiscard]] detail::own_vector<double> gpu_ms(profile const& profile) const {
    detail::own_vector<double> result;
    for (gpu_step_record const& each : profile.gpu_steps) {
      if (each.step < warmup_ || std::binary_search(left_out_.begin(), left_out_.end(), each.step)) continue;
      std::size_t const position = each.step - warmup_;
      if (position >= result.size()) result.resize(position + 1, 0.0);
      result[position] += milliseconds{each.duration}.count();
    }
    result.erase(std::remove(result.begin(), result.end(), 0.0), result.end());  // steps without a GPU time
    return result;
  }

  std::uint64_t warmup_;
  stop_record result_;
  detail::own_vector<double> ticks_;            ///< host times of the measured steps
  detail::own_vector<std::uint64_t> left_out_;  ///< in increasing order
  std::size_t next_look_ = min_steps;
  bool is_known_ = false;
};

/// @brief Figures of single steps if the series contains means of groups.
struct grouped_steps {
  std::uint64_t warmup = 0;           ///< number of warm-up steps
  std::uint64_t measured = 0;         ///< number of measured steps
  double mean = 0.0;                  ///< mean of the measured steps, in milliseconds
  double deviation = 0.0;             ///< standard deviation of a measured step, in milliseconds
  detail::own_vector<double> sample;  ///< times of measured steps, chosen at random, in milliseconds
};

/// @brief Step times in order, warm-up first.
struct timed_steps {
  detail::own_vector<double> ms;            ///< in milliseconds
  detail::own_vector<std::uint64_t> steps;  ///< `step_record::index` of each
  std::size_t warmup = 0;                   ///< number of warm-up steps among them
  /// @brief n/a: each value is one step. Otherwise each value is the mean of a group of neighbouring steps, and `steps` has the first step
  /// of each group.
  std::optional<grouped_steps> groups{};

  /// @brief Appends a step.
  /// @param step `step_record::index`.
  /// @param is_warmup warm-up steps come first.
  /// @param time of the step.
  void add(std::uint64_t step, bool is_warmup, milliseconds time) {
    ms.push_back(time.count());
    steps.push_back(step);
    if (is_warmup) ++warmup;
  }
};

/// @brief The limits of the verdicts. Reasons: docs/statistics.md.
struct verdict_bounds {
  static constexpr std::uint64_t min_steps = 10;  ///< the minimum of NVBench
  /// @brief With fewer steps, a kind of step with a frequency of 1 in 10 is missed with a probability above 5 %: 0.9^28 = 0.052.
  static constexpr std::uint64_t min_stable_steps = 29;
  static constexpr double max_half_width = 0.01;  ///< half-width relative to the mean
  static constexpr double max_outliers = 0.1;     ///< share of the measured steps
  static constexpr double max_drift = 0.01;       ///< over the measured steps, relative to their median
  static constexpr double max_moved = 0.005;      ///< change of the mean by warm-up or by steps of another kind
  static constexpr double min_effective = 8.0;    ///< independent steps; with fewer, slow changes are not seen
};

namespace detail {

inline step_verdict verdict_on(verdict_summary const& verdict, double moved, detail::own_vector<clock_summary> const& clocks) {
  using bounds = verdict_bounds;
  auto const measured = static_cast<double>(verdict.measured);
  auto const is_slow = [](clock_summary const& each) { return each.throttled_readings > 0; };
  if (std::any_of(clocks.begin(), clocks.end(), is_slow)) return step_verdict::throttled;
  if (verdict.measured < bounds::min_steps) return step_verdict::too_few;
  bool const is_harmless = moved < bounds::max_moved;
  if (verdict.finding == warmup_finding::too_short && !is_harmless) return step_verdict::still_warming;
  double const drift = std::abs(verdict.drift.value_or(0.0));
  if ((verdict.finding == warmup_finding::never_steady && std::abs(verdict.change) > bounds::max_drift) ||
      (verdict.has_drift && drift > bounds::max_drift))
    return step_verdict::drifting;
  if (verdict.pattern) {
    bool const has_few = verdict.pattern->others > 0 && verdict.pattern->shape != series_shape::levels;
    if (!has_few || !is_harmless) return step_verdict::uneven;
  }
  bool const is_known = verdict.relative_half_width && *verdict.relative_half_width <= bounds::max_half_width;
  bool const is_even = static_cast<double>(verdict.outliers) <= bounds::max_outliers * measured;
  if (!is_known || !is_even) return step_verdict::noisy;
  // A drift that noise could have made has an error, which is larger in few steps.
  double const max_drift = (verdict.measured < 50 && !verdict.has_drift ? 0.7 : 0.9) * bounds::max_drift;
  bool const is_sure = verdict.measured >= bounds::min_stable_steps && verdict.cautious_half_width <= bounds::max_half_width &&
                       verdict.effective_samples >= bounds::min_effective && drift <= max_drift;
  return is_sure ? step_verdict::stable : step_verdict::too_few;
}

/// The number of independent steps with an interval of the same width as this one of groups of steps.
inline double effective_steps(mean_interval const& of_groups, ::profkit::detail::own_vector<double> const& group_means,
                              grouped_steps const& steps) {
  running_statistics groups;
  for (double const each : group_means) groups.add(each);
  double const deviation = groups.standard_deviation().value_or(0.0);
  auto const all = static_cast<double>(steps.measured);
  if (deviation <= 0.0) return all;
  double const ratio = steps.deviation / deviation;
  return std::min(all, of_groups.effective * ratio * ratio);
}

/// Whether the warm-up was enough.
inline void set_warmup(verdict_summary& result, series_description const& found, timed_steps const& steps) {
  if (found.shape == series_shape::too_short) return;
  auto const index = [&](std::size_t at) { return steps.steps[steps.warmup + at]; };
  if (found.change) {
    result.finding = warmup_finding::never_steady;
    result.steady_from = index(found.change->at);
    result.change = found.change->after / found.change->before - 1.0;
  } else if (found.warmup > 0) {
    result.finding = warmup_finding::too_short;
    if (!found.is_gradual) result.steady_from = index(found.warmup);
    std::size_t const steady = steps.warmup + found.warmup;
    result.change = mean_between(steps.ms, steady, steps.ms.size()) / mean_between(steps.ms, steps.warmup, steady) - 1.0;
  } else if (result.has_drift) {
    result.finding = warmup_finding::drifting;
  } else {
    result.finding = warmup_finding::enough;
    std::size_t const all = steps.warmup > 0 ? ::profkit::describe_parts(steps.ms).warmup : 0;  // fewer can be enough
    result.steady_from = steps.steps[std::min(all, steps.warmup)];
  }
}

inline std::optional<step_pattern> pattern_of(series_description const& found, timed_steps const& steps) {
  if (found.shape <= series_shape::correlated) return std::nullopt;
  step_pattern result;
  result.shape = found.shape;
  result.period = found.period;
  result.moved = found.moved;
  if (!found.others) return result;
  result.others = found.others->count;
  result.runs = found.others->runs;
  result.usual = milliseconds{found.others->usual};
  result.other = milliseconds{found.others->median};
  for (std::size_t i = 0; i < std::min(found.others->count, found.others->first.size()); ++i)
    result.first.push_back(steps.steps[steps.warmup + found.others->first[i]]);
  return result;
}

/// The pattern of single steps of groups: steps that repeat cannot be told from others.
inline std::optional<step_pattern> pattern_of_groups(grouped_steps const& groups) {
  timed_steps chosen;
  for (double const each : groups.sample) chosen.add(0, false, milliseconds{each});
  auto result = pattern_of(::profkit::describe(groups.sample), chosen);
  if (!result || result->shape == series_shape::periodic) return std::nullopt;
  double const steps_each = static_cast<double>(groups.measured) / static_cast<double>(groups.sample.size());
  result->others = static_cast<std::uint64_t>(std::llround(static_cast<double>(result->others) * steps_each));
  result->first.clear();
  return result;
}

}  // namespace detail

/// @brief Judges the reliability of the mean of the measured steps. Takes at most n log n time.
[[nodiscard]] inline verdict_summary judge_steps(timed_steps const& steps,
                                                 ::profkit::detail::own_vector<clock_summary> const& clocks = {}) {
  verdict_summary result;
  ::profkit::detail::own_vector<double> const measured{steps.ms.begin() + static_cast<std::ptrdiff_t>(steps.warmup), steps.ms.end()};
  ::profkit::detail::own_vector<double> const& single = steps.groups ? steps.groups->sample : measured;
  result.measured = steps.groups ? steps.groups->measured : measured.size();
  result.warmup = steps.groups ? steps.groups->warmup : steps.warmup;
  result.outliers = count_outliers(single);
  if (steps.groups && !single.empty()) {
    double const steps_each = static_cast<double>(result.measured) / static_cast<double>(single.size());
    result.outliers = static_cast<std::uint64_t>(std::llround(static_cast<double>(result.outliers) * steps_each));
  }
  auto const spread = median_and_mad(single);
  if (spread) result.mad = milliseconds{spread->mad};
  series_description const found = ::profkit::describe(measured);  // of groups: what lasts
  if (auto interval = found.interval) {
    if (steps.groups) {
      interval->mean = steps.groups->mean;
      interval->effective = detail::effective_steps(*interval, measured, *steps.groups);
    }
    result.ci95_low = milliseconds{std::max(0.0, interval->mean - interval->half_width)};
    result.ci95_high = milliseconds{interval->mean + interval->half_width};
    result.relative_half_width = interval->relative();
    result.effective_samples = interval->effective;
    if (interval->mean > 0.0) result.cautious_half_width = interval->cautious_half_width / interval->mean;
  }
  if (found.trend && spread->median > 0.0) {
    result.drift = found.trend->drift / spread->median;
    result.drift_p_value = found.trend->p_value;
    result.has_drift = found.has_drift();
  }
  detail::set_warmup(result, found, steps);
  result.pattern = steps.groups ? detail::pattern_of_groups(*steps.groups) : detail::pattern_of(found, steps);
  double const moved = result.pattern ? std::max(found.moved, result.pattern->moved) : found.moved;
  result.verdict = detail::verdict_on(result, moved, clocks);
  return result;
}

}  // namespace PROFKIT_NAMESPACE
