// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "rank_timeline.hpp"

// Pure functions on lists of intervals. All lists are disjoint and in time order unless stated otherwise.

namespace profkit::detail {

/// A stretch of time that is charged to a path.
struct charged_segment {
  interval time;
  std::uint32_t path = 0;
};

/// Appends an interval to a union. Intervals are appended in the order of their beginnings.
inline void add_to_union(own_vector<interval>& to, interval const& next) {
  if (!to.empty() && next.begin <= to.back().end) {
    to.back().end = std::max(to.back().end, next.end);
  } else if (next.begin < next.end) {
    to.push_back(next);
  }
}

/// @return the union of intervals in any order.
inline own_vector<interval> union_of(own_vector<interval> list) {
  std::sort(list.begin(), list.end(), [](interval const& a, interval const& b) { return a.begin < b.begin; });
  own_vector<interval> result;
  for (interval const& each : list) add_to_union(result, each);
  return result;
}

/// @return the first element of a list that ends after a moment.
template <class Segment, class IntervalOf>
std::size_t first_after(own_vector<Segment> const& list, timestamp moment, IntervalOf const& time_of) {
  auto const at = std::partition_point(list.begin(), list.end(), [&](Segment const& each) { return time_of(each).end <= moment; });
  return static_cast<std::size_t>(at - list.begin());
}

inline interval const& itself(interval const& time) { return time; }
inline interval const& time_of_segment(charged_segment const& each) { return each.time; }

/// @return the parts of an interval that no element of the union covers.
inline own_vector<interval> uncovered(interval const& whole, own_vector<interval> const& by) {
  own_vector<interval> result;
  timestamp from = whole.begin;
  for (std::size_t i = first_after(by, whole.begin, itself); i < by.size() && by[i].begin < whole.end; ++i) {
    if (from < by[i].begin) result.push_back({from, by[i].begin});
    from = std::max(from, by[i].end);
  }
  if (from < whole.end) result.push_back({from, whole.end});
  return result;
}

/// @return the length of a list.
inline std::chrono::nanoseconds length_of(own_vector<interval> const& list) {
  std::chrono::nanoseconds sum{};
  for (interval const& each : list) sum += each.duration();
  return sum;
}

/// @return the length of the parts of a list before a moment.
inline std::chrono::nanoseconds length_before(own_vector<interval> const& list, timestamp moment) {
  std::chrono::nanoseconds sum{};
  for (interval const& each : list) {
    if (each.begin < moment) sum += std::min(each.end, moment) - each.begin;
  }
  return sum;
}

/// Adds the parts of segments that lie in an interval, by path.
inline void charge(std::map<std::uint32_t, std::chrono::nanoseconds>& to, own_vector<charged_segment> const& segments, interval const& in) {
  for (std::size_t i = first_after(segments, in.begin, time_of_segment); i < segments.size() && segments[i].time.begin < in.end; ++i) {
    to[segments[i].path] += std::min(segments[i].time.end, in.end) - std::max(segments[i].time.begin, in.begin);
  }
}

/// Charges paths to their parents until at most `max_count` paths remain: first scopes with an index, then the deepest ones. So ranks with
/// the same scopes keep the same paths.
inline own_vector<path_time> folded(std::map<std::uint32_t, std::chrono::nanoseconds> times, own_vector<path_record> const& paths,
                                    std::size_t max_count) {
  auto const depth_of = [&](std::uint32_t path) {
    std::size_t depth = 0;
    for (; path < paths.size() && paths[path].parent != path_record::no_parent; path = paths[path].parent) ++depth;
    return depth;
  };
  auto const fold = [&](auto const& is_folded) {
    std::map<std::uint32_t, std::chrono::nanoseconds> result;
    for (auto const& [path, time] : times) result[is_folded(path) ? paths[path].parent : path] += time;
    times = std::move(result);
  };
  if (times.size() > max_count) {
    fold([&](std::uint32_t path) { return path < paths.size() && paths[path].index && depth_of(path) > 0; });
  }
  while (times.size() > max_count) {
    std::size_t deepest = 0;
    for (auto const& each : times) deepest = std::max(deepest, depth_of(each.first));
    if (deepest == 0) break;
    fold([&](std::uint32_t path) { return path < paths.size() && depth_of(path) == deepest; });
  }
  own_vector<path_time> result;
  for (auto const& [path, time] : times) {
    if (time.count() > 0 && result.size() < max_count) result.push_back({path, time});
  }
  return result;
}

/// Joins the neighbours with the smallest gaps until a list has at most `max_count` intervals. The result also covers the joined gaps.
inline void limit(own_vector<interval>& list, std::size_t max_count) {
  while (list.size() > max_count) {
    std::size_t smallest = 1;
    for (std::size_t i = 2; i < list.size(); ++i) {
      if (list[i].begin - list[i - 1].end < list[smallest].begin - list[smallest - 1].end) smallest = i;
    }
    list[smallest - 1].end = list[smallest].end;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(smallest));
  }
}

}  // namespace profkit::detail
