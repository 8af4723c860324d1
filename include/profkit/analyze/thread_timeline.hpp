// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "attribution.hpp"
#include "summary.hpp"
#include "thread_lanes.hpp"

namespace profkit::detail {

/// What a thread was doing at some moment.
struct thread_state {
  std::uint32_t scope = attribution::none;  ///< the innermost scope that was open
  std::optional<idle_cause> call;           ///< it was in a call that waits for the device, or copies
};

/// Of an API call that can hold the host up; n/a of others.
inline std::optional<idle_cause> cause_of_call(std::string_view name) {
  auto const has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Synchronize")) return idle_cause::synchronisation;
  if (has("Memcpy") || has("Memset")) return idle_cause::copy;
  return std::nullopt;
}

/// A call that can hold the host up.
struct blocking_call {
  interval time;
  idle_cause cause;
};

/// Those of each thread of the system, in the order in which they ended.
class blocking_calls {
 public:
  blocking_calls(profile const& of, thread_lanes const& lanes) : by_lane_(lanes.count()) {
    std::vector<std::optional<idle_cause>> causes;
    for (std::string const& name : of.api_names) causes.push_back(cause_of_call(name));
    for (api_call_record const& call : of.api_calls) {
      if (causes[call.name]) by_lane_[lanes.lane_of(call.thread)].push_back({call.time, *causes[call.name]});
    }
    for (std::vector<blocking_call>& calls : by_lane_) {
      std::stable_sort(calls.begin(), calls.end(), [](blocking_call const& a, blocking_call const& b) { return a.time.end < b.time.end; });
    }
  }

  [[nodiscard]] std::vector<blocking_call> const& in(std::size_t lane) const { return by_lane_[lane]; }

 private:
  std::vector<std::vector<blocking_call>> by_lane_;
};

/// The scopes of one thread of the system and those of its calls that can hold it up.
class thread_timeline {
 public:
  /// @param scopes in the order in which they ended.
  /// @param calls likewise.
  thread_timeline(profile const& of, grouped_positions::range scopes, std::vector<blocking_call> const& calls)
      : of_{of}, scopes_{scopes}, calls_{calls} {}

  [[nodiscard]] grouped_positions::range scopes() const noexcept { return scopes_; }

  /// Cuts intervals where the thread's state changes, and says what it was. From the last to the first.
  /// @param intervals in the order of time, disjoint.
  /// @param visit takes the position of an interval, a part of it and a `thread_state`.
  template <class Intervals, class TimeOf, class Visit>
  void cut(Intervals const& intervals, TimeOf const& time_of, Visit const& visit) const {
    cutting<Intervals, TimeOf, Visit>{intervals, time_of, visit, intervals.size(), timestamp::max(), {}}(*this);
  }

 private:
  struct open_range {
    timestamp begin;
    thread_state state;
  };

  // Backwards, a range comes before those inside it, so that a stack holds the open ones.
  template <class Intervals, class TimeOf, class Visit>
  struct cutting {
    Intervals const& intervals;
    TimeOf const& time_of;
    Visit const& visit;
    std::size_t left;      ///< intervals that are not visited yet
    timestamp visited_to;  ///< of the last of them: from here on it is
    std::vector<open_range> open;

    void operator()(thread_timeline const& on) {
      std::size_t scopes_left = on.scopes_.size();
      std::size_t calls_left = on.calls_.size();
      while (scopes_left + calls_left > 0) {
        std::uint32_t const scope = scopes_left > 0 ? on.scopes_[scopes_left - 1] : attribution::none;
        blocking_call const* const last_call = calls_left > 0 ? &on.calls_[calls_left - 1] : nullptr;
        if (last_call == nullptr || (scope != attribution::none && on.of_.scopes[scope].time.end >= last_call->time.end)) {
          enter(on.of_.scopes[scope].time, {scope, std::nullopt});
          --scopes_left;
        } else {
          close_from(last_call->time.end);
          enter(last_call->time, {state().scope, last_call->cause});
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
        visit(left - 1, interval{std::max(time.begin, moment), end}, state());
        if (time.begin >= moment) continue;
        visited_to = moment;
        return;
      }
    }
  };

  profile const& of_;
  grouped_positions::range scopes_;
  std::vector<blocking_call> const& calls_;
};

}  // namespace profkit::detail
