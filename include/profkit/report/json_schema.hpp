// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "json_text.hpp"

namespace profkit::detail {

/// Grows when a field of `report.json` changes its meaning or is removed.
inline constexpr std::uint32_t report_json_schema = 1;
/// Grows when fields are added.
inline constexpr std::uint32_t report_json_schema_minor = 1;

/// Adds the first members of `report.json`: its schema, and the library that wrote it.
inline void add_json_schema(json_object& document) {
  document.add("schema", json_value(report_json_schema));
  document.add("schema_minor", json_value(report_json_schema_minor));
  document.object("profkit").add("version", json_value(version));
}

}  // namespace profkit::detail
