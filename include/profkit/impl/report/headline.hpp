// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../../summary.hpp"
#include "../analyze/readings.hpp"
#include "../analyze/verdict/step_verdict.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A progress line such as "00:20:11: 1234 steps measured; host step time 1.310 ms, p95 1.402 ms; GPU busy 93.0 %".
/// @param summary the figures so far.
/// @param elapsed time since the session began.
/// @return the line, without a line end.
[[nodiscard]] inline std::string status_line(summary const& summary, std::chrono::nanoseconds elapsed) {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  std::string text = fmt::format("{:02}:{:02}:{:02}: ", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (!summary.covers_steps) return text + fmt::format("{} scopes recorded, no step made", summary.scopes_recorded);
  step_summary const& steps = summary.steps;
  text += fmt::format("{} steps measured", steps.host.count);
  if (steps.host.count == 0) return text + fmt::format(", {} warm-up steps made", steps.warmup);
  text += fmt::format("; host step time {} ms, p95 {} ms", detail::format_ms(steps.host.mean), detail::format_ms(steps.host.p95));
  if (summary.budget && summary.budget->wall.count() > 0.0)
    text += fmt::format("; GPU busy {:.1f} %", 100.0 * (summary.budget->busy / summary.budget->wall));
  return text;
}

/// @brief The name of a verdict, such as "still warming".
[[nodiscard]] inline char const* verdict_name(step_verdict verdict) noexcept {
  static constexpr char const* names[] = {"too few", "stable", "noisy", "drifting", "still warming", "throttled", "uneven"};
  return names[static_cast<std::size_t>(verdict)];
}

/// @brief The name of a shape, such as "periodic".
[[nodiscard]] inline char const* shape_name(series_shape shape) noexcept {
  static constexpr char const* names[] = {"too short", "even", "correlated", "mixed", "levels", "periodic", "long tail"};
  return names[static_cast<std::size_t>(shape)];
}

namespace detail {

/// 0.0412 -> "+-4.1 %", 0.00041 -> "+-0.041 %". Rounds what is below 0.001 % up.
inline std::string format_half_width(double share) {
  constexpr double smallest = 0.001;
  double const percent = 100.0 * share;
  return percent >= 0.095 || percent <= 0.0 ? fmt::format("+-{:.1f} %", percent) : fmt::format("+-{:.2g} %", std::max(percent, smallest));
}

inline std::string outlier_words(verdict_summary const& verdict) {
  return fmt::format("{} outlier{}", verdict.outliers, verdict.outliers == 1 ? "" : "s");
}

/// " (steps 0, 50, 100, ...)".
inline std::string named_steps(step_pattern const& pattern) {
  if (pattern.first.empty()) return {};
  return fmt::format(" ({} {}{})", pattern.others == 1 ? "step" : "steps", fmt::join(pattern.first, ", "),
                     pattern.others > pattern.first.size() ? ", ..." : "");
}

/// How steps differ, such as "1 step in 50 takes 10.0 times as long (steps 0, 50, 100, ...)".
inline std::string pattern_words(step_pattern const& pattern, std::uint64_t measured) {
  if (pattern.shape == series_shape::tailed) return "a few long steps take much of the time, and no two of them are alike";
  if (pattern.others == 0) return fmt::format("step times repeat about every {} steps", pattern.period);
  std::string const usual = significant(pattern.usual.count()) + " ms";
  std::string const other = significant(pattern.other.count()) + " ms";
  double const ratio = pattern.usual.count() > 0.0 ? pattern.other / pattern.usual : 0.0;
  bool const is_one = pattern.period > 0 ? pattern.others * pattern.period < 3 * (measured + pattern.period) / 2 : pattern.others == 1;
  std::string const take = is_one ? "takes" : "take";
  std::string const longer =
      ratio >= 1.5 ? fmt::format("{} {} times as long", take, significant(ratio)) : fmt::format("{} {} instead of {}", take, other, usual);
  if (pattern.shape == series_shape::levels) {
    return fmt::format("steps change between {} and {}: {} of {} steps take {}, in {} {}", usual, other, pattern.others, measured, other,
                       pattern.runs, pattern.runs == 1 ? "run" : "runs");
  }
  if (pattern.period == 2)
    return fmt::format("steps alternate between {} and {}", ratio < 1.0 ? other : usual, ratio < 1.0 ? usual : other);
  if (pattern.period > 0 && is_one) return fmt::format("1 step in {} {}{}", pattern.period, longer, named_steps(pattern));
  if (pattern.period > 0) {
    return fmt::format("steps repeat every {}: {:.0f} of them {}{}", pattern.period,
                       std::round(static_cast<double>(pattern.others * pattern.period) / static_cast<double>(measured)), longer,
                       named_steps(pattern));
  }
  return fmt::format("{} of {} steps {}{}", pattern.others, measured, longer, named_steps(pattern));
}

/// Why there is no interval of the mean.
inline std::string no_interval_words(verdict_summary const& verdict) {
  if (verdict.ci95_low) return "the mean is 0";
  if (verdict.finding == warmup_finding::never_steady) return "the mean has no interval, because the level changed";
  if (verdict.pattern && verdict.pattern->shape == series_shape::levels)
    return "the mean has no interval, because the levels changed too seldom";
  if (verdict.pattern) return "the mean has no interval, because it depends on the longest steps";
  return "the mean has no interval: too few steps";
}

inline std::string interval_words(verdict_summary const& verdict) {
  std::string const outliers = outlier_words(verdict);
  if (!verdict.relative_half_width) return fmt::format("{}; n = {}, {}", no_interval_words(verdict), verdict.measured, outliers);
  return fmt::format("the mean is known to {}; n = {} (effective {:.0f}), {}", format_half_width(*verdict.relative_half_width),
                     verdict.measured, *verdict.effective_samples, outliers);
}

/// Why the verdict is `too few` instead of `stable`.
inline std::string too_few_words(verdict_summary const& verdict) {
  if (verdict.measured < verdict_bounds::min_steps) {
    return fmt::format("n = {}; at least {} measured steps are needed to say more", verdict.measured, verdict_bounds::min_steps);
  }
  std::string const known = interval_words(verdict);
  if (verdict.measured < verdict_bounds::min_stable_steps) {
    return fmt::format("{}; with fewer than {}, a kind of step that is 1 in 10 may be unseen", known, verdict_bounds::min_stable_steps);
  }
  return fmt::format("{}; {} if the steps change slowly, which only 100 steps show", known,
                     format_half_width(verdict.cautious_half_width.value_or(0.0)));
}

inline std::string throttled_words(detail::own_vector<clock_summary> const& clocks) {
  std::string text;
  for (clock_summary const& each : clocks) {
    if (each.throttled_readings == 0) continue;
    text += fmt::format("{}device {} had slowed down in {} of {} readings ({}; SM clock down to {} of {} MHz)", text.empty() ? "" : "; ",
                        each.device, each.throttled_readings, each.readings, fmt::join(clock_reason_names(each.reasons), ", "),
                        each.min_mhz, each.device_max_mhz);
  }
  return text;
}

inline std::string more_warmup_words(verdict_summary const& verdict) {
  if (!verdict.steady_from) return "the first steps get shorter one after the other; use more warm-up steps";
  return fmt::format("use at least {} warm-up steps", *verdict.steady_from);
}

inline std::string drift_words(verdict_summary const& verdict) {
  if (verdict.finding == warmup_finding::never_steady) {
    return fmt::format("from step {} on steps are {:.1f} % {}", *verdict.steady_from, 100.0 * std::fabs(verdict.change),
                       verdict.change < 0.0 ? "shorter" : "longer");
  }
  return fmt::format("a step {} by {:.1f} % over the run (p = {:.1g})", verdict.drift.value_or(0.0) < 0.0 ? "shrinks" : "grows",
                     100.0 * std::fabs(verdict.drift.value_or(0.0)), verdict.drift_p_value.value_or(1.0));
}

}  // namespace detail

/// @brief The reason of a verdict, such as "the mean is known to +-4.1 %; n = 30 (effective 11), 1 outlier".
[[nodiscard]] inline std::string verdict_reason(verdict_summary const& verdict,
                                                ::profkit::detail::own_vector<clock_summary> const& clocks) {
  switch (verdict.verdict) {
    case step_verdict::throttled:
      return detail::throttled_words(clocks);
    case step_verdict::too_few:
      return detail::too_few_words(verdict);
    case step_verdict::still_warming:
      return fmt::format("{}; after them a step is {:.1f} % shorter", detail::more_warmup_words(verdict),
                         100.0 * std::fabs(verdict.change));
    case step_verdict::drifting:
      return detail::drift_words(verdict);
    case step_verdict::uneven:
      return fmt::format("{}; {}", detail::pattern_words(*verdict.pattern, verdict.measured), detail::interval_words(verdict));
    case step_verdict::noisy:
    case step_verdict::stable:
      break;
  }
  return detail::interval_words(verdict);
}

/// @brief Whether the steps are steady from some step on. Steps that change slowly throughout count as few independent ones.
[[nodiscard]] inline bool has_steady_part(verdict_summary const& verdict) {
  constexpr double few = 2.0 * verdict_bounds::min_effective;
  double const effective = verdict.effective_samples.value_or(0.0);
  return verdict.verdict == step_verdict::stable || effective >= few || 2.0 * effective >= static_cast<double>(verdict.measured);
}

/// @brief States whether the warm-up was long enough, such as "warm-up 5 given; steady from step 3".
[[nodiscard]] inline std::string warmup_words(verdict_summary const& verdict) {
  std::string given = fmt::format("warm-up {} given; ", verdict.warmup);
  switch (verdict.finding) {
    case warmup_finding::unknown:
      return given + "too few steps to find the steady part";
    case warmup_finding::enough:
      if (verdict.verdict == step_verdict::uneven) return given + "the first steps are not longer";
      return given + (has_steady_part(verdict) ? fmt::format("steady from step {}", *verdict.steady_from) : "no steady part found");
    case warmup_finding::too_short:
      return given + (verdict.steady_from ? fmt::format("still warming: use at least {}", *verdict.steady_from)
                                          : "still warming: the first steps get shorter");
    case warmup_finding::never_steady:
      return given + fmt::format("the steps changed at step {}", *verdict.steady_from);
    case warmup_finding::drifting:
      return given + "no steady part: the steps drift";
  }
  return given;
}

/// @brief A line about the clocks of a device, such as "device 0: SM clock 1755 to 1980 of 1980 MHz, mean 1966, power cap; 512 W, at most
/// 650; at most 61 C; 30 readings".
[[nodiscard]] inline std::string clock_words(clock_summary const& clock) {
  std::string text = fmt::format(
      "device {}: SM clock {} to {} of {} MHz, mean {:.0f}, {}", clock.device, clock.min_mhz, clock.max_mhz, clock.device_max_mhz,
      clock.mean_mhz, clock.reasons == 0 ? "never slowed down" : fmt::format("{}", fmt::join(clock_reason_names(clock.reasons), ", ")));
  if (clock.mean_watt) text += fmt::format("; {:.0f} W, at most {:.0f}", *clock.mean_watt, *clock.max_watt);
  if (clock.max_celsius) text += fmt::format("; at most {} C", *clock.max_celsius);
  return text + fmt::format("; {} {}", clock.readings, clock.readings == 1 ? "reading" : "readings");
}

namespace detail {

inline std::string verdict_line(char const* what, verdict_summary const& verdict, summary const& all) {
  step_summary const& steps = all.steps;
  auto const cause = &verdict == &main_verdict(steps) ? largest_noise_cause(all, steps, all.budget) : std::nullopt;
  std::string text = fmt::format("{}: {}: {}{}\n", what, verdict_name(verdict.verdict), cause ? cause->words + "; " : "",
                                 verdict_reason(verdict, steps.clocks));
  if (verdict.measured >= 2) {
    text += verdict.ci95_low ? fmt::format("  95 % interval of the mean {} to {} ms, MAD {} ms", format_ms(verdict.ci95_low),
                                           format_ms(verdict.ci95_high), format_ms(verdict.mad))
                             : fmt::format("  {}, MAD {} ms", no_interval_words(verdict), format_ms(verdict.mad));
    if (verdict.drift && verdict.finding != warmup_finding::never_steady) {
      text += fmt::format(", drift {:+.1f} % ({}significant, p = {:.2g})", 100.0 * *verdict.drift, verdict.has_drift ? "" : "not ",
                          *verdict.drift_p_value);
    }
    text += fmt::format(", {}", outlier_words(verdict));
    // An event with a probability of 3 / n is not seen in n trials with a probability of 5 % ("rule of three": J. A. Hanley and A.
    // Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).
    if (verdict.measured >= verdict_bounds::min_steps)
      text += fmt::format("; a kind of step rarer than 1 in {} may be unseen", verdict.measured / 3);
    text += "\n";
  }
  return text + "  " + warmup_words(verdict) + "\n";
}

inline std::string stop_words(stop_record const& stop, std::uint64_t measured, bool host_runs_ahead) {
  std::string const reached =
      stop.reached ? fmt::format("the mean {} step time is known to {}", stop.is_of_gpu ? "GPU" : "host", format_half_width(*stop.reached))
                   : "the mean step time is not known yet";
  std::string wanted = fmt::format("{}, wanted +-{:g} %", reached, 100.0 * stop.wanted);
  if (host_runs_ahead && !stop.is_of_gpu) wanted += "; the GPU takes longer: collect profkit::cuda_step_timer to stop by its time";
  if (stop.reached && *stop.reached <= stop.wanted) return fmt::format("stopped after {} measured steps: {}\n", measured, wanted);
  if (measured >= stop.max_steps) return fmt::format("stopped at the bound of {} measured steps: {}\n", stop.max_steps, wanted);
  return fmt::format("the program ended the loop after {} measured steps: {}\n", measured, wanted);
}

}  // namespace detail

/// @brief States that the host runs ahead of the GPU, and by how many steps. Empty if it does not.
[[nodiscard]] inline std::string run_ahead_text(step_summary const& steps) {
  if (!steps.gpu_period || !steps.gpu_period->is_longer) return "";
  gpu_period_summary const& gpu = *steps.gpu_period;
  double const most = gpu.max_steps_ahead.value_or(0.0);
  std::string const ahead = most >= 1.0 ? fmt::format("The host runs ahead of the GPU by up to {:.0f} {} (median {:g})", most,
                                                      most == 1.0 ? "step" : "steps", *gpu.median_steps_ahead)
                                        : "The host does not wait for the GPU within a step";
  return fmt::format("{}: step time is the GPU's, {} ms (host {} ms).\n", ahead, detail::format_ms(gpu.time.mean),
                     detail::format_ms(gpu.host_mean));
}

/// @brief The lines below the table of steps: verdicts with reasons, warm-up, clocks.
[[nodiscard]] inline std::string verdict_text(summary const& summary) {
  step_summary const& steps = summary.steps;
  bool const host_runs_ahead = steps.gpu_period && steps.gpu_period->is_longer;
  std::string text = host_runs_ahead ? detail::verdict_line("GPU (kernels)", steps.gpu_period->verdict, summary) : "";
  text += detail::verdict_line("host", steps.host_verdict, summary);
  if (steps.gpu_verdict) text += detail::verdict_line("GPU (CUDA events)", *steps.gpu_verdict, summary);
  for (clock_summary const& each : steps.clocks) text += clock_words(each) + "\n";
  if (steps.clocks.empty() && detail::is_asked_for(summary, collector_kind::gpu_clocks))
    text += fmt::format("GPU clocks: n/a ({}), so throttling is unknown\n",
                        detail::why_not_collected(summary, collector_kind::gpu_clocks, "not read after a measured step"));
  if (steps.stop) text += detail::stop_words(*steps.stop, steps.host.count, host_runs_ahead);
  return text;
}

}  // namespace PROFKIT_NAMESPACE

// The sentence at the top of a report.

namespace PROFKIT_NAMESPACE::detail {

/// The bound of a step of the main kind.
enum class step_bound : std::uint8_t { gpu, communication, launching, host, synchronisation, copies };

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

/// Why there is no GPU time, such as "kernels were collected in no measured step".
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

/// The headline without GPU times: where the host spends the step. If kernels were to be collected, a finding says why they were not.
inline std::string host_only_headline(report_view const& view) {
  std::string text = step_takes(view) + " on the host";
  if (auto const place = view.largest_place(); place && view.step_ms() > 0.0)
    text += ", " + share_words(place->time / view.step_ms()) + " of it in " + view.tree().name_of(*place);
  return view.all.gpu ? text + "; the GPU is n/a: " + why_no_kernels(view.all) : text;
}

/// "2.31 s on 4 threads": the session; empty if its time is unknown.
inline std::string session_words(summary const& all) {
  if (all.elapsed.count() <= 0.0) return {};
  return time_words(all.elapsed) + (all.threads > 1 ? " on " + count_words(all.threads) + " threads" : "");
}

/// The headline without measured steps: why there are none, or the times of the session and where they went.
inline std::string headline_without_steps(report_view const& view) {
  summary const& all = view.all;
  if (!all.quality.not_recorded.empty()) return "Nothing was recorded: " + one_line(all.quality.not_recorded);
  if (all.covers_steps) {
    return fmt::format("No step was measured: {}, {} excluded, {} exited by an exception",
                       counted(all.steps.warmup, "warm-up step", "warm-up steps"), all.steps.excluded, all.quality.abandoned_steps);
  }
  auto const place = view.largest_place();
  if (!place) return "Nothing was measured: no step was marked and no scope was recorded";
  std::string const took = session_words(all);
  return fmt::format("{}{} took {} in all, {} of it in {}", took.empty() ? "" : "The session took " + took + "; ",
                     view.tree().has_gpu() ? "GPU work in scopes"
                     : took.empty()        ? "Scopes"
                                           : "scopes",
                     time_words(milliseconds{view.tree().sum_of_roots()}), share_words(place->time / view.tree().sum_of_roots()),
                     view.tree().name_of(*place));
}

/// The first sentence of a report, without a full stop.
inline std::string headline(report_view const& view) {
  if (!view.has_steps() || !view.all.quality.not_recorded.empty()) return headline_without_steps(view);
  std::string text = has_gpu_time(view.main()) ? step_takes(view) + bound_words(*view.main().budget) : host_only_headline(view);
  if (double const share = share_between(view.all.steps); share >= min_share_between)
    text += "; " + share_words(share) + " of the loop's wall time is between steps";
  return text;
}

}  // namespace PROFKIT_NAMESPACE::detail
