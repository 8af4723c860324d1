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

/// What `profkit compare` compares, as `per_step`; null if there is none.
template <class PerStep, class WriteFigures>
void write_per_step_object(json_writer& json, std::optional<PerStep> const& of, WriteFigures&& write_figures) {
  json.key("per_step");
  if (!of) {
    json.value(std::nullopt);
    return;
  }
  json.begin_object();
  json.member("steps", of->steps);
  write_figures(*of);
  json.end_object();
}

inline void write_per_step(json_writer& json, std::optional<scope_per_step> const& of) {
  write_per_step_object(json, of, [&](scope_per_step const& known) {
    write_per_step_figures(json, "host", &known.host);
    json.member("gpu_steps", known.gpu ? std::optional{known.gpu_steps} : std::nullopt);
    write_per_step_figures(json, "gpu", known.gpu ? &*known.gpu : nullptr);
    json.member("gpu_host_copies_mean_ms", known.host_copies ? std::optional{known.host_copies->count()} : std::nullopt);
  });
}

inline void write_per_step(json_writer& json, std::optional<kernel_per_step> const& of) {
  write_per_step_object(json, of, [&](kernel_per_step const& known) { write_per_step_figures(json, "gpu", &known.gpu); });
}

}  // namespace profkit::detail
