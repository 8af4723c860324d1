// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <profkit/summary.hpp>
#include <profkit/summary_file.hpp>
#include <random>
#include <string>
#include <utility>

#include "growth_costs.hpp"

// Summaries of the ranks of a job, as `profkit report FOLDER` merges them.
namespace bench::growth {

/// A job in which each rank computes, and then takes part in some collectives of each step.
struct job {
  std::uint32_t ranks = 4;
  std::uint32_t steps = 20;
  std::uint32_t collectives = 4;  ///< of a step, of the communicators in turn
  std::uint32_t communicators = 1;

  void save(std::string const& folder) const {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::filesystem::path const of_rank = std::filesystem::path{folder} / ("rank" + std::to_string(rank));
      std::filesystem::create_directories(of_rank);
      profkit::save_summary(summary_of(rank), (of_rank / "summary.profkit").string());
    }
  }

 private:
  [[nodiscard]] profkit::summary summary_of(std::uint32_t rank) const {
    using std::chrono::nanoseconds;
    constexpr nanoseconds compute{1'000'000};
    constexpr nanoseconds max_late{20'000};
    constexpr nanoseconds transfer{300'000};
    std::mt19937_64 random{rank};
    profkit::summary result;
    result.environment.host = "node" + std::to_string(rank / 8);
    result.environment.command = {"train"};
    result.environment.rank = profkit::rank_record{rank, ranks};
    result.steps.host.count = steps;
    profkit::rank_timeline timeline;
    timeline.paths = {"step", "step/forward", "step/sum"};
    for (std::uint32_t i = 0; i < communicators; ++i)
      timeline.kinds.push_back({i + 1, "group" + std::to_string(i), "AllReduce", "f32", "RING", "LL", false});
    timeline.all_steps = steps;
    timeline.all_collectives = std::uint64_t{steps} * collectives;
    profkit::timestamp now{std::chrono::seconds{1'700'000'000}};
    std::uint64_t number = 0;
    for (std::uint32_t index = 0; index < steps; ++index) {
      profkit::timeline_step step;
      step.index = index;
      step.begin = now;
      for (std::uint32_t i = 0; i < collectives; ++i, ++number) {
        nanoseconds const work = compute + nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(max_late.count()))};
        profkit::timeline_collective each;
        each.step = index;
        each.sequence = number / communicators;
        each.kind = static_cast<std::uint32_t>(number % communicators);
        each.bytes = std::uint64_t{64} << 20U;
        each.path = 2;
        each.time = {now + work, now + compute + max_late + transfer};
        each.busy = {{1, work}};
        each.exposed = {each.time};
        step.communication += each.time.duration();
        step.exposed += each.time.duration();
        step.compute += work;
        step.computing.push_back({now, each.time.begin});
        now = each.time.end;
        timeline.collectives.push_back(std::move(each));
      }
      step.host = {step.begin, now};
      step.end = now;
      step.next_begin = now;
      step.stages = {{1, step.compute}, {2, step.communication}};
      step.gpu = {{1, step.compute}};
      timeline.steps.push_back(std::move(step));
    }
    result.timeline = std::move(timeline);
    return result;
  }
};

inline costs many_ranks(std::size_t n, std::string const& folder) {
  job made;
  made.ranks = static_cast<std::uint32_t>(n);
  made.save(folder);
  return {};
}

inline costs many_steps_of_ranks(std::size_t n, std::string const& folder) {
  job made;
  made.steps = static_cast<std::uint32_t>(n);
  made.save(folder);
  return {};
}

inline costs many_collectives_of_ranks(std::size_t n, std::string const& folder) {
  job made;
  made.collectives = static_cast<std::uint32_t>(n);
  made.save(folder);
  return {};
}

/// Each rank takes part in all of them, such as a communicator per layer.
inline costs many_communicators_of_ranks(std::size_t n, std::string const& folder) {
  job made;
  made.collectives = static_cast<std::uint32_t>(2 * n);
  made.communicators = static_cast<std::uint32_t>(n);
  made.save(folder);
  return {};
}

}  // namespace bench::growth
