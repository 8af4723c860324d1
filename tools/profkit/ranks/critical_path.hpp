// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <profkit/impl/analyze/ranks/timeline_segments.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The longest chain of dependent work and transfers in the compared steps. Backwards from the end, it follows a rank to a collective in
/// which the rank waited with nothing else to do, goes on with the rank that arrived last, and so on. If a part of the chain disappears,
/// the rest of the chain remains, so the steps can become shorter by that part at most.
///
/// Each step lasts from the latest beginning on any rank to the latest beginning of the next step. The parts add up to it exactly.
class critical_path {
 public:
  /// Both arguments are borrowed.
  critical_path(own_vector<job_rank> const& ranks, rank_clocks const& clocks)
      : ranks_{ranks}, clocks_{clocks}, latest_(ranks.size(), none), before_(ranks.size(), none) {}

  /// The ranks of a collective meet. Collectives must be given approximately in order of time.
  void meet(matched_collective const& what, collective_waits const& waits) {
    own_vector<bool> is_awaiting(what.on.size(), false);
    for (own_vector<std::size_t> const& group : waits.groups) {
      std::uint32_t const last = arrive(what.on[group.front()]);
      for (std::size_t k = 1; k < group.size(); ++k) {
        participant const& one = what.on[group[k]];
        if (!is_held(one, waits.by_rank[group[k]])) continue;
        is_awaiting[group[k]] = true;
        if (time_of(latest_[one.rank]) < time_of(last)) latest_[one.rank] = last;
      }
    }
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      if (!is_awaiting[i]) arrive(what.on[i]);
    }
    for (participant const& one : what.on) before_[one.rank] = one.collective;
  }

  /// @param steps indices of the compared steps.
  /// @return the parts of the path, longest first. Beyond 64, the rest is one part.
  [[nodiscard]] own_vector<job_path_part> parts(std::set<std::uint64_t> const& steps) {
    std::uint32_t const end = find_steps(steps);
    if (steps_.empty() || latest_.empty()) return {};
    std::uint32_t at = *std::max_element(latest_.begin(), latest_.end(), [&](auto a, auto b) { return time_of(a) < time_of(b); });
    if (time_of(at) < steps_.back().end) {  // no collective follows the last step
      at = latest_[end];
      add(end, before_[end], none, {begin_of(at), steps_.back().end});
    }
    for (; at != none; at = nodes_[at].parent) {
      node const& each = nodes_[at];
      if (each.time <= steps_.front().begin) break;
      add(each.on.rank, each.before, each.on.collective, {begin_of(each.parent), each.time});
    }
    return rows();
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// A rank starts a collective. The path to it comes from `parent`.
  struct node {
    timestamp time;        ///< on the common clock
    participant on;        ///< the rank and the collective
    std::uint32_t before;  ///< the previous collective of the rank
    std::uint32_t parent;  ///< position in `nodes_`
  };

  using part_key = std::tuple<std::string_view, std::uint32_t, std::string>;  ///< kind, position of the rank, scope or function
  using part_time = std::pair<part_key, double>;                              ///< in ns

  [[nodiscard]] timestamp time_of(std::uint32_t position) const { return position == none ? timestamp::min() : nodes_[position].time; }
  [[nodiscard]] timestamp begin_of(std::uint32_t position) const { return std::max(time_of(position), steps_.front().begin); }

  std::uint32_t arrive(participant const& one) {
    std::uint32_t& latest = latest_[one.rank];
    timestamp const begin = collective_of(ranks_, one).time.begin - clocks_.shift(one);
    if (begin > time_of(latest)) {
      nodes_.push_back({begin, one, before_[one.rank], latest});
      latest = static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    return latest;
  }

  /// Whether a rank has nothing else to do when the last rank arrives.
  [[nodiscard]] bool is_held(participant const& one, rank_wait const& wait) const {
    timeline_collective const& each = collective_of(ranks_, one);
    timestamp const arrived = each.time.begin + wait.waiting;
    return wait.waiting.count() > 0 && std::any_of(each.exposed.begin(), each.exposed.end(),
                                                   [&](interval const& part) { return part.begin < arrived && arrived <= part.end; });
  }

  /// Sets `steps_`. @return the rank that ends the last step.
  std::uint32_t find_steps(std::set<std::uint64_t> const& compared) {
    std::map<std::uint64_t, interval> found;
    std::uint32_t last = 0;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      for (timeline_step const& each : ranks_[rank].timeline.steps) {
        if (compared.count(each.index) == 0) continue;
        timestamp const end = each.next_begin ? *each.next_begin : each.end;
        interval const own{each.begin - clocks_.shift_at(rank, each.begin), end - clocks_.shift_at(rank, end)};
        interval& step = found.try_emplace(each.index, own).first->second;
        if (each.index == *compared.rbegin() && own.end > step.end) last = rank;
        step = {std::max(step.begin, own.begin), std::max(step.end, own.end)};
      }
    }
    for (auto const& [index, step] : found) {
      timestamp const begin = steps_.empty() ? step.begin : std::max(step.begin, steps_.back().end);
      steps_.push_back({begin, std::max(begin, step.end)});
    }
    return last;
  }

  /// Adds the time of a rank between two collectives: first the transfer of the one before, last the work before this one. What lies
  /// between them was not recorded.
  void add(std::uint32_t rank, std::uint32_t before, std::uint32_t collective, interval const& time) {
    if (time.end <= time.begin) return;
    rank_timeline const& of_rank = ranks_[rank].timeline;
    auto const length = static_cast<double>(time.duration().count());
    double transfer = 0.0;
    if (before != none) {
      timeline_collective const& each = of_rank.collectives[before];
      std::chrono::nanoseconds const shift = clocks_.shift({rank, before});
      auto const exposed = length_before(each.exposed, time.end + shift) - length_before(each.exposed, time.begin + shift);
      transfer = std::min(length, static_cast<double>(exposed.count()));
      put({time.begin, time.begin + ns(transfer)}, {{{"transfer", none, of_rank.kinds[each.kind].function}, 1.0}});
    }
    double known = 0.0;
    own_vector<part_time> work;
    if (collective != none) {
      timeline_collective const& each = of_rank.collectives[collective];
      for (bool const is_gpu : {true, false}) {
        for (path_time const& part : is_gpu ? each.busy : each.idle) {
          work.push_back({{is_gpu ? "GPU" : "host", rank, of_rank.paths[part.path]}, static_cast<double>(part.time.count())});
          known += work.back().second;
        }
      }
      for (part_time& part : work) part.second /= std::max(known, 1.0);
    }
    timestamp const left = time.begin + ns(transfer);
    constexpr double rounding = 100.0;
    timestamp const begin = !work.empty() && known + rounding > length - transfer ? left : time.end - ns(known);
    put({left, begin}, {{{"not recorded", rank, ""}, 1.0}});
    put({begin, time.end}, work);
  }

  static std::chrono::nanoseconds ns(double time) { return std::chrono::nanoseconds{static_cast<std::int64_t>(time)}; }

  /// Adds the part of a time that lies in the compared steps.
  /// @param shares of the time.
  void put(interval const& time, own_vector<part_time> const& shares) {
    for (std::size_t step = first_after(steps_, time.begin, itself); step < steps_.size() && steps_[step].begin < time.end; ++step) {
      auto const part = std::min(steps_[step].end, time.end) - std::max(steps_[step].begin, time.begin);
      for (auto const& [key, share] : shares) times_[key][step] += share * static_cast<double>(part.count());
    }
  }

  [[nodiscard]] own_vector<job_path_part> rows() const {
    auto const steps = static_cast<double>(steps_.size());
    own_vector<job_path_part> result;
    for (auto const& [key, by_step] : times_) {
      job_path_part next;
      next.kind = std::get<0>(key);
      if (std::get<1>(key) != none) next.rank = std::get<1>(key);
      next.path = std::get<2>(key);
      own_vector<double> values(steps_.size());
      for (auto const& [step, time] : by_step) {
        values[step] = time * 1e-6;
        next.time += milliseconds{values[step] / steps};
      }
      next.median = milliseconds{median_in(values)};
      result.push_back(std::move(next));
    }
    own_stable_sort(result.begin(), result.end(), [](auto const& a, auto const& b) { return a.time > b.time; });
    constexpr std::size_t max_parts = 64;
    if (result.size() <= max_parts) return result;
    job_path_part rest;
    rest.kind = "rest";
    for (std::size_t i = max_parts; i < result.size(); ++i) rest.time += result[i].time;
    rest.path = std::to_string(result.size() - max_parts) + " smaller parts";
    result.resize(max_parts);
    result.push_back(std::move(rest));
    return result;
  }

  own_vector<job_rank> const& ranks_;
  rank_clocks const& clocks_;
  own_vector<node> nodes_;
  own_vector<std::uint32_t> latest_;                         ///< by rank: the node from which its path comes
  own_vector<std::uint32_t> before_;                         ///< by rank: its previous collective
  own_vector<interval> steps_;                               ///< the compared steps
  std::map<part_key, std::map<std::size_t, double>> times_;  ///< in ns, by compared step
};

}  // namespace PROFKIT_NAMESPACE::detail
