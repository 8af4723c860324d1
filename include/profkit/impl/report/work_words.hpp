// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "../../summary.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"

// Sentences about declared work and the limits of the device.

namespace profkit::detail {

/// A number with four significant digits, or all digits before the decimal point.
inline std::string format_figure(std::optional<double> value, double unit = 1.0) {
  if (!value) return not_measured;
  double const figure = *value / unit;
  return figure >= 1000.0 ? fmt::format("{:.0f}", figure) : fmt::format("{:.4g}", figure);
}

inline char const* name_of(work_bound bound) { return bound == work_bound::memory ? "memory" : "compute"; }

/// Such as "bf16 989.5, fp32 67 TFLOP/s and 4800 GB/s"; empty without rates.
inline std::string rates_text(device_rates const& rates) {
  std::string text;
  for (std::size_t i = 0; i < precision_count; ++i) {
    if (!rates.flops_per_second[i]) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", precision_names[i], format_figure(rates.flops_per_second[i], 1e12));
  }
  if (!text.empty()) text += " TFLOP/s";
  if (rates.bytes_per_second) text += fmt::format("{}{} GB/s", text.empty() ? "" : "; ", format_figure(rates.bytes_per_second, 1e9));
  return text;
}

inline std::string limits_text(limits_summary const& limits) {
  std::string text = "roof: ";
  if (limits.why_no_peaks.empty()) {
    text += fmt::format("{}, dense: {} ({})\n", one_line(limits.device), rates_text(limits.peaks), limits.source);
  } else {
    text += fmt::format("n/a, {}\n", one_line(limits.why_no_peaks, max_shown_reason));
  }
  if (limits.measured.empty()) return text;
  std::string const measured = rates_text(limits.measured_rates);
  text += "measured: " + (measured.empty() ? std::string{not_measured} : measured);
  std::string how;
  for (measured_roof_record const& each : limits.measured) {
    if (how.find(each.how) == std::string::npos) how += (how.empty() ? "" : "; ") + each.how;
  }
  return text + (how.empty() ? "\n" : " (" + one_line(how) + ")\n");
}

inline bool is_impossible(std::optional<work_summary> const& work) {
  return work && ((work->roof && work->roof->share > 1.0) || (work->measured_roof && work->measured_roof->share > 1.0));
}

/// A line for each share above 100 %, which indicates wrong declared work.
inline std::string impossible_text(summary const& summary) {
  std::size_t count = 0;
  std::string first;
  auto const look_at = [&](auto const& rows) {
    for (auto const& row : rows) {
      if (!is_impossible(row.work)) continue;
      if (count++ == 0) first = row.path;
    }
  };
  look_at(summary.scopes);
  look_at(summary.adopted);
  if (count == 0) return {};
  return fmt::format(
      "a share above 100 % is impossible: the work of {} ({} rows) is wrong, has another precision, or its data came from cache",
      one_line(first), count);
}

/// Whether any scope declared work.
inline bool has_work(summary const& summary) {
  for (scope_summary const& row : summary.scopes) {
    if (row.work) return true;
  }
  return false;
}

/// The line about the model's floating-point operations and MFU. Empty if unknown.
inline std::string model_text(summary const& summary) {
  if (!summary.model) return {};
  model_summary const& model = *summary.model;
  std::string text = fmt::format("model: {} GFLOP per step ({}), {} TFLOP/s by {}; MFU ", format_figure(model.flops_per_step, 1e9),
                                 model.flops_source, format_figure(model.flops_per_second, 1e12), model.basis);
  if (model.utilization) {
    text +=
        fmt::format("{} of {} TFLOP/s: {}, {} dense, {}", format_share(model.utilization), format_figure(model.peak_flops_per_second, 1e12),
                    one_line(summary.limits.device), name_of(model.precision), summary.limits.source);
  } else {
    text += fmt::format("n/a, {}", one_line(model.why_no_peak, max_shown_reason));
  }
  if (model.share_of_measured) {
    text += fmt::format("; {} of the {} TFLOP/s measured here", format_share(model.share_of_measured),
                        format_figure(model.measured_peak_flops_per_second, 1e12));
  }
  if (model.utilization.value_or(0.0) > 1.0 || model.share_of_measured.value_or(0.0) > 1.0) {
    text += "; more than 100 % is impossible: the count or the precision is wrong";
  }
  return text + "\n";
}

}  // namespace profkit::detail
