// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "budget_section.hpp"
#include "document.hpp"
#include "report_view.hpp"
#include "scopes_section.hpp"
#include "sentence_numbers.hpp"

// The section "Picture of the step": which scope is inside which, as an icicle for each kind of step.

namespace profkit::detail {

/// The boxes of scopes with their children, in the order in which the scopes first ran. Scopes of other threads are not in the step's time.
inline void add_boxes(icicle_figure& figure, folded_tree const& tree, std::vector<std::size_t> const& siblings, double begin,
                      std::uint32_t depth) {
  constexpr double min_share = 0.0025;
  for (std::size_t const i : siblings) {
    folded_scope const& scope = tree.rows()[i];
    if (!scope.is_of_step_thread && !tree.has_gpu()) continue;
    if (scope.time >= min_share * figure.total) {
      std::string name = scope.folded > 1 ? scope.name + " " + times_sign + " " + std::to_string(scope.folded) : scope.name;
      figure.boxes.push_back({std::move(name), depth, begin, scope.time, scope.idle.value_or(0.0)});
      add_boxes(figure, tree, scope.children, begin, depth + 1);
    }
    begin += scope.time;
  }
}

/// The picture of a kind of step. @param tree of this kind.
inline icicle_figure icicle_of(report_view const& view, step_kind_summary const& kind, folded_tree const& tree) {
  icicle_figure figure;
  figure.title = kind_title(view, kind);
  figure.total = step_length(kind).count();
  figure.is_host = !tree.has_gpu();
  add_boxes(figure, tree, tree.roots(), 0.0, 0);
  // Times of concurrent scopes can add up to more than the step.
  for (icicle_figure::box const& each : figure.boxes) figure.total = std::max(figure.total, each.begin + each.time);
  return figure;
}

/// The innermost scope with at least a quarter of the step.
inline std::string picture_answer(report_view const& view) {
  folded_scope const* const largest = view.tree.innermost(0.25 * view.step_ms());
  if (largest == nullptr) return "n/a: no scope was recorded in the measured steps.";
  std::string text = "Largest: " + name_words(largest->name);
  if (largest->parent) text += " in " + name_words(view.tree.rows()[*largest->parent].name);
  return text + ", " + share_words(largest->time / view.step_ms()) + " of the " + view.kinds.main_words() + ".";
}

/// The section; without scopes in steps it says that there are none.
inline section picture_section(report_view const& view) {
  section result;
  result.id = "picture";
  result.title = "Picture of the step";
  if (view.step_ms() <= 0.0 || view.tree.rows().empty()) {
    result.answer = view.has_steps() ? "n/a: no scope was recorded in the measured steps." : "n/a: no step was measured.";
    return result;
  }
  result.answer = picture_answer(view);
  result.blocks.emplace_back(figure{result.answer, icicle_of(view, view.main(), view.tree)});
  for (step_kind_summary const* const kind : kinds_shown(view)) {
    if (kind == &view.main()) continue;
    icicle_figure other = icicle_of(view, *kind, folded_tree{view.all, *kind});
    if (!other.boxes.empty()) result.blocks.emplace_back(figure{"The scopes of " + name_words(kind->name) + ".", std::move(other)});
  }
  result.how_to_read =
      view.tree.has_gpu()
          ? "Width: GPU busy time of a scope, and the idle time that is charged to it (hatched). Below a scope are those inside it, in the "
            "order in which they were first recorded; blank is the scope itself."
          : "Width: host time. Below a scope are those inside it, in the order in which they were first recorded; blank is the scope "
            "itself.";
  return result;
}

}  // namespace profkit::detail
