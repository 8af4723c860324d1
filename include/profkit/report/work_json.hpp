// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "../analyze/summary.hpp"
#include "json_writer.hpp"

namespace profkit::detail {

/// 0 is "not counted" here.
inline std::optional<double> if_counted(double value, double unit = 1.0) {
  if (value <= 0.0) return std::nullopt;
  return value / unit;
}

inline std::optional<double> in_units(std::optional<double> value, double unit) {
  if (!value) return std::nullopt;
  return *value / unit;
}

inline std::optional<std::string> if_known(std::string const& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

inline std::optional<std::string> if_known(precision of) {
  if (of == precision::unknown) return std::nullopt;
  return name_of(of);
}

/// "work" of a scope: null where nothing was said.
inline void write_work(json_writer& json, std::optional<work_summary> const& of) {
  json.key("work");
  if (!of) {
    json.value(std::nullopt);
    return;
  }
  auto const share = [](std::optional<roof_share> const& roof) { return roof ? std::optional{roof->share} : std::nullopt; };
  auto const bound = [](std::optional<roof_share> const& roof) {
    return roof ? std::optional<std::string>{roof->bound == work_bound::memory ? "memory" : "compute"} : std::nullopt;
  };
  json.begin_object();
  json.member("flops", if_counted(of->flops));
  json.member("bytes", if_counted(of->bytes));
  json.member("self_flops", if_counted(of->self_flops));
  json.member("self_bytes", if_counted(of->self_bytes));
  json.member("precision", if_known(of->precision));
  json.member("time_ms", of->time.count());
  json.member("basis", of->basis);
  json.member("tflops_per_s", in_units(of->flops_per_second, 1e12));
  json.member("gb_per_s", in_units(of->bytes_per_second, 1e9));
  json.member("intensity", of->intensity);
  json.member("roof_share", share(of->roof));
  json.member("bound", bound(of->roof));
  json.member("measured_roof_share", share(of->measured_roof));
  json.member("measured_bound", bound(of->measured_roof));
  json.member("share_of_time_said", of->share_of_time_said);
  json.end_object();
}

inline void write_rates(json_writer& json, device_rates const& of) {
  json.key("tflops_per_s");
  json.begin_object();
  for (std::size_t i = 1; i < precision_count; ++i) json.member(precision_names[i], in_units(of.flops_per_second[i], 1e12));
  json.end_object();
  json.member("gb_per_s", in_units(of.bytes_per_second, 1e9));
}

/// "limits" and "model" of `report.json`.
inline void write_limits(json_writer& json, summary const& of) {
  json.key("limits");
  json.begin_object();
  json.member("device", if_known(of.limits.device));
  json.member("dense", true);
  json.member("source", if_known(of.limits.source));
  json.member("reason", if_known(of.limits.why_no_peaks));
  write_rates(json, of.limits.peaks);
  write_list(json, "measured", &of.limits.measured, [&](measured_roof_record const& each) {
    json.member("precision", if_known(each.precision));
    json.member("tflops_per_s", if_counted(each.flops_per_second, 1e12));
    json.member("gb_per_s", if_counted(each.bytes_per_second, 1e9));
    json.member("how", if_known(each.how));
  });
  json.end_object();

  json.key("model");
  if (!of.model) {
    json.value(std::nullopt);
    return;
  }
  model_summary const& model = *of.model;
  json.begin_object();
  json.member("flops_per_step", model.flops_per_step);
  json.member("flops_source", model.flops_source);
  json.member("tflops_per_s", model.flops_per_second / 1e12);
  json.member("basis", model.basis);
  json.member("mfu", model.utilization);
  json.member("peak_tflops", in_units(model.peak_flops_per_second, 1e12));
  json.member("device", if_known(of.limits.device));
  json.member("precision", if_known(model.precision));
  json.member("dense", true);
  json.member("source", if_known(of.limits.source));
  json.member("reason", if_known(model.why_no_peak));
  json.member("measured_peak_tflops", in_units(model.measured_peak_flops_per_second, 1e12));
  json.member("share_of_measured_peak", model.share_of_measured);
  json.end_object();
}

}  // namespace profkit::detail
