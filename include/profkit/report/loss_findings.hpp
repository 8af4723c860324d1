// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "../analyze/summary.hpp"
#include "../profile/own_memory.hpp"
#include "sentence_numbers.hpp"

// Findings about data that is missing.

namespace profkit::detail {

/// One kind of lost data, which no figure includes.
struct lost_data {
  std::uint64_t count = 0;
  std::uint64_t total = 0;  ///< recorded and lost; 0: unknown
  char const* what = "";
  char const* remedy = "";  ///< null: no finding, because other figures cover the same work
};

/// All kinds of losses, including those that did not occur.
inline own_vector<lost_data> losses(summary const& all) {
  quality_record const& quality = all.quality;
  std::uint64_t const operations = all.gpu ? all.gpu->all.operations : 0;
  std::uint64_t const scopes = all.scopes_recorded;
  return {{quality.dropped_events, scopes + quality.dropped_events, "scopes and counters dropped",
           "Give the logs of threads more memory (log=SIZE), or open fewer scopes."},
          {quality.discarded_records, scopes + operations + quality.discarded_records, "records beyond records=N",
           "Raise records=N; the figures do not contain these records."},
          {quality.dropped_operations + quality.invalid_operations, operations + quality.dropped_operations + quality.invalid_operations,
           "GPU operations dropped or without a valid time", "Collect kernels in fewer steps (kernels=every:N)."},
          {quality.unread_gpu_times, 0, "GPU times of scopes and steps not read", "Wait for the GPU before the session ends."},
          {quality.untimed_gpu_scopes, 0, "GPU scopes that could not be timed", nullptr},
          {quality.misnested_scopes + quality.unmatched_ends, scopes + quality.unmatched_ends, "scopes ended wrongly",
           "Open and close a scope on one thread, without longjmp; report=full names the places."},
          {quality.abandoned_steps, all.steps.host.count + all.steps.warmup + all.steps.excluded + quality.abandoned_steps,
           "steps exited by an exception", "Find the exception: these steps are in no figure."}};
}

/// (f) The largest loss.
inline std::optional<finding> loss_finding(summary const& all) {
  lost_data worst;
  std::size_t kinds = 0;
  for (lost_data const& each : losses(all)) {
    if (each.count == 0 || each.remedy == nullptr) continue;
    ++kinds;
    if (each.count > worst.count) worst = each;
  }
  if (kinds == 0) return std::nullopt;
  std::string const share = worst.total > 0 ? fmt::format(" of {} ({})", count_words(worst.total),
                                                          share_words(static_cast<double>(worst.count) / static_cast<double>(worst.total)))
                                            : "";
  std::string const more = kinds > 1 ? fmt::format(" {} more kinds of loss are listed in the data quality.", kinds - 1) : "";
  return finding{"Data is missing.", fmt::format("{} {}{}.{}", count_words(worst.count), worst.what, share, more), worst.remedy, {}};
}

/// Reports a session without measured steps, in which most figures cannot be computed.
inline std::optional<finding> no_steps_finding(summary const& all) {
  if (!all.quality.not_recorded.empty()) return std::nullopt;
  if (all.covers_steps) {
    return finding{"All steps were warm-up, excluded or abandoned.",
                   "Figures cover measured steps only.",
                   "Run more steps than warmup=N, or lower warmup=N.",
                   {}};
  }
  return finding{"The figures cover the whole session.",
                 "Without steps there is no time per step, no step budget and no verdict on noise.",
                 "Make the iterations of the main loop steps: for (profkit::step step : session).",
                 {}};
}

}  // namespace profkit::detail
