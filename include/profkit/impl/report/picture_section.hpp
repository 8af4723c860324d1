// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "budget_section.hpp"
#include "html_icicle.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "samples_section.hpp"
#include "scopes_section.hpp"

// The section "Picture of the step": the nesting of scopes, as an icicle for each kind of step.

namespace profkit::detail {

/// Adds the boxes of all scopes, in the order in which the scopes first ran. Leaves out scopes of other threads, because the step's time
/// does not include them. With host samples, the functions in a scope's self time follow its children.
/// @return the end of the last box of a root.
inline double add_boxes(icicle_figure& figure, folded_tree const& tree, sampled_boxes const* samples) {
  struct open_box {
    std::size_t row;
    double children_end;
    double end;
  };
  own_vector<open_box> open;  // the boxes around the next one, outermost first
  double roots_end = 0.0;
  auto const close = [&] {
    open_box const& last = open.back();
    folded_scope const& scope = tree.rows()[last.row];
    if (samples != nullptr) samples->add(figure, scope.scopes, last.children_end, last.end - last.children_end, scope.depth + 1);
    open.pop_back();
  };
  own_vector<bool> is_shown(tree.rows().size());
  for (std::size_t i = 0; i < tree.rows().size(); ++i) {  // depth first
    folded_scope const& scope = tree.rows()[i];
    if (scope.parent && !is_shown[*scope.parent]) continue;
    while (!open.empty() && open.back().row != scope.parent) close();
    if (!scope.is_of_step_thread && figure.is_host) continue;
    double const time = figure.is_host ? scope.host : scope.time;
    double& end = open.empty() ? roots_end : open.back().children_end;
    double const begin = end;
    end += time;
    if (time < sampled_boxes::min_share * figure.total) continue;
    is_shown[i] = true;
    std::string name = scope.folded > 1 ? scope.name + " " + times_sign + " " + std::to_string(scope.folded) : scope.name;
    figure.boxes.push_back({std::move(name), scope.depth, begin, time, figure.is_host ? 0.0 : scope.idle.value_or(0.0)});
    open.push_back({i, begin, begin + time});
  }
  while (!open.empty()) close();
  return roots_end;
}

/// Widens the figure if the times of concurrent scopes add up to more than the step.
inline void widen(icicle_figure& figure) {
  for (icicle_figure::box const& each : figure.boxes) figure.total = std::max(figure.total, each.begin + each.time);
}

/// GPU time of a kind of step; kernels must be collected. @param tree the tree of this kind.
inline icicle_figure icicle_of(report_view const& view, step_kind_summary const& kind, folded_tree const& tree) {
  icicle_figure figure;
  figure.title = kind_title(view, kind);
  figure.total = step_length(kind).count();
  add_boxes(figure, tree, nullptr);
  widen(figure);
  return figure;
}

/// Host time of a step of a kind. With host samples, also the sampled functions.
/// @param tree the tree of this kind. @param samples null: without functions.
inline icicle_figure host_icicle(report_view const& view, step_kind_summary const& kind, folded_tree const& tree,
                                 sampled_boxes const* samples) {
  icicle_figure figure;
  figure.total = tree.step() ? tree.step()->host : step_length(kind).count();
  figure.title = fmt::format("{}: {} on the host{}", capitalized(&kind == &view.main() ? view.kinds.main_words() : kind.name),
                             time_words(milliseconds{figure.total}), samples != nullptr ? ", with the functions in it" : "");
  figure.is_host = true;
  double const end = add_boxes(figure, tree, samples);
  if (samples != nullptr && tree.step()) samples->add(figure, {0}, end, figure.total - end, 0);  // position 0 is the scope of the step
  widen(figure);
  return figure;
}

/// "The host needs 2.10 ms for a step.": the finding of the picture of host time.
inline std::string host_answer(icicle_figure const& figure) {
  return "The host takes " + time_words(milliseconds{figure.total}) + " for a step.";
}

/// Adds the pictures of a kind: GPU time if kernels were collected, and host time. @param samples null: without functions.
inline void add_pictures(section& to, report_view const& view, step_kind_summary const& kind, folded_tree const& tree,
                         std::string const& finding, sampled_boxes const* samples) {
  auto const add = [&](std::string const& words, icicle_figure picture) {
    if (!picture.boxes.empty()) to.blocks.emplace_back(figure{words, std::move(picture)});
  };
  if (tree.has_gpu()) add(finding, icicle_of(view, kind, tree));
  icicle_figure host = host_icicle(view, kind, tree, samples);
  std::string const words = samples != nullptr ? samples_answer(*view.all.host_samples) : tree.has_gpu() ? host_answer(host) : finding;
  add(words, std::move(host));
}

/// The innermost scope with at least a quarter of the step.
inline std::string picture_answer(report_view const& view) {
  folded_scope const* const largest = view.tree.innermost(0.25 * view.step_ms());
  if (largest == nullptr) return "n/a: no scope was recorded in the measured steps.";
  std::string text = "Largest: " + name_words(largest->name);
  if (largest->parent) text += " in " + name_words(view.tree.rows()[*largest->parent].name);
  return text + ", " + share_words(largest->time / view.step_ms()) + " of the " + view.kinds.main_words() + ".";
}

/// The section. If the steps have no scopes, it says so.
inline section picture_section(report_view const& view) {
  section result;
  result.id = "picture";
  result.title = "Picture of the step";
  if (view.step_ms() <= 0.0 || view.tree.rows().empty()) {
    result.answer = view.has_steps() ? "n/a: no scope was recorded in the measured steps." : "n/a: no step was measured.";
    return result;
  }
  result.answer = picture_answer(view);
  bool const is_sampled = view.all.host_samples && view.all.host_samples->samples > 0;
  std::optional<sampled_boxes> samples;
  if (is_sampled) samples.emplace(*view.all.host_samples);
  add_pictures(result, view, view.main(), view.tree, result.answer, samples ? &*samples : nullptr);
  for (step_kind_summary const* const kind : kinds_shown(view)) {
    if (kind == &view.main()) continue;
    add_pictures(result, view, *kind, folded_tree{view.all, *kind}, "The scopes of " + name_words(kind->name) + ".", nullptr);
  }
  result.how_to_read =
      view.tree.has_gpu()
          ? "Blue: GPU busy time of a scope, and the idle time that is charged to it (hatched). Grey: host time of the same step. Below a "
            "scope are those inside it, in the order in which they first ran; blank is the scope itself."
          : "Width: host time. Below a scope are those inside it, in the order in which they first ran; blank is the scope itself.";
  if (is_sampled)
    result.how_to_read +=
        " Where host samples were taken, the functions in the scope's own time follow, the longest first; a box without colour is waiting. "
        "Code outside "
        "any scope is in the table of host samples.";
  return result;
}

}  // namespace profkit::detail
