// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../analyze/gpu/device_clocks.hpp"
#include "../analyze/summary.hpp"
#include "gpu_json.hpp"
#include "json_writer.hpp"
#include "verdict_text.hpp"

namespace profkit::detail {

/// @param prefix of the names: "" or "gpu_".
/// @param of null: not measured.
inline void write_verdict(json_writer& json, std::string const& prefix, verdict_summary const* of,
                          std::vector<clock_summary> const& clocks) {
  auto const member = [&](char const* name, auto const& value) { json.member(prefix + name, value); };
  verdict_summary const known = of == nullptr ? verdict_summary{} : *of;
  auto const if_known = [&](auto value) { return of == nullptr ? std::nullopt : std::optional{value}; };
  member("mad_ms", count_of(known.mad));
  member("ci95_low_ms", count_of(known.ci95_low));
  member("ci95_high_ms", count_of(known.ci95_high));
  member("effective_samples", known.effective_samples);
  member("outliers", if_known(known.outliers));
  member("drift_percent", known.drift ? std::optional{100.0 * *known.drift} : std::nullopt);
  member("drift_p_value", known.drift_p_value);
  member("verdict", if_known(verdict_name(known.verdict)));
  member("verdict_reason", if_known(verdict_reason(known, clocks)));
  member("steady_from", known.steady_from);
  member("warmup_verdict", if_known(warmup_words(known)));
}

/// One object for each device; null where they were not read.
inline void write_clocks(json_writer& json, std::vector<clock_summary> const& of) {
  write_list(json, "clocks", of.empty() ? nullptr : &of, [&](clock_summary const& each) {
    json.member("device", each.device);
    json.member("readings", each.readings);
    json.member("throttled_readings", each.throttled_readings);
    json.member("min_mhz", each.min_mhz);
    json.member("mean_mhz", each.mean_mhz);
    json.member("max_mhz", each.max_mhz);
    json.member("highest_mhz", each.highest_mhz);
    json.key("reasons");
    json.begin_array();
    for (std::string const& reason : clock_reason_names(each.reasons)) json.value(reason);
    json.end_array();
    json.member("mean_watt", each.mean_watt);
    json.member("max_watt", each.max_watt);
    json.member("max_celsius", each.max_celsius);
  });
}

/// Null where the number of steps was fixed.
inline void write_stop(json_writer& json, std::optional<stop_record> const& of) {
  if (!of) return json.member("stop", std::nullopt);
  json.key("stop");
  json.begin_object();
  json.member("wanted_percent", 100.0 * of->wanted);
  json.member("reached_percent", of->reached ? std::optional{100.0 * *of->reached} : std::nullopt);
  json.member("by", of->is_of_gpu ? "GPU step time" : "host step time");
  json.member("most_steps", of->most_steps);
  json.end_object();
}

}  // namespace profkit::detail
