// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "../analyze/kinds/step_kinds.hpp"
#include "../analyze/verdict/mean_interval.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "kernels_section.hpp"
#include "memory_section.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "text_width.hpp"

// Findings about steps that differ from the others.

namespace PROFKIT_NAMESPACE::detail {

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
  bool const has_usual_part = parts_not_in(worst->parts, view.main().parts).size() < worst->parts.size();
  if (!has_usual_part) text += own.empty() ? ", with none of the usual parts" : " and none of the usual parts";
  return finding{capitalized(name_words(worst->name)) + (worst->steps == 1 ? " is not a usual step." : " are not usual steps."), text + ".",
                 other_kind_advice(*worst)};
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
                 text + ".", "Look at them in a trace (keep=slowest:5): " + effect};
}

// The findings at the top of a report: at most three, each with an action and the most that it can save.

/// "+-4.1 %" -> "±4.1 %".
inline std::string with_plus_minus(std::string text) {
  replace_all(text, "+-", plus_minus);
  return text;
}

/// What to do about steps that are not of one kind.
inline std::string uneven_advice(step_pattern const& pattern) {
  switch (pattern.shape) {
    case series_shape::levels:
      return "Look for what changes with the levels: clocks, other load, the data; measure over several of them.";
    case series_shape::tailed:
      return "Compare medians: the next long step changes the mean. Look at the longest steps (keep=slowest:5).";
    case series_shape::periodic:
      return "Measure whole periods, and give the work of these steps a scope of its own.";
    default:
      return "Look at the long steps in a trace (keep=slowest:5), and give their work a scope of its own.";
  }
}

/// The advice that makes step times reliable, by the verdict; empty if they are reliable.
inline std::string verdict_advice(verdict_summary const& verdict) {
  switch (verdict.verdict) {
    case step_verdict::throttled:
      return "Let the device cool, raise its power limit, or lock its clocks (nvidia-smi -lgc).";
    case step_verdict::too_few:
      return "Measure more steps (steps=N), or until the mean is known (steps=auto).";
    case step_verdict::still_warming:
      if (!verdict.steady_from) return "Use more warm-up steps (warmup=N), until the first measured steps are as long as the others.";
      return fmt::format("Use at least {} warm-up steps (warmup={}).", *verdict.steady_from, *verdict.steady_from);
    case step_verdict::drifting:
      if (verdict.finding == warmup_finding::never_steady)
        return "Look for what changes at this step (other load, the data, clocks); measure longer.";
      return "Look for other load and for things that grow with the steps (memory, lists); measure longer.";
    case step_verdict::uneven:
      return uneven_advice(*verdict.pattern);
    case step_verdict::noisy:
      return verdict.outliers > 0 ? "Measure more steps (steps=auto); look at single steps, and compare medians."
                                  : "Measure more steps (steps=auto).";
    case step_verdict::stable:
      break;
  }
  return {};
}

/// Why the step times are not reliable: a measured cause comes before the advice to measure more.
inline std::optional<finding> reliability_finding(report_view const& view) {
  step_summary const& times = view.main().times;
  verdict_summary const& verdict = main_verdict(times);
  if (verdict.verdict == step_verdict::stable) return std::nullopt;
  std::string const reason = with_plus_minus(verdict_reason(verdict, view.all.steps.clocks));
  if (auto const& cause = view.cause) {
    return finding{capitalized(cause->words) + ".",
                   fmt::format("These times are not reliable: {}, {}.", verdict_name(verdict.verdict), reason), cause->advice};
  }
  if (verdict.verdict == step_verdict::uneven) {
    std::string const mean = verdict.relative_half_width
                                 ? "The mean is known to " + with_plus_minus(format_half_width(*verdict.relative_half_width)) + "."
                                 : capitalized(no_interval_words(verdict)) + ".";
    return finding{capitalized(pattern_words(*verdict.pattern, verdict.measured)) + ".", mean, verdict_advice(verdict)};
  }
  return finding{"These times are not reliable yet.", fmt::format("{}: {}.", capitalized(verdict_name(verdict.verdict)), reason),
                 verdict_advice(verdict)};
}

/// The time between steps, in which no scope and no figure of the step is.
inline std::optional<finding> between_finding(report_view const& view) {
  step_summary const& steps = view.all.steps;
  double const share = share_between(steps);
  if (share < min_share_between || !steps.between.median) return std::nullopt;
  bool const is_rare = *steps.between.median < 0.5 * *steps.between.mean;
  std::string text = fmt::format("{}{} pass between two steps; a step takes {}.", is_rare ? "On average, " : "",
                                 time_words(*steps.between.mean), time_words(steps.step_time->mean));
  if (is_rare) text += fmt::format(" The median is {}, the longest {}.", time_words(*steps.between.median), time_words(*steps.between.max));
  milliseconds const own{view.all.quality.bookkeeping};
  bool const is_own = own >= 0.5 * steps.between.total;
  if (own >= 0.1 * steps.between.total) text += fmt::format(" profkit itself needs {} between all steps.", time_words(own));
  std::string const remedy = is_own    ? "Make steps longer, so that profkit matters less"
                             : is_rare ? "Look at what the program does in these pauses, such as evaluation or checkpoints"
                                       : "Do this work, such as loading data, during the step, or inside it to see it in the report";
  return finding{share_words(share) + " of the loop's wall time is between steps.", text,
                 fmt::format("{}: at most {} a step ({}) can be saved.", remedy, time_words(exposed_between(steps)), share_words(share))};
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
  std::string const graph =
      fmt::format("{} can save {} at most.",
                  view.all.gpu && view.all.gpu->operations_of_graphs > 0 ? "fewer and larger operations"
                                                                         : "a CUDA graph, or fewer and larger operations,",
                  at_most(launching, step));
  switch (bound_of(budget)) {
    case step_bound::gpu: {
      if (idle < 0.01 * step) return std::nullopt;
      double const queued = cause_of(idle_cause::queued);
      return finding{
          "The GPU sets the pace.",
          works + " " + idles + (queued > 0.0 ? ", " + time_words(milliseconds{queued}) + " of that between queued operations." : "."),
          "Do not tune the host: " + (launching > 0.0 ? graph : "it can save " + at_most(idle, step) + " at most.")};
    }
    case step_bound::communication: {
      double const all = budget.communication.busy.count() / steps;
      double const exposed = budget.communication.exposed.count() / steps;
      return finding{"Communication sets the pace.",
                     fmt::format("It takes {} a step, {} of it with no other operation running.", time_words(milliseconds{all}),
                                 time_words(milliseconds{exposed})),
                     fmt::format("Overlap it with computation, or send less: at most {} can be saved.", at_most(exposed, step))};
    }
    case step_bound::launching:
      return finding{cause_of(idle_cause::queued) > cause_of(idle_cause::launching) ? "The GPU waits between queued operations."
                                                                                    : "Launching sets the pace.",
                     fmt::format("The GPU works {}; {} are launch-bound, {} between queued operations.",
                                 part_words(milliseconds{busy}, milliseconds{step}),
                                 budget.has_launches ? time_words(milliseconds{cause_of(idle_cause::launching)}) : "n/a",
                                 time_words(milliseconds{cause_of(idle_cause::queued)})),
                     capitalized(graph)};
    case step_bound::host: {
      starving_scope const* const scope = max_waiting_scope(budget, idle_cause::host);
      double const all = cause_of(idle_cause::host);
      double const saved = scope == nullptr ? all : scope->by_cause[static_cast<std::size_t>(idle_cause::host)].count() / steps;
      return finding{"The host sets the pace.",
                     fmt::format("The GPU works {} and waits {} for the host{}.", part_words(milliseconds{busy}, milliseconds{step}),
                                 at_most(all, step), longest(idle_cause::host)),
                     fmt::format("Speed up {} or move its work to another thread: at most {} can be saved.",
                                 scope == nullptr ? "the host's part" : name_words(scope->name), at_most(saved, step))};
    }
    case step_bound::synchronisation:
      return finding{
          "The host waits for the GPU, and then the GPU for the host.",
          fmt::format("The GPU works {}; it idles {} around synchronisation{}.", part_words(milliseconds{busy}, milliseconds{step}),
                      at_most(cause_of(idle_cause::synchronisation), step), longest(idle_cause::synchronisation)),
          fmt::format("Remove calls that need a result on the host: at most {} can be saved.",
                      at_most(cause_of(idle_cause::synchronisation), step))};
    case step_bound::copies:
      return finding{
          "Copies set the pace.",
          fmt::format("The GPU works {}; it idles {} while the host copies{}.", part_words(milliseconds{busy}, milliseconds{step}),
                      at_most(cause_of(idle_cause::copy), step), longest(idle_cause::copy)),
          fmt::format("Use pinned memory and a stream of their own: at most {} can be saved.", at_most(cause_of(idle_cause::copy), step))};
  }
  return std::nullopt;
}

/// What a place is. @param place must have a scope.
inline char const* place_reason(time_place const& place) {
  if (place.is_itself) return "without the scopes in it";
  return place.has_quarter ? "the innermost scope with over a quarter of the step" : "the longest innermost scope";
}

/// Where to begin. If most of the work is outside any scope: by adding scopes.
inline std::string begin_words(report_view const& view, time_place const& place) {
  double const outside = outside_ms(view);
  if (outside > place.time || place.scope == nullptr) {
    return fmt::format("Add scopes first: {} of the step are {}.", at_most(std::max(outside, place.time), view.step_ms()),
                       outside > place.time ? "in operations that were launched outside any scope" : "outside the scopes in it");
  }
  return fmt::format("Begin with {}, {}: {}.", view.tree().name_of(place), place_reason(place), at_most(place.time, view.step_ms()));
}

/// The largest place in host time, without kernels.
inline finding host_time_finding(report_view const& view, time_place const& place) {
  std::string const headline = fmt::format("{} takes {} of host time a step.",
                                           place.scope == nullptr ? capitalized(view.tree().name_of(place)) : view.tree().name_of(place),
                                           at_most(place.time, view.step_ms()));
  if (place.scope == nullptr) return {headline, "No scope tells what it does.", "Add scopes to the step (PROF_SCOPE)."};
  folded_scope const& scope = *place.scope;
  std::string const count = mean_count_words(scope.count);
  std::string const runs = fmt::format("It runs {} a step", count == "1" ? "once" : count + " times");
  if (place.is_itself) {
    return {headline, fmt::format("{}; the scopes in it take {} more.", runs, time_words(milliseconds{scope.time - place.time})),
            "Begin with its own code, outside the scopes in it.", scope.path};
  }
  return {headline, fmt::format("{}, {} each.", runs, time_words(milliseconds{scope.count > 0.0 ? scope.time / scope.count : 0.0})),
          fmt::format("Begin there: it is {}.", place_reason(place)), scope.path};
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
  auto const begin = view.largest_place();
  step_kind_summary const& main = view.main();
  double const all = kernel_ms(main);
  if (view.all.gpu && !main.kernels.empty() && all > 0.0) {
    kind_kernel_summary const& longest = main.kernels.front();
    double const ms = longest.total.count() / gpu_steps(main);
    std::string const text = fmt::format(
        "Longest: {}, {} ({}), {}.", name_words(short_kernel_name(view.all.gpu->kernels[longest.kernel].name)),
        time_words(milliseconds{ms}), share_words(ms / all), launches_words(static_cast<double>(longest.count) / gpu_steps(main)));
    std::string const head = class_words(class_times(view.all, main), all).value_or("Most kernel time is in kernels without a class");
    return finding{head + ".", text, begin ? begin_words(view, *begin) : "Begin with this kernel.",
                   begin && begin->scope != nullptr ? begin->scope->path : std::string{}};
  }
  if (!begin || view.tree().has_gpu()) return std::nullopt;
  return host_time_finding(view, *begin);
}

/// A launch that leaves a part of its device unused, and the time of a step that a better one can save at most.
struct poor_launch {
  std::string head;
  std::string text;
  std::string advice;
  double saved = 0.0;  ///< in milliseconds
};

/// @param ms time of the kernel in a step.
/// @return nothing if the launch uses its device, or if its kind of kernel chooses such launches on purpose.
inline std::optional<poor_launch> poor_launch_of(kernel_summary const& kernel, double ms) {
  if (!kernel.median_launch || kernel.kernel_class == "communication") return std::nullopt;
  launch_summary const& launch = *kernel.median_launch;
  std::string const name = short_kernel_name(kernel.name);
  if (launch.blocks < launch.multiprocessors) {
    return poor_launch{fmt::format("{}: {} on {} SMs.", name, counted(launch.blocks, "block", "blocks"), launch.multiprocessors),
                       fmt::format("{} SMs have none of its work", launch.multiprocessors - launch.blocks),
                       "Give it more and smaller blocks", ms * (1.0 - static_cast<double>(launch.blocks) / launch.multiprocessors)};
  }
  double const rounds = std::ceil(launch.waves);
  if (rounds > 1.0 && rounds - launch.waves >= 0.25 * rounds) {
    return poor_launch{
        fmt::format("{}: the last of {} waves of blocks fills {} of the GPU.", name, count_words(static_cast<std::uint64_t>(rounds)),
                    share_words(launch.last_wave)),
        fmt::format("{} fit at the same time, and it has {}",
                    count_words(std::uint64_t{launch.multiprocessors} * launch.blocks_per_multiprocessor), count_words(launch.blocks)),
        "Choose another number or size of blocks", ms * (1.0 - launch.waves / rounds)};
  }
  // Products of matrices and their like hide latency within a warp, with many registers.
  bool const needs_warps = kernel.kernel_class != "matmul" && kernel.kernel_class != "attention" && kernel.kernel_class != "convolution";
  if (launch.occupancy > 0.25 || launch.limited_by.empty() || !needs_warps) return std::nullopt;
  std::string const what = launch.limited_by.find("registers") != std::string::npos ? fmt::format("{} registers a thread", launch.registers)
                           : launch.limited_by.find("shared memory") != std::string::npos
                               ? fmt::format("{} of shared memory a block", bytes_words(static_cast<double>(launch.shared_bytes)))
                               : fmt::format("{} threads a block", launch.threads);
  return poor_launch{
      fmt::format("{}: {}, occupancy {}.", name, what, fmt::format("{:.3g}\xc2\xa0%", 100.0 * launch.occupancy)),
      fmt::format("An SM runs {} of its blocks at the same time, limited by {}", launch.blocks_per_multiprocessor, launch.limited_by),
      "Try a shape with more warps (__launch_bounds__, less shared memory, other blocks)", ms * (1.0 - launch.occupancy)};
}

/// The launch with the most to save, among kernels with 5 % of kernel time; from 2 % of the step.
inline std::optional<finding> launch_finding(report_view const& view) {
  step_kind_summary const& main = view.main();
  double const step = view.step_ms();
  double const all = kernel_ms(main);
  if (!view.all.gpu || step <= 0.0 || all <= 0.0) return std::nullopt;
  std::optional<poor_launch> worst;
  double worst_ms = 0.0;
  for (kind_kernel_summary const& each : main.kernels) {
    double const ms = each.total.count() / gpu_steps(main);
    if (ms < 0.05 * all) break;
    std::optional<poor_launch> found = poor_launch_of(view.all.gpu->kernels[each.kernel], ms);
    if (!found || found->saved < 0.02 * step || (worst && worst->saved >= found->saved)) continue;
    worst = std::move(found);
    worst_ms = ms;
  }
  if (!worst) return std::nullopt;
  return finding{
      worst->head, fmt::format("It takes {}. {}.", at_most(worst_ms, step), worst->text),
      fmt::format("{}, unless other kernels run beside it: at most {} can be saved.", worst->advice, at_most(worst->saved, step))};
}

/// The kernel that waits longest for pages of unified memory; from 2 % of the step.
inline std::optional<finding> page_finding(report_view const& view) {
  summary const& all = view.all;
  if (!all.unified_memory || !all.gpu || all.gpu->steps == 0 || view.step_ms() <= 0.0) return std::nullopt;
  own_hash_map<std::string, unified_memory_place> by_kernel;
  for (unified_memory_place const& each : all.unified_memory->places) {
    by_kernel[each.kernel].waiting += each.waiting;
    by_kernel[each.kernel].bytes_to_device += each.bytes_to_device;
  }
  kernel_summary const* longest = nullptr;
  unified_memory_place pages;
  for (kernel_summary const& kernel : all.gpu->kernels) {
    auto const known = by_kernel.find(kernel.name);
    if (known == by_kernel.end() || known->second.waiting <= pages.waiting) continue;
    longest = &kernel;
    pages = known->second;
  }
  auto const steps = static_cast<double>(all.gpu->steps);
  double const waits = pages.waiting.count() / steps;
  if (longest == nullptr || waits < 0.02 * view.step_ms()) return std::nullopt;
  return finding{fmt::format("{} waits {} for {} of pages.", short_kernel_name(longest->name),
                             part_words(milliseconds{waits}, longest->time.total / steps),
                             bytes_words(static_cast<double>(pages.bytes_to_device) / steps)),
                 "These are figures of a step. Pages of unified memory migrate while the kernel runs. The counters that show it make such "
                 "kernels about twice as slow, and see only a part of the bytes.",
                 fmt::format("Prefetch them (cudaMemPrefetchAsync): at most {} can be saved.", at_most(waits, view.step_ms()))};
}

/// A report of one of several ranks does not say for which rank it waits.
inline std::optional<finding> rank_finding(summary const& all) {
  auto const& rank = all.environment.rank;
  if (!rank || rank->size < 2) return std::nullopt;
  return finding{fmt::format("This is rank {} of {}.", rank->rank, rank->size),
                 "Where it waits for others, the reason is on another rank.",
                 "profkit report DIR shows all ranks, where DIR has their folders.",
                 {}};
}

/// The findings that a report shows: at most three, and for ranks of a job one more. If a collector failed or data was lost, one says so.
inline own_vector<finding> findings(report_view const& view) {
  constexpr std::size_t max_findings = 3;
  own_vector<finding> result;
  auto const add = [&](std::optional<finding> each) {
    if (each && result.size() < max_findings) result.push_back(std::move(*each));
  };
  if (view.has_steps()) {
    add(reliability_finding(view));
    add(between_finding(view));
    add(bound_finding(view));
    add(max_time_finding(view));
    add(page_finding(view));
    add(launch_finding(view));
    add(other_kind_finding(view));
    add(outlier_finding(view));
    add(memory_finding(view.all));
    add(managed_memory_finding(view.all));
  } else {
    add(no_steps_finding(view.all));
  }
  own_vector<finding> always;
  for (auto const make : {failure_finding, loss_finding}) {
    if (std::optional<finding> each = make(view.all)) always.push_back(std::move(*each));
  }
  result.resize(std::min(result.size(), max_findings - always.size()));
  for (finding& each : always) result.push_back(std::move(each));
  if (std::optional<finding> each = rank_finding(view.all)) result.push_back(std::move(*each));
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
