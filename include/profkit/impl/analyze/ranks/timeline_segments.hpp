// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"

// Pure functions on lists of intervals. All lists are disjoint and in time order unless stated otherwise.

namespace PROFKIT_NAMESPACE::detail {

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

/// Adds the parts of segments that lie in an interval, by path.
/// @return their length.
inline std::chrono::nanoseconds charge(std::map<std::uint32_t, std::chrono::nanoseconds>& to, own_vector<charged_segment> const& segments,
                                       interval const& in) {
  std::chrono::nanoseconds sum{};
  for (std::size_t i = first_after(segments, in.begin, time_of_segment); i < segments.size() && segments[i].time.begin < in.end; ++i) {
    std::chrono::nanoseconds const part = std::min(segments[i].time.end, in.end) - std::max(segments[i].time.begin, in.begin);
    to[segments[i].path] += part;
    sum += part;
  }
  return sum;
}

inline constexpr std::chrono::nanoseconds max_charged{std::int64_t{1} << 62U};  ///< the largest time in a file

/// Adds times by path. Beyond a number of paths, further ones are left out.
inline void add_times(own_vector<path_time>& to, own_vector<path_time> const& more) {
  constexpr std::size_t max_paths = 48;
  for (path_time const& each : more) {
    auto const at = std::find_if(to.begin(), to.end(), [&](path_time const& known) { return known.path == each.path; });
    if (at != to.end()) {
      at->time = std::min(at->time, max_charged - each.time) + each.time;
    } else if (to.size() < max_paths) {
      to.push_back(each);
    }
  }
}

/// Charges paths to their parents until at most `max_count` paths remain: first scopes with an index, then the deepest ones. So ranks with
/// the same scopes keep the same paths.
inline own_vector<path_time> folded(std::map<std::uint32_t, std::chrono::nanoseconds> times, own_vector<path_record> const& paths,
                                    std::size_t max_count) {
  auto const has_parent = [&](std::uint32_t path) { return path < paths.size() && paths[path].parent != path_record::no_parent; };
  if (times.size() > max_count) {
    std::map<std::uint32_t, std::chrono::nanoseconds> unindexed;
    for (auto const& [path, time] : times) unindexed[has_parent(path) && paths[path].index ? paths[path].parent : path] += time;
    times = std::move(unindexed);
  }
  if (times.size() > max_count) {
    own_hash_map<std::uint32_t, std::size_t> depth_of;
    own_vector<own_vector<std::uint32_t>> by_depth;  // the paths of `times`
    own_vector<std::uint32_t> around;                // a path and its parents, up to one whose depth is known
    for (auto const& each : times) {
      around.clear();
      std::uint32_t path = each.first;
      for (; has_parent(path) && depth_of.count(path) == 0; path = paths[path].parent) around.push_back(path);
      std::size_t depth = has_parent(path) ? depth_of[path] : 0;
      for (; !around.empty(); around.pop_back()) depth_of[around.back()] = ++depth;
      if (by_depth.size() <= depth) by_depth.resize(depth + 1);
      by_depth[depth].push_back(each.first);
    }
    for (std::size_t depth = by_depth.size(); --depth > 0 && times.size() > max_count;) {
      for (std::uint32_t const path : by_depth[depth]) {
        auto const child = times.find(path);
        auto const [parent, is_new] = times.try_emplace(paths[path].parent);
        if (is_new) by_depth[depth - 1].push_back(parent->first);
        parent->second += child->second;
        times.erase(child);
      }
    }
  }
  own_vector<path_time> result;
  for (auto const& [path, time] : times) {
    if (time.count() > 0 && result.size() < max_count) result.push_back({path, time});
  }
  return result;
}

/// Joins the neighbours with the smallest gaps until a list has at most `max_count` intervals. The result also covers the joined gaps.
inline void limit(own_vector<interval>& list, std::size_t max_count) {
  if (list.size() <= max_count) return;
  // Joining two neighbours leaves the other gaps as they are.
  own_vector<std::pair<std::chrono::nanoseconds, std::size_t>> gaps;  // with the interval after the gap
  gaps.reserve(list.size() - 1);
  for (std::size_t i = 1; i < list.size(); ++i) gaps.emplace_back(list[i].begin - list[i - 1].end, i);
  auto const kept_from = gaps.begin() + static_cast<std::ptrdiff_t>(list.size() - max_count);
  if (kept_from != gaps.end()) std::nth_element(gaps.begin(), kept_from, gaps.end());
  own_vector<bool> is_joined(list.size());
  for (auto each = gaps.begin(); each != kept_from; ++each) is_joined[each->second] = true;
  std::size_t last = 0;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (is_joined[i]) {
      list[last].end = list[i].end;
    } else {
      list[++last] = list[i];
    }
  }
  list.resize(last + 1);
}

}  // namespace PROFKIT_NAMESPACE::detail
