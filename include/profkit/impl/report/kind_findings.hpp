// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "../analyze/kinds/kind_names.hpp"
#include "../analyze/verdict/trend.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_sort.hpp"
#include "headline.hpp"
#include "report_view.hpp"
#include "sentence_numbers.hpp"

// Findings about steps that differ from the others.

namespace profkit::detail {

/// Mean time of a step of a kind, in milliseconds.
inline double mean_ms(step_kind_summary const& kind) { return mean_step_time(kind.times).count(); }

/// The times of the parts of a kind's step in milliseconds: from the budget if there is one, otherwise host time.
class part_times {
 public:
  part_times(report_view const& view, step_kind_summary const& kind) {
    if (kind.budget) {
      for (budget_row const& row : kind.budget->rows) of_budget_.try_emplace(row.part, row.total.count() / gpu_steps(kind));
    }
    folded_tree const tree{view.all, kind};
    for (std::size_t const i : tree.roots()) of_roots_.try_emplace(tree.rows()[i].name, of_roots_.size(), tree.rows()[i].time);
  }

  /// @return 0 if the time is unknown.
  [[nodiscard]] double operator()(std::string const& part) const {
    if (auto const known = of_budget_.find(part); known != of_budget_.end()) return known->second;
    auto const root = of_roots_.find(part);
    auto const folded = of_roots_.find(part + "_*");
    if (root == of_roots_.end()) return folded == of_roots_.end() ? 0.0 : folded->second.second;
    return folded == of_roots_.end() || root->second.first < folded->second.first ? root->second.second : folded->second.second;
  }

 private:
  own_hash_map<std::string, double> of_budget_;
  own_hash_map<std::string, std::pair<std::size_t, double>> of_roots_;  ///< with the position, because the first one counts
};

/// "generation (136 ms) and validation (15.3 ms)": parts that only this kind has, the longest three.
inline std::string own_parts_words(report_view const& view, step_kind_summary const& kind) {
  own_vector<std::string> const parts = parts_not_in(kind.parts, view.main().parts);
  if (parts.empty()) return {};
  part_times const time_of{view, kind};
  own_vector<std::pair<std::string, double>> own;
  for (std::string const& part : parts) own.emplace_back(part, time_of(part));
  own_stable_sort(own.begin(), own.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
  constexpr std::size_t max_parts = 3;
  own.resize(std::min(own.size(), max_parts));
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    text += i == 0 ? "" : i + 1 == own.size() ? " and " : ", ";
    text += fmt::format("{} ({})", name_words(own[i].first), time_words(milliseconds{own[i].second}));
  }
  return text;
}

/// Whether the steps of a kind have a part in common with the usual step.
inline bool has_usual_part(report_view const& view, step_kind_summary const& kind) {
  return parts_not_in(kind.parts, view.main().parts).size() < kind.parts.size();
}

/// Which figures the kind has, and how its steps can become shorter.
inline std::string other_kind_advice(step_kind_summary const& kind) {
  std::string text = "The figures of this report are of the usual steps; the others have their own.";
  if (!has_gpu_time(kind)) return text;
  double const idle = 1.0 - kind.budget->busy / kind.budget->wall;
  double const launching = launch_time(*kind.budget);
  if (bound_of(*kind.budget) != step_bound::launching) return fmt::format("{} The GPU idles {} of their time.", text, share_words(idle));
  return fmt::format("{} The GPU idles {} of their time: a CUDA graph can save {} per step at most.", text, share_words(idle),
                     time_words(milliseconds{launching}));
}

/// (d) Steps of other kinds: the kind with the largest total time, if its steps take twice as long or its total is 1 % of the time.
inline std::optional<finding> other_kind_finding(report_view const& view) {
  if (!view.main().is_usual) return std::nullopt;
  double const usual = mean_ms(view.main());
  double const all = view.all.steps.host.total.count();
  step_kind_summary const* worst = nullptr;
  for (step_kind_summary const* const kind : view.kinds.others()) {
    double const total = mean_ms(*kind) * static_cast<double>(kind->steps);
    bool const matters = mean_ms(*kind) >= 2.0 * usual || total >= 0.01 * all;
    if (matters && (worst == nullptr || total > mean_ms(*worst) * static_cast<double>(worst->steps))) worst = kind;
  }
  if (worst == nullptr || usual <= 0.0) return std::nullopt;
  std::string const own = own_parts_words(view, *worst);
  std::string text = worst->steps == 1 ? "It took " : "They take ";
  text += fmt::format("{}, {} times the usual step", time_words(milliseconds{mean_ms(*worst)}), significant(mean_ms(*worst) / usual));
  if (!own.empty()) text += ", with " + own;
  if (!has_usual_part(view, *worst)) text += own.empty() ? ", with none of the usual parts" : " and none of the usual parts";
  return finding{capitalized(name_words(worst->name)) + (worst->steps == 1 ? " is not a usual step." : " are not usual steps."),
                 text + ".",
                 other_kind_advice(*worst),
                 {}};
}

/// Measured steps of the main kind that are far from the others: their numbers and times.
inline own_vector<std::pair<std::uint64_t, double>> outliers_of(report_view const& view) {
  own_vector<std::pair<std::uint64_t, double>> steps;
  for (listed_step const& each : view.all.listed_steps) {
    bool const is_main = each.kind && *each.kind == 0 && view.main().is_usual;
    if (!each.is_warmup && !each.is_excluded && (is_main || view.all.kinds.empty())) steps.emplace_back(each.index, each.host.count());
  }
  own_vector<double> times;
  times.reserve(steps.size());
  for (auto const& step : steps) times.push_back(step.second);
  auto const spread = median_and_mad(times);
  if (!spread) return {};
  double const deviation = robust_deviation(times, *spread);
  steps.erase(std::remove_if(steps.begin(), steps.end(), [&](auto const& step) { return !is_outlier(step.second, *spread, deviation); }),
              steps.end());
  return steps;
}

/// Steps of the usual kind that are far from the others.
inline std::optional<finding> outlier_finding(report_view const& view) {
  duration_summary const& times = main_times(view.main().times);
  verdict_summary const& verdict = main_verdict(view.main().times);
  if (verdict.outliers == 0 || !times.mean || !times.median || times.mean->count() <= 0.0) return std::nullopt;
  if (std::abs((*times.mean - *times.median) / *times.mean) < 0.01) return std::nullopt;
  constexpr std::size_t max_named = 5;
  own_vector<std::pair<std::uint64_t, double>> const steps = outliers_of(view);
  std::string text =
      fmt::format("The median step takes {}, the longest {}", time_words(*times.median), time_words(times.max.value_or(milliseconds{})));
  for (std::size_t i = 0; i < std::min(steps.size(), max_named); ++i) {
    text += fmt::format("{}step {} {}", i == 0 ? "; " : ", ", steps[i].first, time_words(milliseconds{steps[i].second}));
  }
  if (steps.size() > max_named) text += fmt::format(", and {} more", steps.size() - max_named);
  milliseconds const raise = *times.mean - *times.median;
  std::string const effect = raise.count() > 0.0 ? "the mean is " + time_words(raise) + " above the median."
                                                 : "the mean is " + time_words(-raise) + " below the median.";
  return finding{fmt::format("{} of {} {}.", verdict.outliers, counted(verdict.measured, "step", "steps"),
                             verdict.outliers == 1 ? "is an outlier" : "are outliers"),
                 text + ".",
                 "Look at them in a trace (keep=slowest:5): " + effect,
                 {}};
}

}  // namespace profkit::detail
