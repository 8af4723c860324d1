// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "comparison_figures.hpp"
#include "comparison_words.hpp"
#include "run_figures.hpp"

// The section of a comparison that shows single steps, or single runs where a side has several.

namespace profkit_program::detail {

using step_list = std::vector<profkit::detail::plotted_step>;

/// What the axes of both sides have in common.
[[nodiscard]] inline profkit::detail::steps_figure::scale common_scale(step_list const& before, step_list const& after) {
  using role = profkit::detail::plotted_step::role;
  profkit::detail::steps_figure::scale result;
  bool is_set = false;
  for (step_list const* const side : {&before, &after}) {
    for (profkit::detail::plotted_step const& each : *side) {
      result.largest = std::max(result.largest, each.ms);
      if (each.is != role::usual) continue;
      result.low = is_set ? std::min(result.low, each.ms) : each.ms;
      result.high = std::max(result.high, each.ms);
      is_set = true;
    }
  }
  if (!is_set) result.high = result.largest;
  return result;
}

/// "warm-up"; empty for a usual step.
[[nodiscard]] inline std::string role_words(profkit::detail::plotted_step::role is) {
  using role = profkit::detail::plotted_step::role;
  switch (is) {
    case role::warmup:
      return "warm-up";
    case role::outlier:
      return "outlier";
    case role::other_kind:
      return "another kind";
    case role::excluded:
      return "excluded";
    case role::usual:
      break;
  }
  return {};
}

/// The steps of both runs by their index.
[[nodiscard]] inline profkit::detail::data_table steps_table(step_list const& before, step_list const& after) {
  using kind = profkit::detail::column_kind;
  profkit::detail::data_table table{
      "steps", "", {{"step", kind::count}, {"before", kind::milliseconds}, {""}, {"after", kind::milliseconds}, {""}}, {}};
  std::map<std::uint64_t, std::pair<profkit::detail::plotted_step const*, profkit::detail::plotted_step const*>> steps;
  for (profkit::detail::plotted_step const& each : before) steps[each.index].first = &each;
  for (profkit::detail::plotted_step const& each : after) steps[each.index].second = &each;
  for (auto const& [index, sides] : steps) {
    profkit::detail::row next{{profkit::detail::cell{static_cast<double>(index)}}};
    for (profkit::detail::plotted_step const* const each : {sides.first, sides.second}) {
      next.cells.push_back(each == nullptr ? profkit::detail::cell{std::string{"none"}} : profkit::detail::cell{each->ms});
      next.cells.push_back({each == nullptr ? std::string{} : role_words(each->is)});
    }
    table.rows.push_back(std::move(next));
  }
  table.shown_rows = 0;
  table.folded_label = fmt::format("All {} steps as a table", before.size() + after.size());
  table.use = profkit::detail::block_use::pages;
  return table;
}

/// The steps of one run a side, side by side on one scale.
[[nodiscard]] inline profkit::detail::section steps_of_two_runs(comparison const& result, compared_sides const& sides) {
  profkit::detail::section section{"runs", "Steps", {}, {}, {}};
  bool const is_of_gpu = result.rows.front().is_gpu && !sides.a.front().gpu_steps.empty() && !sides.b.front().gpu_steps.empty();
  auto const steps_of = [&](run_figures const& run) -> step_list const& { return is_of_gpu ? run.gpu_steps : run.host_steps; };
  step_list const& before = steps_of(sides.a.front());
  step_list const& after = steps_of(sides.b.front());
  profkit::detail::steps_figure::scale const scale = common_scale(before, after);
  auto const words = [](step_list const& steps) {
    auto const is_odd = [](profkit::detail::plotted_step const& each) {
      return each.is == profkit::detail::plotted_step::role::outlier || each.is == profkit::detail::plotted_step::role::other_kind;
    };
    auto const warm =
        std::count_if(steps.begin(), steps.end(), [](auto const& each) { return each.is == profkit::detail::plotted_step::role::warmup; });
    auto const odd = std::count_if(steps.begin(), steps.end(), is_odd);
    return fmt::format("{} steps after {} of warm-up, {} of them unusual", steps.size() - static_cast<std::size_t>(warm), warm,
                       odd == 0 ? std::string{"none"} : std::to_string(odd));
  };
  section.answer = fmt::format("Before: {}; after: {}.", words(before), words(after));
  for (auto const& [name, steps, mean] :
       {std::tuple{"Before", &before, result.step_means_a.front()}, std::tuple{"After", &after, result.step_means_b.front()}}) {
    profkit::detail::steps_figure figure;
    figure.title = fmt::format("{}, mean {}", name, time_text(mean));
    figure.mean = mean;
    figure.quantity = is_of_gpu ? "ms of GPU time" : "ms of host time";
    figure.steps = *steps;
    for (profkit::detail::plotted_step& each : figure.steps) each.label.clear();  // there is no room for them
    figure.common_scale = scale;
    section.blocks.emplace_back(profkit::detail::figure{figure.title, std::move(figure)});
  }
  section.how_to_read = fmt::format(
      "{} of the steps, on the same scale for both sides: above from 0, below the usual steps enlarged. Shaded: warm-up. Orange: outliers, "
      "and "
      "steps of another kind.",
      is_of_gpu ? "GPU times" : "Host times");
  section.blocks.emplace_back(steps_table(before, after));
  return section;
}

/// The mean steps of the runs of both sides.
[[nodiscard]] inline profkit::detail::section steps_of_many_runs(comparison const& result) {
  profkit::detail::section section{"runs", "Runs", {}, {}, {}};
  profkit::detail::pairs_figure figure{
      fmt::format("run, in the order of the names of their files; mean {} step in ms", result.rows.front().is_gpu ? "GPU" : "host"),
      result.step_means_a, result.step_means_b};
  std::size_t const pairs = std::min(figure.before.size(), figure.after.size());
  std::size_t faster = 0;
  for (std::size_t i = 0; i < pairs; ++i) faster += figure.after[i] < figure.before[i] ? 1U : 0U;
  section.answer = fmt::format("After is faster in {} of {} pairs of runs.", faster, pairs);
  section.how_to_read =
      "Runs of both sides stand side by side by their number. Run them in turns, so that changes of the machine affect both.";
  using kind = profkit::detail::column_kind;
  profkit::detail::data_table table{"runs", "", {{"run", kind::count}, {"before", kind::milliseconds}, {"after", kind::milliseconds}}, {}};
  for (std::size_t i = 0; i < std::max(figure.before.size(), figure.after.size()); ++i) {
    auto const value = [&](std::vector<double> const& side) {
      return i < side.size() ? profkit::detail::cell{side[i]} : profkit::detail::cell{std::string{"none"}};
    };
    table.rows.push_back({{profkit::detail::cell{static_cast<double>(i + 1)}, value(figure.before), value(figure.after)}});
  }
  table.shown_rows = 0;
  table.folded_label = fmt::format("All {} runs as a table", figure.before.size() + figure.after.size());
  table.use = profkit::detail::block_use::pages;
  section.blocks.emplace_back(profkit::detail::figure{section.answer, std::move(figure)});
  section.blocks.emplace_back(std::move(table));
  return section;
}

/// n/a if the step was not compared.
[[nodiscard]] inline std::optional<profkit::detail::section> runs_section(comparison const& result, compared_sides const& sides) {
  if (result.step_means_a.empty() || result.step_means_b.empty()) return std::nullopt;
  bool const is_one_run = sides.a.size() == 1 && sides.b.size() == 1;
  return is_one_run ? steps_of_two_runs(result, sides) : steps_of_many_runs(result);
}

}  // namespace profkit_program::detail
