// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "change_estimate.hpp"
#include "comparison.hpp"
#include "machine_speed.hpp"
#include "matched_items.hpp"
#include "row_family.hpp"
#include "run_figures.hpp"

namespace profkit_program::detail {

/// Compares the step as the sum of its parts: GPU busy time and the GPU idle time that is charged to them.
class compared_budget {
 public:
  /// @param is_usual of steps of the usual kind, which all runs have; false: of all measured steps.
  /// @param noise assumed standard deviation between runs, of all parts together and again of each.
  /// @param machine null if the speed of the machine is unknown.
  compared_budget(std::vector<run_figures> const& a, std::vector<run_figures> const& b, bool is_usual, double noise,
                  machine_change const* machine)
      : a_{a}, b_{b}, is_usual_{is_usual}, noise_{noise}, machine_{machine} {}

  /// @param error_rate of wrong verdicts of all parts together.
  /// @return nothing if a run has no budget, or if runs do not agree on what the step is.
  [[nodiscard]] std::optional<comparison_budget> make(double error_rate) const {
    std::optional<budget_figures> const& first = budget_of(a_.front());
    auto const is_comparable = [&](run_figures const& run) { return budget_of(run) && budget_of(run)->is_of_gpu == first->is_of_gpu; };
    if (!first || !std::all_of(a_.begin(), a_.end(), is_comparable) || !std::all_of(b_.begin(), b_.end(), is_comparable))
      return std::nullopt;
    comparison_budget result{is_usual_, first->is_of_gpu, step_of(a_), step_of(b_), {}};
    auto const key_of = [](part_figures const& part) -> std::string const& { return part.name; };
    auto const list_of = [&](run_figures const& run) -> std::vector<part_figures> const& { return budget_of(run)->parts; };
    matched_items<part_figures, decltype(key_of), decltype(list_of)> const parts{a_, b_, key_of, list_of};
    std::vector<std::pair<std::vector<figures>, std::vector<figures>>> times;
    parts.for_each([&](std::vector<part_figures const*> const& of_runs) {
      auto& [a, b] = times.emplace_back();
      comparison_part part;
      for (std::size_t run = 0; run < of_runs.size(); ++run) {
        bool const is_a = run < a_.size();
        part_figures const mine = of_runs[run] == nullptr ? part_figures{} : *of_runs[run];
        auto const runs = static_cast<double>((is_a ? a_ : b_).size());
        (is_a ? part.a_ms : part.b_ms) += (mine.busy_ms + mine.idle_ms) / runs;
        part.busy_difference_ms += (is_a ? -1.0 : 1.0) * mine.busy_ms / runs;
        (is_a ? a : b).push_back({(is_a ? a_[run] : b_[run - a_.size()]).step.steps, mine.busy_ms + mine.idle_ms, 0.0, 0.0});
        if (of_runs[run] != nullptr) part.name = mine.name;
      }
      result.parts.push_back(std::move(part));
    });
    for (std::size_t i = 0; i < times.size(); ++i) {
      judge(result.parts[i], times[i].first, times[i].second, error_rate / static_cast<double>(times.size()));
    }
    return result;
  }

 private:
  [[nodiscard]] std::optional<budget_figures> const& budget_of(run_figures const& run) const {
    return is_usual_ ? run.usual->budget : run.budget;
  }

  [[nodiscard]] double step_of(std::vector<run_figures> const& side) const {
    double sum = 0.0;
    for (run_figures const& run : side) sum += budget_of(run)->step_ms;
    return sum / static_cast<double>(side.size());
  }

  void judge(comparison_part& part, std::vector<figures> const& a, std::vector<figures> const& b, double error) const {
    if (part.a_ms <= 0.0 || part.b_ms <= 0.0) {
      part.says = part.a_ms > 0.0 ? verdict::gone : part.b_ms > 0.0 ? verdict::added : verdict::unsure;
      return;
    }
    double const variance = noise_ * noise_;
    log_range const change = row_family{{{side_of_row{a}, side_of_row{b}, variance, true}}, variance, machine_}.change_alone(0, error);
    part.says = change.low > 0.0 ? verdict::slower : change.high < 0.0 ? verdict::faster : verdict::unsure;
  }

  std::vector<run_figures> const& a_;
  std::vector<run_figures> const& b_;
  bool is_usual_;
  double noise_;
  machine_change const* machine_;
};

}  // namespace profkit_program::detail
