// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/path_table.hpp"
#include "cells.hpp"
#include "quality_text.hpp"
#include "report_view.hpp"
#include "sentence_numbers.hpp"

// Findings about data that is missing.

namespace profkit::detail {

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
           "Give the logs of threads more memory (log=SIZE), or open fewer scopes."},
          {quality.discarded_records, scopes + operations + quality.discarded_records, "records beyond records=N",
           "Raise records=N; the figures do not contain these records."},
          {quality.dropped_operations + quality.invalid_operations, operations + quality.dropped_operations + quality.invalid_operations,
           "GPU operations dropped or without a valid time", "Collect kernels in fewer steps (kernels=every:N)."},
          {quality.unread_gpu_times, 0, "GPU times of scopes and steps not read", "Wait for the GPU before the session ends."},
          {quality.untimed_gpu_scopes, 0, "GPU scopes that could not be timed", nullptr},
          {quality.misnested_scopes + quality.unmatched_ends, scopes + quality.unmatched_ends, "scopes ended wrongly",
           "Open and close a scope on one thread, without longjmp; report=full names the places."},
          {quality.abandoned_steps, all.steps.host.count + all.steps.warmup + all.steps.excluded + quality.abandoned_steps,
           "steps exited by an exception", "Find the exception: these steps are in no figure."}};
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
  return finding{"Data is missing.", fmt::format("{} {}{}.{}", count_words(worst.count), worst.what, share, more), worst.remedy, {}};
}

/// Reports a session without measured steps, in which most figures cannot be computed.
inline std::optional<finding> no_steps_finding(summary const& all) {
  if (!all.quality.not_recorded.empty()) return std::nullopt;
  if (all.covers_steps) {
    return finding{"All steps were warm-up, excluded or abandoned.",
                   "Figures cover measured steps only.",
                   "Run more steps than warmup=N, or lower warmup=N.",
                   {}};
  }
  return finding{"The figures cover the whole session.",
                 "Without steps there is no time per step, no step budget and no verdict on noise.",
                 "Make the iterations of the main loop steps: for (profkit::step step : session).",
                 {}};
}

}  // namespace profkit::detail

// The section "Data quality and overhead".

namespace profkit::detail {

/// An upper bound of the time that profkit adds to a step of the main kind, as a share of the step: the measured cost of scopes, and 3 us
/// for each collected operation. A launch-bound step of 1,165 operations took 3.4 ms longer (docs/overhead.md); a busy GPU hides most of
/// it. n/a without steps.
inline std::optional<double> max_overhead(report_view const& view) {
  if (!view.has_steps() || view.step_ms() <= 0.0) return std::nullopt;
  summary const& all = view.all;
  constexpr double ms_per_operation = 3e-3;
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
    double const others = static_cast<double>(all.gpu->all.operations) - all_kernels;
    cost += ms_per_operation * (kernels / gpu_steps(view.main()) + std::max(0.0, others) / static_cast<double>(all.gpu->steps));
  }
  return cost / view.step_ms();
}

/// "; journal: not written (no space left on device)" for the first two failed collectors. The headline has the reason for kernels.
inline std::string failed_collectors_words(summary const& all) {
  constexpr std::size_t max_named = 2;
  std::string text;
  std::size_t failed = 0;
  for (collector_record const& each : all.collectors) {
    bool const has_failed = each.status == "not collected" || each.status == "not written";
    if (!has_failed || each.kind == collector_kind::kernels || ++failed > max_named) continue;
    text += fmt::format("; {}: {}", name_words(each.name), each.status);
    if (!each.reason.empty()) text += " (" + one_line(each.reason, max_shown_reason) + ")";
  }
  return failed > max_named ? text + fmt::format("; {} more collectors failed", failed - max_named) : text;
}

/// Whether scopes were merged because of their depth alone: then all `collapsed_scopes` are inside scopes of that name.
inline bool merges_deep_scopes(summary const& all) {
  auto const is_merged = [](scope_summary const& each) { return each.name == path_table::merged_name; };
  return all.scopes.size() < path_table::max_paths && std::any_of(all.scopes.begin(), all.scopes.end(), is_merged);
}

/// The number of scopes that have no record because a scope around them stands for them.
inline std::uint64_t scopes_inside_merged(summary const& all) { return merges_deep_scopes(all) ? all.quality.collapsed_scopes : 0; }

/// "; 2,920 of them, deeper than 512 levels, are merged": the scopes without their own rows; empty if there are none.
inline std::string merged_words(summary const& all) {
  if (all.quality.collapsed_scopes == 0) return {};
  return fmt::format("; {} of them, {}, are merged", count_words(all.quality.collapsed_scopes),
                     merges_deep_scopes(all) ? fmt::format("deeper than {} levels", path_table::max_depth)
                                             : std::string{"beyond the maximum number of paths"});
}

/// The lost share of the data, the overhead, and the failed collectors.
inline std::string quality_answer(report_view const& view) {
  summary const& all = view.all;
  if (!all.quality.not_recorded.empty()) return "nothing was recorded" + failed_collectors_words(all) + ".";
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
  if (std::optional<double> const cost = max_overhead(view))
    text += fmt::format("; overhead at most {} of a {}", share_words(*cost), view.kinds.main_words());
  return text + failed_collectors_words(all) + ".";
}

/// A row for each kind of loss, including those with 0.
inline data_table losses_table(summary const& all) {
  data_table table;
  table.name = "losses";
  table.columns = {{"lost or unknown"}, {"of", column_kind::count}, {"count", column_kind::count}};
  auto const add = [&](std::string what, std::uint64_t total, std::uint64_t count) {
    row next;
    next.cells = {text_cell(std::move(what)), total > 0 ? count_cell(total) : missing_cell("the total is not counted"), count_cell(count)};
    table.rows.push_back(std::move(next));
  };
  for (lost_data const& each : losses(all)) add(each.what, each.total, each.count);
  if (all.gpu) add("GPU operations outside any scope", all.gpu->all.operations, all.gpu->unattributed_operations);
  add("scopes left open", all.scopes_recorded, all.quality.open_scopes);
  for (allocator_summary const& each : all.allocators)
    add("releases of unknown memory of " + one_line(each.source), 0, each.unknown_releases);
  return table;
}

/// Each collector with its outcome.
inline data_table collectors_table(summary const& all) {
  data_table table;
  table.name = "collectors";
  bool const has_reasons =
      std::any_of(all.collectors.begin(), all.collectors.end(), [&](auto const& each) { return !collector_reason(all, each).empty(); });
  table.columns = {{"collector"}, {"status"}};
  if (has_reasons) table.columns.push_back({"reason"});
  for (collector_record const& each : all.collectors) {
    row next;
    next.cells = {text_cell(each.name), text_cell(each.status)};
    if (has_reasons) next.cells.push_back(text_cell(collector_reason(all, each)));
    table.rows.push_back(std::move(next));
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

/// The section. Every report has it.
inline section quality_section(report_view const& view) {
  section result;
  result.id = "quality";
  result.title = "Data quality and overhead";
  result.answer = quality_answer(view);
  result.blocks.emplace_back(losses_table(view.all));
  if (!view.all.collectors.empty()) result.blocks.emplace_back(collectors_table(view.all));
  add_notes(result, quality_text(view.all), block_use::everywhere);
  if (std::string program = program_words(view.all.environment); !program.empty())
    result.blocks.emplace_back(note{std::move(program), false});
  result.how_to_read =
      "The overhead is the measured cost of scopes, and 3 \xc2\xb5s for each collected GPU operation, which a launch-bound step showed. A "
      "host that runs ahead of the GPU hides most of it.";
  return result;
}

}  // namespace profkit::detail
