// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/verdict/step_verdict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "series_catalogue.hpp"

/// What a report says about a series.
struct said_of_series {
  bool is_stable = false;
  std::optional<std::pair<double, double>> interval{};
  bool is_warming = false;              ///< the first steps are longer
  std::optional<std::size_t> warmup{};  ///< "use at least N warm-up steps"
  std::optional<double> drift{};        ///< said to be one
  std::optional<std::size_t> change{};  ///< "from step N on"
  bool has_kinds = false;               ///< spikes, levels, kinds of step
  bool has_tail = false;
  std::size_t period = 0;
  bool contradicts = false;
};

inline said_of_series said_of(std::vector<double> const& ms) {
  profkit::timed_steps steps;
  for (std::size_t i = 0; i < ms.size(); ++i) steps.add(i, false, profkit::milliseconds{ms[i]});
  profkit::verdict_summary const found = profkit::judge_steps(steps);
  said_of_series result;
  result.is_stable = found.verdict == profkit::step_verdict::stable;
  if (found.ci95_low) result.interval.emplace(found.ci95_low->count(), found.ci95_high->count());
  result.is_warming = found.finding == profkit::warmup_finding::too_short;
  if (result.is_warming && found.steady_from) result.warmup = *found.steady_from;
  if (found.has_drift) result.drift = *found.drift;
  if (found.finding == profkit::warmup_finding::never_steady) result.change = *found.steady_from;
  if (found.pattern) {
    result.has_kinds = found.pattern->others > 0;
    result.has_tail = found.pattern->shape == profkit::series_shape::tailed;
    result.period = found.pattern->period;
  }
  return result;
}

enum false_sentence : std::size_t { false_stable, false_warmup, false_drift, false_change, false_kinds, false_sentences };

struct judged_cell {
  std::size_t series = 0;
  bool has_mean = false;
  bool can_find = false;  ///< there is a warm-up, a drift, a change, a period or kinds
  std::size_t covered = 0;
  std::size_t without_interval = 0;
  std::size_t any_false = 0;
  std::array<std::size_t, false_sentences> is_false{};
  std::size_t found = 0;

  void add(known_series const& truth, said_of_series const& said) {
    ++series;
    if (!std::isnan(truth.mean)) {
      has_mean = true;
      if (!said.interval)
        ++without_interval;
      else if (said.interval->first <= truth.mean * (1 + 1e-9) && truth.mean * (1 - 1e-9) <= said.interval->second)
        ++covered;
    }
    auto const near = [](std::size_t a, std::size_t b, std::size_t tolerance) { return a <= b + tolerance && b <= a + tolerance; };
    auto const is_multiple = [](std::size_t period, std::size_t base) {  // a smooth shape has about the period
      if (base == 0) return false;
      double const times = static_cast<double>(period) / static_cast<double>(base);
      return times > 0.9 && std::abs(times / (std::max)(1.0, std::round(times)) - 1.0) < 0.06;
    };
    std::array<bool, false_sentences> wrong{};
    wrong[false_stable] = said.is_stable && !truth.is_even;
    wrong[false_warmup] = said.is_warming && truth.warm.second == 0;
    if (said.warmup)
      wrong[false_warmup] = truth.warm.second == 0 || *said.warmup + 2 < truth.warm.first || *said.warmup > truth.warm.second + 2;
    if (said.drift) wrong[false_drift] = !truth.wanders && !(truth.drift * *said.drift > 0.0);
    wrong[false_drift] = wrong[false_drift] || said.contradicts;
    if (said.change)
      wrong[false_change] =
          std::none_of(truth.changes.begin(), truth.changes.end(), [&](std::size_t at) { return near(at, *said.change, 5); });
    wrong[false_kinds] = (said.has_kinds && !truth.has_kinds && !truth.has_tail) ||
                         (said.has_tail && !truth.has_tail && !truth.has_kinds) ||
                         (said.period != 0 && !is_multiple(said.period, truth.period));
    bool any = false;
    for (std::size_t i = 0; i < false_sentences; ++i) {
      if (wrong[i]) ++is_false[i];
      any = any || wrong[i];
    }
    if (any) ++any_false;
    bool const has_something =
        truth.warm.second != 0 || truth.drift != 0.0 || !truth.changes.empty() || truth.has_kinds || truth.period != 0;
    can_find = can_find || has_something;
    if (has_something && !any && (said.is_warming || said.drift || said.change || said.has_kinds || said.has_tail || said.period != 0))
      ++found;
  }
};

/// @param half another seed for each.
inline judged_cell judge_cell(series_kind const& kind, std::size_t steps, std::size_t series, std::uint64_t half) {
  std::uint64_t seed = half;
  for (char const each : kind.name) seed = seed * 131 + static_cast<unsigned char>(each);
  normal_numbers numbers{seed * 10007 + steps};
  judged_cell result;
  for (std::size_t i = 0; i < series; ++i) {
    known_series const made = kind.make(numbers, steps);
    result.add(made, said_of(made.ms));
  }
  return result;
}
