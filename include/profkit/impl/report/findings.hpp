// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "kernels_section.hpp"
#include "kind_findings.hpp"
#include "memory_section.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "sentence_numbers.hpp"
#include "text_width.hpp"
#include "verdict_text.hpp"

// The findings at the top of a report: at most three, each with an action and the most that it can save.

namespace profkit::detail {

/// "+-4.1 %" -> "±4.1 %".
inline std::string with_plus_minus(std::string text) {
  replace_all(text, "+-", plus_minus);
  return text;
}

/// The advice that makes step times reliable, by the verdict; empty if they are reliable.
inline std::string verdict_advice(verdict_summary const& verdict) {
  switch (verdict.verdict) {
    case step_verdict::throttled:
      return "Let the device cool, raise its power limit, or lock its clocks (nvidia-smi -lgc).";
    case step_verdict::too_few:
      return "Measure more steps (steps=N), or until the mean is known (steps=auto).";
    case step_verdict::still_warming:
      return fmt::format("Use at least {} warm-up steps (warmup={}).", verdict.steady_from.value_or(0), verdict.steady_from.value_or(0));
    case step_verdict::drifting:
      return "Look for other load and for things that grow with the steps (memory, lists); measure longer.";
    case step_verdict::noisy:
      return verdict.outliers > 0 ? "Measure more steps (steps=auto); look at single steps, and compare medians."
                                  : "Measure more steps (steps=auto).";
    case step_verdict::stable:
      break;
  }
  return {};
}

/// Why the step times are not reliable.
inline std::optional<finding> reliability_finding(report_view const& view) {
  step_summary const& times = view.main().times;
  verdict_summary const& verdict = main_verdict(times);
  if (verdict.verdict == step_verdict::stable) return std::nullopt;
  return finding{
      "These times are not reliable yet.",
      fmt::format("{}: {}.", capitalized(verdict_name(verdict.verdict)), with_plus_minus(verdict_reason(verdict, view.all.steps.clocks))),
      verdict_advice(verdict),
      {}};
}

/// "5.48 ms (26 %)": a time and its share of the step.
inline std::string at_most(double ms, double step) { return time_words(milliseconds{ms}) + " (" + share_words(ms / step) + ")"; }

/// The bound of the step: what a faster step depends on.
inline std::optional<finding> bound_finding(report_view const& view) {
  if (!has_gpu_time(view.main())) return std::nullopt;
  budget_summary const& budget = *view.main().budget;
  double const steps = gpu_steps(view.main());
  double const step = view.step_ms();
  double const busy = budget.busy.count() / steps;
  double const idle = step - busy;
  std::array<double, idle_causes> const causes = idle_per_step(budget);
  double const launching = launch_time(budget);
  auto const cause_of = [&](idle_cause cause) { return causes[static_cast<std::size_t>(cause)]; };
  std::string const works = "It works " + part_words(milliseconds{busy}, milliseconds{step}) + ".";
  std::string const idles = fmt::format("All its idle time is {}", at_most(idle, step));
  auto const longest = [&](idle_cause cause) {
    starving_scope const* const scope = max_waiting_scope(budget, cause);
    return scope == nullptr ? std::string{}
                            : fmt::format(", {} of that in {}", time_words(scope->by_cause[static_cast<std::size_t>(cause)] / steps),
                                          name_words(scope->name));
  };
  std::string const graph = fmt::format(
      "{} can save {} at most.", uses_graphs(view.all) ? "fewer and larger operations" : "a CUDA graph, or fewer and larger operations,",
      at_most(launching, step));
  switch (bound_of(budget)) {
    case step_bound::gpu: {
      if (idle < 0.01 * step) return std::nullopt;
      double const queued = cause_of(idle_cause::queued);
      return finding{
          "The GPU sets the pace.",
          works + " " + idles + (queued > 0.0 ? ", " + time_words(milliseconds{queued}) + " of that between queued operations." : "."),
          "Do not tune the host: " + (launching > 0.0 ? graph : "it can save " + at_most(idle, step) + " at most."),
          {}};
    }
    case step_bound::communication: {
      double const all = budget.communication.busy.count() / steps;
      double const exposed = budget.communication.exposed.count() / steps;
      return finding{"Communication sets the pace.",
                     fmt::format("It takes {} a step, {} of it with no other operation running.", time_words(milliseconds{all}),
                                 time_words(milliseconds{exposed})),
                     fmt::format("Overlap it with computation, or send less: at most {} can be saved.", at_most(exposed, step)),
                     {}};
    }
    case step_bound::launching:
      return finding{cause_of(idle_cause::queued) > cause_of(idle_cause::launching) ? "The GPU waits between queued operations."
                                                                                    : "Launching sets the pace.",
                     fmt::format("The GPU works {}; {} are launch-bound, {} between queued operations.",
                                 part_words(milliseconds{busy}, milliseconds{step}),
                                 budget.has_launches ? time_words(milliseconds{cause_of(idle_cause::launching)}) : "n/a",
                                 time_words(milliseconds{cause_of(idle_cause::queued)})),
                     capitalized(graph),
                     {}};
    case step_bound::host: {
      starving_scope const* const scope = max_waiting_scope(budget, idle_cause::host);
      double const all = cause_of(idle_cause::host);
      double const saved = scope == nullptr ? all : scope->by_cause[static_cast<std::size_t>(idle_cause::host)].count() / steps;
      return finding{"The host sets the pace.",
                     fmt::format("The GPU works {} and waits {} for the host{}.", part_words(milliseconds{busy}, milliseconds{step}),
                                 at_most(all, step), longest(idle_cause::host)),
                     fmt::format("Speed up {} or move its work to another thread: at most {} can be saved.",
                                 scope == nullptr ? "the host's part" : name_words(scope->name), at_most(saved, step)),
                     {}};
    }
    case step_bound::synchronisation:
      return finding{
          "The host waits for the GPU, and then the GPU for the host.",
          fmt::format("The GPU works {}; it idles {} around synchronisation{}.", part_words(milliseconds{busy}, milliseconds{step}),
                      at_most(cause_of(idle_cause::synchronisation), step), longest(idle_cause::synchronisation)),
          fmt::format("Remove calls that need a result on the host: at most {} can be saved.",
                      at_most(cause_of(idle_cause::synchronisation), step)),
          {}};
    case step_bound::copies:
      return finding{
          "Copies set the pace.",
          fmt::format("The GPU works {}; it idles {} while the host copies{}.", part_words(milliseconds{busy}, milliseconds{step}),
                      at_most(cause_of(idle_cause::copy), step), longest(idle_cause::copy)),
          fmt::format("Use pinned memory and a stream of their own: at most {} can be saved.", at_most(cause_of(idle_cause::copy), step)),
          {}};
  }
  return std::nullopt;
}

/// Where to begin: at the innermost scope with a quarter of the step. If most of the work is outside any scope: by adding scopes.
inline std::string begin_words(report_view const& view, folded_scope const& scope) {
  double const share = scope.time / view.step_ms();
  if (double const outside = outside_ms(view); outside > scope.time) {
    return fmt::format("Add scopes first: {} of the step are in operations that were launched outside any scope.",
                       at_most(outside, view.step_ms()));
  }
  bool const is_quarter = share >= 0.25;
  return fmt::format("Begin with {}, the {}: {}.", view.tree.unique_name(scope),
                     is_quarter ? "innermost scope with over a quarter of the step" : "longest innermost scope",
                     at_most(scope.time, view.step_ms()));
}

/// The one or two classes with the most kernel time; n/a if kernels without a class have half of it.
/// @param classes the classes with their times, longest first, "other" last.
inline std::optional<std::string> class_words(own_vector<std::pair<std::string, double>> const& classes, double all) {
  if (classes.back().first == "other" && classes.back().second >= 0.5 * all) return std::nullopt;
  std::string words = fmt::format("Kernel time is {} {}", share_words(classes.front().second / all), classes.front().first);
  if (classes.size() > 1 && classes[1].first != "other" && classes[1].second >= 0.1 * all)
    words += fmt::format(", {} {}", share_words(classes[1].second / all), classes[1].first);
  return words;
}

/// The kernels or the scope with the most time.
inline std::optional<finding> max_time_finding(report_view const& view) {
  if (view.step_ms() <= 0.0) return std::nullopt;
  folded_scope const* const begin = view.tree.innermost(0.25 * view.step_ms());
  step_kind_summary const& main = view.main();
  double const all = kernel_ms(main);
  if (view.all.gpu && !main.kernels.empty() && all > 0.0) {
    kind_kernel_summary const& longest = main.kernels.front();
    double const ms = longest.total.count() / gpu_steps(main);
    std::string const text = fmt::format(
        "Longest: {}, {} ({}), {}.", name_words(short_kernel_name(view.all.gpu->kernels[longest.kernel].name)),
        time_words(milliseconds{ms}), share_words(ms / all), launches_words(static_cast<double>(longest.count) / gpu_steps(main)));
    std::string const head = class_words(class_times(view.all, main), all).value_or("Most kernel time is in kernels without a class");
    return finding{head + ".", text, begin == nullptr ? "Begin with this kernel." : begin_words(view, *begin),
                   begin == nullptr ? "" : begin->path};
  }
  if (begin == nullptr || view.tree.has_gpu()) return std::nullopt;
  bool const is_quarter = begin->time >= 0.25 * view.step_ms();
  return finding{fmt::format("{} takes {} of host time a step.", view.tree.unique_name(*begin), at_most(begin->time, view.step_ms())),
                 fmt::format("It runs {} a step, {} each.", times_words(begin->count),
                             time_words(milliseconds{begin->count > 0.0 ? begin->time / begin->count : 0.0})),
                 is_quarter ? "Begin there: it is the innermost scope with over a quarter of the step."
                            : "Begin there: it is the longest innermost scope.",
                 begin->path};
}

/// The findings that a report shows: at most three. If data was lost, one of them says so.
inline own_vector<finding> findings(report_view const& view) {
  constexpr std::size_t max_findings = 3;
  own_vector<finding> result;
  auto const add = [&](std::optional<finding> each) {
    if (each && result.size() < max_findings) result.push_back(std::move(*each));
  };
  if (view.has_steps()) {
    add(reliability_finding(view));
    add(bound_finding(view));
    add(max_time_finding(view));
    add(other_kind_finding(view));
    add(outlier_finding(view));
    add(memory_finding(view.all));
  } else {
    add(no_steps_finding(view.all));
  }
  if (std::optional<finding> loss = loss_finding(view.all)) {
    if (result.size() == max_findings) result.pop_back();
    result.push_back(std::move(*loss));
  }
  return result;
}

}  // namespace profkit::detail
