// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/picture_section.hpp>
#include <profkit/impl/report/shown_text.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "job_summary.hpp"
#include "rank_figures.hpp"
#include "ranks_findings.hpp"

// Sections of the report of many ranks that compare the ranks: one step, the scopes that differ, and functions.

namespace PROFKIT_NAMESPACE::detail {

/// Adds a collective as two stretches: before and after the start of the last rank.
inline void add_stretches(own_vector<lanes_figure::stretch>& to, job_span_of_collective const& span) {
  double const begin = span.time.begin.count();
  double const end = span.time.end.count();
  double const arrived = std::clamp(begin + span.waiting.count(), begin, std::max(begin, end));
  std::string const name = name_words(span.function);
  if (arrived > begin) to.push_back({begin, arrived, colour::launch_bound, name + ", waiting"});
  to.push_back({arrived, end, colour::transfer, name});
}

inline section job_step_section(job_summary const& job) {
  section result{"step", "One step"};
  job_step_summary const& step = *job.one_step;
  lanes_figure lanes;
  data_table table{"one_step"};
  table.use = block_use::pages;
  table.add_columns({{"rank"},
                     {"collective"},
                     {"begin", column_kind::milliseconds},
                     {"end", column_kind::milliseconds},
                     {"waiting", column_kind::milliseconds, column_use::always, "Until the last rank started"}});
  constexpr std::size_t max_rows = 200;
  std::size_t most = 0;
  double hidden = 0.0;
  double all = 0.0;
  for (job_step_rank const& each : step.ranks) {
    lanes_figure::row next;
    next.name = name_words(job.ranks[each.rank].name);
    for (job_span const& span : each.computing) {
      next.upper.push_back({span.begin.count(), span.end.count(), colour::busy, "computing"});
      lanes.total = std::max(lanes.total, span.end.count());
    }
    for (job_span_of_collective const& one : each.collectives) {
      add_stretches(next.lower, one);
      lanes.total = std::max(lanes.total, one.time.end.count());
      all += (one.time.end - one.time.begin).count();
      for (job_span const& span : each.computing)
        hidden += std::max(0.0, (std::min(span.end, one.time.end) - std::max(span.begin, one.time.begin)).count());
      if (table.rows.size() == max_rows) continue;
      table.add_row().text(next.name).text(name_words(one.function)).ms(one.time.begin).ms(one.time.end).ms(one.waiting);
    }
    most = std::max(most, each.collectives.size());
    lanes.rows.push_back(std::move(next));
  }
  lanes.legend = {{{colour::busy, 0, 0.0}, "computing"},
                  {{colour::transfer, 0, 0.0}, "collective"},
                  {{colour::launch_bound, 0, 0.0}, "collective, until the last rank started"}};
  result.answer = fmt::format("Step {}, the one nearest to the median, has {}; computing runs beside {} of their time.", step.step,
                              counted(most, "collective", "collectives"), share_words(all > 0.0 ? std::min(1.0, hidden / all) : 0.0));
  result.add(figure{result.answer, std::move(lanes)});
  table.shown_rows = 0;
  table.folded_label = counted(table.rows.size(), "collective of a rank", "collectives of the ranks");
  result.add(std::move(table));
  if (step.ranks.size() < job.ranks.size())
    result.how_to_read = fmt::format("{} of the ranks, in order of the time for which they delay the others.", step.ranks.size());
  return result;
}

inline section job_differences_section(job_summary const& job) {
  section result{"differences", "Scopes that differ"};
  if (job.differing_scopes.empty()) {
    result.answer = "No scope takes over 25 % and 1 % of the step more or less on one rank than on the others.";
    return result;
  }
  auto const words_of = [&](scope_difference_summary const& each) {
    return each.path.empty() ? std::string{"outside any scope"} : name_words(each.path);
  };
  scope_difference_summary const& first = job.differing_scopes.front();
  auto const words_or_none = [](milliseconds time, char const* none) { return time.count() > 0.0 ? time_words(time) : std::string{none}; };
  result.answer =
      fmt::format("{} takes {} {} time a step on {}, {} on the others.", subject_words(first.path), words_or_none(first.own, "no"),
                  first.is_gpu_time ? "GPU" : "host", name_words(job.ranks[first.rank].name), words_or_none(first.others, "none"));
  constexpr column_kind ms = column_kind::milliseconds;
  data_table table{"differing_scopes"};
  table.add_columns({{"scope"},
                     {"rank"},
                     {"time"},
                     {"there", ms, column_use::always, "Per step on this rank", "there {}"},
                     {"others", ms, column_use::always, "Per step, median of all ranks", "others {}"}});
  for (scope_difference_summary const& each : job.differing_scopes) {
    row& next = table.add_row().text(words_of(each)).text(name_words(job.ranks[each.rank].name)).text(each.is_gpu_time ? "GPU" : "host");
    for (milliseconds const time : {each.own, each.others}) time.count() > 0.0 ? next.ms(time) : next.text("none");
  }
  constexpr std::size_t shown = 12;
  table.shown_rows = shown;
  if (table.rows.size() > shown) table.folded_label = counted(table.rows.size() - shown, "more difference", "more differences");
  result.add(std::move(table));
  result.how_to_read =
      "Over 25 % and over 1 % of the step from the median of all ranks. Host time is the lower quartile of the children of the step, "
      "because a full launch queue makes the mean that of the GPU. GPU time is the mean of operations that are not collectives.";
  return result;
}

/// The sampled functions, merged over the ranks.
inline section job_functions_section(job_summary const& job) {
  section result{"functions", "Functions by host samples"};
  auto const words_of = [](job_function_summary const& each) {
    sampled_function_summary function;
    std::tie(function.name, function.module, function.caller) = std::tie(each.name, each.module, each.caller);
    function.file = each.file;
    function.line = each.line;
    return (each.path.empty() ? std::string{"outside any scope"} : each.path) + ": " + function_place_words(function);
  };
  job_function_summary const& first = job.functions.front();
  result.answer = fmt::format("Most processor time is in {}: {} a step.", name_words(words_of(first)), time_words(first.time));
  auto const different = std::find_if(job.functions.begin(), job.functions.end(), [](auto const& each) { return each.is_different; });
  if (different != job.functions.end()) {
    result.answer += fmt::format(" {} takes {} on {}, {} on the others.", name_words(words_of(*different)), time_words(different->own),
                                 name_words(job.ranks[different->rank].name), time_words(different->others));
  }
  constexpr column_kind ms = column_kind::milliseconds;
  data_table table{"functions"};
  table.add_columns({{"scope and function", column_kind::code},
                     {"time", ms, column_use::always, "Processor time per step, mean of the ranks", "mean {}"},
                     {"samples", column_kind::count, column_use::wide},
                     {"longest on"},
                     {"there", ms, column_use::always, "Per step on that rank", "there {}"},
                     {"others", ms, column_use::always, "Per step, median of the other ranks", "others {}"}});
  for (job_function_summary const& each : job.functions) {
    row& next = table.add_row().text(words_of(each)).ms(each.time).count(each.samples);
    next.text_if(each.is_different, name_words(job.ranks[each.rank].name), "the ranks do not differ by more than sampling does");
    next.ms(each.own).ms(each.others);
  }
  constexpr std::size_t shown = 12;
  table.shown_rows = shown;
  if (table.rows.size() > shown) table.folded_label = counted(table.rows.size() - shown, "more function", "more functions");
  table.drop_unknown_columns();
  result.add(std::move(table));
  if (job.sampled_ranks < job.ranks.size()) {
    result.add_note(fmt::format("{} of {} ranks have host samples.", job.sampled_ranks, job.ranks.size()));
  }
  result.how_to_read =
      "The functions in the own time of each scope. A rank is named if its function takes over 25 % and over 1 % of the step "
      "longer than on the others, and by more than 4 standard deviations of sampling.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
