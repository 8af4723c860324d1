// SPDX-License-Identifier: Apache-2.0
//
//     torch_checks slow_ranks DIR REPETITIONS MS PORT...      one of several ranks on CPUs
//
// Trains a very small model data-parallel and writes a report for each repetition. In DIR/even0, DIR/even1, ... all ranks do the same. In
// DIR/data, DIR/forward and DIR/backward, rank 0, 1 or 2 sleeps MS milliseconds longer in that phase of each step. All ranks also sleep
// equally in all phases, so that their phases are comparable on any number of processors. The ranks use four ports, one after the other.

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <profkit/profkit.hpp>
#include <string>

#include "config.hpp"
#include "device.hpp"
#include "named_check.hpp"
#include "ranks/launcher_ranks.hpp"
#include "training/training.hpp"

namespace slow_ranks_check {

namespace {

using namespace trainer;

constexpr std::uint64_t warmup_steps = 2;
constexpr std::uint64_t measured_steps = 14;

void record(training& trained, std::string const& folder) {
  profkit::session session{profkit::options::parse(fmt::format("warmup={},steps={},out={}", warmup_steps, measured_steps, folder))};
  for (profkit::step const step : session) trained.step();
}

run_config small_config(std::optional<slow_rank> slow) {
  run_config config;
  config.size = {"very small", 16, 32, 1, 2};
  config.ctx = 8;
  config.batch = 1;
  config.device = device_kind::cpu;
  config.ranks = ranks_of_launcher(profkit::options{});
  constexpr double common_ms = 10.0;
  for (auto const& phase : step_phases) config.slow_ranks.push_back({config.ranks.rank, common_ms, delay_kind::host, phase.value});
  if (slow) config.slow_ranks.push_back(*slow);
  return config;
}

int run(int count, char** arguments) {
  if (count != 8) {
    fmt::print(stderr, "usage: torch_checks slow_ranks DIR REPETITIONS MS PORT PORT PORT PORT\n");
    return 2;
  }
  std::string const folder = arguments[1];
  double const delay_ms = std::atof(arguments[3]);
  constexpr std::uint64_t all_steps = warmup_steps + measured_steps;
  try {
    compute_device const device{device_kind::cpu};
    int const repetitions = std::atoi(arguments[2]);
    // On the same port, a rank could connect to the store of the previous training.
    auto const meet_at = [&](char const* port) { ::setenv("MASTER_PORT", port, 1); };
    {
      meet_at(arguments[4]);
      training trained{small_config(std::nullopt), device, std::nullopt, all_steps * static_cast<std::uint64_t>(repetitions)};
      for (int i = 0; i < repetitions; ++i) record(trained, fmt::format("{}/even{}", folder, i));
    }
    for (std::uint32_t rank = 0; rank < step_phases.size(); ++rank) {
      meet_at(arguments[5 + rank]);
      training trained{small_config(slow_rank{rank, delay_ms, delay_kind::host, step_phases[rank].value}), device, std::nullopt, all_steps};
      record(trained, fmt::format("{}/{}", folder, step_phases[rank].name));
    }
  } catch (std::exception const& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}

checks::named_check const registered{"slow_ranks", run};

}  // namespace

}  // namespace slow_ranks_check
