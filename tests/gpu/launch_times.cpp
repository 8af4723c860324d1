// SPDX-License-Identifier: Apache-2.0
//
// The time of a launch, in steps of 20,000 empty kernels.
//
// usage: profkit_gpu_programs launch_times steps N      N steps of one session, as PROFKIT says; prints the time in each, in ns
//        profkit_gpu_programs launch_times turns N      N times in turns, without a session and in sessions of several kinds; prints the
//                                                       time in each of them, in ns, as "KIND: TIME TIME ..."
#include <profkit/cupti.hpp>
#include <profkit/session.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace launch_times {

namespace {

constexpr int launches = 20'000;
constexpr int steps_in_a_turn = 10;

/// @return ns per launch
double launch() {
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) start_nothing(1, 1, nullptr);
  if (cudaError_t const result = cudaDeviceSynchronize(); result != cudaSuccess) {
    std::fprintf(stderr, "launch_times: %s\n", cudaGetErrorString(result));
    std::exit(1);
  }
  std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / launches;
}

std::vector<double> launch_in_steps(profkit::options options, std::uint64_t steps) {
  options.warmup_steps = 0;
  options.measured_steps = steps;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  std::vector<double> times;
  for ([[maybe_unused]] profkit::step const& step : session) times.push_back(launch());
  return times;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double turn(std::string_view profkit) {
  std::vector<double> times;
  if (!profkit.empty()) {
    times = launch_in_steps(profkit::options::parse(profkit), steps_in_a_turn);
  } else {
    for (int i = 0; i < steps_in_a_turn; ++i) times.push_back(launch());
  }
  return median(times);
}

void take_turns(int rounds) {
  constexpr std::array<std::string_view, 3> kinds{"", "kernels=off", "control,kernels=capture"};
  std::array<std::vector<double>, kinds.size()> times;
  for (int i = 0; i < steps_in_a_turn; ++i) launch();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::size_t const kind = round % 2 == 0 ? i : kinds.size() - 1 - i;
      times[kind].push_back(turn(kinds[kind]));
    }
  }
  auto const print = [](std::string_view kind, std::vector<double> const& medians) {
    std::printf("%.*s:", static_cast<int>(kind.size()), kind.data());
    for (double const each : medians) std::printf(" %.1f", each);
    std::printf("\n");
  };
  for (std::size_t i = 0; i < kinds.size(); ++i) print(kinds[i].empty() ? "no session" : kinds[i], times[i]);
  std::vector<double> with;
  std::vector<double> afterwards;
  for (int i = 0; i < 5; ++i) {
    with.push_back(turn("kernels=on"));
    afterwards.push_back(turn(""));
  }
  print("kernels=on", with);
  print("no session, afterwards", afterwards);
}

}  // namespace

int run(int argc, char** argv) {
  std::string_view const how = argc == 3 ? argv[1] : "";
  if (how == "turns") {
    take_turns(std::atoi(argv[2]));
  } else if (how == "steps") {
    for (double const each : launch_in_steps(profkit::options::from_env(), static_cast<std::uint64_t>(std::atoi(argv[2]))))
      std::printf("%.1f\n", each);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace launch_times
