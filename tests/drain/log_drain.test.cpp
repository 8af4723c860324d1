// SPDX-License-Identifier: Apache-2.0
//
// Steps and their own scopes, whose times are converted in different drains. The clock is imitated: this program has its own clock_gettime,
// and CLOCK_MONOTONIC jumps ahead of the time-stamp counter, so that each anchor changes the rate.
#include <profkit/impl/drain/log_drain.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <ctime>
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/options.hpp>
#include <stdexcept>
#include <vector>

namespace {

// Atomic: sessions of other tests in this program read the clock on several threads.
std::atomic<std::int64_t> clock_ahead_ns{0};
std::atomic<void (*)()> at_reading{nullptr};  ///< called once per reading of CLOCK_MONOTONIC, but not while it runs

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const system = reinterpret_cast<int (*)(clockid_t, timespec*)>(::dlsym(RTLD_NEXT, "clock_gettime"));
  if (clock != CLOCK_MONOTONIC) return system(clock, now);
  if (auto* const function = at_reading.load()) {
    at_reading = nullptr;
    function();
    at_reading = function;
  }
  int const status = system(clock, now);
  std::int64_t const ns = now->tv_sec * 1'000'000'000 + now->tv_nsec + clock_ahead_ns;
  *now = {ns / 1'000'000'000, ns % 1'000'000'000};
  return status;
}

namespace {

constexpr std::int64_t jump_ns = 50'000'000;

/// A recording without a session: it drains when the test says so.
class recording final : public profkit::step_loop {
 public:
  recording() { switch_to(true); }
  ~recording() override {
    switch_to(false);
    profkit::detail::skip_logs();
    at_reading = nullptr;
    clock_ahead_ns = 0;
  }

  void switch_to(bool on) {
    if (on) __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording, __ATOMIC_RELEASE);
    if (!on) __atomic_fetch_and(&profkit::detail::recorder.flags, ~profkit::detail::recording, __ATOMIC_RELEASE);
  }

  /// Runs a step with some scopes, two slots and one slot each.
  void run_step(int scopes = 1) {
    profkit::step const step{*this};
    for (int i = 0; i < scopes; ++i) profkit::scope const each{where()};
  }

  /// Drains up to a new anchor, with another rate since the last one.
  void drain(bool last = false) {
    clock_ahead_ns += jump_ns;
    logs_.drain(
        last, [] { return true; }, [] {});
  }

  /// Begins to drain, and stops after some thousand events.
  void stop_draining() {
    logs_.drain(
        false, [] { return false; }, [] {});
  }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }

  /// The number of steps in the profile; all must have the time of a step's scope.
  [[nodiscard]] std::size_t matched_steps() const {
    profkit::profile const& made = made_.so_far();
    for (profkit::step_record const& step : made.steps) {
      auto const is_own = [&](profkit::scope_record const& each) {
        return made.paths[each.path].is_step && each.time.begin == step.time.begin && each.time.end == step.time.end;
      };
      CHECK(std::count_if(made.scopes.begin(), made.scopes.end(), is_own) == 1);
    }
    return made.steps.size();
  }

 private:
  static profkit::site& where() {
    static profkit::site value{"inside", __FILE__, __LINE__};
    return value;
  }

  profkit::detail::raw_step begin_step() override {
    logs_.begin_step();
    profkit::detail::raw_step next;
    next.index = begun_++;
    return next;
  }
  void end_step(profkit::detail::raw_step const& done) noexcept override { logs_.end_step(done); }

  profkit::profile_builder made_;
  std::uint32_t const clock_flag_ = profkit::detail::start_recording(profkit::options{}.log_slots_per_thread, made_);
  profkit::detail::log_drain logs_{made_, 0};
  std::uint64_t begun_ = 0;
};

recording* running = nullptr;

}  // namespace

TEST_CASE("a step and its scope have one time if a drain was stopped between them", "[drain]") {
  recording program;
  program.run_step();
  program.drain();
  for (int i = 0; i < 20; ++i) program.run_step(1000);
  program.stop_draining();
  CHECK(program.made().steps.size() == 1);
  program.drain();
  CHECK(program.matched_steps() == 21);
  CHECK(program.made().scopes.size() == 1 + 1 + 20 * 1001);
}

TEST_CASE("a step that runs while the clock is read is in the profile when its scope is, at the same time", "[drain]") {
  recording program;
  program.run_step();
  program.drain();
  running = &program;
  at_reading = [] { running->run_step(); };
  program.drain();
  at_reading = nullptr;
  std::size_t const before = program.matched_steps();
  CHECK(before > 1);
  program.drain();
  CHECK(program.matched_steps() > before);
  CHECK(2 * program.made().steps.size() == program.made().scopes.size());
}

TEST_CASE("the scope of a step that lasts for many drains has the step's time", "[drain]") {
  recording program;
  program.drain();
  {
    profkit::step const step{program};
    for (int i = 0; i < 20; ++i) program.drain();
  }
  try {
    profkit::step const abandoned{program};
    throw std::runtime_error{"expected"};
  } catch (std::runtime_error const&) {
  }
  program.run_step();
  program.drain(true);
  CHECK(program.matched_steps() == 2);
  CHECK(program.made().steps[0].time.duration().count() >= 19 * jump_ns);  // it began within the first jump
}

TEST_CASE("a step without a recorded scope has a time", "[drain]") {
  recording program;
  program.drain();
  program.switch_to(false);
  program.run_step();
  program.switch_to(true);
  program.run_step();
  program.drain();
  REQUIRE(program.made().steps.size() == 2);
  CHECK(program.made().scopes.size() == 2);
  CHECK(program.made().steps[0].time.begin < program.made().steps[0].time.end);
  CHECK(program.made().steps[0].time.end <= program.made().steps[1].time.begin);
}

TEST_CASE("a step whose scope was ended by an outer scope has its real duration", "[drain]") {
  recording program;
  program.drain();
  profkit::site where{"around", __FILE__, __LINE__};
  auto const around =
      profkit::detail::record_enter(profkit::detail::recording, profkit::detail::tagged(where, profkit::detail::event_kind::enter), 0);
  {
    profkit::step const step{program};
    static_cast<void>(profkit::detail::record_leave(around, profkit::detail::counter_ticks()));
    std::int64_t const begin = profkit::detail::monotonic_ns();
    while (profkit::detail::monotonic_ns() - begin < 1'000'000) continue;
  }
  program.drain();
  REQUIRE(program.made().steps.size() == 1);
  REQUIRE(program.made().scopes.size() == 2);
  CHECK(program.made().steps[0].time.begin == program.made().scopes[0].time.begin);
  CHECK(program.made().steps[0].time.duration().count() >= 1'000'000);
  CHECK(program.made().steps[0].time.end > program.made().scopes[0].time.end);
}
