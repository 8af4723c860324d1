// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/record_fields.hpp"
#include "../../profile/validate.hpp"
#include "../gpu/attribution.hpp"
#include "../windows/state.hpp"
#include "timeline_segments.hpp"

// Describes the binary form of a timeline.

namespace PROFKIT_NAMESPACE::detail {

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
      archive(value.posted), archive(value.side), archive(value.partner), archive(value.tag), archive(value.exposed), archive(value.busy),
      archive(value.idle);
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
  constexpr std::chrono::nanoseconds latest = max_charged;
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
    bool const is_right = is_interval(each.time) && is_time(each.posted) && each.posted <= each.time.begin;
    check_read(is_right && are_charged(each.busy) && are_charged(each.idle), "a collective has wrong times");
    timestamp last = each.time.begin;
    for (interval const& part : each.exposed) {
      check_read(is_interval(part) && last <= part.begin && part.end <= each.time.end, "a collective is exposed at wrong times");
      last = part.end;
    }
  }
}

/// The largest stride of a timeline that keeps a step: at least 65,536, and at least 131,072 for half of all steps. A larger stride keeps a
/// part of the steps of a smaller one. The bits of the index are mixed, so that programs with a period, such as a collective in every
/// fourth step, keep their share of steps. Step 0 is always kept, because its waits are those of the start.
[[nodiscard]] inline std::uint64_t last_stride_of(std::uint64_t index) noexcept {
  // The finalizer of MurmurHash3 by Austin Appleby, public domain.
  index = (index ^ (index >> 33U)) * 0xff51afd7ed558ccdU;
  index = (index ^ (index >> 33U)) * 0xc4ceb9fe1a85ec53U;
  index = (index ^ (index >> 33U)) >> 16U;
  constexpr std::uint64_t largest = ~std::uint64_t{0};
  return index == 0 ? largest : largest / index;
}

/// The activity of a rank since its last collective. It belongs to the next collective, which can be in a later stretch.
struct pending_work {
  own_vector<path_time> busy;        ///< as in `timeline_collective`
  own_vector<path_time> idle;        ///< as in `timeline_collective`
  bool is_after_collective = false;  ///< false: it continues that of the stretch before

  template <class Archive>
  friend void fields(Archive& archive, pending_work& value) {
    archive(value.busy), archive(value.idle), archive(value.is_after_collective);
    if constexpr (Archive::is_reader) {
      for (auto const* const list : {&value.busy, &value.idle}) {
        for (path_time const& each : *list) archive.check(each.time.count() >= 0 && each.time <= max_charged, "a wrong time of work");
      }
    }
  }
};

/// The timeline of a stretch of a session. Positions of paths are those of the analysis.
class timeline_part {
 public:
  /// Beyond these bounds, steps are dropped. 2,048 collectives take about 300 KB in a file. A message counts as a quarter of a collective.
  static constexpr std::size_t max_steps = 128;
  static constexpr std::size_t max_collectives = 2048;
  /// At least so many measured steps are kept, even beyond `max_collectives`. Fewer are too few to compare ranks.
  static constexpr std::size_t min_measured = 8;
  /// Takes precedence over `min_measured`: about 40 MB in a file, 8 steps of 32,768 collectives.
  static constexpr std::size_t max_needed_collectives = std::size_t{1} << 18U;
  /// Beyond the bounds, warm-up and excluded steps from this index on are dropped first.
  static constexpr std::uint64_t max_unmeasured = 32;

  timeline_part() = default;

  /// @param content a stretch with all its steps and a stride of 1; `paths` is empty, and collectives without a number count from 0.
  /// @param pending the work after the last collective.
  /// @param takes_pending the pending work of the stretch before belongs to the first collective.
  explicit timeline_part(rank_timeline content, pending_work pending = {}, bool takes_pending = false)
      : timeline_{std::move(content)}, pending_{std::move(pending)} {
    if (takes_pending && !timeline_.collectives.empty()) taking_ = timeline_.collectives.front().step;
    timeline_.all_steps = timeline_.steps.size();
    timeline_.all_collectives = timeline_.collectives.size();
    if (!timeline_.steps.empty()) {
      edge const first{timeline_.steps.front().index, timeline_.steps.front().begin};
      first_ = first;
      last_ = timeline_.steps.back().index;
    }
    for (std::size_t i = 1; i < timeline_.steps.size(); ++i) {
      if (timeline_.steps[i].index == timeline_.steps[i - 1].index + 1)
        timeline_.steps[i - 1].next_begin = std::max(timeline_.steps[i - 1].begin, timeline_.steps[i].begin);
    }
    for (timeline_collective& each : timeline_.collectives) {
      if (!timeline_.has_numbers) each.sequence = numbers_[key_of(timeline_.kinds[each.kind])]++;
    }
    fit();
  }

  /// Appends the following stretch.
  void append(timeline_part const& next) {
    pending_work pending = std::move(pending_);
    pending_ = next.pending_;
    if (!pending_.is_after_collective) {
      pending_ = pending;
      add_times(pending_.busy, next.pending_.busy);
      add_times(pending_.idle, next.pending_.idle);
    }
    if (!taking_ && !pending.is_after_collective) taking_ = next.taking_;
    if (!next.first_) return;
    if (!first_) first_ = next.first_;
    if (last_ && *last_ + 1 == next.first_->index && !timeline_.steps.empty() && timeline_.steps.back().index == *last_)
      timeline_.steps.back().next_begin = std::max(timeline_.steps.back().begin, next.first_->begin);
    last_ = next.last_;
    kind_index known = index_of(timeline_.kinds);
    own_vector<std::uint32_t> kind_of;
    for (collective_kind const& each : next.timeline_.kinds) kind_of.push_back(find_or_add(timeline_.kinds, known, each));
    timeline_.steps.insert(timeline_.steps.end(), next.timeline_.steps.begin(), next.timeline_.steps.end());
    timeline_.has_numbers = timeline_.has_numbers && next.timeline_.has_numbers;
    bool is_first = true;
    for (timeline_collective each : next.timeline_.collectives) {
      if (std::exchange(is_first, false) && each.step == next.taking_) {  // false if the first step was dropped
        each.busy.swap(pending.busy);
        each.idle.swap(pending.idle);
        add_times(each.busy, pending.busy);
        add_times(each.idle, pending.idle);
      }
      if (!next.timeline_.has_numbers) each.sequence += number_before(next.timeline_.kinds[each.kind]);
      each.kind = kind_of[each.kind];
      timeline_.collectives.push_back(std::move(each));
    }
    for (auto const& [key, count] : next.numbers_) numbers_[key] += count;
    timeline_.all_steps += next.timeline_.all_steps;
    timeline_.all_collectives += next.timeline_.all_collectives;
    timeline_.unknown_collectives += next.timeline_.unknown_collectives;
    timeline_.graph_collectives += next.timeline_.graph_collectives;
    keep_stride(std::max(timeline_.stride, next.timeline_.stride));
    fit();
  }

  /// @param text_of the text of a path.
  /// @return the timeline with its own table of paths.
  template <class TextOf>
  [[nodiscard]] rank_timeline finish(TextOf const& text_of) && {
    std::map<std::uint32_t, std::uint32_t> known;
    for_each_path(timeline_, [&](std::uint32_t& path) {
      auto const [at, is_new] = known.try_emplace(path, static_cast<std::uint32_t>(timeline_.paths.size()));
      if (is_new) timeline_.paths.push_back(path == attribution::none ? std::string{} : text_of(path));
      path = at->second;
    });
    return std::move(timeline_);
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const {
    bool result = true;
    auto const check = [&](std::uint32_t path) { result = result && (path == attribution::none || path < paths); };
    for_each_path(timeline_, check);
    for (auto const* const list : {&pending_.busy, &pending_.idle}) {
      for (path_time const& each : *list) check(each.path);
    }
    return result;
  }

  [[nodiscard]] bool is_empty() const noexcept { return timeline_.steps.empty(); }

 private:
  struct edge {
    std::uint64_t index = 0;
    timestamp begin{};

    auto members() { return listed(index, begin); }
  };
  using number_key = std::tuple<std::uint64_t, std::string, std::string>;  ///< the communicator (id and name) and the function

  template <class Archive>
  friend void fields(Archive& archive, timeline_part& state) {
    archive(state.timeline_), archive(state.first_), archive(state.last_), archive(state.numbers_), archive(state.pending_),
        archive(state.taking_);
    if constexpr (Archive::is_reader) {
      archive.check(state.first_.has_value() == state.last_.has_value(), "a timeline without its last step");
      archive.check(state.timeline_.paths.empty(), "a timeline with paths");
      check_timeline(state.timeline_, false);
      if (!state.first_) archive.check(state.timeline_.steps.empty(), "a timeline without its first step");
    }
  }

  static number_key key_of(collective_kind const& kind) { return {kind.communicator, kind.group, kind.function}; }

  [[nodiscard]] std::uint64_t number_before(collective_kind const& kind) const {
    auto const at = numbers_.find(key_of(kind));
    return at == numbers_.end() ? 0 : at->second;
  }

  template <class Timeline, class Visit>
  static void for_each_path(Timeline& timeline, Visit const& visit) {
    for (auto& step : timeline.steps) {
      for (auto& each : step.stages) visit(each.path);
      for (auto& each : step.gpu) visit(each.path);
    }
    for (auto& each : timeline.collectives) {
      visit(each.path);
      for (auto& share : each.busy) visit(share.path);
      for (auto& share : each.idle) visit(share.path);
    }
  }

  /// A kept step.
  struct kept_step {
    std::uint64_t last_stride = 0;
    std::uint64_t quarters = 0;  ///< sum of `quarters_of` its collectives
    bool is_measured = false;
  };

  static std::uint64_t quarters_of(timeline_collective const& each) noexcept { return each.side == message_side::none ? 4 : 1; }

  template <class IsDropped>
  void drop(IsDropped const& is_dropped) {
    auto& steps = timeline_.steps;
    own_hash_set<std::uint64_t> dropped;
    for (timeline_step const& each : steps) {
      if (is_dropped(each)) dropped.insert(each.index);
    }
    if (dropped.empty()) return;
    auto const is_gone = [&](std::uint64_t step) { return dropped.count(step) > 0; };
    steps.erase(std::remove_if(steps.begin(), steps.end(), [&](timeline_step const& each) { return is_gone(each.index); }), steps.end());
    auto& all = timeline_.collectives;
    all.erase(std::remove_if(all.begin(), all.end(), [&](timeline_collective const& each) { return is_gone(each.step); }), all.end());
  }

  void keep_stride(std::uint64_t stride) {
    timeline_.stride = stride;
    drop([&](timeline_step const& each) { return last_stride_of(each.index) < stride; });
  }

  [[nodiscard]] bool is_within_bounds() const {
    std::uint64_t quarters = 0;
    for (timeline_collective const& each : timeline_.collectives) quarters += quarters_of(each);
    return timeline_.steps.size() <= max_steps && quarters <= 4 * max_collectives;
  }

  /// Drops steps until the rest is within the bounds. The remaining steps depend only on the set of all steps, not on the stretches in
  /// which they were added: with more steps, none of the strides below is smaller.
  void fit() {
    if (timeline_.all_steps > max_steps || timeline_.all_collectives > max_collectives)
      drop([](timeline_step const& each) { return !each.is_measured && each.index >= max_unmeasured; });
    if (is_within_bounds()) return;
    std::uint64_t within_bounds = 1;  // the smallest stride within the bounds
    std::uint64_t within_need = 1;    // the smallest stride within `max_needed_collectives`
    std::uint64_t with_measured = 1;  // the largest stride with enough measured steps
    std::uint64_t steps = 0;
    std::uint64_t measured = 0;
    std::uint64_t quarters = 0;
    for (kept_step const& each : by_last_stride()) {
      quarters += each.quarters;
      measured += each.is_measured ? 1 : 0;
      std::uint64_t const without = std::max(each.last_stride, each.last_stride + 1);
      if ((++steps > max_steps || quarters > 4 * max_collectives) && within_bounds == 1) within_bounds = without;
      if (quarters > 4 * max_needed_collectives && within_need == 1) within_need = without;
      if (each.is_measured && measured == min_measured) with_measured = each.last_stride;
    }
    keep_stride(std::max({timeline_.stride, std::min(within_bounds, with_measured), within_need}));
  }

  /// The kept steps, those with the largest stride first.
  [[nodiscard]] own_vector<kept_step> by_last_stride() const {
    own_hash_map<std::uint64_t, std::uint64_t> quarters;
    for (timeline_collective const& each : timeline_.collectives) quarters[each.step] += quarters_of(each);
    own_vector<kept_step> result;
    result.reserve(timeline_.steps.size());
    for (timeline_step const& each : timeline_.steps) {
      auto const at = quarters.find(each.index);
      result.push_back({last_stride_of(each.index), at == quarters.end() ? 0 : at->second, each.is_measured});
    }
    std::sort(result.begin(), result.end(), [](kept_step const& a, kept_step const& b) { return a.last_stride > b.last_stride; });
    return result;
  }

  rank_timeline timeline_;
  std::optional<edge> first_;                    ///< the first step, kept or not
  std::optional<std::uint64_t> last_;            ///< index of the last step, kept or not
  std::map<number_key, std::uint64_t> numbers_;  ///< number of collectives without a number of their own
  pending_work pending_;                         ///< of all steps, kept or not
  std::optional<std::uint64_t> taking_;          ///< the step whose first collective takes the pending work of the stretch before
};

}  // namespace PROFKIT_NAMESPACE::detail
