// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../../version.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "budget_section.hpp"
#include "findings.hpp"
#include "headline.hpp"
#include "kernels_section.hpp"
#include "memory_section.hpp"
#include "numbers.hpp"
#include "picture_section.hpp"
#include "quality_section.hpp"
#include "report_code.hpp"
#include "report_view.hpp"
#include "scopes_section.hpp"
#include "steps_section.hpp"
#include "trend_section.hpp"
#include "work_section.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The last part of the path of the program.
inline std::string program_name(summary const& all) {
  if (all.environment.command.empty()) return "program";
  std::string const& path = all.environment.command.front();
  std::size_t const slash = path.rfind('/');
  return name_words(slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1));
}

/// "on NVIDIA H200, host vm · 36 measured steps after 5 of warm-up".
inline std::string subtitle(summary const& all) {
  std::string text;
  if (!all.environment.gpu.empty()) text = "on " + name_words(all.environment.gpu);
  if (!all.environment.host.empty()) text += (text.empty() ? "on host " : ", host ") + name_words(all.environment.host);
  if (!text.empty()) text += " \xc2\xb7 ";
  if (!all.covers_steps) return text + counted(all.threads, "thread", "threads") + ", no steps";
  text += counted(all.steps.host.count, "measured step", "measured steps");
  if (all.steps.warmup > 0) text += fmt::format(" after {} of warm-up", all.steps.warmup);
  if (all.steps.excluded > 0) text += fmt::format(", {} excluded", all.steps.excluded);
  return text;
}

/// "46.32 ms": four digits.
inline std::string exact_time(milliseconds time) {
  column_numbers const numbers{column_kind::milliseconds, time.count()};
  return numbers.text(time.count()) + no_break_space + numbers.unit();
}

/// The mean step time with its confidence interval, and the number of steps. Without steps the time of the session.
inline key_figure step_figure(report_view const& view) {
  key_figure result{view.kinds.main_words(), "", "no step was measured"};
  if (!view.all.covers_steps && view.all.elapsed.count() > 0.0)
    return {view.kinds.main_words(), exact_time(view.all.elapsed), counted(view.all.threads, "thread", "threads") + ", no steps"};
  if (!view.has_steps()) return result;
  step_summary const& main = view.main().times;
  duration_summary const& times = main_times(main);
  if (!times.mean) return result;
  result.value = exact_time(*times.mean);
  std::optional<milliseconds> const half = half_interval(main_verdict(main));
  result.note = half ? fmt::format("{}{} (95{}%), ", plus_minus, time_words(*half), no_break_space) : "interval n/a, ";
  result.note += view.kinds.has_several() ? fmt::format("{} of {} steps", view.main().steps, view.all.steps.host.count)
                                          : counted(view.main().steps, "step", "steps");
  return result;
}

/// The scope with the longest call, of those with several calls and no scopes in them; null if there is none.
inline scope_summary const* max_call(summary const& all) {
  scope_summary const* result = nullptr;
  for (std::size_t i = 0; i < all.scopes.size(); ++i) {
    scope_summary const& each = all.scopes[i];
    bool const is_innermost = i + 1 == all.scopes.size() || all.scopes[i + 1].depth <= each.depth;
    if (!is_innermost || each.host.count < 2 || !each.host.max) continue;
    if (result == nullptr || *each.host.max > *result->host.max) result = &each;
  }
  return result;
}

/// The figures at the top of the report: those that the program asked for. Figures without a value give the reason.
inline own_vector<key_figure> key_figures(report_view const& view) {
  summary const& all = view.all;
  step_kind_summary const& main = view.main();
  own_vector<key_figure> result{step_figure(view)};
  if (scope_summary const* const longest = max_call(all); longest != nullptr && !all.covers_steps)
    result.push_back({"longest call", exact_time(*longest->host.max),
                      fmt::format("of {} of {}", count_words(longest->host.count), name_words(longest->path))});
  if (main.times.items_per_second) {
    double const per_step = main.times.items / host_steps(main);
    result.push_back(
        {name_words(main.times.item_name) + " per second", rate_words(*main.times.items_per_second), significant(per_step) + " a step"});
  }
  if (has_gpu_time(main)) {
    budget_summary const& budget = *main.budget;
    result.push_back({"GPU busy", fmt::format("{:.1f}{}%", 100.0 * (budget.busy / budget.wall), no_break_space),
                      fmt::format("{} of {}", time_words(budget.busy / gpu_steps(main)), time_words(budget.wall / gpu_steps(main)))});
  } else if (all.gpu || is_asked_for(all, collector_kind::kernels)) {
    result.push_back({"GPU busy", "", why_no_kernels(all)});
  } else if (view.has_steps()) {
    if (all.threads > 1) result.push_back({"threads", count_words(all.threads), "with scopes"});
    if (all.environment.host_speed && all.environment.host_speed->waiting)
      result.push_back({"waiting for a processor", share_words(*all.environment.host_speed->waiting), "of the time of the step thread"});
  }
  if (all.model && all.model->utilization) {
    result.push_back({"of the peak (MFU)", share_words(*all.model->utilization), "of " + name_words(all.limits.device)});
  } else if (all.model) {
    result.push_back({"of the peak (MFU)", "", one_line(all.model->why_no_peak)});
  }
  if (!all.steps.clocks.empty()) {
    clock_summary const& clock = all.steps.clocks.front();
    std::string const reasons =
        clock.reasons == 0 ? "never slowed down" : fmt::format("{}", fmt::join(clock_reason_names(clock.reasons), ", "));
    result.push_back({"SM clock", with_thousands(fmt::format("{:.0f}", clock.mean_mhz)) + no_break_space + "MHz",
                      fmt::format("of {}; {}", count_words(clock.device_max_mhz), reasons)});
    if (clock.mean_watt) {
      result.push_back({"power", fmt::format("{:.0f}{}W", *clock.mean_watt, no_break_space),
                        fmt::format("at most {:.0f}{}W{}", clock.max_watt.value_or(*clock.mean_watt), no_break_space,
                                    clock.max_celsius ? fmt::format(", {}{}\xc2\xb0"
                                                                    "C",
                                                                    *clock.max_celsius, no_break_space)
                                                      : "")});
    } else {
      result.push_back({"power", "", "the device does not report it"});
    }
  } else if (is_asked_for(all, collector_kind::gpu_clocks)) {
    std::string const why = why_not_collected(all, collector_kind::gpu_clocks, "not read after a measured step");
    result.push_back({"SM clock", "", why});
    result.push_back({"power", "", why});
  }
  if (std::optional<host_use_record> const use = host_use(all); use && !all.gpu) {
    result.push_back({"processors used", used_processors(*use), kernel_share(*use)});
    result.push_back({"page faults", count_words(use->minor_faults + use->major_faults),
                      host_rate(all, *use, use->minor_faults + use->major_faults, "")});
  }
  if (!all.energy.empty()) {
    energy_summary const& first = all.energy.front();
    result.push_back(
        {"energy a step", energy_words(first.joules_per_step), one_line(first.meter) + ", " + with_unit(first.mean_watt, "W")});
  } else if (is_asked_for(all, collector_kind::energy)) {
    result.push_back({"energy a step", "", why_not_collected(all, collector_kind::energy, "not measured")});
  }
  if (!all.memory.empty()) {
    memory_summary const& memory = all.memory.back();
    result.push_back(
        {name_words(memory.source + " memory"), bytes_words(static_cast<double>(max_bytes(memory))), name_words(memory.quantity)});
  }
  return result;
}

/// Values that the program recorded. @return n/a without counters.
inline std::optional<section> counters_section(report_view const& view) {
  own_vector<counter_summary> const& counters = view.all.counters;
  if (counters.empty()) return std::nullopt;
  constexpr column_kind real = column_kind::real;
  data_table table{"counters"};
  table.has_fixed_units = true;
  table.add_columns({{"counter"},
                     {"samples", column_kind::count},
                     {"last", real},
                     {"mean", real},
                     {"min", real},
                     {"max", real},
                     {"not finite", column_kind::count}});
  for (counter_summary const& each : counters) {
    row& next = table.add_row().text(each.name).count(each.count);
    next.number(each.last).number(each.mean).number(each.min).number(each.max).count(each.not_finite);
  }
  section result{"counters", "Counters", counted(counters.size(), "counter of the program.", "counters of the program.")};
  result.add(std::move(table));
  return result;
}

inline document make_document(summary const& all) {
  report_view const view{all};
  document result;
  result.title = program_name(all);
  result.subtitle = subtitle(all);
  result.headline = headline(view);
  result.findings = findings(view);
  result.key_figures = key_figures(view);
  auto const add = [&](std::optional<section> each) {
    if (each) result.sections.push_back(std::move(*each));
  };
  add(steps_section(view));
  for (auto const make : {budget_section, picture_section}) add(make(view));
  add(scopes_section(view));
  for (auto const make : {kernels_section, memory_section, samples_section, utilization_section, work_section, energy_section,
                          trend_section, counters_section})
    add(make(view));
  add(quality_section(view));
  result.version = std::string{"profkit "} + profkit::version;
  return result;
}

[[gnu::used]] inline document report_code::describe(summary const& what) {
  usual_arithmetic const arithmetic;
  return make_document(what);
}

}  // namespace PROFKIT_NAMESPACE::detail
