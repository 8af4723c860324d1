// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/device_summary.hpp"
#include "../analyze/readings.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

// Sentences about declared work and the limits of the device.

namespace PROFKIT_NAMESPACE::detail {

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

/// A line for each share above 100 %, which indicates wrong declared work.
inline std::string impossible_text(summary const& summary) {
  std::size_t count = 0;
  std::string first;
  auto const look_at = [&](auto const& rows) {
    for (auto const& row : rows) {
      auto const is_above = [](std::optional<roof_share> const& roof) { return roof && roof->share > 1.0; };
      bool const is_impossible = row.work && (is_above(row.work->roof) || is_above(row.work->measured_roof));
      if (is_impossible && count++ == 0) first = row.path;
    }
  };
  look_at(summary.scopes);
  look_at(summary.adopted);
  if (count == 0) return {};
  return fmt::format(
      "a share above 100 % is impossible: the work of {} ({} rows) is wrong, has another precision, or its data came from cache",
      one_line(first), count);
}

inline bool has_work(summary const& summary) {
  return std::any_of(summary.scopes.begin(), summary.scopes.end(), [](scope_summary const& row) { return row.work.has_value(); });
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

// The section "Work and limits": declared work, achieved rates, and the limits of the device.

/// Roofs for the precisions of the declared work, published and measured.
inline own_vector<roofline_figure::roof> roofs_of(summary const& all) {
  own_vector<roofline_figure::roof> roofs;
  for (std::size_t precision = 0; precision < precision_count; ++precision) {
    bool const is_used = std::any_of(all.names.begin(), all.names.end(), [&](scope_name_summary const& each) {
      return each.work && each.work->precision.find(precision_names[precision]) != std::string::npos;
    });
    if (!is_used) continue;
    for (device_rates const* const rates : {&all.limits.peaks, &all.limits.measured_rates}) {
      if (!rates->flops_per_second[precision]) continue;
      std::string const source = rates == &all.limits.peaks ? " peak" : " measured";
      roofs.push_back({precision_names[precision] + source, *rates->flops_per_second[precision], rates->bytes_per_second.value_or(0.0)});
    }
  }
  return roofs;
}

/// Time of work in milliseconds: per step; in a session without steps, in total.
inline double work_time(report_view const& view, work_summary const& work) {
  double const steps = static_cast<double>(std::max<std::uint64_t>(1, view.all.gpu ? view.all.gpu->steps : view.all.steps.host.count));
  return view.has_steps() ? work.time.count() / steps : work.time.count();
}

/// Adds a number with four significant digits, because the rates in a column differ by factors.
inline void add_figure(row& to, std::optional<double> const& value, double unit) {
  to.text_if(value.has_value(), format_figure(value, unit), "no such work was declared");
}
inline void add_rates(row& to, work_summary const& work) {
  add_figure(to, work.flops_per_second, 1e12);
  add_figure(to, work.bytes_per_second, 1e9);
  add_figure(to, work.intensity, 1.0);
}
/// Adds the share of the roof, and what limits the work there.
inline void add_roof(row& to, std::optional<roof_share> const& roof, char const* why) {
  if (roof) {
    to.number(roof->share).text(name_of(roof->bound));
  } else {
    to.missing(why).missing(why);
  }
}
inline void add_share_of_roof(row& to, std::optional<roof_share> const& roof, char const* why) {
  to.number(roof ? std::optional{roof->share} : std::nullopt, why);
}

/// A row for each name with declared work, the longest first.
inline data_table work_rows(report_view const& view) {
  constexpr column_use always = column_use::always;
  data_table table{"step_work"};
  table.add_columns({{"scope (by name)"},
                     {"precision", column_kind::text, column_use::wide},
                     {"time", column_kind::milliseconds, always, view.has_steps() ? "per step" : "in all"},
                     {"TFLOP/s", column_kind::real},
                     {"GB/s", column_kind::real},
                     {"FLOP/byte", column_kind::real, column_use::wide},
                     {"of roof", column_kind::share, always, "shortest possible time at the published peaks, divided by the measured time"},
                     {"limited by", column_kind::text, column_use::wide},
                     {"of measured", column_kind::share, always, "the same against the rates that this program measured"}});
  own_vector<scope_name_summary const*> names;
  for (scope_name_summary const& each : view.all.names) {
    if (each.work) names.push_back(&each);
  }
  own_stable_sort(names.begin(), names.end(), [&](scope_name_summary const* a, scope_name_summary const* b) {
    return work_time(view, *a->work) > work_time(view, *b->work);
  });
  for (scope_name_summary const* const each : names) {
    work_summary const& work = *each->work;
    row& next = table.add_row().text(each->name).text_if(!work.precision.empty(), work.precision, "not declared");
    next.number(work_time(view, work));
    add_rates(next, work);
    add_roof(next, work.roof, "no peak or no declared work");
    add_share_of_roof(next, work.measured_roof, "no measured rate");
  }
  return table;
}

inline data_table empty_work_table(char const* name, char const* caption) {
  data_table result = text_list(name, caption);
  result.add_columns({{"scope"},
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
                      {"of time declared", column_kind::share}});
  return result;
}

/// Adds a row if work was declared.
inline void add_work(data_table& to, std::string_view scope, std::uint32_t depth, std::string_view role,
                     std::optional<work_summary> const& work) {
  if (!work) return;
  row& next = to.add_row(depth).text(scope).text(role).text_if(!work->precision.empty(), work->precision, "not declared");
  next.text(work->basis).ms(work->time);
  for (double const amount : {work->flops, work->bytes}) add_figure(next, amount > 0.0 ? std::optional{amount} : std::nullopt, 1e9);
  add_rates(next, *work);
  add_roof(next, work->roof, "no known peak");
  add_share_of_roof(next, work->measured_roof, "no known peak");
  next.number(work->share_of_time_said);
}

/// Declared work of scopes in all measured steps, followed by backward work of adopting scopes.
inline data_table work_table(summary const& all) {
  data_table result = empty_work_table("work", "Work by scope");
  for (scope_summary const& each : all.scopes) add_work(result, each.name, each.depth, "declared", each.work);
  for (adopted_summary const& each : all.adopted) add_work(result, each.name, each.depth, each.role, each.work);
  return result;
}

/// Declared work by scope name, merged over the tree.
inline data_table work_name_table(summary const& all) {
  data_table result = empty_work_table("work_names", "Work by name");
  for (scope_name_summary const& each : all.names) add_work(result, each.name, 0, "declared", each.work);
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
  section result{"work", "Work and limits", work_answer(view)};
  roofline_figure roofline = roofline_of(view);
  if (!roofline.points.empty() && !roofline.roofs.empty()) result.add(figure{result.answer, std::move(roofline)});
  result.add(work_rows(view));
  result.add(work_table(view.all));
  result.add(work_name_table(view.all));
  result.add_notes(work_note, block_use::text);
  result.add_notes(limits_text(view.all.limits));
  if (std::string const impossible = impossible_text(view.all); !impossible.empty()) result.add_note(impossible, true);
  result.add_notes(collected_steps_note(view.all), block_use::text);
  result.how_to_read =
      "Rates are declared work divided by the time of the scopes. The roof is the shortest possible time: work divided by the peak of the "
      "device, for "
      "arithmetic or for memory, whichever takes longer. Method: docs/roofline.md.";
  return result;
}

// Sentences about the utilization of devices.

/// A unit in a sentence about the limit of the run.
struct busiest_unit {
  char const* name = nullptr;
  char const* verb_ending = "";  ///< "s" for one unit: "memory bandwidth limits"
  double share = -1.0;
};

/// The pipe with the highest utilization; without a name if the device reports none.
inline busiest_unit busiest_pipe(utilization_summary const& use) {
  struct pipe {
    std::optional<share_of_unit> utilization_summary::*share;
    char const* name;
  };
  static constexpr pipe pipes[] = {{&utilization_summary::tensor, "tensor pipes"},
                                   {&utilization_summary::fp32, "fp32 pipes"},
                                   {&utilization_summary::fp64, "fp64 pipes"},
                                   {&utilization_summary::fp16, "fp16 pipes"},
                                   {&utilization_summary::integer, "integer pipes"}};
  busiest_unit result;
  for (pipe const& each : pipes) {
    std::optional<share_of_unit> const& share = use.*each.share;
    if (share && share->mean > result.share) result = {each.name, "", share->mean};
  }
  return result;
}

/// One sentence about the limit of the run. The thresholds of 80 % and 60 % are from the rules of Nsight Compute's section "GPU Speed Of
/// Light Throughput", here applied to the whole run.
inline std::string utilization_limit(utilization_summary const& use) {
  constexpr double high = 0.8;
  constexpr double low = 0.6;
  if (use.busy && use.busy->mean < high) {
    return fmt::format("No kernel ran for {} of the time: the host or waiting limits the run.", share_words(1.0 - use.busy->mean));
  }
  busiest_unit most = busiest_pipe(use);
  if (use.dram && use.dram->mean > most.share) most = {"memory bandwidth", "s", use.dram->mean};
  if (most.name == nullptr) return "This device does not report which unit limits the run.";
  if (most.share >= high) return fmt::format("{} limit{} the run.", capitalized(most.name), most.verb_ending);
  if (most.share >= low) return fmt::format("{} come{} close to limiting the run.", capitalized(most.name), most.verb_ending);
  if (use.sm_active && use.sm_active->mean < low) {
    return fmt::format("Kernels leave {} of the SMs without work.", share_words(1.0 - use.sm_active->mean));
  }
  return "No unit is near its limit: kernels wait for data, or for each other.";
}

/// The declared work of whole steps, relative to the peaks to which the device's own shares refer: "declared 38 % of the FLOP roof and 12 %
/// of the bandwidth"; empty if no work is declared.
inline std::string declared_share(summary const& all) {
  std::string text;
  if (all.model && all.model->utilization) text = fmt::format("declared {} of the FLOP roof", share_words(*all.model->utilization));
  // Bytes of backward work are in other rows, and not always known.
  bool const has_backward = std::any_of(all.adopted.begin(), all.adopted.end(), [](adopted_summary const& each) { return each.work; });
  bool const has_bytes = !has_backward && !all.scopes.empty() && all.scopes.front().work;
  if (!has_bytes || !all.steps.step_time || !all.limits.peaks.bytes_per_second) return text;
  double const bytes = all.scopes.front().work->bytes;
  double const steps = static_cast<double>(all.gpu ? all.gpu->steps : all.steps.host.count);
  double const seconds = steps * all.steps.step_time->mean.count() / 1000.0;
  if (!(bytes > 0.0) || !(seconds > 0.0)) return text;
  std::string const share = share_words(bytes / seconds / *all.limits.peaks.bytes_per_second);
  return text.empty() ? fmt::format("declared {} of the bandwidth", share) : text + fmt::format(" and {} of the bandwidth", share);
}

/// "declared 38 % of the FLOP roof; tensor pipes active 61 % of the time; DRAM 23 %".
inline std::string utilization_facts(summary const& all, utilization_summary const& use) {
  std::string text = declared_share(all);
  auto const add = [&](std::string const& words) { text += (text.empty() ? "" : "; ") + words; };
  busiest_unit const pipe = busiest_pipe(use);
  if (pipe.name != nullptr) {
    add(fmt::format("{} active {} of the time", pipe.name, share_words(pipe.share)));
  } else if (use.busy) {
    add(fmt::format("kernels ran {} of the time", share_words(use.busy->mean)));
  }
  if (use.dram) add("DRAM " + share_words(use.dram->mean));
  if (use.memory_active) add(fmt::format("memory in use {}", share_words(use.memory_active->mean)));
  return text;
}

/// Two sentences about the first device. @return empty if utilization was not measured.
inline std::string utilization_answer(summary const& all) {
  if (all.utilization.empty()) return {};
  utilization_summary const& first = all.utilization.front();
  std::string text = capitalized(utilization_facts(all, first)) + ". " + utilization_limit(first);
  if (all.utilization.size() > 1) text = fmt::format("Device {} of {}: {}", first.device, all.utilization.size(), text);
  return text;
}

// The section "GPU utilization": the counters of the devices.

inline char const* name_of(device_unit unit) {
  static constexpr std::array<char const*, device_units> names{"some kernel runs",
                                                               "SMs active",
                                                               "SM occupancy",
                                                               "tensor pipes",
                                                               "tensor, fp64",
                                                               "tensor, fp16, bf16, tf32, fp8",
                                                               "tensor, integer",
                                                               "fp64 pipes",
                                                               "fp32 pipes",
                                                               "fp16 pipes",
                                                               "integer pipes",
                                                               "DRAM bandwidth",
                                                               "memory in use",
                                                               "NVLink, to the device",
                                                               "NVLink, from the device",
                                                               "PCIe, to the device",
                                                               "PCIe, from the device"};
  return names[static_cast<std::size_t>(unit)];
}

inline bool is_part_of_tensor(device_unit unit) {
  return unit == device_unit::tensor_fp64 || unit == device_unit::tensor_float || unit == device_unit::tensor_integer;
}

/// A row for each unit of each device. Omits rarely used units that were idle.
inline data_table unit_table(summary const& all) {
  data_table result{"utilization"};
  result.add_columns({{"unit"},
                      {"mean", column_kind::share, column_use::always, "share of the time, or of the maximum of the device"},
                      {"", column_kind::bar},
                      {"min", column_kind::share, column_use::always, "lowest window"},
                      {"max", column_kind::share, column_use::always, "highest window"}});
  for (utilization_summary const& use : all.utilization) {
    result.add_heading(fmt::format("Device {}: {}, {} in all, {}", use.device, counted(use.windows, "window", "windows"),
                                   time_words(use.covered), one_line(use.source)));
    for (unit_member const& member : unit_members) {
      if (member.share == nullptr) continue;
      std::optional<share_of_unit> const& share = use.*member.share;
      bool const is_part = is_part_of_tensor(member.unit);
      bool const is_rare = is_part || member.unit == device_unit::fp64 || member.unit == device_unit::fp16;
      if (!share || (is_rare && share->max <= 0.0)) continue;
      row& next = result.add_row(is_part ? 1 : 0).text(name_of(member.unit)).number(share->mean);
      next.bar({{colour::busy, 0, share->mean}}).number(share->min).number(share->max);
    }
  }
  return result;
}

/// A row for each link of each device that transferred data.
inline data_table link_table(summary const& all) {
  data_table result{"utilization_links"};
  result.add_columns({{"link"}, {"GB/s", column_kind::real}, {"min", column_kind::real}, {"max", column_kind::real}});
  for (utilization_summary const& use : all.utilization) {
    for (unit_member const& member : unit_members) {
      if (member.rate == nullptr) continue;
      std::optional<rate_of_unit> const& rate = use.*member.rate;
      if (!rate || rate->max <= 0.0) continue;
      std::string const device = all.utilization.size() > 1 ? fmt::format("device {}: ", use.device) : std::string{};
      row& next = result.add_row().text(device + name_of(member.unit));
      for (double const figure : {rate->mean, rate->min, rate->max}) next.text(format_figure(figure, 1e9));
    }
  }
  return result;
}

/// @return n/a if utilization was not measured.
inline std::optional<section> utilization_section(report_view const& view) {
  if (view.all.utilization.empty()) return std::nullopt;
  section result{"utilization", "GPU utilization", utilization_answer(view.all)};
  result.add(unit_table(view.all));
  result.add_unless_empty(link_table(view.all));
  result.add_note(
      "Active is not efficient: a pipe is active whenever it works on an instruction. The counters cover the whole device and all "
      "programs on it, over windows of a second or more: they do not describe a single scope or kernel.");
  result.how_to_read =
      "Counters of the device in the measured steps. Pipes: share of the time in which they were active, averaged over the SMs. DRAM: "
      "transferred bytes, as a share of the maximum bandwidth. Method: docs/utilization.md.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
