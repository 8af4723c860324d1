// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../merge/gpu_period_list.hpp"
#include "../merge/step_list.hpp"
#include "../merge/step_series.hpp"
#include "../merge/trend_part.hpp"
#include "../verdict/level_change.hpp"
#include "durations.hpp"

namespace profkit::detail {

/// The duration of a measured step on the host or on the devices, or the mean of consecutive steps.
struct dated_step {
  std::uint64_t index = 0;  ///< `step_record::index` of the first
  timestamp begin;          ///< beginning on the host
  double ms = 0.0;
};

/// Computes the history of the measured steps of a run.
class run_trend {
 public:
  /// @param session_begin 0: unknown.
  run_trend(timestamp session_begin, step_list const& steps) {
    steps_ = measured_in(steps.host());
    own_stable_sort(steps_.begin(), steps_.end(), [](dated_step const& a, dated_step const& b) { return a.begin < b.begin; });
    begin_ = session_begin != timestamp{} || steps_.empty() ? session_begin : steps_.front().begin;
  }

  /// @param memory in the order of the first readings.
  /// @param gpu GPU periods of the same steps if they are longer than the host times; otherwise null.
  [[nodiscard]] run_trend_summary summarize(trend_part const& parts, own_vector<memory_summary> const& memory,
                                            gpu_period_list const* gpu) const {
    run_trend_summary result = parts.summarize(begin_, memory);
    if (gpu == nullptr) {
      result.change = change_in(steps_, false);
      return result;
    }
    result.change = change_in(measured_in(gpu->measured()), true);
    return result;
  }

 private:
  static own_vector<dated_step> measured_in(step_series const& steps) {
    own_vector<dated_step> result;
    for (step_group const& each : steps.groups()) {
      if (!each.is_warmup) result.push_back({each.index, each.begin, each.mean_ms()});
    }
    return result;
  }

  [[nodiscard]] std::optional<level_change_summary> change_in(own_vector<dated_step> const& steps, bool is_of_gpu) const {
    own_vector<double> ms;
    ms.reserve(steps.size());
    for (dated_step const& step : steps) ms.push_back(step.ms);
    auto const found = find_level_change(ms);
    if (!found) return std::nullopt;
    dated_step const& step = steps[found->at];
    level_change_summary result;
    result.step = step.index;
    result.time = step.begin.time_since_epoch();
    result.begin = step.begin - begin_;
    result.before = milliseconds{found->before};
    result.after = milliseconds{found->after};
    result.p_value = found->p_value;
    result.is_of_gpu = is_of_gpu;
    return result;
  }

  own_vector<dated_step> steps_;  ///< in the order of time
  timestamp begin_;               ///< beginning of the session
};

}  // namespace profkit::detail
