// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <utility>

#include "collective_waits.hpp"
#include "critical_path.hpp"
#include "differing_scopes.hpp"
#include "frontier.hpp"
#include "job_checks.hpp"
#include "job_collectives.hpp"
#include "job_functions.hpp"
#include "job_messages.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"
#include "slow_host.hpp"
#include "straggler_search.hpp"
#include "typical_step.hpp"
#include "wait_origins.hpp"
#include "wait_union.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// Computes the figures of a job. Takes time proportional to the collectives of all ranks.
class job_maker {
 public:
  /// @param ranks ranks without a problem, in order.
  explicit job_maker(detail::own_vector<job_rank> const& ranks)
      : ranks_{ranks},
        all_{collective_matcher{ranks}.take()},
        clocks_{ranks, all_},
        path_{ranks, clocks_},
        sums_(ranks.size()),
        caused_(ranks.size()) {}

  /// Adds the figures to a summary.
  void fill(job_summary& to) {
    to.clocks = clocks_.summary();
    choose_steps(to);
    add_waits(to);
    add_ranks(to);
    to.collectives = std::move(collectives_).rows(compared_.size(), ranks_, to.clocks);
    to.messages = messages_.rows(compared_.size());
    add_budget(to);
    add_frontier(to);
    to.critical_path = path_.parts(compared_);
    straggler_search{ranks_, all_, compared_, last_starts_, caused_}.fill(to);
    to.slow_host = find_slow_host(ranks_, compared_, to);
    to.differing_scopes = find_differing_scopes(ranks_, compared_, to.step);
    merge_functions(ranks_, to);
    to.one_step = typical_step{ranks_, all_, clocks_, compared_}.find(to);
  }

 private:
  static double to_ms(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-6; }

  struct rank_sums {
    double waiting = 0.0, transfer = 0.0, exposed_waiting = 0.0;
    std::uint64_t last = 0;
    std::uint64_t collectives = 0;
    bool has_incomplete = false;  ///< see `add_incomplete`
  };

  /// Compares the measured steps that have a matched collective and a next step. The last step has no end.
  void choose_steps(job_summary& to) {
    std::map<std::uint64_t, bool> steps;
    for (matched_collective const& each : all_) {
      if (each.is_message) {
        ++(each.is_complete ? to.matched_messages : to.unmatched_messages);
        if (each.is_common) add_step(steps, each);
        continue;
      }
      if (each.missing > 0) to.missing_members = std::max<std::uint64_t>(to.missing_members, each.missing);
      if (each.is_by_order) ++to.by_order;
      if (each.is_contradictory) {
        ++to.contradictory;
        continue;
      }
      ++(each.is_complete ? to.matched : to.incomplete);
      if (each.is_ambiguous) ++to.ambiguous;
      if (each.missing > 0) ++to.of_missing_ranks;
      if (each.is_common) add_step(steps, each);
    }
    std::set<std::uint64_t> with_end;
    for (auto const& [index, is_measured] : steps) {
      to.held.steps.push_back(index);
      to.held.is_measured.push_back(is_measured);
      count_step(is_measured, to);
      if (is_measured) compared_.insert(index);
    }
    if (compared_.empty() && !ranks_.empty()) {  // all collectives of measured steps lack a number
      to.measured_steps = to.warmup_steps = 0;
      for (timeline_step const& each : ranks_.front().timeline.steps) count_step(each.is_measured, to);
    }
    for (job_rank const& each : ranks_) {
      for (timeline_step const& step : each.timeline.steps) {
        if (step.next_begin && compared_.count(step.index) > 0) with_end.insert(step.index);
      }
    }
    if (!with_end.empty()) compared_ = std::move(with_end);
    to.steps = compared_.size();
    to.host_steps.steps = to.held.steps;
    to.host_steps.is_measured = to.held.is_measured;
    for (std::size_t i = 0; i < to.held.steps.size(); ++i) column_of_[to.held.steps[i]] = i;
  }

  /// @param to by index: whether it is measured.
  void add_step(std::map<std::uint64_t, bool>& to, matched_collective const& what) const {
    bool& is_measured = to.try_emplace(collective_of(ranks_, what.on.front()).step, false).first->second;
    is_measured = is_measured || what.is_measured;
  }

  /// Counts a step, in order. An excluded step that follows a measured one is neither measured nor warm-up.
  static void count_step(bool is_measured, job_summary& to) {
    if (is_measured) {
      ++to.measured_steps;
    } else if (to.measured_steps == 0) {
      ++to.warmup_steps;
    }
  }

  void add_waits(job_summary& to) {
    to.held.values.assign(ranks_.size(), detail::own_vector<std::optional<double>>(to.held.steps.size(), 0.0));
    double const bound = to.clocks.bound.count();
    wait_union waited{ranks_.size()};
    wait_origins origins{ranks_.size()};
    detail::own_vector<matched_collective const*> const in_order = common_in_order();
    for (matched_collective const* const next : in_order) {
      matched_collective const& each = *next;
      collective_waits const waits{ranks_, each, clocks_};
      path_.meet(each, waits);
      std::uint64_t const step = collective_of(ranks_, each.on.front()).step;
      std::uint32_t const last = each.on[waits.last].rank;
      bool const is_known = to_ms(waits.imposed) > bound;
      bool const is_compared = each.is_measured && compared_.count(step) > 0;
      if (each.is_message && !is_known) continue;  // a message that nobody waits for passes no delay on
      own_vector<double> const shares =
          origins_of_waits(each, waits, origins, waited, [&](std::size_t origin, std::size_t i, milliseconds waiting) {
            if (is_known) add_caused(to.held.values[origin][column_of_[step]], origin, each, i, waiting, waits, is_compared);
          });
      if (!is_compared) continue;
      if (each.is_message) {
        add_message(each, waits, shares[1 - waits.last]);
        continue;
      }
      bool const is_last_known = each.is_complete && to_ms(waits.lead) > bound;
      if (is_known) last_starts_.push_back({last, is_last_known, &each});
      if (!each.is_complete) {
        add_incomplete(each, waits);
        continue;
      }
      if (is_last_known) ++sums_[last].last;
      for (std::size_t i = 0; i < each.on.size(); ++i) {
        rank_sums& rank = sums_[each.on[i].rank];
        rank.waiting += to_ms(waits.by_rank[i].waiting);
        rank.transfer += to_ms(waits.by_rank[i].transfer);
        rank.exposed_waiting += to_ms(waits.by_rank[i].exposed_waiting);
        ++rank.collectives;
      }
      collectives_.add(ranks_, each, waits, is_last_known);
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      double const others = caused_[i].others();
      for (std::optional<double>& value : to.held.values[i]) *value /= others;
    }
    for (matched_collective const* const each : in_order) {
      if (each->is_complete) continue;
      std::size_t const column = column_of_[collective_of(ranks_, each->on.front()).step];
      for (participant const& one : each->on) {
        std::optional<double>& value = to.held.values[one.rank][column];
        if (value && *value <= 0.0) value.reset();
      }
    }
  }

  /// How long the rank worked before it started an operation on the host, since its last wait for another one, in ms. A GPU works beside
  /// its collectives.
  [[nodiscard]] double own_work_before(participant const& one) const {
    rank_timeline const& timeline = ranks_[one.rank].timeline;
    timeline_collective const& started = timeline.collectives[one.collective];
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    if (!timeline.kinds[started.kind].is_host) return unlimited;
    timestamp const start = start_of(started);
    for (std::size_t i = one.collective; i > 0; --i) {
      timeline_collective const& before = timeline.collectives[i - 1];
      if (before.time.end <= start) return to_ms(start - before.time.end);
    }
    return unlimited;
  }

  /// Divides the waits in a collective among the ranks that caused them.
  /// @param visit called with the rank that caused a wait, the element that waited, and the time that is in no earlier wait.
  /// @return by element: the share of its wait that is in no earlier wait.
  template <class Visit>
  own_vector<double> origins_of_waits(matched_collective const& what, collective_waits const& waits, wait_origins& origins,
                                      wait_union& waited, Visit const& visit) const {
    own_vector<double> shares;
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      timestamp const begin = collective_of(ranks_, what.on[i]).time.begin;
      bool const has_waited = waits.by_rank[i].waiting.count() > 0;
      shares.push_back(has_waited ? waited.new_share(what.on[i].rank, begin, waits.by_rank[i].waiting) : 0.0);
    }
    for (own_vector<std::size_t> const& group : waits.groups) {
      origins.meet(
          group.size(), 0, [&](std::size_t i) { return what.on[group[i]].rank; },
          [&](std::size_t i) { return to_ms(waits.by_rank[group[i]].waiting); },
          [&](std::size_t origin, std::size_t i, double time) {
            if (origin != what.on[group[i]].rank) visit(origin, group[i], milliseconds{shares[group[i]] * time});
          },
          own_work_before(what.on[group.front()]));
    }
    return shares;
  }

  /// Adds a message that a rank waits for. Its transfer is not counted, because several messages can be awaited at once.
  void add_message(matched_collective const& what, collective_waits const& waits, double share) {
    rank_wait const& wait = waits.by_rank[1 - waits.last];
    rank_sums& rank = sums_[what.on[1 - waits.last].rank];
    rank.waiting += share * to_ms(wait.waiting);
    rank.exposed_waiting += share * to_ms(wait.exposed_waiting);
    messages_.add(ranks_, what, waits, share);
  }

  /// @param is_compared whether the step is compared.
  void add_caused(std::optional<double>& held, std::size_t origin, matched_collective const& what, std::size_t i, milliseconds waiting,
                  collective_waits const& waits, bool is_compared) {
    *held += waiting.count();
    waits_for_rank& to = caused_[origin];
    to.can_wait.resize(ranks_.size());
    if (waits.is_one_way) {
      to.can_wait[what.on[i].rank] = true;
    } else if (!to.can_wait[what.on[i].rank]) {
      for (participant const& one : what.on) to.can_wait[one.rank] = to.can_wait[one.rank] || one.rank != origin;
    }
    if (!is_compared) return;
    to.sums.resize(ranks_.size());
    wait_sums& sum = to.sums[what.on[i].rank];
    sum.waiting += waiting;
    sum.exposed += waiting * (to_ms(waits.by_rank[i].exposed_waiting) / to_ms(waits.by_rank[i].waiting));
  }

  /// Adds a collective that ranks of its communicator lack. How long the others waited for these is unknown, so all its time is transfer.
  /// The ranks with a file waited at least for the last one of them.
  void add_incomplete(matched_collective const& what, collective_waits const& waits) {
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      rank_sums& rank = sums_[what.on[i].rank];
      rank.transfer += to_ms(waits.by_rank[i].waiting + waits.by_rank[i].transfer);
      rank.has_incomplete = true;
    }
    collectives_.add(ranks_, what, waits, false);
  }

  /// The collectives that all ranks of their communicator with a file recorded, and the messages with both ends, by their latest start.
  [[nodiscard]] detail::own_vector<matched_collective const*> common_in_order() const {
    detail::own_vector<std::pair<timestamp, matched_collective const*>> found;
    for (matched_collective const& each : all_) {
      if (!each.is_common || each.is_contradictory) continue;
      timestamp latest = timestamp::min();
      for (participant const& one : each.on) latest = std::max(latest, start_of(collective_of(ranks_, one)) - clocks_.shift(one));
      found.emplace_back(latest, &each);
    }
    own_stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    detail::own_vector<matched_collective const*> result(found.size());
    std::transform(found.begin(), found.end(), result.begin(), [](auto const& each) { return each.second; });
    return result;
  }

  void add_ranks(job_summary& to) const {
    to.host_steps.values.assign(ranks_.size(), detail::own_vector<std::optional<double>>(to.held.steps.size()));
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      job_rank const& from = ranks_[i];
      rank_sums const& own = sums_[i];
      job_rank_summary rank;
      rank.rank = from.rank;
      rank.name = from.name();
      rank.host = from.environment.host;
      rank.gpu = from.environment.gpu;
      rank.measured_steps = from.measured_steps;
      double steps = 0.0;
      double step = 0.0, compute = 0.0, communication = 0.0, exposed = 0.0, host = 0.0;
      detail::own_vector<double> hosts;
      for (timeline_step const& each : from.timeline.steps) {
        if (auto const column = column_of_.find(each.index); column != column_of_.end())
          to.host_steps.values[i][column->second] = to_ms(each.host.duration());
        if (compared_.count(each.index) == 0) continue;
        steps += 1.0;
        step += to_ms((each.next_begin ? *each.next_begin : each.end) - each.begin);
        compute += to_ms(each.compute);
        communication += to_ms(each.communication);
        exposed += to_ms(each.exposed);
        host += to_ms(each.host.duration());
        hosts.push_back(to_ms(each.host.duration()));
      }
      auto const mean = [&](double sum) { return milliseconds{steps > 0.0 ? sum / steps : 0.0}; };
      rank.step = mean(step);
      rank.communication = mean(communication);
      bool const is_told = !own.has_incomplete && (own.waiting > 0.0 || to.clocks.bound.count() <= 0.0);
      if (is_told) rank.waiting = mean(own.waiting);
      rank.transfer = mean(own.transfer);
      rank.compute = std::min(mean(compute), rank.step);
      milliseconds const exposed_waiting = own.has_incomplete ? milliseconds{} : mean(own.exposed_waiting);
      milliseconds const waiting = std::min({exposed_waiting, mean(exposed), rank.step - rank.compute});
      if (is_told) rank.exposed_waiting = waiting;
      rank.exposed_transfer = std::min(mean(exposed) - waiting, rank.step - rank.compute - waiting);
      rank.idle = rank.step - rank.compute - waiting - rank.exposed_transfer;
      wait_sums const imposed = caused_[i].all();
      rank.imposed = mean(imposed.waiting.count()) / caused_[i].others();
      rank.imposed_exposed = mean(imposed.exposed.count()) / caused_[i].others();
      if (own.collectives > 0) rank.last_share = static_cast<double>(own.last) / static_cast<double>(own.collectives);
      rank.host_step = mean(host);
      constexpr double quartile = 0.25;
      rank.host_pace = milliseconds{quantile_in(hosts, quartile)};
      if (auto const& speed = from.environment.host_speed; speed && speed->waiting) rank.processor_wait = *speed->waiting * rank.host_step;
      rank.clock_offset = milliseconds{clocks_.ahead(i).offset * 1e-6};
      rank.clock_drift = clocks_.ahead(i).slope;
      to.ranks.push_back(std::move(rank));
    }
  }

  void add_budget(job_summary& to) const {
    bool const is_on_host = std::all_of(ranks_.begin(), ranks_.end(), [](job_rank const& each) {
      rank_timeline const& time = each.timeline;
      return std::all_of(time.kinds.begin(), time.kinds.end(), [](collective_kind const& kind) { return kind.is_host; }) &&
             std::all_of(time.steps.begin(), time.steps.end(), [](timeline_step const& step) { return step.computing.empty(); });
    });
    job_part parts[] = {
        {is_on_host ? outside_communication : "compute", {}}, {"exposed transfer", {}}, {"exposed waiting", {}}, {"idle", {}}};
    auto const count = static_cast<double>(std::max<std::size_t>(to.ranks.size(), 1));
    for (job_rank_summary const& each : to.ranks) {
      to.step += each.step / count;
      parts[0].time += each.compute / count;
      parts[1].time += each.exposed_transfer / count;
      parts[2].time += each.exposed_waiting.value_or(milliseconds{}) / count;
      parts[3].time += each.idle / count;
    }
    to.budget.assign(std::begin(parts), std::end(parts));
  }

  void add_frontier(job_summary& to) const {
    detail::own_vector<std::string> const stages = stage_order(ranks_);
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < stages.size(); ++i) place[stages[i]] = i;
    std::map<std::uint64_t, detail::own_vector<detail::own_vector<double>>> steps;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (timeline_step const& each : ranks_[i].timeline.steps) {
        if (compared_.count(each.index) == 0) continue;
        detail::own_vector<double> times(stages.size() + 1);
        double rest = to_ms(each.host.duration());
        for (path_time const& stage : each.stages) {
          times[place[ranks_[i].timeline.paths[stage.path]]] += to_ms(stage.time);
          rest -= to_ms(stage.time);
        }
        times.back() = std::max(0.0, rest);
        steps[each.index].push_back(std::move(times));
      }
    }
    detail::own_vector<double> parts_of(stages.size() + 1);
    for (auto const& [index, times] : steps) {
      detail::own_vector<double> const parts = frontier_of(times);
      for (std::size_t i = 0; i < parts.size(); ++i) parts_of[i] += parts[i] / static_cast<double>(steps.size());
    }
    for (std::size_t i = 0; i < stages.size(); ++i) to.frontier.push_back({stages[i], milliseconds{parts_of[i]}});
    if (!steps.empty()) to.frontier.push_back({"", milliseconds{parts_of.back()}});
  }

  detail::own_vector<job_rank> const& ranks_;
  detail::own_vector<matched_collective> all_;
  rank_clocks clocks_;
  critical_path path_;
  detail::own_vector<rank_sums> sums_;
  detail::own_vector<waits_for_rank> caused_;  ///< by the rank that caused the waits
  std::set<std::uint64_t> compared_;           ///< indices of the compared measured steps
  detail::own_hash_map<std::uint64_t, std::size_t> column_of_;
  detail::own_vector<last_start> last_starts_;
  job_collectives collectives_;
  job_messages messages_;
};

}  // namespace detail

/// @brief Merges the data of the ranks of a job: which ranks wait for which, and why. Ranks with problems are listed and excluded. Takes
/// time proportional to the collectives of all ranks. Thread-safe. Definitions: docs/distributed.md.
/// @param ranks the ranks in any order.
[[nodiscard]] inline job_summary summarize_job(::profkit::detail::own_vector<job_rank> ranks) {
  detail::own_stable_sort(ranks.begin(), ranks.end(), [](job_rank const& a, job_rank const& b) { return a.rank < b.rank; });
  job_summary result;
  detail::check_job(ranks, result);
  ranks.erase(std::remove_if(ranks.begin(), ranks.end(), [](job_rank const& each) { return !each.problem.empty(); }), ranks.end());
  if (!ranks.empty()) {
    if (!ranks.front().environment.command.empty()) result.program = ranks.front().environment.command.front();
    detail::job_maker{ranks}.fill(result);
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE
