// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "findings.hpp"
#include "headline.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "trend_section.hpp"
#include "work_section.hpp"

// The section "Steps": how reliable the step time is.

namespace PROFKIT_NAMESPACE::detail {

/// The half-width of the 95 % interval of the mean; n/a if it is unknown.
inline std::optional<milliseconds> half_interval(verdict_summary const& verdict) {
  if (!verdict.ci95_high || !verdict.ci95_low) return std::nullopt;
  return (*verdict.ci95_high - *verdict.ci95_low) / 2.0;
}

inline void add_clock_row(data_table& to, char const* clock, duration_summary const& times, verdict_summary const& verdict) {
  row& next = to.add_row().text(clock).count(times.count);
  for (auto const& each :
       {times.mean, times.standard_deviation, times.min, times.median, times.p95, times.max, half_interval(verdict), verdict.mad})
    next.ms(each, "too few steps");
  next.text(verdict_name(verdict.verdict));
}

/// Host and GPU times of all measured steps: the content of `steps.csv`. Includes the GPU period if it is longer than the host time.
inline data_table step_table(summary const& all) {
  data_table result = folded_list("steps", "Steps by clock");
  result.add_columns({{"measured steps"}, {"count", column_kind::count}});
  for (char const* const each : {"mean", "std", "min", "median", "p95", "max", "95 % +-", "MAD"})
    result.columns.push_back({each, column_kind::milliseconds});
  result.add_columns({{"verdict"}});
  step_summary const& steps = all.steps;
  add_clock_row(result, "host", steps.host, steps.host_verdict);
  if (steps.gpu) {
    add_clock_row(result, "GPU (CUDA events)", *steps.gpu, *steps.gpu_verdict);
  }
  if (steps.gpu_period && steps.gpu_period->is_longer)
    add_clock_row(result, "GPU (kernels)", steps.gpu_period->time, steps.gpu_period->verdict);
  return result;
}

/// Which steps the statistics cover, and items per second.
inline std::string covered_steps_text(step_summary const& steps) {
  std::string text = fmt::format("{} warm-up steps excluded", steps.warmup);
  if (steps.excluded > 0) text += fmt::format(", and {} by the program (step.exclude())", steps.excluded);
  text += "; std is of the sample (n - 1)";
  if (steps.items_per_second)
    text += fmt::format("; {} {}/s by {}", format_count(steps.items_per_second), one_line(steps.item_name), steps.items_per_second_basis);
  if (steps.between.mean)
    text += fmt::format("; {} ms between steps, {} of the wall time of the loop", format_ms(*steps.between.mean),
                        format_share(share_between(steps)));
  return text + "\n";
}

/// Adds details about the times of the measured steps of all kinds.
inline void add_step_details(section& to, summary const& all) {
  to.add_notes(coverage_text(all));
  data_table table = step_table(all);
  if (all.steps.host.count == 0) table.use = block_use::file;
  to.add(std::move(table));
  if (!all.quality.not_recorded.empty() || !all.covers_steps) return;
  to.add_notes(covered_steps_text(all.steps) + run_ahead_text(all.steps) + model_text(all), block_use::text);
  to.add_notes(verdict_text(all) + level_change_text(all.trend), block_use::text);
}

inline bool is_step_time_of_gpu(step_summary const& times) { return times.step_time && times.step_time->basis != "host step time"; }

/// Keeps the labels of the longest outliers and steps of another kind.
inline void keep_longest_labels(own_vector<plotted_step>& steps) {
  constexpr std::size_t max_labels = 4;
  own_vector<plotted_step*> labelled;
  for (plotted_step& each : steps) {
    if (each.is != plotted_step::role::usual && !each.label.empty()) labelled.push_back(&each);
  }
  own_stable_sort(labelled.begin(), labelled.end(), [](plotted_step const* a, plotted_step const* b) { return a->ms > b->ms; });
  for (std::size_t i = max_labels; i < labelled.size(); ++i) labelled[i]->label.clear();
}

/// Names the longest warm-up step if its bar makes those of the measured steps small.
inline void label_warmup(own_vector<plotted_step>& steps) {
  constexpr double min_ratio = 1.5;
  plotted_step* longest = nullptr;
  double measured = 0.0;
  for (plotted_step& each : steps) {
    if (each.is != plotted_step::role::warmup) {
      measured = std::max(measured, each.ms);
    } else if (longest == nullptr || each.ms > longest->ms) {
      longest = &each;
    }
  }
  if (longest != nullptr && longest->ms > min_ratio * measured)
    longest->label = fmt::format("step {}: {}", longest->index, time_words(milliseconds{longest->ms}));
}

/// The steps of the figure, in order. @param is_of_gpu true: GPU times where they are known; false: host times.
inline own_vector<plotted_step> plotted_steps(report_view const& view, bool is_of_gpu) {
  own_vector<plotted_step> result;
  // If the level changed, the steps of one level are not outliers.
  std::optional<level_change_summary> const& change = view.all.trend.change;
  std::set<std::uint64_t> outliers;
  if (!change) {
    for (auto const& [index, ms] : outliers_of(view)) outliers.insert(index);
  }
  std::map<std::size_t, std::string> parts_of;  // by kind
  auto const own_parts = [&](std::size_t kind) -> std::string const& {
    auto const [words, is_new] = parts_of.try_emplace(kind);
    if (is_new) words->second = own_parts_words(view, view.all.kinds[kind]);
    return words->second;
  };
  for (listed_step const& each : view.all.listed_steps) {
    plotted_step step;
    step.index = each.index;
    step.ms = (is_of_gpu ? each.gpu.value_or(each.host) : each.host).count();
    bool const is_main = !view.main().is_usual || !each.kind || *each.kind == 0;
    if (each.is_warmup) {
      step.is = plotted_step::role::warmup;
    } else if (each.is_excluded) {
      step.is = plotted_step::role::excluded;
    } else if (!is_main) {
      step.is = plotted_step::role::other_kind;
      step.label = fmt::format("step {}: {}, {}", each.index, time_words(milliseconds{step.ms}), own_parts(*each.kind));
    } else if (outliers.count(each.index) > 0) {
      step.is = plotted_step::role::outlier;
      step.label = fmt::format("step {}: {}", each.index, time_words(milliseconds{step.ms}));
    } else if (change && each.index == change->step) {
      step.label = fmt::format("from step {} on: {}", each.index, time_words(change->after));
    }
    result.push_back(std::move(step));
  }
  keep_longest_labels(result);
  label_warmup(result);
  if (!result.empty()) return result;
  own_vector<milliseconds> const& samples = is_of_gpu ? main_samples(view.all.steps) : view.all.steps.host_samples;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    plotted_step step;
    step.index = view.all.steps.warmup + i;
    step.ms = samples[i].count();
    result.push_back(step);
  }
  return result;
}

/// Adds a row of statistics. @param count number of steps.
inline row& add_kind_row(data_table& to, std::string_view name, std::uint64_t count, duration_summary const& times,
                         std::optional<milliseconds> const& half_interval) {
  row& next = to.add_row().text(name).count(count);
  for (auto const& each : {times.mean, half_interval, times.median, times.min, times.max}) next.ms(each, "too few steps");
  return next;
}

/// Adds statistics of the host times of warm-up steps.
inline void add_warmup_row(data_table& to, report_view const& view) {
  own_vector<double> times;
  for (listed_step const& each : view.all.listed_steps) {
    if (each.is_warmup) times.push_back(each.host.count());
  }
  duration_summary sum;
  if (auto const spread = median_and_mad(times)) {
    auto const [min, max] = std::minmax_element(times.begin(), times.end());
    sum.mean = milliseconds{std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size())};
    sum.median = milliseconds{spread->median};
    sum.min = milliseconds{*min};
    sum.max = milliseconds{*max};
  }
  add_kind_row(to, "warm-up", view.all.steps.warmup, sum, std::nullopt).is_quiet = true;
}

/// One row per kind of step.
inline data_table kinds_table(report_view const& view) {
  constexpr column_kind ms = column_kind::milliseconds;
  constexpr column_use always = column_use::always;
  data_table table{"step_kinds"};
  table.add_columns({{"steps"},
                     {"n", column_kind::count},
                     {"mean", ms, always, "", "mean"},
                     {"95 % \xc2\xb1", ms, always, "half of the 95 % interval of the mean", "95 % \xc2\xb1"},
                     {"median", ms, always, "", "median"},
                     {"min", ms, always, "", "min"},
                     {"max", ms, always, "", "max"}});
  auto const add = [&](std::string_view name, step_kind_summary const& kind) {
    add_kind_row(table, name, kind.steps, main_times(kind.times), half_interval(main_verdict(kind.times)));
  };
  add(view.main().is_usual && view.kinds.has_several() ? "usual" : "measured", view.main());
  bool const is_only_one = view.all.kinds.size() == 1;
  if (!is_only_one) {
    for (step_kind_summary const* const each : view.kinds.others()) add((view.main().is_usual ? "other: " : "") + each->name, *each);
  }
  if (view.kinds.hidden() > 0) {
    std::string const name = counted(view.kinds.hidden(), "more kind", "more kinds");
    add_kind_row(table, name, view.kinds.hidden_steps(), {}, std::nullopt).is_quiet = true;
  }
  constexpr double min_share = 0.01;
  if (duration_summary const& between = view.all.steps.between; share_between(view.all.steps) >= min_share) {
    row& next = add_kind_row(table, "between steps", between.count, between, std::nullopt);
    next.cells[3].value = std::string{};  // the column does not apply
    next.is_quiet = true;
  }
  if (view.all.steps.warmup > 0) add_warmup_row(table, view);
  return table;
}

/// A row for each known step; initially folded.
inline data_table all_steps_table(report_view const& view) {
  constexpr column_kind ms = column_kind::milliseconds;
  constexpr column_use always = column_use::always;
  data_table table{"listed_steps"};
  table.add_columns({{"step", column_kind::count}, {"kind"}, {"host", ms, always, "", "host"}, {"GPU", ms, always, "", "GPU"}});
  for (listed_step const& each : view.all.listed_steps) {
    std::string_view kind = each.is_warmup ? "warm-up" : each.is_excluded ? "excluded" : "measured";
    if (each.kind && *each.kind < view.all.kinds.size()) kind = view.all.kinds[*each.kind].name;
    table.add_row().count(each.index).text(kind).ms(each.host).ms(each.gpu, "no GPU time was measured");
  }
  table.drop_unknown_columns();
  table.shown_rows = 0;
  table.folded_label = counted(table.rows.size(), "step", "steps") + " as a table";
  table.use = block_use::pages;
  return table;
}

/// "no drift, steady from step 1".
inline std::string steadiness_words(verdict_summary const& verdict) {
  if (verdict.finding == warmup_finding::never_steady) return fmt::format("changed at step {}", verdict.steady_from.value_or(0));
  double const drift = 100.0 * verdict.drift.value_or(0.0);
  std::string text;
  if (verdict.has_drift) {
    text = fmt::format("{} by {:.1f}{}% over the run", drift < 0.0 ? "shrinks" : "grows", std::fabs(drift), no_break_space);
  } else {
    text = verdict.drift && verdict.measured >= verdict_bounds::min_steps ? "no significant drift" : "drift n/a: too few steps";
  }
  if (verdict.verdict == step_verdict::uneven && verdict.finding == warmup_finding::enough)
    return pattern_words(*verdict.pattern, verdict.measured) + "; " + text;
  switch (verdict.finding) {
    case warmup_finding::enough:
      return text + (has_steady_part(verdict) ? fmt::format(", steady from step {}", verdict.steady_from.value_or(0))
                                              : std::string{", no steady part found"});
    case warmup_finding::too_short:
      return text + (verdict.steady_from ? fmt::format(", still warming: use warmup={}", *verdict.steady_from)
                                         : ", still warming: the first steps get shorter");
    case warmup_finding::never_steady:
    case warmup_finding::drifting:
    case warmup_finding::unknown:
      break;
  }
  return text;
}

/// Clock and power of a device during the measured steps.
inline std::string clock_summary_words(clock_summary const& clock) {
  std::string text =
      fmt::format("SM clock {} of {} MHz", with_thousands(fmt::format("{:.0f}", clock.mean_mhz)), count_words(clock.device_max_mhz));
  if (clock.reasons != 0) text += fmt::format(", {}", fmt::join(clock_reason_names(clock.reasons), ", "));
  if (clock.mean_watt) text += fmt::format("; {:.0f}{}W", *clock.mean_watt, no_break_space);
  return text;
}

/// The line below the kinds of step: steadiness, throughput, MFU, clocks.
inline std::string step_facts(report_view const& view) {
  step_summary const& main = view.main().times;
  own_vector<std::string> facts{steadiness_words(main_verdict(main))};
  if (main.items_per_second) facts.push_back(fmt::format("{} {}/s", rate_words(*main.items_per_second), name_words(main.item_name)));
  if (auto const& model = view.all.model)
    facts.push_back(model->utilization ? "MFU " + share_words(*model->utilization)
                                       : "MFU n/a: " + one_line(model->why_no_peak, max_shown_text));
  if (!view.all.steps.clocks.empty()) facts.push_back(clock_summary_words(view.all.steps.clocks.front()));
  if (is_step_time_of_gpu(main)) facts.push_back("step time: " + main.step_time->basis);
  return fmt::format("{}", fmt::join(facts, " | "));
}

/// Mean, uncertainty and verdict of the main kind.
inline std::string steps_answer(report_view const& view) {
  step_summary const& main = view.main().times;
  duration_summary const& times = main_times(main);
  verdict_summary const& verdict = main_verdict(main);
  std::string text = view.kinds.has_several() && view.main().is_usual
                         ? fmt::format("{} of {} steps are of one kind: ", view.main().steps, view.all.steps.host.count)
                         : counted(view.main().steps, "step", "steps") + ": ";
  text += time_words(times.mean.value_or(milliseconds{}));
  if (verdict.relative_half_width)
    text += fmt::format(" on average, known to {}", with_plus_minus(format_half_width(*verdict.relative_half_width)));
  return fmt::format("{}. Verdict: {}{}; {}.", text, verdict_name(verdict.verdict), view.cause ? ": " + view.cause->words : "",
                     steadiness_words(verdict));
}

/// Adds what the process used to the first screen if there is no GPU work; otherwise the section "Data quality" says it.
inline void add_host_use(section& to, summary const& all) {
  std::string text = all.gpu ? std::string{} : host_use_text(all);
  if (text.empty()) return;
  text.pop_back();
  to.add_note(std::move(text), true);
}

/// The section. Without measured steps it says so; without any step it is about the session.
inline section steps_section(report_view const& view) {
  section result{"steps", view.all.covers_steps ? "Steps" : "Session"};
  if (!view.has_steps()) {
    std::string const session = session_words(view.all);
    result.answer = view.all.covers_steps ? "n/a: no step was measured." : (session.empty() ? session : session + ", ") + "without steps.";
    add_host_use(result, view.all);
    add_step_details(result, view.all);
    return result;
  }
  result.answer = steps_answer(view);
  steps_figure content;
  content.steps = plotted_steps(view, is_step_time_of_gpu(view.all.steps));
  step_summary const& main = view.main().times;
  bool const is_of_gpu = is_step_time_of_gpu(main);
  content.quantity = is_of_gpu ? "ms of GPU time" : "ms of host time";
  if (!view.all.trend.change) {  // no step takes the mean of two levels
    content.mean = main_times(main).mean.value_or(milliseconds{}).count();
    content.half_interval = half_interval(main_verdict(main)).value_or(milliseconds{}).count();
  } else if (view.all.trend.change->is_of_gpu == is_of_gpu && !content.steps.empty()) {
    level_change_summary const& change = *view.all.trend.change;
    if (change.step > 0) content.levels.push_back({view.all.steps.warmup, change.step - 1, change.before.count()});
    content.levels.push_back({change.step, content.steps.back().index, change.after.count()});
  }
  if (!content.steps.empty()) result.add(figure{result.answer, std::move(content)});
  result.add(kinds_table(view));
  result.add_note(step_facts(view), true);
  add_host_use(result, view.all);
  add_step_details(result, view.all);
  if (!view.all.listed_steps.empty()) result.add(all_steps_table(view));
  result.how_to_read =
      "Steps with the same parts (scopes directly inside the step) are one kind. Figures of a kind are of its measured steps only; the "
      "interval "
      "contains the mean of further steps with a probability of 95 %.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
