// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"
#include "rank_figures.hpp"
#include "shown_ranks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The map of a value of each rank in each step, those shown first above: up to 64 ranks all; beyond 50 steps, a column is the maximum of
/// neighbouring steps.
inline heat_figure heat_of(job_summary const& job, job_map const& from, std::string title, double high, colour meaning) {
  heat_figure result;
  result.title = std::move(title);
  result.high = high;
  result.meaning = meaning;
  constexpr std::size_t max_columns = 50;
  std::size_t const each = std::max<std::size_t>(1, (from.steps.size() + max_columns - 1) / max_columns);
  for (std::size_t i = 0; i < from.steps.size(); i += each) {
    result.columns.push_back(fmt::format("{}", from.steps[i]));
    result.is_dashed.push_back(!from.is_measured[i]);
  }
  constexpr std::size_t max_all = 64;
  own_vector<std::size_t> ranks = shown_ranks(job);
  for (std::size_t i = 0; i < job.ranks.size() && job.ranks.size() <= max_all; ++i) {
    if (std::find(ranks.begin(), ranks.end(), i) == ranks.end()) ranks.push_back(i);
  }
  for (std::size_t const rank : ranks) {
    result.rows.push_back(name_words(job.ranks[rank].name));
    own_vector<std::optional<double>> values(result.columns.size());
    for (std::size_t i = 0; i < from.steps.size(); ++i) {
      std::optional<double> const value = from.values[rank][i];
      std::optional<double>& to = values[i / each];
      if (value && (!to || *value > *to)) to = value;
    }
    result.values.push_back(std::move(values));
  }
  return result;
}

/// The numbers of a map with too many columns for numbers in its cells: a row for each column of the map. With many ranks, only the ranks
/// that the table of ranks shows first.
inline data_table heat_table(job_summary const& job, heat_figure const& map, char const* name) {
  data_table table{name};
  table.add_columns({{"from step"}});
  own_vector<std::size_t> positions;
  for (std::size_t const rank : shown_ranks(job)) {
    std::string const words = name_words(job.ranks[rank].name);
    auto const at = std::find(map.rows.begin(), map.rows.end(), words);
    if (at == map.rows.end()) continue;
    positions.push_back(static_cast<std::size_t>(at - map.rows.begin()));
    table.columns.push_back({words, column_kind::milliseconds});
  }
  for (std::size_t i = 0; i < map.columns.size(); ++i) {
    row& next = table.add_row().text(map.columns[i] + (map.is_dashed[i] ? ", warm-up" : ""));
    for (std::size_t const position : positions) next.number(map.values[position][i], "not measured");
  }
  table.shown_rows = 0;
  table.folded_label = map.title + ", as a table";
  table.use = block_use::pages;
  return table;
}

inline section job_map_section(job_summary const& job) {
  section result{"steps", "Rank \xc3\x97 step"};
  double most = 0.0;
  std::size_t rank = 0;
  std::size_t step = 0;
  for (std::size_t i = 0; i < job.held.values.size(); ++i) {
    for (std::size_t k = 0; k < job.held.steps.size(); ++k) {
      double const value = job.held.values[i][k].value_or(0.0);
      if (!job.held.is_measured[k] || value <= most) continue;
      most = value;
      rank = i;
      step = k;
    }
  }
  result.answer = most > 0.0 ? fmt::format("The longest wait in a measured step: {} for {} in step {}.", time_words(milliseconds{most}),
                                           name_words(job.ranks[rank].name), job.held.steps[step])
                             : std::string{job.missing_members > 0 ? "Waits are unknown, because ranks have no usable file."
                                                                   : "No rank made the others wait in a measured step."};
  constexpr double full = 0.1;  // share of the step with the darkest colour
  bool const has_waits = job.straggler || job.startup || most >= min_shown_waiting * job.step.count();
  bool const has_hosts = job.slow_host || job.unproven_host || (job.straggler && !job.straggler->is_gpu_time);
  auto const add = [&](std::string const& finding, heat_figure map, char const* table_name) {
    std::optional<data_table> numbers;
    if (map.columns.size() > heat_figure::max_columns_with_numbers) numbers = heat_table(job, map, table_name);
    result.add(figure{finding, std::move(map)});
    if (numbers) result.add(std::move(*numbers));
  };
  if (has_waits) {
    add(result.answer, heat_of(job, job.held, "How long the rank made the others wait, ms", full * job.step.count(), colour::launch_bound),
        "held_steps");
  }
  if (has_hosts) {
    add("Host time of the steps", heat_of(job, job.host_steps, "Host time of the step, ms", job.step.count(), colour::busy), "host_steps");
  }
  if (!has_waits && !has_hosts) return result;
  result.how_to_read = fmt::format(
      "Darkest from {} (10 % of the step) for waits and from {} (the step) for hosts; empty under a tenth of that. Warm-up steps have a "
      "dashed border.",
      time_words(job.step * full), time_words(job.step));
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
