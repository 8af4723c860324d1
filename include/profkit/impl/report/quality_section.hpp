// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/path_table.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Lines that say what the figures cover if there are no measured steps, or if the session has not ended; otherwise empty.
inline std::string coverage_text(summary const& summary) {
  if (!summary.quality.not_recorded.empty()) return fmt::format("Nothing was recorded: {}.\n", one_line(summary.quality.not_recorded));
  std::string text;
  if (summary.quality.snapshot) text = "Snapshot of a running session: the figures cover the steps that ended before the snapshot.\n";
  if (!summary.covers_steps) return text + "No step was made (profkit::step): everything below covers the whole session.\n";
  if (summary.steps.host.count > 0) return text;
  text += "No step was measured; the figures of steps and scopes cover measured steps only.";
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format(" {} {}.", number, what);
  };
  count(summary.steps.warmup, "warm-up steps were made");
  count(summary.steps.excluded, "steps were excluded by the program");
  count(summary.quality.abandoned_steps, "steps were exited by an exception");
  return text + "\n";
}

/// The number of steps with kernels collected, such as "in 3 of 30 measured steps"; empty if it is all steps or none.
inline std::string collected_steps_text(summary const& summary) {
  if (!summary.gpu || !summary.covers_steps || summary.gpu->steps == summary.steps.host.count) return {};
  return fmt::format("in {} of {} measured steps", summary.gpu->steps, summary.steps.host.count);
}

/// The line below tables with GPU figures if kernels were collected in some steps only; otherwise empty.
inline std::string collected_steps_note(summary const& summary) {
  std::string const text = collected_steps_text(summary);
  return text.empty() ? text : "kernels were collected " + text + ": figures of operations, GPU and idle cover these steps\n";
}

/// Whether the user wants a collector: `kernels=off` switches one off.
inline bool is_wanted(collector_record const& collector) { return collector.reason.rfind("switched off", 0) != 0; }

/// Whether the program asked for a kind of data.
inline bool is_asked_for(summary const& summary, collector_kind kind) {
  return std::any_of(summary.collectors.begin(), summary.collectors.end(),
                     [&](collector_record const& each) { return each.kind == kind && is_wanted(each); });
}

/// Why a kind of data was not collected. @param otherwise the text if no collector gave a reason.
inline std::string why_not_collected(summary const& summary, collector_kind collector, char const* otherwise) {
  for (collector_record const& each : summary.collectors) {
    if (each.kind == collector) return each.reason.empty() ? otherwise : one_line(each.reason, max_shown_reason);
  }
  return "no collector";
}

/// A line about the speed of the host; empty if it was not measured.
inline std::string host_speed_text(std::optional<host_speed_record> const& speed) {
  if (!speed) return {};
  auto const us_of = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; };
  std::string text = fmt::format("host speed: the probe took {:.1f} us before the measured steps", us_of(speed->before));
  if (speed->after.count() > 0) text += fmt::format(", {:.1f} us after them", us_of(speed->after));
  if (speed->waiting) text += fmt::format("; the step thread waited for a processor {:.1f} % of the time", 100.0 * *speed->waiting);
  return text + "\n";
}

/// Events of the process: "1,234 page faults a step", or "a second" without steps. @param what such as " page faults". @param use of a
/// process that ran for some time.
inline std::string host_rate(summary const& all, host_use_record const& use, std::uint64_t events, char const* what) {
  bool const has_steps = all.steps.host.count > 0;
  double const divisor = has_steps ? static_cast<double>(all.steps.host.count) : std::chrono::duration<double>{use.elapsed}.count();
  return fmt::format("{}{} a {}", rate_words(static_cast<double>(events) / divisor), what, has_steps ? "step" : "second");
}

/// What the process used; n/a if unknown.
inline std::optional<host_use_record> host_use(summary const& all) {
  std::optional<host_use_record> use = all.environment.host_use;
  if (use && use->elapsed.count() <= 0) use.reset();
  return use;
}

/// "1.31 of 2".
inline std::string used_processors(host_use_record const& use) {
  double const used = static_cast<double>((use.user + use.system).count()) / static_cast<double>(use.elapsed.count());
  return fmt::format("{:.2f}", used) + (use.processors > 0 ? fmt::format(" of {}", use.processors) : std::string{});
}

/// "12 % of it in the kernel"; without a processor time "none".
inline std::string kernel_share(host_use_record const& use) {
  double const used = static_cast<double>((use.user + use.system).count());
  return used > 0.0 ? share_words(static_cast<double>(use.system.count()) / used) + " of it in the kernel" : "none in the kernel";
}

/// A line about what the process used; empty if unknown.
inline std::string host_use_text(summary const& all) {
  std::optional<host_use_record> const use = host_use(all);
  if (!use) return {};
  std::string const disk = use->major_faults > 0 ? count_words(use->major_faults) + " in all" : "none";
  return fmt::format("process: {} processors used, {}; {}, {} from a disk; {}\n", used_processors(*use), kernel_share(*use),
                     host_rate(all, *use, use->minor_faults + use->major_faults, " page faults"), disk,
                     host_rate(all, *use, use->voluntary_switches + use->involuntary_switches, " context switches"));
}

inline std::string clock_change_text(quality_record const& quality) {
  double const seconds = std::chrono::duration<double>{quality.clock_change}.count();
  if (quality.clock_changes == 1) {
    return fmt::format("the system clock was set by {:+.3f} s during the session; durations are not affected\n", seconds);
  }
  return fmt::format("the system clock was set {} times during the session, by {:+.3f} s in all; durations are not affected\n",
                     quality.clock_changes, seconds);
}

/// The data that a snapshot lacks, with a line for each kind of data.
inline std::string snapshot_text(snapshot_record const& snapshot) {
  std::string text = "snapshot of a running session";
  if (snapshot.is_step_open) text += "; the open step is not in the report";
  text += "\n";
  if (snapshot.is_behind) text += "the latest records may be missing: the logs were not read within a second\n";
  if (snapshot.missing_operations > 0)
    text += fmt::format("{} launching calls have no GPU operation yet; GPU figures exclude them\n", snapshot.missing_operations);
  if (snapshot.untimed_steps > 0) text += fmt::format("{} steps have no time between CUDA events yet\n", snapshot.untimed_steps);
  return text;
}

/// The reason why a collector has no data, or the steps in which it has data.
inline std::string collector_reason(summary const& summary, collector_record const& collector) {
  bool const is_collected = collector.kind == collector_kind::kernels && collector.reason.empty();
  return is_collected ? collected_steps_text(summary) : collector.reason;
}

/// The number of events that were dropped because the log of their thread was full.
inline std::uint64_t events_of_full_logs(quality_record const& quality) noexcept {
  std::uint64_t const other_reasons = quality.events_without_memory + quality.events_without_log + quality.interrupting_events;
  return quality.dropped_events - std::min(other_reasons, quality.dropped_events);
}

/// Lost data and the overhead of profkit, with a line for each.
inline std::string quality_text(summary const& summary) {
  quality_record const& quality = summary.quality;
  if (!quality.not_recorded.empty()) return "nothing was recorded\n";
  std::string text;
  if (quality.snapshot) text = snapshot_text(*quality.snapshot);
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format("{} {}\n", number, what);
  };
  count(events_of_full_logs(quality), "scopes and counters were dropped: a thread's log was full (log=SIZE)");
  count(quality.events_without_memory, "scopes and counters were dropped: the system gave no memory for a thread's log");
  count(quality.events_without_log, "scopes and counters were dropped: more than 16,384 threads had logs, or the thread was ending");
  count(quality.interrupting_events, "scopes and counters of signal handlers were dropped: they interrupted the recorder on their thread");
  count(quality.misnested_scopes,
        "scopes were left without their destructors (longjmp, a coroutine); they end at the previous known event");
  count(quality.unmatched_ends, "ends of scopes were dropped: the scope began on another thread, or an outer scope had ended");
  for (wrong_end_record const& each : quality.wrong_ends) {
    text += fmt::format("  {} times: {}\n", each.count, one_line(each.what, max_shown_reason));
  }
  count(quality.discarded_records, "scopes, GPU operations and other records exceed records=N and are in no figure");
  count(quality.untraced_records,
        "scopes, GPU operations and other records exceed records=N: they are in the figures, but not in the profile and in traces");
  count(
      quality.collapsed_scopes,
      fmt::format("scopes exceed the maximum number of paths (a growing index) or of {} levels (recursion): they count in the row without "
                  "an index, or are merged into a row \"{}\"",
                  path_table::max_depth, path_table::merged_name)
          .c_str());
  count(quality.open_scopes,
        quality.snapshot ? "scopes were open and are not in the report" : "scopes were still open at the end and are not in the report");
  count(quality.abandoned_steps, "steps were exited by an exception, or by the end of the program, and are excluded");
  count(quality.untimed_gpu_scopes,
        "GPU scopes could not be timed (stream capture, no usable device, or a library with another version of profkit)");
  count(quality.unread_gpu_times,
        "GPU times of scopes and steps could not be read, or were not complete at the end, and are not in the report");
  count(quality.dropped_operations, "records of GPU operations and API calls were dropped: CUPTI had no buffer for them");
  count(quality.invalid_operations, "GPU operations had no valid time and are not in the report");
  if (summary.gpu && summary.gpu->unattributed_operations > 0) {
    text += fmt::format(
        "{} GPU operations ({} of them kernels; {:.3f} ms) were launched outside any scope; the launches of {} were not recorded\n",
        summary.gpu->unattributed_operations, summary.gpu->unattributed_kernels, summary.gpu->unattributed_time.count(),
        summary.gpu->unknown_launches);
  }
  if (summary.gpu) {
    count(summary.gpu->operations_of_unknown_graphs,
          "operations of CUDA graphs whose capture was not seen (before kernels were collected, or in a child graph) are charged to the "
          "scope that launched the graph");
  }
  for (allocator_summary const& each : summary.allocators) {
    count(each.unknown_releases,
          ("releases of " + one_line(each.source) + " have no known allocation (before the session, or dropped)").c_str());
    count(each.reused_addresses,
          ("allocations of " + one_line(each.source) + " reused a live address: a release was not recorded").c_str());
  }
  count(quality.uncertain_operations,
        "GPU operations may have run before or after the system clock was set back: their launches are unknown");
  if (quality.clock_changes > 0) text += clock_change_text(quality);
  if (text.empty()) text = "nothing dropped, no scope left open\n";
  double const ns_per_scope = static_cast<double>(quality.cost_of_1000_scopes.count()) / 1000.0;
  text += fmt::format("overhead: {:.1f} ns per scope", ns_per_scope);
  if (summary.steps.host.total.count() > 0.0) {
    double const share = ns_per_scope * static_cast<double>(summary.scopes_recorded) / (summary.steps.host.total.count() * 1e6);
    text += fmt::format(" ({} scopes, {:.3f} % of step time)", summary.scopes_recorded, 100.0 * share);
  }
  if (summary.covers_steps) text += fmt::format("; {:.3f} ms between steps", milliseconds{quality.bookkeeping}.count());
  return text + fmt::format("\nclock: {}\n", one_line(quality.clock)) + host_speed_text(summary.environment.host_speed) +
         (summary.gpu ? host_use_text(summary) : std::string{});
}

// Findings about data that is missing.

/// One kind of lost data, which no figure includes.
struct lost_data {
  std::uint64_t count = 0;
  std::uint64_t total = 0;  ///< recorded and lost; 0: unknown
  char const* what = "";
  char const* remedy = "";  ///< null: no finding, because other figures cover the same work
};

/// All kinds of losses, including those that did not occur.
inline own_vector<lost_data> losses(summary const& all) {
  quality_record const& quality = all.quality;
  std::uint64_t const operations = all.gpu ? all.gpu->all.operations : 0;
  std::uint64_t const scopes = all.scopes_recorded;
  return {{quality.dropped_events, scopes + quality.dropped_events, "scopes and counters dropped",
           events_of_full_logs(quality) > 0 ? "Give the logs of threads more memory (log=SIZE), or open fewer scopes."
                                            : "report=full says why: no log was full."},
          {quality.discarded_records, scopes + operations + quality.discarded_records, "records beyond records=N",
           "Raise records=N; the figures do not contain these records."},
          {quality.dropped_operations + quality.invalid_operations, operations + quality.dropped_operations + quality.invalid_operations,
           "GPU operations dropped or without a valid time", "Collect kernels in fewer steps (kernels=every:N)."},
          {quality.unread_gpu_times, 0, "GPU times of scopes and steps not read", "Wait for the GPU before the session ends."},
          {quality.untimed_gpu_scopes, 0, "GPU scopes that could not be timed", nullptr},
          {quality.misnested_scopes + quality.unmatched_ends, scopes + quality.unmatched_ends, "scopes ended wrongly",
           "Open and close a scope on one thread, without longjmp; report=full names the places."},
          {quality.abandoned_steps, all.steps.host.count + all.steps.warmup + all.steps.excluded + quality.abandoned_steps,
           "steps that did not end", "An exception or the end of the program left them: they are in no figure."}};
}

/// (f) The largest loss.
inline std::optional<finding> loss_finding(summary const& all) {
  lost_data worst;
  std::size_t kinds = 0;
  for (lost_data const& each : losses(all)) {
    if (each.count == 0 || each.remedy == nullptr) continue;
    ++kinds;
    if (each.count > worst.count) worst = each;
  }
  if (kinds == 0) return std::nullopt;
  std::string const share = worst.total > 0 ? fmt::format(" of {} ({})", count_words(worst.total),
                                                          share_words(static_cast<double>(worst.count) / static_cast<double>(worst.total)))
                                            : "";
  std::string const more = kinds > 1 ? fmt::format(" {} more kinds of loss are listed in the data quality.", kinds - 1) : "";
  return finding{"Data is missing.", fmt::format("{} {}{}.{}", count_words(worst.count), worst.what, share, more), worst.remedy};
}

/// Collectors that the program asked for and that failed.
inline own_vector<collector_record const*> failed_collectors(summary const& all) {
  own_vector<collector_record const*> result;
  for (collector_record const& each : all.collectors) {
    bool const has_failed = each.status == "not collected" || each.status == "not written" || each.status == "not listening";
    if (has_failed && is_wanted(each)) result.push_back(&each);
  }
  return result;
}

/// The first two failed collectors with their reasons.
inline std::optional<finding> failure_finding(summary const& all) {
  own_vector<collector_record const*> const failed = failed_collectors(all);
  if (failed.empty()) return std::nullopt;
  constexpr std::size_t max_named = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(failed.size(), max_named); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", name_words(failed[i]->name), failed[i]->status);
    if (!failed[i]->reason.empty()) text += " (" + one_line(failed[i]->reason, max_shown_reason) + ")";
  }
  if (failed.size() > max_named) text += fmt::format("; {} more", failed.size() - max_named);
  return finding{failed.size() == 1 ? "A collector failed." : fmt::format("{} collectors failed.", failed.size()), text + ".",
                 "docs/troubleshooting.md has the reasons and what to do."};
}

/// Reports a session without measured steps, in which most figures cannot be computed.
inline std::optional<finding> no_steps_finding(summary const& all) {
  if (!all.quality.not_recorded.empty()) return std::nullopt;
  if (all.covers_steps) {
    return finding{"All steps were warm-up, excluded or abandoned.", "Figures cover measured steps only.",
                   "Run more steps than warmup=N, or lower warmup=N."};
  }
  return finding{"The figures cover the whole session.", "Without steps there are no step times, no step budget and no verdict on noise.",
                 "Make the iterations of the main loop steps: for (profkit::step step : session). Under profkit run: --step PATTERN."};
}

// The section "Data quality and overhead".

/// "; overhead at most 17 % of a step": an upper bound of the time that profkit adds to a step of the main kind, as a share of the step:
/// the measured cost of scopes, 3 us for each collected operation, and 1.2 us for one of a CUDA graph. A launch-bound step of 1,165
/// operations took 3.4 ms longer (docs/overhead.md), and an empty node of a graph at most 1.16 us (docs/results/h200/gpu_bench.md). A busy
/// GPU hides most of it. Empty without steps.
inline std::string overhead_words(report_view const& view) {
  if (!view.has_steps() || view.step_ms() <= 0.0) return {};
  summary const& all = view.all;
  constexpr double ms_per_launch = 3e-3;
  constexpr double ms_per_node = 1.2e-3;
  double const ns_per_scope = static_cast<double>(all.quality.cost_of_1000_scopes.count()) / 1000.0;
  double scopes = 0.0;
  for (kind_scope_summary const& each : view.main().scopes) scopes += static_cast<double>(each.count);
  double cost = ns_per_scope * 1e-6 * scopes / host_steps(view.main());
  if (all.gpu && all.gpu->steps > 0) {
    double kernels = 0.0;
    double all_kernels = 0.0;
    for (kind_kernel_summary const& each : view.main().kernels) kernels += static_cast<double>(each.count);
    for (kernel_summary const& each : all.gpu->kernels) all_kernels += static_cast<double>(each.time.count);
    // Copies and memsets. Their number is known only for all steps together.
    auto const operations = static_cast<double>(all.gpu->all.operations);
    double const others = operations - all_kernels;
    double const of_graphs = operations > 0.0 ? static_cast<double>(all.gpu->operations_of_graphs) / operations : 0.0;
    cost += (ms_per_launch + of_graphs * (ms_per_node - ms_per_launch)) *
            (kernels / gpu_steps(view.main()) + std::max(0.0, others) / static_cast<double>(all.gpu->steps));
  }
  // The measured step contains the overhead.
  if (cost >= view.step_ms()) return "; overhead n/a: its upper bound is longer than the step";
  return fmt::format("; overhead at most {} of a {}", share_words(cost / view.step_ms()), view.kinds.main_words());
}

/// "Not asked for: GPU operations, memory.": the data that the program did not ask for, and that no other part of the report mentions.
inline std::string not_asked_words(report_view const& view) {
  summary const& all = view.all;
  std::string text;
  auto const add = [&](bool is_missing, char const* what) {
    if (is_missing) text += fmt::format("{}{}", text.empty() ? " Not asked for: " : ", ", what);
  };
  add(!all.gpu && !is_asked_for(all, collector_kind::kernels), "GPU operations");
  add(all.steps.clocks.empty() && !is_asked_for(all, collector_kind::gpu_clocks), "GPU clocks");
  add(all.memory.empty() && all.allocators.empty() && failed_collectors(all).empty(), "memory");
  add(view.has_steps() && !view.main().times.items_per_second, "items");
  add(view.has_steps() && !all.model, "FLOPs");
  return text.empty() ? text : text + ".";
}

/// Whether scopes were merged because of their depth alone: then all `collapsed_scopes` are inside scopes of that name.
inline bool merges_deep_scopes(summary const& all) {
  auto const is_merged = [](scope_summary const& each) { return each.name == path_table::merged_name; };
  return all.scopes.size() < path_table::max_paths && std::any_of(all.scopes.begin(), all.scopes.end(), is_merged);
}

/// Whether `collapsed_scopes`, which covers the whole session, also counts scopes of steps that are not measured.
inline bool merges_in_other_steps(summary const& all) { return all.steps.warmup + all.steps.excluded + all.quality.abandoned_steps > 0; }

/// The number of scopes that have no record because a scope around them stands for them; 0 if it is not known for the measured steps alone.
inline std::uint64_t scopes_inside_merged(summary const& all) {
  return merges_deep_scopes(all) && !merges_in_other_steps(all) ? all.quality.collapsed_scopes : 0;
}

/// "; 2,920 of them, deeper than 512 levels, are merged": the scopes without their own rows; empty if there are none.
inline std::string merged_words(summary const& all) {
  if (all.quality.collapsed_scopes == 0) return {};
  return fmt::format("; {} {}, {}, are merged", count_words(all.quality.collapsed_scopes),
                     merges_in_other_steps(all) ? "of the whole session" : "of them",
                     merges_deep_scopes(all) ? fmt::format("deeper than {} levels", path_table::max_depth)
                                             : std::string{"beyond the maximum number of paths"});
}

/// The lost share of the data, the overhead, and the failed collectors.
inline std::string quality_answer(report_view const& view) {
  summary const& all = view.all;
  if (!all.quality.not_recorded.empty()) return "nothing was recorded.";
  std::string text;
  for (lost_data const& each : losses(all)) {
    if (each.count > 0) text += (text.empty() ? "" : ", ") + count_words(each.count) + " " + each.what;
  }
  std::string recorded = fmt::format("{} scopes", count_words(all.scopes_recorded + scopes_inside_merged(all)));
  if (all.gpu) recorded += fmt::format(" and {} operations", count_words(all.gpu->all.operations));
  recorded += merged_words(all);
  text = text.empty() ? "complete (nothing lost of " + recorded + ")" : "incomplete: " + text + " (recorded: " + recorded + ")";
  if (all.quality.snapshot) text = "snapshot of a running session, " + text;
  for (collector_record const& each : all.collectors) {
    if (each.kind == collector_kind::journal && each.status == "recovered") text.insert(0, "journal of a session that did not end, ");
  }
  return text + overhead_words(view) + "." + not_asked_words(view);
}

/// A row for each kind of loss, including those with 0; without those of GPU operations if there were none.
inline data_table losses_table(summary const& all) {
  data_table table{"losses"};
  table.add_columns({{"lost or unknown"}, {"of", column_kind::count}, {"count", column_kind::count}});
  auto const add = [&](std::string_view what, std::uint64_t total, std::uint64_t count) {
    row& next = table.add_row().text(what);
    if (total > 0)
      next.count(total);
    else
      next.missing("the total is not counted");
    next.count(count);
  };
  for (lost_data const& each : losses(all)) {
    if (all.gpu || each.total + each.count > 0) add(each.what, each.total, each.count);
  }
  if (all.gpu) add("GPU operations outside any scope", all.gpu->all.operations, all.gpu->unattributed_operations);
  add("scopes left open", all.scopes_recorded, all.quality.open_scopes);
  for (allocator_summary const& each : all.allocators)
    add("releases of unknown memory of " + one_line(each.source), 0, each.unknown_releases);
  return table;
}

/// Each collector with its outcome.
inline data_table collectors_table(summary const& all) {
  bool const has_reasons =
      std::any_of(all.collectors.begin(), all.collectors.end(), [&](auto const& each) { return !collector_reason(all, each).empty(); });
  data_table table{"collectors"};
  table.add_columns({{"collector"}, {"status"}});
  if (has_reasons) table.add_columns({{"reason"}});
  for (collector_record const& each : all.collectors) {
    row& next = table.add_row().text(each.name).text(each.status);
    if (has_reasons) next.text(collector_reason(all, each));
  }
  return table;
}

/// "Command: train --size small. CUDA 13.0, driver for CUDA 13.0."
inline std::string program_words(environment_record const& environment) {
  std::string text;
  for (std::string const& each : environment.command) text += (text.empty() ? "Command: " : " ") + one_line(each);
  if (!text.empty()) text += ". ";
  if (!environment.cuda.empty()) text += "CUDA " + one_line(environment.cuda);
  if (!environment.driver.empty())
    text += (environment.cuda.empty() ? "Driver for CUDA " : ", driver for CUDA ") + one_line(environment.driver);
  return environment.cuda.empty() && environment.driver.empty() ? text : text + ".";
}

inline section quality_section(report_view const& view) {
  section result{"quality", "Data quality and overhead", quality_answer(view)};
  result.add(losses_table(view.all));
  if (!view.all.collectors.empty()) result.add(collectors_table(view.all));
  result.add_notes(quality_text(view.all));
  if (std::string program = program_words(view.all.environment); !program.empty()) result.add_note(std::move(program));
  result.how_to_read =
      "The overhead is the measured cost of scopes, and 3 \xc2\xb5s for each collected GPU operation, which a launch-bound step showed, or "
      "1.2 \xc2\xb5s for one of a CUDA graph. A host that runs ahead of the GPU hides most of it.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
