// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <profkit/impl/profile/flat_records.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <profkit/impl/report/summary_json.hpp>
#include <type_traits>
#include <utility>

#include "job_fields.hpp"
#include "job_summary.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// Writes described values. Names end in their unit.
class job_json {
 public:
  template <class T>
  static own_string text(T const& value, std::size_t depth) {
    if constexpr (is_described<T>) {
      json_object object{depth};
      described_fields<T>.for_each([&](auto const& each) { object.add(each.name, text(value.*each.member, depth + 1)); });
      return object.text();
    } else if constexpr (std::is_same_v<T, milliseconds>) {
      return json_value(value.count());
    } else {
      return json_value(value);
    }
  }
  template <class T>
  static own_string text(std::optional<T> const& value, std::size_t depth) {
    return value ? text(*value, depth) : json_value(std::nullopt);
  }
  template <class T>
  static own_string text(detail::own_vector<T> const& values, std::size_t depth) {
    json_list list{depth};
    for (T const& each : values) list.add(text(each, depth + 1));
    return std::move(list).take();
  }
};

/// A row per rank with its main figures. `job.ranks` has all of them.
inline own_string ranks_json_rows(job_summary const& job) {
  json_list rows{1};
  for (job_rank_summary const& each : job.ranks) {
    std::optional<milliseconds> busy;
    if (!each.gpu.empty()) busy = each.step - each.idle;
    json_object row{2};
    row.add("rank", json_value(each.rank));
    row.add("host", json_value(each.host));
    row.add("step_mean_ms", job_json::text(each.step, 2));
    row.add("gpu_busy_ms", job_json::text(busy, 2));
    row.add("communication_ms", job_json::text(each.communication, 2));
    row.add("exposed_ms", job_json::text(each.exposed_transfer + each.exposed_waiting.value_or(milliseconds{}), 2));
    row.add("wait_ms", job_json::text(each.waiting, 2));
    row.add("imposed_wait_ms", job_json::text(each.imposed, 2));
    row.add("arrived_last", job_json::text(each.last_share, 2));
    rows.add(row.text());
  }
  return std::move(rows).take();
}

/// The rank that holds the others up; null: there is none.
inline own_string straggler_json(job_summary const& job) {
  if (!job.straggler) return json_value(std::nullopt);
  json_object result{1};
  result.add("rank", json_value(job.ranks[job.straggler->rank].rank));
  result.add("scope", job.straggler->path.empty() ? json_value(std::nullopt) : json_value(job.straggler->path));
  result.add("ms", job_json::text(job.straggler->delay, 1));
  return result.text();
}

}  // namespace detail

/// @brief The figures of a job of many ranks as JSON: times in ms, sizes in bytes, shares as fractions. Unknown values are null.
[[nodiscard]] inline detail::own_string ranks_json(job_summary const& job) {
  detail::json_object document{0};
  detail::add_json_schema(document);
  document.add("ranks", detail::ranks_json_rows(job));
  document.add("straggler", detail::straggler_json(job));
  document.add("collectives", detail::job_json::text(job.collectives, 1));
  document.add("job", detail::job_json::text(job, 1));
  return document.text() + "\n";
}

}  // namespace PROFKIT_NAMESPACE
