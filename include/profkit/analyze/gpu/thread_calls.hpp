// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "../time/thread_lanes.hpp"
#include "api_call_kind.hpp"
#include "attribution.hpp"

namespace profkit::detail {

/// Maximum pause between two launching calls of a thread that counts as launch-bound. Longer pauses count as host work of the program.
///
/// Between two launches, the framework prepares the next operation (dispatch, allocation, the runtime above the driver call). The value is
/// measured in the four LibTorch runs of tests/data without a CUDA graph (H200, busy host, 708 to 2,328 pauses each). 97.4 to 99.7 % of the
/// pauses inside the steps are at most this long; their medians are 7 to 13 us.
inline constexpr std::chrono::microseconds max_launch_pause{50};

/// A call in which the host can wait.
struct blocking_call {
  interval time;
  idle_cause cause;
};

/// The API calls of one system thread that explain GPU idle time.
struct thread_calls {
  own_vector<blocking_call> blocking;  ///< in the order of their ends
  own_vector<interval> launching;      ///< launching calls, including short pauses between them; in time order, disjoint

  /// Whether a launching call was recorded.
  [[nodiscard]] bool has_launches() const noexcept { return !launching.empty(); }
};

/// Adds a launching call. It is joined with the previous call if both overlap or are at most `max_launch_pause` apart.
inline void add_launch(own_vector<interval>& calls, interval const& call) {
  bool const is_close = !calls.empty() && calls.back().begin <= call.begin && call.begin - calls.back().end <= max_launch_pause;
  if (is_close) {
    calls.back().end = std::max(calls.back().end, call.end);
  } else {
    calls.push_back(call);
  }
}

/// Sorts and joins calls that were added out of order.
inline void sort_launches(own_vector<interval>& calls) {
  auto const by_begin = [](interval const& a, interval const& b) { return a.begin < b.begin; };
  if (std::is_sorted(calls.begin(), calls.end(), by_begin)) return;
  std::sort(calls.begin(), calls.end(), by_begin);
  own_vector<interval> joined;
  for (interval const& call : calls) add_launch(joined, call);
  calls = std::move(joined);
}

/// The calls of each lane of `thread_lanes`. A launching call enqueues work: by its name, or because an operation refers to it. Copying
/// calls are launching calls too, but idle time during one has the cause `copy`.
inline own_vector<thread_calls> calls_by_lane(profile const& profile, attribution const& launched) {
  own_vector<api_call_kind> kinds;
  for (std::string const& name : profile.api_names) kinds.push_back(kind_of_api_call(name));
  own_vector<thread_calls> result(launched.lanes.count());
  for (std::size_t i = 0; i < profile.api_calls.size(); ++i) {
    api_call_record const& call = profile.api_calls[i];
    thread_calls& to = result[launched.lanes.lane_of(call.thread)];
    api_call_kind const kind = kinds[call.name];
    if (kind == api_call_kind::synchronisation) {
      to.blocking.push_back({call.time, idle_cause::synchronisation});
      continue;
    }
    if (kind == api_call_kind::copy) to.blocking.push_back({call.time, idle_cause::copy});
    if (kind != api_call_kind::other || launched.has_operation[i]) add_launch(to.launching, call.time);
  }
  for (thread_calls& each : result) {
    own_stable_sort(each.blocking.begin(), each.blocking.end(),
                    [](blocking_call const& a, blocking_call const& b) { return a.time.end < b.time.end; });
    sort_launches(each.launching);
  }
  return result;
}

}  // namespace profkit::detail
