// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/own_sort.hpp"
#include "number_format.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
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

// The section "Work and limits": declared work, achieved rates, and the limits of the device.

namespace profkit::detail {

/// The rates of a precision as a roof; n/a if neither is known.
inline std::optional<roofline_figure::roof> roof_of(device_rates const& rates, std::size_t precision, std::string const& source) {
  if (!rates.flops_per_second[precision]) return std::nullopt;
  return roofline_figure::roof{fmt::format("{} {}", precision_names[precision], source), *rates.flops_per_second[precision],
                               rates.bytes_per_second.value_or(0.0)};
}

/// Roofs for the precisions of the declared work, published and measured.
inline own_vector<roofline_figure::roof> roofs_of(summary const& all) {
  own_vector<roofline_figure::roof> roofs;
  for (std::size_t precision = 0; precision < precision_count; ++precision) {
    bool const is_used = std::any_of(all.names.begin(), all.names.end(), [&](scope_name_summary const& each) {
      return each.work && each.work->precision.find(precision_names[precision]) != std::string::npos;
    });
    if (!is_used) continue;
    for (auto const& [rates, source] : {std::pair{&all.limits.peaks, "peak"}, std::pair{&all.limits.measured_rates, "measured"}}) {
      if (auto roof = roof_of(*rates, precision, source)) roofs.push_back(std::move(*roof));
    }
  }
  return roofs;
}

/// Time of work in milliseconds: per step; in a session without steps, in total.
inline double work_time(report_view const& view, work_summary const& work) {
  double const steps = static_cast<double>(std::max<std::uint64_t>(1, view.all.gpu ? view.all.gpu->steps : view.all.steps.host.count));
  return view.has_steps() ? work.time.count() / steps : work.time.count();
}

/// A row for each name with declared work, the longest first.
inline data_table work_rows(report_view const& view) {
  data_table table;
  table.name = "step_work";
  table.columns = {
      {"scope (by name)"},
      {"precision", column_kind::text, column_use::wide},
      {"time", column_kind::milliseconds, column_use::always, "per step"},
      {"TFLOP/s", column_kind::real},
      {"GB/s", column_kind::real},
      {"FLOP/byte", column_kind::real, column_use::wide},
      {"of roof", column_kind::share, column_use::always, "shortest possible time at the published peaks, divided by the measured time"},
      {"limited by", column_kind::text, column_use::wide},
      {"of measured", column_kind::share, column_use::always, "the same against the rates that this program measured"}};
  // Four significant digits, because the rates in a column differ by factors.
  auto const rate = [](std::optional<double> value, double unit) {
    return value ? text_cell(format_figure(value, unit)) : missing_cell("no such work was declared");
  };
  for (scope_name_summary const& each : view.all.names) {
    if (!each.work) continue;
    work_summary const& work = *each.work;
    char const* const why = "no peak or no declared work";
    row next;
    next.cells = {text_cell(each.name),
                  work.precision.empty() ? missing_cell("not declared") : text_cell(work.precision),
                  number_cell(work_time(view, work)),
                  rate(work.flops_per_second, 1e12),
                  rate(work.bytes_per_second, 1e9),
                  rate(work.intensity, 1.0),
                  work.roof ? number_cell(work.roof->share) : missing_cell(why),
                  work.roof ? text_cell(name_of(work.roof->bound)) : missing_cell(why),
                  work.measured_roof ? number_cell(work.measured_roof->share) : missing_cell("no measured rate")};
    table.rows.push_back(std::move(next));
  }
  own_stable_sort(table.rows.begin(), table.rows.end(),
                  [](row const& a, row const& b) { return std::get<double>(a.cells[2].value) > std::get<double>(b.cells[2].value); });
  return table;
}

/// The columns of `work_cells`.
inline own_vector<column> work_columns() {
  return {{"scope"},
          {"work"},
          {"precision"},
          {"time"},
          {"time", column_kind::milliseconds},
          {"GFLOP", column_kind::real},
          {"GB", column_kind::real},
          {"TFLOP/s", column_kind::real},
          {"GB/s", column_kind::real},
          {"FLOP/byte", column_kind::real},
          {"of roof", column_kind::share},
          {"limited by"},
          {"of measured", column_kind::share},
          {"of time declared", column_kind::share}};
}

inline row work_row(std::string scope, std::uint32_t depth, std::string role, work_summary const& work) {
  auto const figure = [](std::optional<double> value, double unit) {
    return value ? text_cell(format_figure(value, unit)) : missing_cell("no such work was declared");
  };
  auto const amount = [&](double value) { return figure(value > 0.0 ? std::optional{value} : std::nullopt, 1e9); };
  auto const share = [](std::optional<roof_share> const& roof) { return roof ? number_cell(roof->share) : missing_cell("no known peak"); };
  return row_at(depth, {text_cell(std::move(scope)), text_cell(std::move(role)),
                        work.precision.empty() ? missing_cell("not declared") : text_cell(work.precision), text_cell(work.basis),
                        number_cell(work.time.count()), amount(work.flops), amount(work.bytes), figure(work.flops_per_second, 1e12),
                        figure(work.bytes_per_second, 1e9), figure(work.intensity, 1.0), share(work.roof),
                        work.roof ? text_cell(name_of(work.roof->bound)) : missing_cell("no known peak"), share(work.measured_roof),
                        number_cell(work.share_of_time_said, "")});
}

/// Declared work of scopes in all measured steps, followed by backward work of adopting scopes.
inline data_table work_table(summary const& all) {
  data_table result = text_list("work", "Work by scope");
  result.columns = work_columns();
  for (scope_summary const& each : all.scopes) {
    if (each.work) result.rows.push_back(work_row(each.name, each.depth, "declared", *each.work));
  }
  for (adopted_summary const& each : all.adopted) {
    if (each.work) result.rows.push_back(work_row(each.name, each.depth, each.role, *each.work));
  }
  return result;
}

/// Declared work by scope name, merged over the tree.
inline data_table work_name_table(summary const& all) {
  data_table result = text_list("work_names", "Work by name");
  result.columns = work_columns();
  for (scope_name_summary const& each : all.names) {
    if (each.work) result.rows.push_back(work_row(each.name, 0, "declared", *each.work));
  }
  return result;
}

/// The explanation below both tables.
inline constexpr char const* work_note =
    "GFLOP, GB: declared by the scopes and the scopes inside (profkit::work), in all measured steps; backward: work of adopting scopes\n"
    "time: total time of the scopes; \"of time declared\": its share in scopes that declare work\n"
    "of roof: shortest possible time for the work at the rates below (arithmetic or memory access, whichever is longer), divided by the "
    "time\n";

/// Whether the scopes declare most of their work themselves. Other scopes only add up the scopes inside.
inline bool declares_work(work_summary const& work) { return work.self_flops > 0.5 * work.flops || work.self_bytes > 0.5 * work.bytes; }

/// The answer: the name of scopes with the largest loss of time compared with its roof.
inline std::string work_answer(report_view const& view) {
  std::string text;
  if (view.all.model && view.all.model->utilization) {
    text = fmt::format("The model reaches {} of the device's peak (MFU), {} TFLOP/s. ", share_words(*view.all.model->utilization),
                       significant(view.all.model->flops_per_second / 1e12));
  }
  scope_name_summary const* most = nullptr;
  double lost = 0.0;
  for (scope_name_summary const& each : view.all.names) {
    if (!each.work || !declares_work(*each.work) || !each.work->roof || each.work->roof->share > 1.0) continue;
    double const here = work_time(view, *each.work) * (1.0 - each.work->roof->share);
    if (here <= lost) continue;
    lost = here;
    most = &each;
  }
  if (most == nullptr)
    return text.empty() ? "Work is declared; the device has no known peak to compare with." : text.substr(0, text.size() - 1);
  return text + fmt::format("{} is farthest from its roof: {} of it, {} of {} are above the shortest possible time.",
                            name_words(most->name), share_words(most->work->roof->share), time_words(milliseconds{lost}),
                            time_words(milliseconds{work_time(view, *most->work)}));
}

/// The memory bandwidth of the whole run, from the device's own counters. The picture does not show the utilization of pipes, because it is
/// a share of time, not of FLOP/s. @return n/a for several devices, and without a published bandwidth.
inline std::optional<roofline_figure::band> measured_memory(summary const& all) {
  std::optional<double> const peak = all.limits.peaks.bytes_per_second;
  if (all.utilization.size() != 1 || !all.utilization.front().dram || !peak) return std::nullopt;
  share_of_unit const& dram = *all.utilization.front().dram;
  return roofline_figure::band{dram.min * *peak, dram.mean * *peak, dram.max * *peak};
}

/// Roofs and measured points.
inline roofline_figure roofline_of(report_view const& view) {
  roofline_figure result;
  result.roofs = roofs_of(view.all);
  double const step = view.step_ms();
  for (scope_name_summary const& each : view.all.names) {
    if (!each.work || !declares_work(*each.work) || !each.work->intensity || !each.work->flops_per_second) continue;
    double const share = step > 0.0 ? std::min(1.0, work_time(view, *each.work) / step) : 0.0;
    result.points.push_back({each.name, *each.work->intensity, *each.work->flops_per_second, share});
  }
  result.memory = measured_memory(view.all);
  return result;
}

/// @return n/a if no scope declared work.
inline std::optional<section> work_section(report_view const& view) {
  if (!has_work(view.all)) return std::nullopt;
  section result;
  result.id = "work";
  result.title = "Work and limits";
  result.answer = work_answer(view);
  roofline_figure roofline = roofline_of(view);
  if (!roofline.points.empty() && !roofline.roofs.empty()) result.blocks.emplace_back(figure{result.answer, std::move(roofline)});
  result.blocks.emplace_back(work_rows(view));
  result.blocks.emplace_back(work_table(view.all));
  result.blocks.emplace_back(work_name_table(view.all));
  add_notes(result, work_note, block_use::text);
  add_notes(result, limits_text(view.all.limits), block_use::everywhere);
  if (std::string const impossible = impossible_text(view.all); !impossible.empty()) result.blocks.emplace_back(note{impossible, true});
  add_notes(result, collected_steps_note(view.all), block_use::text);
  result.how_to_read =
      "Rates are declared work divided by the time of the scopes. The roof is the shortest possible time: work divided by the peak of the "
      "device, for "
      "arithmetic or for memory, whichever takes longer. Method: docs/roofline.md.";
  return result;
}

}  // namespace profkit::detail
