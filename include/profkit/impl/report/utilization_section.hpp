// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../analyze/gpu/device_utilization.hpp"
#include "cells.hpp"
#include "report_view.hpp"
#include "sentence_numbers.hpp"
#include "utilization_words.hpp"
#include "work_words.hpp"

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
