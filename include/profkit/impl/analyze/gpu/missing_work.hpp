// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../../profile.hpp"
#include "../../profile/own_memory.hpp"
#include "api_call_kind.hpp"

namespace profkit::detail {

/// Counts the GPU work that is missing in a copy of a running session's profile.
/// @param times_steps whether a collector adds to `profile::gpu_steps`.
/// @param into receives the counts.
inline void count_missing_work(profile const& so_far, bool times_steps, snapshot_record& into) {
  own_vector<bool> launches;  // by position in `api_names`: whether calls launch work
  for (std::string const& name : so_far.api_names) {
    api_call_kind const kind = kind_of_api_call(name);
    launches.push_back(kind == api_call_kind::launch || kind == api_call_kind::copy);
  }
  own_vector<std::uint64_t> arrived;
  arrived.reserve(so_far.gpu_operations.size());
  for (gpu_operation_record const& each : so_far.gpu_operations) arrived.push_back(each.correlation);
  if (!std::is_sorted(arrived.begin(), arrived.end())) std::sort(arrived.begin(), arrived.end());
  into.missing_operations =
      static_cast<std::uint64_t>(std::count_if(so_far.api_calls.begin(), so_far.api_calls.end(), [&](api_call_record const& call) {
        return launches[call.name] && !std::binary_search(arrived.begin(), arrived.end(), call.correlation);
      }));
  if (!times_steps) return;
  own_vector<std::uint64_t> timed;
  for (gpu_step_record const& each : so_far.gpu_steps) timed.push_back(each.step);
  std::sort(timed.begin(), timed.end());
  into.untimed_steps = static_cast<std::uint64_t>(std::count_if(so_far.steps.begin(), so_far.steps.end(), [&](step_record const& step) {
    return !std::binary_search(timed.begin(), timed.end(), step.index);
  }));
}

}  // namespace profkit::detail
