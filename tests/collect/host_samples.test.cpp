// SPDX-License-Identifier: Apache-2.0
//
// Host samples of this kernel. Skipped where it refuses perf_event_open.
#include <profkit/collect/host_samples.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <profkit/drain/log_drain.hpp>
#include <profkit/options.hpp>
#include <profkit/scope.hpp>
#include <profkit/session/recording_start.hpp>
#include <string>
#include <thread>
#include <vector>

namespace sampled {

std::atomic<std::uint64_t> sink{0};

inline double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Three functions that use a given processor time. Their loops are not inlined into each other.
#define BUSY_FUNCTION(name, factor)                                  \
  __attribute__((noinline)) void name(double ms) {                   \
    double const until = cpu_ms() + ms;                              \
    std::uint64_t value = (factor);                                  \
    while (cpu_ms() < until) {                                       \
      for (int i = 0; i < 20'000; ++i) value = value * (factor) + 1; \
    }                                                                \
    sink.fetch_add(value, std::memory_order_relaxed);                \
  }
BUSY_FUNCTION(busy_half, 6364136223846793005U)
BUSY_FUNCTION(busy_third, 2862933555777941757U)
BUSY_FUNCTION(busy_fifth, 3202034522624059733U)
#undef BUSY_FUNCTION

}  // namespace sampled

namespace {

/// Records and samples this program until `stop`.
class sampled_program {
 public:
  explicit sampled_program(bool uses_perf_events = true) : collector_{profkit::host_sample_options{1000.0, uses_perf_events}} {
    collector_.use_clock(logs_.calendar());
    collector_.start(made_);
    logs_.use_samples(*collector_.samples());
    std::string const how = made().sampling ? made().sampling->mechanism : "";
    if (!collector_.status().works) reason_ = collector_.status().reason;
    if (how.find("because of") != std::string::npos) reason_ = how;
    __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording | clock_flag_, __ATOMIC_RELEASE);
    thread_ = std::thread{[this] {
      while (!is_over_) {
        if (!is_paused_) drain(false);
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
      }
    }};
  }
  ~sampled_program() {
    stop();
    profkit::detail::skip_logs();
  }

  void stop() {
    if (is_over_.exchange(true)) return;
    thread_.join();
    __atomic_fetch_and(&profkit::detail::recorder.flags, ~(profkit::detail::recording | profkit::detail::use_monotonic_clock),
                       __ATOMIC_RELEASE);
    drain(true);
    collector_.stop();
  }

  void pause(bool is_paused) { is_paused_ = is_paused; }

  /// Why this machine cannot run the test; empty if it can.
  [[nodiscard]] std::string const& reason() const { return reason_; }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }

  /// The processor time of the samples by scope and function, in milliseconds.
  [[nodiscard]] std::map<std::string, std::map<std::string, double>> times() const {
    std::map<std::string, std::map<std::string, double>> result;
    for (profkit::sample_record const& each : made().samples) {
      std::string const scope = each.path == profkit::path_record::no_parent ? "" : made().paths[each.path].name;
      result[scope][made().functions[each.function].name] += static_cast<double>(each.weight) * 1e-6;
    }
    return result;
  }

 private:
  void drain(bool last) {
    logs_.drain(
        last, [] { return true; }, [] {});
  }

  profkit::profile_builder made_;
  std::uint32_t clock_flag_ = profkit::detail::start_recording(profkit::options{}.log_slots_per_thread, made_);
  profkit::detail::log_drain logs_{made_, clock_flag_};
  profkit::host_samples collector_;
  std::string reason_;
  std::atomic<bool> is_over_{false};
  std::atomic<bool> is_paused_{false};
  std::thread thread_;
};

#ifdef RUNS_IN_EMULATOR
#define SKIP_IN_EMULATOR() SKIP("the emulator has no timers for the processor time of other threads")
#else
#define SKIP_IN_EMULATOR() static_cast<void>(0)
#endif

#define SKIP_IF_REFUSED(program) \
  if (!(program).reason().empty()) SKIP((program).reason())

/// Runs the three functions in blocks of 5, 3 and 2 ms. @return the processor time of each.
std::array<double, 3> run_blocks(double ms) {
  std::array<double, 3> result{};
  PROF_SCOPE("blocks");
  for (double const until = sampled::cpu_ms() + ms; sampled::cpu_ms() < until;) {
    double const begin = sampled::cpu_ms();
    sampled::busy_half(5.0);
    double const second = sampled::cpu_ms();
    sampled::busy_third(3.0);
    double const third = sampled::cpu_ms();
    sampled::busy_fifth(2.0);
    result[0] += second - begin, result[1] += third - second, result[2] += sampled::cpu_ms() - third;
  }
  return result;
}

void check_shares(std::size_t threads, double ms_of_each, double points) {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  std::vector<std::array<double, 3>> truth(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&truth, i, ms_of_each] {
      { PROF_SCOPE("first"); }  // from now on the thread has a log
      std::this_thread::sleep_for(std::chrono::milliseconds{60});
      truth[i] = run_blocks(ms_of_each);
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
  CHECK(std::abs(found["sampled::busy_half"] / all_found - used[0] / all_used) < points);
  CHECK(std::abs(found["sampled::busy_third"] / all_found - used[1] / all_used) < points);
  CHECK(std::abs(found["sampled::busy_fifth"] / all_found - used[2] / all_used) < points);
  // The samples stand for the time: less, because they do not see time in the kernel.
  CHECK(all_found > 0.7 * all_used);
  CHECK(all_found < 1.1 * all_used);
  REQUIRE(program.made().sampling.has_value());
  CHECK(program.made().sampling->threads >= threads);
  CHECK(program.made().sampling->threads_without == 0);
}

}  // namespace

// 400 samples are off by 1.3 points on average, 2,000 by 0.6.
TEST_CASE("sampled shares of 50, 30 and 20 % are right within 8 points on 1, 2 and 8 threads", "[host_samples]") {
  bool const is_long = std::getenv("PROFKIT_TEST_LONG") != nullptr;
  double const ms = is_long ? 2000.0 : 400.0;
  double const points = is_long ? 0.03 : 0.08;
  check_shares(1, ms, points);
  check_shares(2, ms / 2, points);
  check_shares(8, ms / 4, points);
}

TEST_CASE("without perf_event_open, timers of processor time sample too, less often and less precisely", "[host_samples]") {
  SKIP_IN_EMULATOR();
  sampled_program program{false};
  std::thread thread{[] {
    { PROF_SCOPE("first"); }
    std::this_thread::sleep_for(std::chrono::milliseconds{60});
    static_cast<void>(run_blocks(400.0));
  }};
  thread.join();
  program.stop();
  double known = 0.0;
  double all = 0.0;
  std::map<std::string, double> const found = program.times()["blocks"];
  for (auto const& [function, ms] : found) {
    all += ms;
    if (function.find("sampled::busy_") == 0) known += ms;
  }
  CHECK(all > 100.0);
  CHECK(all < 450.0);
  CHECK(known > 0.5 * all);  // the rest is in calls of the system
  CHECK(program.made().sampling->mechanism.find("timers") == 0);
  CHECK(program.made().sampling->threads_without == 0);
}

TEST_CASE("a timer's signal does not end a sleep, a wait or a read early, and keeps errno", "[host_samples]") {
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
  CHECK(program.made().sampling->mechanism.find("timers") == 0);
}

TEST_CASE("threads that come and go are sampled, each under its own scope", "[host_samples]") {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  for (int i = 0; i < 6; ++i) {
    std::thread{[i] {
      PROF_SCOPE_INDEXED("short", i);
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

TEST_CASE("the child of a fork is not sampled, and the parent is sampled on", "[host_samples]") {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  PROF_SCOPE("parent");
  ::pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    sampled::busy_third(100.0);
    ::_exit(0);
  }
  sampled::busy_half(100.0);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  program.stop();
  std::map<std::string, double> found = program.times()["parent"];
  CHECK(found["sampled::busy_half"] > 50.0);
  CHECK(found.count("sampled::busy_third") == 0);
}

TEST_CASE("samples that do not fit into the ring are counted", "[host_samples]") {
  sampled_program program;
  SKIP_IF_REFUSED(program);
  PROF_SCOPE("nobody reads");
  program.pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds{30});
  sampled::busy_half(600.0);  // the ring has room for about 400
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

TEST_CASE("a rate of samples that is impossible is refused", "[host_samples]") {
  CHECK_THROWS_AS(profkit::host_samples{profkit::host_sample_options{0.0}}, profkit::error);
  CHECK_THROWS_AS(profkit::host_samples{profkit::host_sample_options{1e6}}, profkit::error);
}
