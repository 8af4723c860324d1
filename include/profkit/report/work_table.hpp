// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"
#include "table.hpp"

namespace profkit {

namespace detail {

/// Four digits, and all those before the point.
inline std::string format_figure(std::optional<double> value, double unit = 1.0) {
  if (!value) return not_measured;
  double const figure = *value / unit;
  return figure >= 1000.0 ? fmt::format("{:.0f}", figure) : fmt::format("{:.4g}", figure);
}

inline std::string format_amount(double value, double unit) { return value > 0.0 ? format_figure(value, unit) : not_measured; }

inline std::string format_roof(std::optional<roof_share> const& of) { return of ? format_share(of->share) : std::string{not_measured}; }

inline char const* name_of(work_bound bound) { return bound == work_bound::memory ? "memory" : "compute"; }

inline std::vector<std::string> work_row(std::string scope, char const* role, work_summary const& of) {
  return {std::move(scope),
          role,
          of.precision.empty() ? not_measured : of.precision,
          of.basis,
          format_ms(of.time),
          format_amount(of.flops, 1e9),
          format_amount(of.bytes, 1e9),
          format_figure(of.flops_per_second, 1e12),
          format_figure(of.bytes_per_second, 1e9),
          format_figure(of.intensity),
          format_roof(of.roof),
          of.roof ? name_of(of.roof->bound) : not_measured,
          format_roof(of.measured_roof),
          format_share(of.share_of_time_said)};
}

inline std::vector<std::string> work_headings() {
  return {"scope",   "work", "precision", "time",    "time ms",    "GFLOP",       "GB",
          "TFLOP/s", "GB/s", "FLOP/byte", "of roof", "limited by", "of measured", "of time said"};
}

/// "bf16 989.5, fp32 67 TFLOP/s and 4800 GB/s"; empty if there is no rate.
inline std::string rates_text(device_rates const& of) {
  std::string text;
  for (std::size_t i = 0; i < precision_count; ++i) {
    if (!of.flops_per_second[i]) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", precision_names[i], format_figure(of.flops_per_second[i], 1e12));
  }
  if (!text.empty()) text += " TFLOP/s";
  if (of.bytes_per_second) text += fmt::format("{}{} GB/s", text.empty() ? "" : "; ", format_figure(of.bytes_per_second, 1e9));
  return text;
}

inline std::string limits_text(limits_summary const& of) {
  std::string text = "roof: ";
  if (of.why_no_peaks.empty()) {
    text += fmt::format("{}, dense: {} ({})\n", one_line(of.device), rates_text(of.peaks), of.source);
  } else {
    text += fmt::format("n/a, {}\n", one_line(of.why_no_peaks, longest_shown_reason));
  }
  if (of.measured.empty()) return text;
  std::string const measured = rates_text(of.measured_rates);
  text += "measured: " + (measured.empty() ? std::string{not_measured} : measured);
  std::string how;
  for (measured_roof_record const& each : of.measured) {
    if (how.find(each.how) == std::string::npos) how += (how.empty() ? "" : "; ") + each.how;
  }
  return text + (how.empty() ? "\n" : " (" + one_line(how) + ")\n");
}

inline bool is_impossible(std::optional<work_summary> const& of) {
  return of && ((of->roof && of->roof->share > 1.0) || (of->measured_roof && of->measured_roof->share > 1.0));
}

/// Where a share is more than the whole.
inline std::string impossible_text(summary const& of) {
  std::size_t count = 0;
  std::string first;
  auto const look_at = [&](auto const& rows) {
    for (auto const& row : rows) {
      if (!is_impossible(row.work)) continue;
      if (count++ == 0) first = row.path;
    }
  };
  look_at(of.scopes);
  look_at(of.adopted);
  if (count == 0) return {};
  return fmt::format(
      "a share above 100 % cannot be: of {} ({} rows) the work is counted wrong, is of another precision, or did not come from memory\n",
      one_line(first), count);
}

}  // namespace detail

/// Whether a scope said what it has to do.
[[nodiscard]] inline bool has_work(summary const& of) {
  for (scope_summary const& row : of.scopes) {
    if (row.work) return true;
  }
  return false;
}

/// What the scopes said they have to do, how fast they did it, and how far that is from what the device can; then what was done for them
/// elsewhere. Empty where none said anything.
[[nodiscard]] inline table work_table(summary const& of) {
  table result{detail::work_headings(), 4};
  for (scope_summary const& row : of.scopes) {
    if (row.work) result.add(detail::work_row(std::string(std::size_t{2} * row.depth, ' ') + row.name, "said", *row.work));
  }
  for (adopted_summary const& row : of.adopted) {
    if (row.work) result.add(detail::work_row(std::string(std::size_t{2} * row.depth, ' ') + row.name, row.role.c_str(), *row.work));
  }
  return result;
}

/// The same by name, wherever the scopes are in the tree.
[[nodiscard]] inline table work_name_table(summary const& of) {
  table result{detail::work_headings(), 4};
  for (scope_name_summary const& row : of.names) {
    if (row.work) result.add(detail::work_row(row.name, "said", *row.work));
  }
  return result;
}

/// What stands below the tables.
[[nodiscard]] inline std::string work_note(summary const& of) {
  return "GFLOP, GB: what the scopes and those inside said they have to do (profkit::work), in all measured steps; backward: what was done "
         "for\n"
         "them elsewhere. time: of all that is in the scopes, of which only \"of time said\" is in scopes that said what they do\n"
         "of roof: the least time for the work, the longer of computing and moving at the rates below, over the time\n" +
         detail::limits_text(of.limits) + detail::impossible_text(of);
}

/// Below the table of steps: the model's floating-point operations, and their share of what the device can; empty if not known.
[[nodiscard]] inline std::string model_text(summary const& of) {
  if (!of.model) return {};
  model_summary const& model = *of.model;
  std::string text = fmt::format("model: {} GFLOP per step ({}), {} TFLOP/s by {}; MFU ", detail::format_figure(model.flops_per_step, 1e9),
                                 model.flops_source, detail::format_figure(model.flops_per_second, 1e12), model.basis);
  if (model.utilization) {
    text += fmt::format("{} of {} TFLOP/s: {}, {} dense, {}", detail::format_share(model.utilization),
                        detail::format_figure(model.peak_flops_per_second, 1e12), detail::one_line(of.limits.device),
                        name_of(model.precision), of.limits.source);
  } else {
    text += fmt::format("n/a, {}", detail::one_line(model.why_no_peak, detail::longest_shown_reason));
  }
  if (model.share_of_measured) {
    text += fmt::format("; {} of the {} TFLOP/s measured here", detail::format_share(model.share_of_measured),
                        detail::format_figure(model.measured_peak_flops_per_second, 1e12));
  }
  if (model.utilization.value_or(0.0) > 1.0 || model.share_of_measured.value_or(0.0) > 1.0) {
    text += "; more than 100 % cannot be: the count is wrong, or the precision is another";
  }
  return text + "\n\n";
}

}  // namespace profkit
