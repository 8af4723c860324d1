// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/shown_text.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"
#include "parts_table.hpp"
#include "ranks_findings.hpp"

// Further sections of the report of many ranks: collectives, stages and data quality.

namespace PROFKIT_NAMESPACE::detail {

inline section job_collectives_section(job_summary const& job) {
  section result{"collectives", "Collectives"};
  double count = 0.0;
  milliseconds exposed{};
  for (job_collective_summary const& each : job.collectives) {
    count += each.per_step;
    exposed += each.exposed;
  }
  result.answer = fmt::format("{:.3g} collectives a step, {} of them with nothing beside them.", count, time_words(exposed));
  constexpr column_use always = column_use::always;
  data_table table{"collectives"};
  table.add_columns({{"collective"},
                     {"scope", column_kind::text, column_use::wide},
                     {"a step", column_kind::count},
                     {"size", column_kind::bytes},
                     {"ranks", column_kind::count},
                     {"transfer", column_kind::duration, always, "From the start of the last rank to the end, mean over the ranks"},
                     {"waiting", column_kind::duration, always, "Until the last rank starts, mean over the ranks"},
                     {"bus GB/s", column_kind::real, always,
                      "Size over transfer times the factor of nccl-tests: 2(n-1)/n for an all-reduce of n ranks", "bus GB/s"},
                     {"of the link", column_kind::share, always,
                      "Of the link between the GPUs of the host, in one direction (docs/roofline.md)", "% link"},
                     {"exposed a step", column_kind::milliseconds, always, "With nothing beside it, mean per rank", "exposed {}"},
                     {"most often last", column_kind::text, always, "", "last"}});
  constexpr std::size_t max_rows = 200;
  for (job_collective_summary const& each : job.collectives) {
    if (table.rows.size() == max_rows) break;
    std::string name = each.function;
    for (std::string const* const word : {&each.datatype, &each.algorithm, &each.protocol})
      name += word->empty() ? "" : " " + (word->rfind("nccl", 0) == 0 ? word->substr(4) : *word);
    row& next = table.add_row().text(name_words(name)).text(each.path.empty() ? "outside any scope" : name_words(each.path));
    next.number(each.per_step).count(each.bytes > 0 ? std::optional{each.bytes} : std::nullopt, "the size was not recorded");
    next.count(each.ranks).ms(each.transfer).ms(each.waiting, "shorter than the clocks can tell, or a rank has no file");
    next.number(each.bus_bandwidth ? std::optional{std::round(*each.bus_bandwidth * 1e-8) / 10.0} : std::nullopt,
                "size or factor unknown, started before its scope, or a rank has no file");
    next.number(each.link_share, "several hosts or models, or an unknown link").ms(each.exposed);
    next.text_if(each.last.has_value(), fmt::format("rank {}", each.last.value_or(0)), "the clocks cannot tell");
  }
  constexpr std::size_t shown = 15;
  table.shown_rows = shown;
  if (table.rows.size() > shown) table.folded_label = counted(table.rows.size() - shown, "more collective", "more collectives");
  table.drop_unknown_columns();
  result.add(std::move(table));
  return result;
}

/// "forward on rank 3 (node17)", "AllReduce".
inline std::string path_part_words(job_summary const& job, job_path_part const& part) {
  std::string const what = part.rank ? part.kind == "not recorded" ? part.kind + " time" : scope_words(part.path) : name_words(part.path);
  return part.rank ? what + " on " + name_words(job.ranks[*part.rank].name) : what;
}

inline section job_path_section(job_summary const& job) {
  section result{"path", "Critical path"};
  milliseconds whole{};
  for (job_path_part const& each : job.critical_path) whole += each.time;
  job_path_part const& most = job.critical_path.front();
  result.answer = fmt::format("{} has most of it: without it, a step can be at most {} shorter.", capitalized(path_part_words(job, most)),
                              part_words(most.time, whole));
  data_table table{"critical_path"};
  constexpr column_kind ms = column_kind::milliseconds;
  table.add_columns({{"what"},
                     {"scope or collective"},
                     {"rank"},
                     {"time", ms, column_use::always, "In the mean step: a step can be at most so much shorter without it"},
                     {"share", column_kind::share, column_use::always, "Of the path"},
                     {"median", ms, column_use::always, "Over the steps"},
                     {"of the path", column_kind::bar}});
  constexpr std::size_t max_shown = 7;
  std::size_t const shown = std::min(max_shown, job.critical_path.size());
  for (std::size_t i = 0; i < job.critical_path.size(); ++i) {
    job_path_part const& each = job.critical_path[i];
    bool const is_scope = each.kind == "GPU" || each.kind == "host";
    row& next = table.add_row().text(each.kind).text(is_scope && each.path.empty() ? "outside any scope" : name_words(each.path));
    next.text(each.rank ? name_words(job.ranks[*each.rank].name) : std::string{}).ms(each.time);
    next.number(whole.count() > 0.0 ? each.time / whole : 0.0).ms(each.median, "of several parts");
    next.bar({{each.kind == "GPU" ? colour::busy : each.kind == "transfer" ? colour::transfer : colour::queued, 0, each.time.count()}});
    if (i + 1 == shown) table.add_row().text("all").blank().blank().ms(whole).number(1.0).blank().blank().is_total = true;
  }
  if (shown < job.critical_path.size()) {
    table.shown_rows = table.rows.size() - (job.critical_path.size() - shown);
    table.folded_label = counted(job.critical_path.size() - shown, "more part", "more parts");
  }
  result.add(std::move(table));
  result.how_to_read =
      "Backwards from the end of the last step: what a rank did since its previous collective; where it waited with nothing else to do, "
      "the path goes on with the rank that arrived last. \"host\" is time in which the GPU waits for its host; without GPU work, the time "
      "of the host. Transfers are of all ranks of the collective. The parts add up to the step: from the latest beginning on any rank to "
      "that of the next step.";
  return result;
}

inline section job_messages_section(job_summary const& job) {
  section result{"messages", "Messages"};
  double late = 0.0;
  for (job_message_summary const& each : job.messages) late += each.per_step;
  result.answer = fmt::format("A rank waits for {:.3g} messages of a step.", late);
  data_table table{"messages"};
  table.add_columns({{"rank that waits"},
                     {"for"},
                     {"scope", column_kind::text, column_use::wide},
                     {"why"},
                     {"a step", column_kind::count},
                     {"waiting", column_kind::milliseconds, column_use::always, "Per step, until the other rank starts the message"}});
  for (job_message_summary const& each : job.messages) {
    row& next = table.add_row().text(name_words(job.ranks[each.rank].name)).text(name_words(job.ranks[each.partner].name));
    next.text(scope_words(each.path)).text(each.is_late_sender ? "late sender" : "late receiver").number(each.per_step).ms(each.waiting);
  }
  constexpr std::size_t shown = 8;
  table.shown_rows = shown;
  if (table.rows.size() > shown) table.folded_label = counted(table.rows.size() - shown, "more wait", "more waits");
  result.add(std::move(table));
  return result;
}

inline section job_stages_section(job_summary const& job) {
  section result{"stages", "Host time by stage"};
  milliseconds whole{};
  for (job_part const& each : job.frontier) whole += each.time;
  auto const largest =
      std::max_element(job.frontier.begin(), job.frontier.end(), [](job_part const& a, job_part const& b) { return a.time < b.time; });
  if (largest == job.frontier.end()) return result;
  own_vector<job_part> stages = job.frontier;
  for (job_part& each : stages) each.name = each.name.empty() ? std::string{"the rest"} : scope_words(each.name);
  std::string const most = largest->name.empty() ? std::string{"The rest"} : scope_words(largest->name);
  result.answer = fmt::format("{} adds most to the longest host step: {}.", most, part_words(largest->time, whole));
  result.add(parts_table(
      "stages",
      {{"stage"}, {"adds", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the longest host step"}},
      stages, {"longest host step", whole}));
  result.how_to_read =
      "For each stage, the time until its end on the slowest rank, minus that of the stage before. It needs no common clock. Where hosts "
      "run ahead of their GPUs, a stage can add to the host's step and cost the job nothing.";
  return result;
}

/// What each rank recorded, and how its clock was corrected.
inline data_table job_quality_table(job_summary const& job) {
  data_table table{"rank_quality"};
  table.add_columns({{"rank"},
                     {"device"},
                     {"measured steps", column_kind::count},
                     {"clock ahead", column_kind::duration, column_use::always,
                      "Removed from its times: the median distance of its ends of collectives from the mean of all ranks", "ahead"}});
  constexpr std::size_t max_shown = 16;
  constexpr std::size_t max_ranks = 1024;
  for (job_rank_summary const& each : job.ranks) {
    if (table.rows.size() == max_ranks) break;
    bool const is_uncorrected = job.clocks.is_one_clock || (job.clocks.is_by_machine && !job.clocks.has_many_hosts);
    bool const is_corrected = !is_uncorrected && job.clocks.collectives > 0;
    row& next = table.add_row().text(name_words(each.name)).text_if(!each.gpu.empty(), name_words(each.gpu), "no collector of a GPU");
    next.count(each.measured_steps);
    next.ms(is_corrected ? std::optional<milliseconds>{each.clock_offset} : std::nullopt, "the clocks were used as they are");
  }
  if (table.rows.size() > max_shown) {
    table.shown_rows = 0;
    table.folded_label = counted(table.rows.size(), "rank", "ranks") + " as a table";
  }
  table.columns.back().is_difference = true;
  table.drop_unknown_columns();
  return table;
}

inline section job_quality_section(job_summary const& job) {
  section result{"quality", "Data quality"};
  result.answer = fmt::format("{} of {} ranks, {} matched", job.ranks.size(), std::max<std::uint64_t>(job.ranks_expected, job.ranks.size()),
                              counted(job.matched, "collective", "collectives"));
  if (job.matched_messages > 0) result.answer += fmt::format(" and {}", counted(job.matched_messages, "message", "messages"));
  if (job.unmatched_messages > 0)
    result.answer += fmt::format(", {} of one rank alone", counted(job.unmatched_messages, "message", "messages"));
  if (job.incomplete > 0) result.answer += fmt::format(", {} missing on a rank", count_words(job.incomplete));
  if (job.contradictory > 0) result.answer += fmt::format(", {} with other sizes or types on a rank", count_words(job.contradictory));
  if (job.unknown > 0) result.answer += fmt::format(", {} without a number", counted(job.unknown, "NCCL kernel", "NCCL kernels"));
  result.answer += ".";
  if (job.unknown_in_graphs > 0) {
    result.add_note(
        fmt::format(
            "{} in CUDA graphs, and of several communicators it is unknown which one they use: {} communication that is not compared.",
            counted(job.unknown_in_graphs, "NCCL kernel ran", "NCCL kernels ran"), job.unknown_in_graphs == 1 ? "it is" : "they are"),
        true);
  }
  if (job.of_missing_ranks > 0) {
    result.add_note(
        fmt::format("{} communicators of which {} no usable file. The others may have waited for them: waits and bandwidths are n/a, "
                    "and all time counts as transfer.",
                    counted(job.of_missing_ranks, "collective is of", "collectives are of"),
                    job.missing_members == 1 ? "one rank has" : "up to " + count_words(job.missing_members) + " ranks have"),
        true);
  }
  if (job.ambiguous > 0) {
    result.add_note(
        fmt::format("{} not compared: several communicators have one name and number. Give each its own number, its size and the "
                    "rank in it (profkit::communicator).",
                    counted(job.ambiguous, "collective is", "collectives are")),
        true);
  }
  if (job.by_order > 0) {
    result.add_note(
        fmt::format("{} no number, because NCCL's collectives were not collected (profkit::nccl): matched by order in each step. With "
                    "several communicators, waits may be wrong.",
                    counted(job.by_order, "collective has", "collectives have")),
        true);
  }
  if (job.clocks.is_one_clock) {
    result.add_note("Clocks: all times are of the clock of one machine.", true);
  } else if (job.clocks.collectives == 0) {
    result.add_note("Clocks: no collective that ends on all ranks at once; times are compared as they are.", true);
  } else if (job.clocks.is_by_machine && !job.clocks.has_many_hosts) {
    result.add_note(
        fmt::format("Clocks: not corrected, because collectives without numbers may not be the same ones. The ends of {} are {} "
                    "(median), {} (95 %) from their mean. Waits below {} are n/a.",
                    counted(job.clocks.collectives, "collective", "collectives"), time_words(job.clocks.residual_median),
                    time_words(job.clocks.residual_p95), time_words(job.clocks.bound)),
        true);
  } else {
    double low = 0.0;
    double high = 0.0;
    for (job_rank_summary const& each : job.ranks) {
      low = std::min(low, each.clock_offset.count());
      high = std::max(high, each.clock_offset.count());
    }
    result.add_note(
        fmt::format(
            "Clocks: ranks were off by {} to {}{}, corrected by the ends of {}; left: {} (median), {} (95 %). Waits below {} are n/a.",
            time_words(milliseconds{low}), time_words(milliseconds{high}), job.clocks.has_many_hosts ? " and drifted" : "",
            counted(job.clocks.collectives, "collective", "collectives"), time_words(job.clocks.residual_median),
            time_words(job.clocks.residual_p95), time_words(job.clocks.bound)),
        true);
  }
  if (!job.ranks.empty()) result.add(job_quality_table(job));
  for (std::string const& each : job.problems) result.add_note(capitalized(each) + ".", true);
  for (std::string const& each : job.differences) result.add_note("Differs: " + each + ".", true);
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
