// SPDX-License-Identifier: Apache-2.0
//
// The benchmark loop of all recorders. Each recorder has its own program, which defines `PEER_SCOPE(name)` and calls `peer::run`. The macro
// is in a separate header, so that the cost of including it can be measured.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "../bench_support.hpp"

namespace peer {

constexpr int batch = 16384;
constexpr int batches = 12;
/// Many more than the 4 logs that a session keeps in reserve, so that the median thread creates its log.
constexpr int new_threads = 32;
constexpr int kept = 400'000;  ///< number of scopes in the memory measurement, which has no pauses

/// What a program counts in addition to the times.
struct counts {
  double log_bytes = -1.0;  ///< bytes in memory per scope; -1: unknown
  double lost = -1.0;       ///< number of dropped scopes; -1: unknown
};

inline double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Processor time of this thread per scope, in ns. Between batches is an untimed pause, in which the recorder's thread or process can read
/// the records.
inline double ns_of_scopes(void (*scopes)(int)) {
  scopes(1000);
  double taken = 0.0;
  for (int i = 0; i < batches; ++i) {
    timespec const pause{0, 4'000'000};
    ::nanosleep(&pause, nullptr);
    double const begin = bench::now_ns(CLOCK_THREAD_CPUTIME_ID);
    scopes(batch);
    taken += bench::now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  return taken / (static_cast<double>(batch) * batches);
}

/// Mean of `ns_of_scopes` over `count` concurrent threads.
inline double ns_on_threads(int count, void (*scopes)(int)) {
  std::vector<double> ns(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (double& each : ns) threads.emplace_back([&each, scopes] { each = ns_of_scopes(scopes); });
  for (std::thread& each : threads) each.join();
  double sum = 0.0;
  for (double const each : ns) sum += each;
  return sum / count;
}

/// Wall time of the first scope of new threads that exist at the same time, minus the time of a clock reading: medians. The threads start
/// one after the other. With profkit, 4 or a few more find a log that the session keeps in reserve; the others map and touch a new one.
inline double ns_of_first(void (*scopes)(int)) {
  std::vector<double> ns;
  std::vector<double> clock;
  std::promise<void> end;
  std::shared_future<void> const has_ended = end.get_future().share();
  std::vector<std::promise<void>> all_measured(new_threads);  // outlive the threads that set them
  std::vector<std::thread> living;
  for (std::promise<void>& measured : all_measured) {
    living.emplace_back([&] {
      std::shared_future<void> const until = has_ended;
      double const before = bench::now_ns(CLOCK_MONOTONIC);
      double const begin = bench::now_ns(CLOCK_MONOTONIC);
      scopes(1);
      ns.push_back(bench::now_ns(CLOCK_MONOTONIC) - begin);
      clock.push_back(begin - before);
      measured.set_value();
      until.wait();
    });
    measured.get_future().wait();
  }
  end.set_value();
  for (std::thread& each : living) each.join();
  return middle(ns) - middle(clock);
}

inline double peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Measures and writes a line of JSON to the file. @return the exit code of the program.
/// @param scopes opens and closes that many scopes.
/// @param finish ends the recording and returns its counts; called once, at the end.
template <class Finish>
int run(char const* file, void (*scopes)(int), Finish const& finish) {
  scopes(1);  // the first of the site
  double const first = ns_of_first(scopes);
  double const one = ns_on_threads(1, scopes);
  double const two = ns_on_threads(2, scopes);
  double const before = peak_bytes();
  std::thread{[scopes] { scopes(kept); }}.join();
  double const grown = (peak_bytes() - before) / kept;
  std::int64_t const total = 1 + new_threads + 3 * (1000 + std::int64_t{batch} * batches) + kept;
  counts const counted = finish(total);
  std::FILE* const out = std::fopen(file, "w");
  if (out == nullptr) {
    std::perror(file);
    return 1;
  }
  std::fprintf(out,
               "{\"one\": %.3f, \"two\": %.3f, \"first\": %.0f, \"grown\": %.1f, \"scopes\": %lld, \"log_bytes\": %.2f, \"lost\": %.0f}\n",
               one, two, first, grown, static_cast<long long>(total), counted.log_bytes, counted.lost);
  return std::fclose(out) == 0 ? 0 : 1;
}

}  // namespace peer

/// The loop, in a function that is not inlined.
#define PEER_LOOP(function)                            \
  __attribute__((noinline)) void function(int count) { \
    for (int i = 0; i < count; ++i) {                  \
      PEER_SCOPE("scope");                             \
      bench::touch_memory();                           \
    }                                                  \
  }
