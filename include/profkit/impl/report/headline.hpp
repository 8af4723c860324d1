// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>

#include "../../summary.hpp"
#include "../analyze/verdict/step_verdict.hpp"
#include "quality_text.hpp"
#include "report_view.hpp"
#include "sentence_numbers.hpp"

// The sentence at the top of a report.

namespace profkit::detail {

/// The bound of a step of the main kind.
enum class step_bound : std::uint8_t { gpu, communication, launching, host, synchronisation, copies };

/// Minimum GPU busy share of a GPU-bound step.
inline constexpr double busy_bound = 0.95;
/// Minimum share of exposed communication in a communication-bound step.
inline constexpr double communication_bound = 0.05;

/// @param budget must have steps.
inline step_bound bound_of(budget_summary const& budget) {
  double const steps = gpu_steps(budget);
  double const wall = budget.wall.count() / steps;
  double const idle = wall - budget.busy.count() / steps;
  double const exposed = budget.communication.exposed.count() / steps;
  if (exposed >= communication_bound * wall && exposed > idle) return step_bound::communication;
  if (budget.busy >= busy_bound * budget.wall) return step_bound::gpu;
  std::array<double, idle_causes> const causes = idle_per_step(budget);
  auto const idle_for = [&](idle_cause cause) { return causes[static_cast<std::size_t>(cause)]; };
  double const launching = launch_time(budget);
  if (launching >= idle_for(idle_cause::host) && launching >= idle_for(idle_cause::synchronisation) &&
      launching >= idle_for(idle_cause::copy)) {
    return step_bound::launching;
  }
  if (idle_for(idle_cause::host) >= idle_for(idle_cause::synchronisation) && idle_for(idle_cause::host) >= idle_for(idle_cause::copy))
    return step_bound::host;
  return idle_for(idle_cause::synchronisation) >= idle_for(idle_cause::copy) ? step_bound::synchronisation : step_bound::copies;
}

/// Whether the step budget of a kind is known.
inline bool has_gpu_time(step_kind_summary const& kind) { return kind.budget && kind.budget->wall.count() > 0.0; }

/// " in forward" if at least half of the idle time of a cause is in that scope; otherwise empty.
inline std::string waiting_place(budget_summary const& budget, idle_cause cause) {
  starving_scope const* const scope = max_waiting_scope(budget, cause);
  auto const at = static_cast<std::size_t>(cause);
  if (scope == nullptr || scope->by_cause[at] < 0.5 * idle_of_all(budget)[at]) return {};
  return " in " + name_words(scope->name);
}

/// "mostly" for at least half of the idle time, otherwise "above all". @param idle time of the largest cause, in milliseconds per step.
inline char const* mostly_words(budget_summary const& budget, double idle) {
  double const all = (budget.wall - budget.busy).count() / gpu_steps(budget);
  return idle >= 0.5 * all ? "mostly" : "above all";
}

/// The bound of a step, to follow "A step takes 46.3 ms".
inline std::string bound_words(budget_summary const& budget) {
  double const busy = budget.busy / budget.wall;
  std::array<double, idle_causes> const idle = idle_per_step(budget);
  auto const idles = [&](double largest, std::string const& why) {
    return "; the GPU idles for " + share_words(1.0 - busy) + " of it, " + mostly_words(budget, largest) + " " + why;
  };
  auto const idle_of = [&](idle_cause cause) { return idle[static_cast<std::size_t>(cause)]; };
  switch (bound_of(budget)) {
    case step_bound::gpu:
      return " and keeps the GPU busy for " + share_words(busy) + " of it: only faster or fewer kernels make it shorter";
    case step_bound::communication:
      return "; " + share_words(budget.communication.exposed / budget.wall) +
             " of it is communication that does not overlap with other work";
    case step_bound::launching: {
      bool const is_queued = idle_of(idle_cause::queued) > idle_of(idle_cause::launching);
      return is_queued ? idles(idle_of(idle_cause::queued), "in the gaps between queued operations")
                       : idles(idle_of(idle_cause::launching), "because launching is too slow");
    }
    case step_bound::host: {
      std::string const place = waiting_place(budget, idle_cause::host);
      return idles(idle_of(idle_cause::host),
                   place.empty() ? "while the host does other work than launching" : "while the host is" + place);
    }
    case step_bound::synchronisation:
      return idles(idle_of(idle_cause::synchronisation),
                   "because the host waits for the GPU" + waiting_place(budget, idle_cause::synchronisation));
    case step_bound::copies:
      return idles(idle_of(idle_cause::copy), "because of copies" + waiting_place(budget, idle_cause::copy));
  }
  return {};
}

/// Why there is no GPU time, such as "no kernel collector".
inline std::string why_no_kernels(summary const& all) {
  if (all.gpu && all.gpu->steps == 0 && all.covers_steps) return "kernels were collected in no measured step";
  return why_not_collected(all, collector_kind::kernels, "no reason was given");
}

/// "A usual step takes about 46.3 ms".
inline std::string step_takes(report_view const& view) {
  step_kind_summary const& main = view.main();
  double const half = main_verdict(main.times).relative_half_width.value_or(1.0);
  bool const is_known = half <= verdict_bounds::max_half_width;
  return fmt::format("A {} takes {}{}", view.kinds.main_words(), is_known ? "" : "about ", time_words(mean_step_time(main.times)));
}

/// The headline without GPU times: where the host spends the step, and why there are no GPU times.
inline std::string host_only_headline(report_view const& view) {
  std::string text = step_takes(view) + " on the host";
  if (folded_scope const* const longest = view.tree.innermost(2.0 * view.step_ms()); longest != nullptr && view.step_ms() > 0.0) {
    text += ", " + share_words(longest->time / view.step_ms()) + " of it in " + view.tree.unique_name(*longest);
  }
  return text + "; the GPU is n/a: " + why_no_kernels(view.all);
}

/// The headline without measured steps: why there are none, or the longest scope of the session.
inline std::string headline_without_steps(report_view const& view) {
  summary const& all = view.all;
  if (!all.quality.not_recorded.empty()) return "Nothing was recorded: " + one_line(all.quality.not_recorded);
  if (all.covers_steps) {
    return fmt::format("No step was measured: {}, {} excluded, {} exited by an exception",
                       counted(all.steps.warmup, "warm-up step", "warm-up steps"), all.steps.excluded, all.quality.abandoned_steps);
  }
  folded_scope const* longest = nullptr;
  for (std::size_t const i : view.tree.roots()) {
    folded_scope const& root = view.tree.rows()[i];
    if (longest == nullptr || root.host > longest->host) longest = &root;
  }
  if (longest == nullptr) return "Nothing was measured: no step was marked and no scope was recorded";
  return fmt::format("No steps were marked; {} took the longest, {} of host time in all", name_words(longest->name),
                     time_words(milliseconds{longest->host}));
}

/// The first sentence of a report, without a full stop.
inline std::string headline(report_view const& view) {
  if (!view.has_steps() || !view.all.quality.not_recorded.empty()) return headline_without_steps(view);
  return has_gpu_time(view.main()) ? step_takes(view) + bound_words(*view.main().budget) : host_only_headline(view);
}

}  // namespace profkit::detail
