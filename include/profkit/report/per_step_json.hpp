// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "../analyze/summary.hpp"
#include "json_writer.hpp"

namespace profkit::detail {

/// @param of null: three nulls.
inline void write_per_step_figures(json_writer& json, std::string const& what, per_step_figures const* of) {
  auto const ms = [](std::optional<milliseconds> value) { return value ? std::optional{value->count()} : std::nullopt; };
  json.member(what + "_mean_ms", of != nullptr ? std::optional{of->mean.count()} : std::nullopt);
  json.member(what + "_std_ms", of != nullptr ? ms(of->standard_deviation) : std::nullopt);
  json.member(what + "_autocorrelation", of != nullptr ? of->autocorrelation : std::nullopt);
}

/// What `profkit compare` compares.
inline void write_per_step(json_writer& json, std::optional<scope_per_step> const& of) {
  json.key("per_step");
  if (!of) {
    json.value(std::nullopt);
    return;
  }
  json.begin_object();
  json.member("steps", of->steps);
  write_per_step_figures(json, "host", &of->host);
  write_per_step_figures(json, "gpu", of->gpu ? &*of->gpu : nullptr);
  json.member("gpu_host_copies_mean_ms", of->host_copies ? std::optional{of->host_copies->count()} : std::nullopt);
  json.end_object();
}

inline void write_per_step(json_writer& json, std::optional<kernel_per_step> const& of) {
  json.key("per_step");
  if (!of) {
    json.value(std::nullopt);
    return;
  }
  json.begin_object();
  json.member("steps", of->steps);
  write_per_step_figures(json, "gpu", &of->gpu);
  json.end_object();
}

}  // namespace profkit::detail
