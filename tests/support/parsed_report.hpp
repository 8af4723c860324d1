// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze.hpp>
#include <profkit/report.hpp>

#include <nlohmann/json.hpp>

#include "testing.hpp"

using nlohmann::json;
using nlohmann::literals::operator""_json;

inline profkit::report report_of(profkit::profile profile) {
  return profkit::report{std::make_shared<profkit::profile const>(std::move(profile))};
}

/// The content of report.json.
inline json json_of(profkit::summary const& summary) { return json::parse(profkit::report_json(summary)); }
inline json json_of(profkit::profile const& profile) { return json_of(profkit::analyze(profile)); }
inline json json_of(profkit::report const& report) { return json_of(report.summary()); }

/// Checks members of an object by name, or by a JSON pointer such as "/clocks/0/mean_mhz". Floating-point numbers may differ by rounding.
inline void check_members(json const& found, json const& expected) {
  for (auto const& [name, value] : expected.items()) {
    INFO(name);
    json const& other = name.front() == '/' ? found.at(json::json_pointer{name}) : found.at(name);
    if (value.is_number_float()) {
      CHECK(other.get<double>() == Approx(value.get<double>()));
    } else {
      CHECK(other == value);
    }
  }
}
