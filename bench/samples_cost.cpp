// SPDX-License-Identifier: Apache-2.0
//
// The cost of host samples: the same processor-bound work with scopes, alternately without and with samples. Prints the median of the
// ratios of adjacent pieces, with its 95 % interval by order statistics.
//
// usage: profkit_samples_cost [HZ [PAIRS [THREADS]]]     default: 1000 Hz, 60 pairs, 1 thread
#include <profkit/profkit.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

std::atomic<std::uint64_t> sink{0};

/// About 20 us.
__attribute__((noinline)) std::uint64_t work(std::uint64_t value) {
  PROF_SCOPE("work");
  for (int i = 0; i < 20'000; ++i) value = value * 6364136223846793005U + 1;
  return value;
}

double ms_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct piece {
  double wall_ms = 0.0;
  double cpu_ms = 0.0;  ///< of all threads of the process, including the session's
  std::string refused{};
};

piece run(double hz, std::size_t threads) {
  profkit::options wanted;
  wanted.warmup_steps = 0;
  wanted.samples_per_second = hz;
  profkit::session session{wanted};
  piece result;
  {
    profkit::step const step{session};
    double const wall = ms_of(CLOCK_MONOTONIC);
    double const cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    std::vector<std::thread> running;
    auto const body = [] {
      std::uint64_t value = 1;
      for (int i = 0; i < 10'000; ++i) value = work(value);
      sink.fetch_add(value, std::memory_order_relaxed);
    };
    for (std::size_t i = 1; i < threads; ++i) running.emplace_back(body);
    body();
    for (std::thread& each : running) each.join();
    result.wall_ms = ms_of(CLOCK_MONOTONIC) - wall;
    result.cpu_ms = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  }
  if (hz <= 0.0) return result;
  profkit::report const report = session.report();
  for (profkit::collector_record const& each : report.summary().collectors) {
    if (each.name == "host samples" && each.status != "collected") result.refused = each.reason;
  }
  return result;
}

void print(char const* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  auto const count = static_cast<double>(ratios.size());
  double const half = 1.96 * std::sqrt(count) / 2.0;
  auto const at = [&](double position) { return 100.0 * (ratios[static_cast<std::size_t>(std::clamp(position, 0.0, count - 1.0))] - 1.0); };
  std::printf("%-16s %+6.2f %%   95 %% interval %+6.2f to %+6.2f\n", what, at(count / 2.0), at(count / 2.0 - half), at(count / 2.0 + half));
}

}  // namespace

int main(int argc, char** argv) {
  double const hz = argc > 1 ? std::atof(argv[1]) : 1000.0;
  std::size_t const pairs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 60;
  std::size_t const threads = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1;
  std::vector<double> wall;
  std::vector<double> cpu;
  static_cast<void>(run(0.0, threads));
  for (std::size_t i = 0; i < pairs; ++i) {
    bool const is_off_first = i % 2 == 0;
    piece first = run(is_off_first ? 0.0 : hz, threads);
    piece second = run(is_off_first ? hz : 0.0, threads);
    if (!is_off_first) std::swap(first, second);
    if (!second.refused.empty()) {
      std::printf("no samples: %s\n", second.refused.c_str());
      return 4;
    }
    wall.push_back(second.wall_ms / first.wall_ms);
    cpu.push_back(second.cpu_ms / first.cpu_ms);
  }
  std::printf("%g Hz, %zu threads, %zu pairs of pieces\n", hz, threads, pairs);
  print("wall time", wall);
  print("processor time", cpu);
  return 0;
}
