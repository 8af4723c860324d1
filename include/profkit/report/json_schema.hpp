// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../version.hpp"
#include "json_text.hpp"

namespace profkit::detail {

/// Grows when a field of `report.json` changes its meaning or is removed.
inline constexpr std::uint32_t report_json_schema = 1;
/// Grows when fields are added.
inline constexpr std::uint32_t report_json_schema_minor = 2;

/// Adds the first members of `report.json`: its schema, the library that wrote it, and what `read_report_head` reads.
/// @param process_id of the process that was measured; 0: several processes, or unknown.
/// @param files the files of the folder that belong to the report.
inline void add_json_schema(json_object& document, std::uint64_t process_id = 0, std::vector<std::string> const& files = {}) {
  document.add("schema", json_value(report_json_schema));
  document.add("schema_minor", json_value(report_json_schema_minor));
  json_object& own = document.object("profkit");
  own.add("version", json_value(version));
  own.add("process_id", process_id == 0 ? json_value(std::nullopt) : json_value(process_id));
  json_list names{own.depth() + 1};
  for (std::string const& name : files) names.add(json_string(name));
  own.add("files", std::move(names).take());
}

}  // namespace profkit::detail
