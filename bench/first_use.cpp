// SPDX-License-Identifier: Apache-2.0
//
// The time of the first scope of a thread and of the first scope of a site, compared with the second. Prints a line of JSON with
// nanoseconds.
//
// usage: profkit_first_use [--calls]      --calls: only one new thread, with getppid() calls around its first scope as marks in the output
//                                         of strace
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <future>
#include <profkit/scope.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "bench_session.hpp"
#include "bench_support.hpp"

namespace {

constexpr int threads = 100;
constexpr int sites = 256;

__attribute__((noinline)) void scope() {
  PROF_SCOPE("scope");
  bench::touch_memory();
}

/// A separate site for each number.
template <int Number>
__attribute__((noinline)) void scope_of_site() {
  PROF_SCOPE("site");
  bench::touch_memory();
}

/// The times of the first and the second call.
struct times {
  std::vector<double> first;
  std::vector<double> second;

  void add(void (*function)()) {
    for (std::vector<double>* each : {&first, &second}) {
      double const begin = bench::now_ns(CLOCK_MONOTONIC);
      function();
      each->push_back(bench::now_ns(CLOCK_MONOTONIC) - begin);
    }
  }
};

template <int... Numbers>
times of_sites(std::integer_sequence<int, Numbers...>) {
  bench::recording session;
  scope();
  times result;
  for (void (*const function)() : {&scope_of_site<Numbers>...}) result.add(function);
  return result;
}

/// For threads that live at the same time, so that each creates a log.
times of_new_logs() {
  bench::recording session;
  times result;
  std::promise<void> end;
  std::shared_future<void> const has_ended = end.get_future().share();
  std::vector<std::thread> living;
  for (int i = 0; i < threads; ++i) {
    std::promise<void> measured;
    living.emplace_back([&] {
      result.add(scope);
      std::shared_future<void> const until = has_ended;
      measured.set_value();
      until.wait();
    });
    measured.get_future().wait();
  }
  end.set_value();
  for (std::thread& each : living) each.join();
  return result;
}

/// For consecutive threads: each reuses the log of the previous one, which the session has drained.
times of_old_logs() {
  bench::recording session;
  times result;
  for (int i = 0; i < threads; ++i) {
    std::thread{[&] { result.add(scope); }}.join();
    std::this_thread::sleep_for(std::chrono::milliseconds{40});  // the session's thread drains every 25 ms
  }
  return result;
}

void print(char const* name, std::vector<double> const& ns, char const* before) {
  std::printf("%s\"%s\": [", before, name);
  for (std::size_t i = 0; i < ns.size(); ++i) std::printf("%s%.0f", i == 0 ? "" : ", ", ns[i]);
  std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--calls") == 0) {
    bench::recording session;
    std::thread{[] {
      ::getppid();
      scope();
      ::getppid();
      scope();
      ::getppid();
    }}.join();
    return 0;
  }
  times const logs = of_new_logs();
  times const old = of_old_logs();
  times const site = of_sites(std::make_integer_sequence<int, sites>{});
  print("new_thread", logs.first, "{");
  print("new_thread_second", logs.second, ", ");
  print("reused_log", old.first, ", ");
  print("reused_log_second", old.second, ", ");
  print("new_site", site.first, ", ");
  print("new_site_second", site.second, ", ");
  // The time of a clock reading, which each of these times includes.
  std::vector<double> clock;
  for (int i = 0; i < sites; ++i) {
    double const begin = bench::now_ns(CLOCK_MONOTONIC);
    clock.push_back(bench::now_ns(CLOCK_MONOTONIC) - begin);
  }
  print("clock", clock, ", ");
  std::puts("}");
  return 0;
}
