// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../analyze/ranks/job_fields.hpp"
#include "../analyze/ranks/job_summary.hpp"
#include "../profile/described.hpp"
#include "../version.hpp"
#include "json_text.hpp"

namespace profkit {

namespace detail {

/// Writes described values. Names end in their unit.
class job_json {
 public:
  template <class T>
  static std::string text(T const& value, std::size_t depth) {
    if constexpr (is_described<T>) {
      json_object object{depth};
      for_each_element(describe(described_type<T>{}),
                       [&](auto const& each) { object.add(each.name, text(value.*each.member, depth + 1)); });
      return object.text();
    } else if constexpr (std::is_same_v<T, milliseconds>) {
      return json_value(value.count());
    } else {
      return json_value(value);
    }
  }
  template <class T>
  static std::string text(std::optional<T> const& value, std::size_t depth) {
    return value ? text(*value, depth) : json_value(std::nullopt);
  }
  template <class T>
  static std::string text(std::vector<T> const& values, std::size_t depth) {
    json_list list{depth};
    for (T const& each : values) list.add(text(each, depth + 1));
    return std::move(list).take();
  }
};

}  // namespace detail

/// @brief The figures of a job of many ranks as JSON: times in ms, sizes in bytes, shares as fractions. Unknown values are null.
[[nodiscard]] inline std::string ranks_json(job_summary const& job) {
  detail::json_object document{0};
  document.add("schema", detail::json_value(1));
  document.object("profkit").add("version", detail::json_value(version));
  document.add("job", detail::job_json::text(job, 1));
  return document.text() + "\n";
}

}  // namespace profkit
