// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// The activity of a thread at a moment.
struct thread_state {
  std::uint32_t scope = attribution::none;  ///< the innermost scope that was open
  std::optional<idle_cause> call;           ///< the thread was in a call that waits for the device or copies
  bool is_launching = false;                ///< the thread was in a launching call, or between two close launching calls
};

/// The scopes and API calls of one system thread.
class thread_timeline {
 public:
  /// @param scopes in the order of their ends.
  thread_timeline(profile const& profile, grouped_positions::range scopes, thread_calls const& calls)
      : profile_{profile}, scopes_{scopes}, calls_{calls.blocking}, launching_{calls.launching} {}

  [[nodiscard]] grouped_positions::range scopes() const noexcept { return scopes_; }

  /// Cuts intervals where the state of the thread changes, from the last interval to the first.
  /// @param intervals in time order, disjoint.
  /// @param visit called with the position of an interval, a part of it and the `thread_state` there.
  template <class Intervals, class TimeOf, class Visit>
  void cut(Intervals const& intervals, TimeOf const& time_of, Visit const& visit) const {
    cutting<Intervals, TimeOf, Visit>{
        intervals, time_of, visit, launching_, intervals.size(), timestamp::max(), launching_.size(), {}}(*this);
  }

 private:
  struct open_range {
    timestamp begin;
    thread_state state;
  };

  // Backwards, a range comes before the ranges inside it, so a stack holds the open ranges.
  template <class Intervals, class TimeOf, class Visit>
  struct cutting {
    Intervals const& intervals;
    TimeOf const& time_of;
    Visit const& visit;
    own_vector<interval> const& launching;
    std::size_t left;            ///< number of intervals not visited yet
    timestamp visited_to;        ///< the last of them is visited from here on
    std::size_t launching_left;  ///< number of launching intervals not completely after the visited part
    own_vector<open_range> open;

    void operator()(thread_timeline const& on) {
      std::size_t scopes_left = on.scopes_.size();
      std::size_t calls_left = on.calls_.size();
      while (scopes_left + calls_left > 0) {
        std::uint32_t const scope = scopes_left > 0 ? on.scopes_[scopes_left - 1] : attribution::none;
        blocking_call const* const last_call = calls_left > 0 ? &on.calls_[calls_left - 1] : nullptr;
        if (last_call == nullptr || (scope != attribution::none && on.profile_.scopes[scope].time.end >= last_call->time.end)) {
          enter(on.profile_.scopes[scope].time, {scope, std::nullopt, false});
          --scopes_left;
        } else {
          close_from(last_call->time.end);
          enter(last_call->time, {state().scope, last_call->cause, false});
          --calls_left;
        }
      }
      close_from(timestamp::min());
    }

    [[nodiscard]] thread_state state() const { return open.empty() ? thread_state{} : open.back().state; }

    void enter(interval const& range, thread_state const& now) {
      close_from(range.end);
      open.push_back({range.begin, now});
    }

    void close_from(timestamp moment) {
      for (; !open.empty() && open.back().begin >= moment; open.pop_back()) visit_from(open.back().begin);
      visit_from(moment);
    }

    void visit_from(timestamp moment) {
      for (; left > 0; --left, visited_to = timestamp::max()) {
        interval const& time = time_of(intervals[left - 1]);
        timestamp const end = std::min(time.end, visited_to);
        if (end <= moment) return;
        visit_part({std::max(time.begin, moment), end});
        if (time.begin >= moment) continue;
        visited_to = moment;
        return;
      }
    }

    /// Launching intervals can cross scopes, so they cut the parts again.
    void visit_part(interval part) {
      while (part.begin < part.end) {
        while (launching_left > 0 && launching[launching_left - 1].begin >= part.end) --launching_left;
        interval const before = launching_left > 0 ? launching[launching_left - 1] : interval{timestamp::min(), timestamp::min()};
        thread_state now = state();
        now.is_launching = before.end >= part.end;
        timestamp const from = std::max(part.begin, now.is_launching ? before.begin : before.end);
        visit(left - 1, interval{from, part.end}, now);
        part.end = from;
      }
    }
  };

  profile const& profile_;
  grouped_positions::range scopes_;
  own_vector<blocking_call> const& calls_;
  own_vector<interval> const& launching_;
};

}  // namespace PROFKIT_NAMESPACE::detail
