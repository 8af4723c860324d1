// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/summary.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ranks/job_rank.hpp"

/// A simulated job. In each step each rank computes, then all ranks run some collectives of 64 MiB. Ranks start a collective at different
/// times and end it together.
struct made_job {
  std::uint32_t ranks = 4;
  std::uint32_t steps = 20;
  std::uint32_t warmup = 2;
  std::uint32_t collectives = 3;  ///< of a step
  std::uint32_t slow_rank = 0;
  std::vector<std::uint32_t> also_slow{};   ///< other ranks with the same delay
  std::chrono::nanoseconds delay{};         ///< of the slow rank in each step, in the scope "step/data"
  std::chrono::nanoseconds jitter{20'000};  ///< of each rank and step
  std::chrono::nanoseconds end_noise{};     ///< each rank leaves a collective up to so much early or late
  bool is_delay_on_gpu = true;
  bool is_reduction = false;  ///< to rank 0: only it waits for the others
  std::uint32_t seed = 1;
  std::vector<std::string> hosts{"node"};         ///< of the ranks in turn
  std::vector<std::chrono::nanoseconds> ahead{};  ///< of the clock of each rank
  std::vector<double> drift{};                    ///< of the clock of each rank

  [[nodiscard]] profkit::detail::own_vector<profkit::job_rank> make() const {
    using std::chrono::nanoseconds;
    std::mt19937_64 random{seed};
    auto const up_to = [&](nanoseconds most) {
      return nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count() + 1))};
    };
    profkit::detail::own_vector<profkit::job_rank> result(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      profkit::job_rank& each = result[rank];
      each.rank = rank;
      each.source = "rank" + std::to_string(rank);
      each.environment.host = hosts[rank % hosts.size()];
      each.environment.command = {"train"};
      each.measured_steps = steps - warmup;
      each.timeline.paths = {"step/data", "step/forward"};
      each.timeline.kinds = {{7, "", is_reduction ? "Reduce" : "AllReduce", "f32", "RING", "LL", false}};
    }
    std::vector<profkit::timestamp> free(ranks, profkit::timestamp{std::chrono::seconds{1'700'000'000}});
    nanoseconds const compute{1'000'000};
    nanoseconds const transfer{500'000};
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::vector<profkit::timeline_step> of_step(ranks);
      std::vector<profkit::timestamp> since = free;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        of_step[rank].index = step;
        of_step[rank].is_measured = step >= warmup;
        of_step[rank].begin = free[rank];
      }
      for (std::uint32_t i = 0; i < collectives; ++i) {
        profkit::timestamp latest{};
        std::vector<profkit::timeline_collective> all(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          bool const is_slow = rank == slow_rank || std::find(also_slow.begin(), also_slow.end(), rank) != also_slow.end();
          nanoseconds const more = i == 0 && is_slow ? delay : nanoseconds{};
          nanoseconds const work = compute + up_to(jitter);
          all[rank].busy = {{1, work}};
          if (more.count() > 0) {
            auto& to = is_delay_on_gpu ? all[rank].busy : all[rank].idle;
            to.insert(to.begin(), {0, more});
          }
          all[rank].time.begin = since[rank] + work + more;
          latest = std::max(latest, all[rank].time.begin);
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          profkit::timeline_collective& each = all[rank];
          each.step = step;
          each.sequence = std::uint64_t{step} * collectives + i;
          each.bytes = std::uint64_t{64} << 20U;
          each.time.end = (is_reduction && rank > 0 ? each.time.begin : latest) + transfer;
          each.path = 1;
          since[rank] = each.time.end;
          of_step[rank].communication += each.time.duration();
          of_step[rank].exposed += each.time.duration();
          of_step[rank].compute += each.busy.back().time;
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          if (end_noise.count() > 0) all[rank].time.end += up_to(2 * end_noise) - end_noise;
          move(all[rank].time.begin, rank), move(all[rank].time.end, rank);
          all[rank].exposed = {all[rank].time};
          result[rank].timeline.collectives.push_back(std::move(all[rank]));
        }
      }
      free = since;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        profkit::timeline_step& each = of_step[rank];
        each.end = since[rank];
        each.next_begin = since[rank];
        move(each.begin, rank), move(each.end, rank), move(*each.next_begin, rank);
        each.host = {each.begin, each.end};
        result[rank].timeline.steps.push_back(std::move(each));
      }
    }
    return result;
  }

 private:
  /// Reads a time from the clock of a rank.
  void move(profkit::timestamp& moment, std::uint32_t rank) const {
    profkit::timestamp const begin{std::chrono::seconds{1'700'000'000}};
    auto const since = static_cast<double>((moment - begin).count());
    if (rank < drift.size()) moment += std::chrono::nanoseconds{static_cast<std::int64_t>(since * drift[rank])};
    if (rank < ahead.size()) moment += ahead[rank];
  }
};
