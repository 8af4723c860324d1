// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/device_summary.hpp"
#include "../analyze/readings.hpp"
#include "numbers.hpp"
#include "report_view.hpp"
#include "work_section.hpp"

// Sentences about the utilization of devices.

namespace profkit::detail {

/// A unit in a sentence about the limit of the run. @param name with its article, such as "the tensor pipes".
struct busiest_unit {
  char const* name = nullptr;
  char const* verb_ending = "";  ///< "s" for one unit: "memory bandwidth limits"
  double share = -1.0;
};

/// The pipe with the highest utilization; without a name if the device reports none.
inline busiest_unit busiest_pipe(utilization_summary const& use) {
  busiest_unit result;
  auto const look_at = [&](std::optional<share_of_unit> const& share, char const* name) {
    if (share && share->mean > result.share) result = {name, "", share->mean};
  };
  look_at(use.tensor, "tensor pipes");
  look_at(use.fp32, "fp32 pipes");
  look_at(use.fp64, "fp64 pipes");
  look_at(use.fp16, "fp16 pipes");
  look_at(use.integer, "integer pipes");
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

}  // namespace profkit::detail

// The section "GPU utilization": the counters of the devices.

namespace profkit::detail {

/// The name of a unit in a table. Parts of a unit have a greater depth.
struct unit_name {
  char const* name;
  unsigned depth = 0;
};

inline unit_name name_of(device_unit unit) {
  switch (unit) {
    case device_unit::busy:
      return {"some kernel runs"};
    case device_unit::sm_active:
      return {"SMs active"};
    case device_unit::sm_occupancy:
      return {"SM occupancy"};
    case device_unit::tensor:
      return {"tensor pipes"};
    case device_unit::tensor_fp64:
      return {"tensor, fp64", 1};
    case device_unit::tensor_float:
      return {"tensor, fp16, bf16, tf32, fp8", 1};
    case device_unit::tensor_integer:
      return {"tensor, integer", 1};
    case device_unit::fp64:
      return {"fp64 pipes"};
    case device_unit::fp32:
      return {"fp32 pipes"};
    case device_unit::fp16:
      return {"fp16 pipes"};
    case device_unit::integer:
      return {"integer pipes"};
    case device_unit::dram:
      return {"DRAM bandwidth"};
    case device_unit::memory_active:
      return {"memory in use"};
    case device_unit::nvlink_receive:
      return {"NVLink, to the device"};
    case device_unit::nvlink_send:
      return {"NVLink, from the device"};
    case device_unit::pcie_receive:
      return {"PCIe, to the device"};
    case device_unit::pcie_send:
      return {"PCIe, from the device"};
  }
  return {"unknown"};
}

/// "Device 0: 5 windows, 5.02 s, GPM counters".
inline std::string utilization_title(utilization_summary const& use) {
  return fmt::format("Device {}: {}, {} in all, {}", use.device, counted(use.windows, "window", "windows"), time_words(use.covered),
                     one_line(use.source));
}

/// A row for each unit of each device. Omits rarely used units that were idle.
inline data_table unit_table(summary const& all) {
  data_table result;
  result.name = "utilization";
  result.columns = {{"unit"},
                    {"mean", column_kind::share, column_use::always, "share of the time, or of the maximum of the device"},
                    {"", column_kind::bar},
                    {"min", column_kind::share, column_use::always, "lowest window"},
                    {"max", column_kind::share, column_use::always, "highest window"}};
  for (utilization_summary const& use : all.utilization) {
    result.rows.push_back(heading_row(utilization_title(use), result.columns.size()));
    for (unit_member const& member : unit_members) {
      if (member.share == nullptr) continue;
      std::optional<share_of_unit> const& share = use.*member.share;
      unit_name const name = name_of(member.unit);
      bool const is_rare = name.depth > 0 || member.unit == device_unit::fp64 || member.unit == device_unit::fp16;
      if (!share || (is_rare && share->max <= 0.0)) continue;
      result.rows.push_back(row_at(name.depth, {text_cell(name.name), number_cell(share->mean), bar({{colour::busy, 0, share->mean}}),
                                                number_cell(share->min), number_cell(share->max)}));
    }
  }
  return result;
}

/// A row for each link of each device that transferred data.
inline data_table link_table(summary const& all) {
  data_table result;
  result.name = "utilization_links";
  result.columns = {{"link"}, {"GB/s", column_kind::real}, {"min", column_kind::real}, {"max", column_kind::real}};
  for (utilization_summary const& use : all.utilization) {
    for (unit_member const& member : unit_members) {
      if (member.rate == nullptr) continue;
      std::optional<rate_of_unit> const& rate = use.*member.rate;
      if (!rate || rate->max <= 0.0) continue;
      std::string const device = all.utilization.size() > 1 ? fmt::format("device {}: ", use.device) : std::string{};
      result.rows.push_back(row_at(0, {text_cell(device + name_of(member.unit).name), text_cell(format_figure(rate->mean, 1e9)),
                                       text_cell(format_figure(rate->min, 1e9)), text_cell(format_figure(rate->max, 1e9))}));
    }
  }
  return result;
}

/// @return n/a if utilization was not measured.
inline std::optional<section> utilization_section(report_view const& view) {
  if (view.all.utilization.empty()) return std::nullopt;
  section result;
  result.id = "utilization";
  result.title = "GPU utilization";
  result.answer = utilization_answer(view.all);
  result.blocks.emplace_back(unit_table(view.all));
  if (data_table links = link_table(view.all); !links.rows.empty()) result.blocks.emplace_back(std::move(links));
  result.blocks.emplace_back(
      note{"Active is not efficient: a pipe is active whenever it works on an instruction. The counters cover the whole device and all "
           "programs on it, over windows of a second or more: they do not describe a single scope or kernel."});
  result.how_to_read =
      "Counters of the device in the measured steps. Pipes: share of the time in which they were active, averaged over the SMs. DRAM: "
      "transferred bytes, as a share of the maximum bandwidth. Method: docs/utilization.md.";
  return result;
}

}  // namespace profkit::detail
