// SPDX-License-Identifier: Apache-2.0
//
// A long session under load: threads open scopes in bursts. At the end, the figures must have all scopes, and memory must never have
// exceeded the limit.
//
// usage: profkit_soak [SECONDS [THREADS [RECORDS [MIB]]]]     default: 600 s, 8 threads, records=1000000, 128 MiB
#include <profkit/profkit.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

namespace {

using std::chrono::steady_clock;

constexpr int scopes_of_a_burst = 20'000;

std::uint64_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

void run_burst() {
  for (int i = 0; i < scopes_of_a_burst / 2; ++i) {
    PROF_SCOPE("outer");
    PROF_SCOPE_INDEXED("inner", i % 8);
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto const argument = [&](int position, std::uint64_t otherwise) {
    return argc > position ? std::strtoull(argv[position], nullptr, 10) : otherwise;
  };
  std::chrono::seconds const length{argument(1, 600)};
  std::uint64_t const threads = argument(2, 8);
  profkit::options options;
  options.warmup_steps = 0;
  options.max_records = argument(3, 1'000'000);
  options.log_slots_per_thread = std::uint64_t{1} << 20U;

  profkit::session session{options};
  std::uint64_t const before = resident_bytes();
  std::uint64_t const bound_bytes = argument(4, 128) << 20U;
  std::uint64_t max_bytes = 0;
  std::uint64_t tenth_bytes = 0;
  std::uint64_t opened = 0;
  {
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> scopes(threads);
    std::vector<std::thread> workers;
    for (std::uint64_t& mine : scopes) {
      workers.emplace_back([&mine, &stop] {
        while (!stop) {
          run_burst();
          mine += scopes_of_a_burst;
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
      });
    }
    steady_clock::time_point const begin = steady_clock::now();
    steady_clock::time_point said = begin;
    for (steady_clock::time_point now = begin; now < begin + length; now = steady_clock::now()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      std::uint64_t const bytes = resident_bytes();
      max_bytes = std::max(max_bytes, bytes);
      if (now < begin + length / 10) tenth_bytes = max_bytes;
      if (now - said < std::chrono::seconds{20}) continue;
      said = now;
      auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin).count();
      std::fprintf(stderr, "%4lld s: %.1f MiB\n", static_cast<long long>(seconds), mib(bytes));
    }
    stop = true;
    for (std::thread& each : workers) each.join();
    for (std::uint64_t const each : scopes) opened += each;
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  std::uint64_t const counted = report.summary().scopes_recorded;
  std::uint64_t const dropped = profile.quality.dropped_events;
  bool const is_exact = counted + dropped == opened && profile.quality.open_scopes == 0;
  bool const is_bounded = profile.scopes.size() <= options.max_records && max_bytes <= bound_bytes;
  auto const number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu threads in %lld s\n", number(threads), static_cast<long long>(length.count()));
  std::printf("scopes: %llu opened, %llu in the figures, %zu kept in the profile, %llu dropped by full logs: %s\n", number(opened),
              number(counted), profile.scopes.size(), number(dropped), is_exact ? "exact" : "NOT EXACT");
  std::printf("resident memory: %.1f MiB before, at most %.1f in the first tenth and %.1f in all; bound: %.1f: %s\n", mib(before),
              mib(tenth_bytes), mib(max_bytes), mib(bound_bytes), is_bounded ? "kept" : "NOT KEPT");
  return is_exact && is_bounded ? EXIT_SUCCESS : EXIT_FAILURE;
}
