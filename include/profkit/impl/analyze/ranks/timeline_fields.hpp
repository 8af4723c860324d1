// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "../../../time.hpp"
#include "../../profile/check_read.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/record_fields.hpp"
#include "rank_timeline.hpp"

// Describes the binary form of a timeline.

namespace profkit::detail {

template <class Archive>
void fields(Archive& archive, path_time& value) {
  archive(value.path), archive(value.time);
}
template <class Archive>
void fields(Archive& archive, collective_kind& value) {
  archive(value.communicator), archive(value.group), archive(value.function), archive(value.datatype), archive(value.algorithm),
      archive(value.protocol), archive(value.is_host), archive(value.size), archive(value.rank);
}
template <class Archive>
void fields(Archive& archive, timeline_collective& value) {
  archive(value.step), archive(value.sequence), archive(value.bytes), archive(value.kind), archive(value.path), archive(value.time),
      archive(value.exposed), archive(value.busy), archive(value.idle);
}
template <class Archive>
void fields(Archive& archive, timeline_step& value) {
  archive(value.index), archive(value.is_measured), archive(value.host), archive(value.begin), archive(value.next_begin),
      archive(value.end), archive(value.compute), archive(value.communication), archive(value.exposed), archive(value.stages),
      archive(value.gpu), archive(value.computing);
}
template <class Archive>
void fields(Archive& archive, rank_timeline& value) {
  archive(value.stride), archive(value.paths), archive(value.kinds), archive(value.steps), archive(value.collectives),
      archive(value.all_steps), archive(value.all_collectives), archive(value.unknown_collectives), archive(value.graph_collectives),
      archive(value.has_numbers);
}

/// Orders the kinds of collectives by all their members.
struct by_all_members {
  bool operator()(collective_kind const& a, collective_kind const& b) const {
    auto const all = [](collective_kind const& kind) {
      return std::tie(kind.communicator, kind.group, kind.function, kind.datatype, kind.algorithm, kind.protocol, kind.is_host, kind.size,
                      kind.rank);
    };
    return all(a) < all(b);
  }
};

/// The positions of kinds of collectives in a list.
using kind_index = std::map<collective_kind, std::uint32_t, by_all_members>;

/// @return the positions in a list; of equal kinds, the first.
inline kind_index index_of(own_vector<collective_kind> const& list) {
  kind_index result;
  for (std::uint32_t i = 0; i < list.size(); ++i) result.try_emplace(list[i], i);
  return result;
}

/// @param known the positions in the list, kept up to date.
/// @return the position of a kind in a list. Adds the kind if the list lacks it.
inline std::uint32_t find_or_add(own_vector<collective_kind>& in, kind_index& known, collective_kind const& wanted) {
  auto const [at, is_new] = known.try_emplace(wanted, static_cast<std::uint32_t>(in.size()));
  if (is_new) in.push_back(wanted);
  return at->second;
}

/// Validates a timeline from a file: positions lie in their lists, no time is negative, and no difference of two times overflows. A sum of
/// several times can overflow, so it needs a floating-point number.
/// @param has_paths false: positions of paths refer to another table.
/// @throws profkit::error that says what is wrong.
inline void check_timeline(rank_timeline const& timeline, bool has_paths) {
  constexpr std::chrono::nanoseconds latest{std::int64_t{1} << 62U};
  auto const is_time = [&](timestamp each) { return timestamp{} <= each && each.time_since_epoch() <= latest; };
  auto const is_interval = [&](interval const& each) { return is_time(each.begin) && is_time(each.end) && each.begin <= each.end; };
  auto const are_charged = [&](own_vector<path_time> const& list) {
    return std::all_of(list.begin(), list.end(), [&](path_time const& each) {
      return (!has_paths || each.path < timeline.paths.size()) && each.time.count() >= 0 && each.time <= latest;
    });
  };
  auto const are_lengths = [&](timeline_step const& step) {
    auto const all = {step.compute, step.communication, step.exposed};
    return std::all_of(all.begin(), all.end(), [&](std::chrono::nanoseconds each) { return each.count() >= 0 && each <= latest; });
  };
  check_read(timeline.stride > 0, "a timeline has a stride of 0");
  for (timeline_step const& each : timeline.steps) {
    bool const is_right = is_interval(each.host) && is_time(each.begin) && is_time(each.end) && each.begin <= each.end &&
                          (!each.next_begin || (is_time(*each.next_begin) && each.begin <= *each.next_begin));
    bool const has_right_parts = are_lengths(each) && are_charged(each.stages) && are_charged(each.gpu);
    check_read(is_right && has_right_parts, "a step of a timeline has wrong times");
    for (std::size_t i = 0; i < each.computing.size(); ++i) {
      interval const& part = each.computing[i];
      check_read(is_interval(part) && (i == 0 || each.computing[i - 1].end <= part.begin), "a step of a timeline computes at wrong times");
    }
  }
  for (timeline_collective const& each : timeline.collectives) {
    check_read(each.kind < timeline.kinds.size() && (!has_paths || each.path < timeline.paths.size()), "a collective has no kind");
    check_read(is_interval(each.time) && are_charged(each.busy) && are_charged(each.idle), "a collective has wrong times");
    timestamp last = each.time.begin;
    for (interval const& part : each.exposed) {
      check_read(is_interval(part) && last <= part.begin && part.end <= each.time.end, "a collective is exposed at wrong times");
      last = part.end;
    }
  }
}

}  // namespace profkit::detail
