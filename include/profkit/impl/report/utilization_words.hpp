// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "../../summary.hpp"
#include "../analyze/gpu/utilization_summary.hpp"
#include "sentence_numbers.hpp"

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
