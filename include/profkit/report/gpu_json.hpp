// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../analyze/summary.hpp"
#include "json_writer.hpp"
#include "per_step_json.hpp"
#include "work_json.hpp"

namespace profkit::detail {

inline std::optional<double> count_of(std::optional<milliseconds> value) {
  if (!value) return std::nullopt;
  return value->count();
}

inline std::optional<double> microseconds_of(std::optional<milliseconds> value) {
  if (!value) return std::nullopt;
  return value->count() * 1000.0;
}

inline std::optional<std::string> known(std::string const& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

/// p50, p95 and p99 of the durations of scopes.
/// @param of null: three nulls.
inline void write_quantiles(json_writer& json, std::string const& what, duration_summary const* of) {
  json.member(what + "p50_ms", count_of(of != nullptr ? of->median : std::nullopt));
  json.member(what + "p95_ms", count_of(of != nullptr ? of->p95 : std::nullopt));
  json.member(what + "p99_ms", count_of(of != nullptr ? of->p99 : std::nullopt));
}

inline void write_gpu_work(json_writer& json, std::optional<gpu_work_summary> const& of) {
  auto const figure = [&](auto&& value_of) { return of ? std::optional{value_of(*of)} : std::nullopt; };
  json.member("gpu_kernel_ms", figure([](gpu_work_summary const& work) { return work.kernel_time.count(); }));
  json.member("gpu_busy_ms", figure([](gpu_work_summary const& work) { return work.busy.count(); }));
  json.member("gpu_self_ms", figure([](gpu_work_summary const& work) { return work.kernel_self.count(); }));
  json.member("gpu_span_ms", figure([](gpu_work_summary const& work) { return work.span.total.count(); }));
  write_quantiles(json, "gpu_span_", of ? &of->span : nullptr);
  json.member("kernels", figure([](gpu_work_summary const& work) { return work.kernels; }));
  json.member("gpu_operations", figure([](gpu_work_summary const& work) { return work.operations; }));
  json.member("launch_latency_mean_us", microseconds_of(of ? of->latency_mean : std::nullopt));
  json.member("launch_latency_p95_us", microseconds_of(of ? of->latency_p95 : std::nullopt));
}

inline void write_gpu_idle(json_writer& json, std::optional<gpu_idle_summary> const& of) {
  json.member("gpu_idle_ms", of ? std::optional{of->inclusive.count()} : std::nullopt);
  json.member("gpu_idle_self_ms", of ? std::optional{of->self.count()} : std::nullopt);
}

inline void write_times(json_writer& json, duration_summary const& of) {
  json.member("count", of.count);
  json.member("total_ms", of.total.count());
  json.member("mean_us", microseconds_of(of.mean));
  json.member("median_us", microseconds_of(of.median));
  json.member("p95_us", microseconds_of(of.p95));
  json.member("p99_us", microseconds_of(of.p99));
  json.member("min_us", microseconds_of(of.min));
  json.member("max_us", microseconds_of(of.max));
  json.member("std_us", microseconds_of(of.standard_deviation));
}

inline void write_names(json_writer& json, summary const& of) {
  write_list(json, "names", &of.names, [&](scope_name_summary const& each) {
    json.member("name", each.name);
    json.member("count", each.host.count);
    json.member("host_total_ms", each.host.total.count());
    write_quantiles(json, "host_", &each.host);
    write_gpu_work(json, each.gpu);
    write_gpu_idle(json, each.gpu_idle);
    write_work(json, each.work);
  });
}

/// Kernels, their classes, copies and API calls: null where they were not collected.
inline void write_gpu(json_writer& json, std::optional<gpu_summary> const& of) {
  write_list(json, "kernels", of ? &of->kernels : nullptr, [&](kernel_summary const& each) {
    json.member("name", each.name);
    json.member("mangled", known(each.mangled));
    json.member("class", each.kernel_class);
    write_times(json, each.time);
    json.member("share", each.share);
    write_per_step(json, each.per_step);
  });
  write_list(json, "kernel_classes", of ? &of->classes : nullptr, [&](kernel_class_summary const& each) {
    json.member("class", each.name);
    json.member("count", each.count);
    json.member("total_ms", each.total.count());
    json.member("share", each.share);
  });
  write_list(json, "copies", of ? &of->copies : nullptr, [&](copy_summary const& each) {
    json.member("name", each.name);
    write_times(json, each.time);
    json.member("bytes", each.bytes);
  });
  write_list(json, "api", of && of->api ? &*of->api : nullptr, [&](api_summary const& each) {
    json.member("name", each.name);
    write_times(json, each.time);
  });
  json.key("gpu");
  if (!of) {
    json.value(std::nullopt);
    return;
  }
  json.begin_object();
  json.member("steps", of->steps);
  write_gpu_work(json, of->all);
  write_gpu_idle(json, of->idle);
  json.end_object();
}

/// Null where kernels were not collected, else a number: 0 means that nothing was lost.
inline void write_gpu_quality(json_writer& json, summary const& of) {
  auto const figure = [&](std::uint64_t value) { return of.gpu ? std::optional{value} : std::nullopt; };
  json.member("dropped_kernels", figure(of.quality.dropped_operations));
  json.member("invalid_kernels", figure(of.quality.invalid_operations));
  json.member("unattributed_kernels", figure(of.gpu ? of.gpu->unattributed_kernels : 0));
  json.member("unattributed_operations", figure(of.gpu ? of.gpu->unattributed_operations : 0));
  json.member("unattributed_ms", of.gpu ? std::optional{of.gpu->unattributed_time.count()} : std::nullopt);
  json.member("unknown_launches", figure(of.gpu ? of.gpu->unknown_launches : 0));
  json.member("graph_operations", figure(of.gpu ? of.gpu->operations_of_graphs : 0));
  json.member("unknown_graph_operations", figure(of.gpu ? of.gpu->operations_of_unknown_graphs : 0));
}

}  // namespace profkit::detail
