// SPDX-License-Identifier: Apache-2.0
//
// Host samples of this kernel. Skipped if it rejects perf_event_open.
#include <profkit/impl/collect/built_in_collectors.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <profkit/scope.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../support/sampled_program.hpp"
#include "../support/sanitizers.hpp"

namespace {

using sampled_program = sampled::program;

bool is_long() { return std::getenv("PROFKIT_TEST_LONG") != nullptr; }

/// The processor time of the process.
double process_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Runs the three functions in turn, for 50, 30 and 20 % of a period. @return the processor time of each, in milliseconds.
std::array<double, 3> run_blocks(double ms, double period_ms) {
  std::array<double, 3> result{};
  PROF_SCOPE("blocks");
  for (double const until = sampled::cpu_ms() + ms; sampled::cpu_ms() < until;) {
    double const begin = sampled::cpu_ms();
    sampled::busy_half(0.5 * period_ms);
    double const second = sampled::cpu_ms();
    sampled::busy_third(0.3 * period_ms);
    double const third = sampled::cpu_ms();
    sampled::busy_fifth(0.2 * period_ms);
    result[0] += second - begin, result[1] += third - second, result[2] += sampled::cpu_ms() - third;
  }
  return result;
}

/// @param points maximum error of a share, in percentage points.
void check_shares(std::size_t threads, double ms_of_each, double period_ms, double points) {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  std::vector<std::array<double, 3>> truth(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&program, &truth, i, ms_of_each, period_ms] {
      { PROF_SCOPE("first"); }  // from now on the thread has a log
      program.wait_for_samples();
      truth[i] = run_blocks(ms_of_each, period_ms);
    });
  }
  for (std::thread& each : running) each.join();
  program.stop();
  std::array<double, 3> used{};
  for (std::array<double, 3> const& each : truth) {
    for (std::size_t i = 0; i < used.size(); ++i) used[i] += each[i];
  }
  double const all_used = used[0] + used[1] + used[2];
  std::map<std::string, double> found = program.times()["blocks"];
  double all_found = 0.0;
  for (auto const& [function, ms] : found) all_found += ms;
  INFO(threads << " threads, " << all_used << " ms used, " << all_found << " ms sampled");
  std::array<char const*, 3> const names{"sampled::busy_half", "sampled::busy_third", "sampled::busy_fifth"};
  double error = 0.0;
  for (std::size_t i = 0; i < names.size(); ++i)
    error = std::max(error, 100.0 * std::abs(found[names[i]] / all_found - used[i] / all_used));
  CHECK(error < points);
  if (is_long()) {
    std::printf("truth: %zu threads, %.1f s each, loop of %g ms: largest error of a share %.2f points; %.1f of %.1f ms sampled\n", threads,
                ms_of_each * 1e-3, period_ms, error, all_found, all_used);
  }
  // The samples cover less than the whole time, because they do not see time in the kernel.
  CHECK(all_found > 0.7 * all_used);
  CHECK(all_found < 1.1 * all_used);
  REQUIRE(program.made().sampling.has_value());
  CHECK(program.made().sampling->threads >= threads);
  CHECK(program.made().sampling->threads_without == 0);
}

}  // namespace

// The standard deviation of a share of 50 % is 2.5 points for 400 samples and 1.1 for 2,000. Short runs allow three of them, because there
// are many. With PROFKIT_TEST_LONG the bounds are those of docs/samples.md, and the tests print figures (tests/gpu/checks/samples.py).
TEST_CASE("sampled shares of 50, 30 and 20 % are right within 3 points in 2 s on 1, 2 and 8 threads", "[host_samples][sampled_truth]") {
  double const ms = is_long() ? 2000.0 : 400.0;
  double const points = is_long() ? 3.0 : 8.0;
  check_shares(1, ms, 10.0, points);
  check_shares(2, is_long() ? ms : ms / 2, 10.0, points);
  check_shares(8, is_long() ? ms : ms / 4, 10.0, points);
}

TEST_CASE("samples see the threads with scopes, and it is known how much that is of the process", "[host_samples]") {
  SKIP_IN_EMULATOR();
  sampled_program program;
  SKIP_IF_REFUSED(program);
  double const begin = process_ms();
  std::thread sampled{[&] {
    { PROF_SCOPE("first"); }
    program.wait_for_samples();
    sampled::busy_half(300.0);
  }};
  std::thread unseen{[] { sampled::busy_third(300.0); }};
  sampled.join();
  unseen.join();
  double const used = process_ms() - begin;
  program.stop();
  profkit::sampled_time_record const time = program.made().sampling->time;
  double const process = profkit::milliseconds{time.user + time.system}.count();
  double const seen = profkit::milliseconds{time.samples}.count();
  CHECK(process > used - 20.0);
  CHECK(seen > 150.0);
  CHECK(process - seen > 250.0);  // of the thread without scopes
}

TEST_CASE("a loop of the length of the sampling period does not stay in step with the samples", "[host_samples][sampled_truth]") {
  check_shares(1, is_long() ? 2000.0 : 600.0, 1.0, is_long() ? 3.0 : 12.0);
}

TEST_CASE("without perf_event_open, timers of processor time take samples, less often and less precisely", "[host_samples]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer delays signals");
  SKIP_IN_EMULATOR();
  sampled_program program{false};
  double used = 0.0;
  std::thread{[&] {
    { PROF_SCOPE("first"); }
    program.wait_for_samples();
    PROF_SCOPE("busy");
    used = sampled::cpu_ms();
    sampled::busy_half(300.0);
    used = sampled::cpu_ms() - used;
  }}.join();
  program.stop();
  double all = 0.0;
  std::map<std::string, double> found = program.times()["busy"];
  for (auto const& [function, ms] : found) all += ms;
  // The first sample stands for one period, up to two ticks late; and the time after the last one has none.
  CHECK(all > used - 50.0);
  CHECK(all < used + 20.0);
  CHECK(found["sampled::busy_half"] > 0.9 * all);
  CHECK(program.made().sampling->mechanism.find("timers") != std::string::npos);
  CHECK(program.made().sampling->threads_without == 0);
}

TEST_CASE("a timer's signal does not end a sleep, a wait or a read early, and keeps errno", "[host_samples]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer delays signals");
  SKIP_IN_EMULATOR();
  sampled_program program{false};
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  std::atomic<bool> is_over{false};
  std::thread reader{[&] {
    PROF_SCOPE("reader");
    errno = 12'345;
    sampled::busy_half(150.0);  // signals arrive here
    int const error_number = errno;
    CHECK(error_number == 12'345);
    char byte = 0;
    CHECK(::read(pipe_ends[0], &byte, 1) == 1);  // and a pending one would interrupt this
    is_over = true;
  }};
  {
    PROF_SCOPE("sleeper");
    timespec const wanted{0, 50'000'000};
    for (int i = 0; i < 6; ++i) {
      double const busy = sampled::cpu_ms();
      while (sampled::cpu_ms() < busy + 20.0) continue;
      CHECK(::nanosleep(&wanted, nullptr) == 0);
    }
  }
  CHECK_FALSE(is_over);
  REQUIRE(::write(pipe_ends[1], "x", 1) == 1);
  reader.join();
  ::close(pipe_ends[0]), ::close(pipe_ends[1]);
  program.stop();
  CHECK(program.times()["reader"]["sampled::busy_half"] > 50.0);
  CHECK(program.made().sampling->mechanism.find("timers") != std::string::npos);
}

TEST_CASE("short-lived threads are sampled, each under its own scope", "[host_samples]") {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  for (int i = 0; i < 6; ++i) {
    std::thread{[i, &program] {
      PROF_SCOPE_INDEXED("short", i);
      program.wait_for_samples();  // threads are found when logs are drained, and reading names delays a drain
      sampled::busy_half(60.0);
    }}.join();
  }
  program.stop();
  std::map<std::int64_t, int> samples;
  for (profkit::sample_record const& each : program.made().samples) {
    if (each.path == profkit::path_record::no_parent) continue;
    profkit::path_record const& path = program.made().paths[each.path];
    if (path.name == "short") ++samples[path.index.value_or(-1)];
  }
  for (int i = 0; i < 6; ++i) CHECK(samples[i] > 5);
  CHECK(program.made().sampling->lost == 0);
}

TEST_CASE("samples that do not fit into the ring are counted", "[host_samples]") {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  PROF_SCOPE("nobody reads");
  program.pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds{30});
  sampled::busy_half(1200.0);  // the ring has room for about 400; a busy host takes fewer samples
  program.pause(false);
  sampled::busy_half(100.0);  // the kernel counts the loss with the next sample that fits
  program.stop();
  REQUIRE(program.made().sampling.has_value());
  double const sampled_ms = program.times()["nobody reads"]["sampled::busy_half"];
  CHECK(program.made().sampling->lost > 0);
  CHECK(static_cast<double>(program.made().sampling->lost) + sampled_ms > 450.0);  // about a millisecond for each sample
}

TEST_CASE("a second session samples again", "[host_samples]") {
  for (int session = 0; session < 2; ++session) {
    sampled_program program;
    SKIP_IF_REFUSED(program);
    PROF_SCOPE("again");
    sampled::busy_fifth(80.0);
    program.stop();
    CHECK(program.times()["again"]["sampled::busy_fifth"] > 30.0);
  }
}

TEST_CASE("an impossible sampling rate is refused", "[host_samples]") {
  CHECK_THROWS_AS(profkit::host_samples{profkit::host_sample_options{0.0}}, profkit::error);
  CHECK_THROWS_AS(profkit::host_samples{profkit::host_sample_options{1e6}}, profkit::error);
}
