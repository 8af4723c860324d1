// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../analyze/summary.hpp"
#include "../version.hpp"
#include "adopted_table.hpp"
#include "budget_table.hpp"
#include "gpu_json.hpp"
#include "json_writer.hpp"
#include "memory_table.hpp"
#include "per_step_json.hpp"
#include "trend_json.hpp"
#include "verdict_json.hpp"
#include "work_json.hpp"

namespace profkit {

namespace detail {

inline void write_environment(json_writer& json, environment_record const& of) {
  json.key("environment");
  json.begin_object();
  json.member("host", known(of.host));
  json.member("gpu", known(of.gpu));
  json.member("driver", known(of.driver));
  json.member("cuda", known(of.cuda));
  json.key("command");
  json.begin_array();
  for (std::string const& argument : of.command) json.value(argument);
  json.end_array();
  json.key("host_speed");
  if (of.host_speed) {
    auto const us_of = [](std::chrono::nanoseconds time) {
      return time.count() > 0 ? std::optional{static_cast<double>(time.count()) / 1000.0} : std::nullopt;
    };
    json.begin_object();
    json.member("probe_before_us", us_of(of.host_speed->before));
    json.member("probe_after_us", us_of(of.host_speed->after));
    json.member("waiting_share", of.host_speed->waiting);
    json.end_object();
  } else {
    json.value(std::nullopt);
  }
  json.end_object();
}

inline void write_samples(json_writer& json, char const* name, std::vector<milliseconds> const& samples) {
  json.key(name);
  json.begin_array();
  for (milliseconds const sample : samples) json.value(sample.count());
  json.end_array();
}

/// The steps' times on the devices by the operations launched in them, and what follows for the step time.
inline void write_gpu_period(json_writer& json, step_summary const& of) {
  gpu_period_summary const* const known = of.gpu_period ? &*of.gpu_period : nullptr;
  duration_summary const time = known == nullptr ? duration_summary{} : known->time;
  json.member("gpu_period_count", known == nullptr ? std::nullopt : std::optional{time.count});
  json.member("gpu_period_mean_ms", count_of(time.mean));
  json.member("gpu_period_std_ms", count_of(time.standard_deviation));
  json.member("gpu_period_median_ms", count_of(time.median));
  json.member("gpu_period_min_ms", count_of(time.min));
  json.member("gpu_period_max_ms", count_of(time.max));
  json.member("gpu_period_p95_ms", count_of(time.p95));
  json.member("gpu_period_p99_ms", count_of(time.p99));
  write_verdict(json, "gpu_period_", known == nullptr ? nullptr : &known->verdict, of.clocks);
  json.member("host_runs_ahead", known == nullptr ? std::nullopt : std::optional{known->is_longer});
  json.member("run_ahead_median_steps", known == nullptr ? std::nullopt : known->median_steps_ahead);
  json.member("run_ahead_max_steps", known == nullptr ? std::nullopt : known->max_steps_ahead);
  json.member("step_time_ms", of.step_time ? std::optional{of.step_time->mean.count()} : std::nullopt);
  json.member("step_time_basis", of.step_time ? std::optional{of.step_time->basis} : std::nullopt);
  json.member("step_time_verdict", of.step_time ? std::optional{verdict_name(of.step_time->verdict)} : std::nullopt);
}

inline void write_steps(json_writer& json, step_summary const& of) {
  json.key("steps");
  json.begin_object();
  json.member("warmup", of.warmup);
  json.member("measured", of.host.count);
  json.member("excluded", of.excluded);
  json.member("mean_ms", count_of(of.host.mean));
  json.member("std_ms", count_of(of.host.standard_deviation));
  json.member("median_ms", count_of(of.host.median));
  json.member("min_ms", count_of(of.host.min));
  json.member("max_ms", count_of(of.host.max));
  json.member("p95_ms", count_of(of.host.p95));
  json.member("p99_ms", count_of(of.host.p99));
  json.member("item_name", of.item_name);
  json.member("items_per_second", of.items_per_second);
  json.member("items_per_second_basis", known(of.items_per_second_basis));
  json.member("gpu_mean_ms", count_of(of.gpu ? of.gpu->mean : std::nullopt));
  json.member("gpu_std_ms", count_of(of.gpu ? of.gpu->standard_deviation : std::nullopt));
  json.member("gpu_median_ms", count_of(of.gpu ? of.gpu->median : std::nullopt));
  json.member("gpu_min_ms", count_of(of.gpu ? of.gpu->min : std::nullopt));
  json.member("gpu_max_ms", count_of(of.gpu ? of.gpu->max : std::nullopt));
  json.member("gpu_p95_ms", count_of(of.gpu ? of.gpu->p95 : std::nullopt));
  json.member("gpu_p99_ms", count_of(of.gpu ? of.gpu->p99 : std::nullopt));
  write_verdict(json, "", &of.host_verdict, of.clocks);
  write_verdict(json, "gpu_", of.gpu_verdict ? &*of.gpu_verdict : nullptr, of.clocks);
  write_gpu_period(json, of);
  write_clocks(json, of.clocks);
  write_stop(json, of.stop);
  write_samples(json, "samples_ms", of.host_samples);
  write_samples(json, "gpu_samples_ms", of.gpu_samples);
  write_samples(json, "gpu_period_samples_ms", of.gpu_period ? of.gpu_period->samples : std::vector<milliseconds>{});
  json.end_object();
}

inline void write_scope(json_writer& json, scope_summary const& of) {
  json.begin_object();
  json.member("path", of.path);
  json.member("name", of.name);
  json.member("depth", of.depth);
  json.member("source", of.source);
  json.member("count", of.host.count);
  json.member("host_total_ms", of.host.total.count());
  json.member("host_mean_ms", count_of(of.host.mean));
  json.member("host_std_ms", count_of(of.host.standard_deviation));
  json.member("host_min_ms", count_of(of.host.min));
  json.member("host_max_ms", count_of(of.host.max));
  write_quantiles(json, "host_", &of.host);
  json.member("host_self_ms", of.host_self.count());
  json.member("share_of_parent", of.share_of_parent);
  json.member("share_of_steps", of.share_of_steps);
  json.member("gpu_event_total_ms", of.gpu_events ? std::optional{of.gpu_events->total.count()} : std::nullopt);
  json.member("gpu_event_mean_ms", count_of(of.gpu_events ? of.gpu_events->mean : std::nullopt));
  json.member("gpu_event_std_ms", count_of(of.gpu_events ? of.gpu_events->standard_deviation : std::nullopt));
  write_quantiles(json, "gpu_event_", of.gpu_events ? &*of.gpu_events : nullptr);
  json.member("gpu_event_count", of.gpu_events ? std::optional{of.gpu_events->count} : std::nullopt);
  write_gpu_work(json, of.gpu);
  write_gpu_idle(json, of.gpu_idle);
  write_per_step(json, of.per_step);
  write_work(json, of.work);
  write_scope_memory(json, of);
  json.end_object();
}

inline void write_memory(json_writer& json, std::vector<memory_summary> const& of) {
  std::map<std::string, std::vector<memory_summary const*>> by_source;
  for (memory_summary const& each : of) by_source[each.source].push_back(&each);
  json.key("memory");
  json.begin_object();
  for (auto const& [source, quantities] : by_source) {
    json.key(source);
    json.begin_object();
    for (memory_summary const* const each : quantities) {
      json.key(each->quantity);
      json.begin_object();
      json.member("samples", each->samples);
      json.member("first_bytes", each->first_bytes);
      json.member("last_bytes", each->last_bytes);
      json.member("highest_sample_bytes", each->highest_sample_bytes);
      json.member("peak_bytes", each->peak_bytes);
      json.member("peak_over", known(each->peak_note));
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
}

inline void write_counters(json_writer& json, std::vector<counter_summary> const& of) {
  json.key("counters");
  json.begin_array();
  for (counter_summary const& each : of) {
    json.begin_object();
    json.member("name", each.name);
    json.member("count", each.count);
    json.member("last", each.last);
    json.member("mean", each.mean);
    json.member("min", each.min);
    json.member("max", each.max);
    json.member("not_finite", each.not_finite);
    json.end_object();
  }
  json.end_array();
}

/// What a snapshot of a running session lacks; null in the report of a session that has ended.
inline void write_snapshot(json_writer& json, std::optional<snapshot_record> const& of) {
  json.key("snapshot");
  if (!of) return json.value(std::nullopt);
  json.begin_object();
  json.member("step_open", of->is_step_open);
  json.member("behind", of->is_behind);
  json.member("missing_operations", of->missing_operations);
  json.member("untimed_steps", of->untimed_steps);
  json.end_object();
}

inline void write_quality(json_writer& json, summary const& of) {
  json.key("quality");
  json.begin_object();
  json.member("not_recorded", known(of.quality.not_recorded));
  json.member("dropped_events", of.quality.dropped_events);
  json.member("events_without_memory", of.quality.events_without_memory);
  json.member("events_without_log", of.quality.events_without_log);
  json.member("interrupting_events", of.quality.interrupting_events);
  json.member("misnested_scopes", of.quality.misnested_scopes);
  json.member("unmatched_ends", of.quality.unmatched_ends);
  json.key("wrong_ends");
  json.begin_array();
  for (wrong_end_record const& each : of.quality.wrong_ends) {
    json.begin_object();
    json.member("what", each.what);
    json.member("count", each.count);
    json.end_object();
  }
  json.end_array();
  json.member("unkept_records", of.quality.unkept_records);
  json.member("rowless_scopes", of.quality.rowless_scopes);
  write_gpu_quality(json, of);
  json.member("open_scopes", of.quality.open_scopes);
  json.member("abandoned_steps", of.quality.abandoned_steps);
  json.member("untimed_gpu_scopes", of.quality.untimed_gpu_scopes);
  json.member("unread_gpu_times", of.quality.unread_gpu_times);
  json.member("clock_changes", of.quality.clock_changes);
  json.member("clock_change_ms", milliseconds{of.quality.clock_change}.count());
  json.member("uncertain_operations", of.quality.uncertain_operations);
  json.member("clock", known(of.quality.clock));
  write_snapshot(json, of.quality.snapshot);
  json.key("overhead");
  json.begin_object();
  json.member("host_ns_per_scope", static_cast<double>(of.quality.cost_of_1000_scopes.count()) / 1000.0);
  json.member("scopes", of.scopes_recorded);
  json.member("between_steps_ms", milliseconds{of.quality.bookkeeping}.count());
  json.end_object();
  json.key("collectors");
  json.begin_array();
  for (collector_record const& each : of.collectors) {
    json.begin_object();
    json.member("name", each.name);
    json.member("status", each.status);
    json.member("reason", known(each.reason));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace detail

/// The summary as JSON (RFC 8259): `report.json`. A quantity that was not measured is null; times are milliseconds.
[[nodiscard]] inline std::string report_json(summary const& of) {
  detail::json_writer json;
  json.begin_object();
  json.member("schema", 1);
  json.key("profkit");
  json.begin_object();
  json.member("version", version);
  json.end_object();
  detail::write_environment(json, of.environment);
  json.member("covers", of.covers_steps ? "measured steps" : "session");
  detail::write_steps(json, of.steps);
  json.key("scopes");
  json.begin_array();
  for (scope_summary const& each : of.scopes) detail::write_scope(json, each);
  json.end_array();
  detail::write_names(json, of);
  detail::write_adopted(json, of);
  detail::write_limits(json, of);
  detail::write_gpu(json, of.gpu);
  detail::write_budget(json, of.budget);
  detail::write_memory(json, of.memory);
  detail::write_allocators(json, of);
  detail::write_counters(json, of.counters);
  detail::write_trend(json, of.trend);
  detail::write_quality(json, of);
  json.end_object();
  return std::move(json).take();
}

}  // namespace profkit
