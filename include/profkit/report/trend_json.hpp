// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "../analyze/summary.hpp"
#include "json_writer.hpp"

namespace profkit::detail {

inline void write_trend(json_writer& json, run_trend_summary const& of) {
  auto const ms_of = [](std::chrono::nanoseconds time) { return milliseconds{time}.count(); };
  json.key("trend");
  json.begin_object();
  json.key("memory");
  json.begin_array();
  for (auto const& name : of.memory) json.value(name);
  json.end_array();
  json.key("windows");
  json.begin_array();
  for (trend_window_summary const& each : of.windows) {
    json.begin_object();
    json.member("first_step", each.first_step);
    json.member("begin_ms", ms_of(each.begin));
    json.member("steps", each.steps);
    json.member("mean_ms", each.mean.count());
    json.member("p95_ms", each.p95.count());
    json.member("gpu_busy_share", each.gpu_busy_share);
    json.key("memory_bytes");
    json.begin_array();
    for (std::optional<std::uint64_t> const bytes : each.memory_bytes) json.value(bytes);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.key("change");
  if (!of.change) {
    json.value(std::nullopt);
  } else {
    json.begin_object();
    json.member("step", of.change->step);
    json.member("time_ms", ms_of(of.change->time));
    json.member("begin_ms", ms_of(of.change->begin));
    json.member("before_ms", of.change->before.count());
    json.member("after_ms", of.change->after.count());
    json.member("p_value", of.change->p_value);
    json.member("is_of_gpu", of.change->is_of_gpu);
    json.end_object();
  }
  json.end_object();
}

}  // namespace profkit::detail
