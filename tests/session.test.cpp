// SPDX-License-Identifier: Apache-2.0
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/session/session_impl.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/profile_of.hpp"
#include "support/repetitions.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// Records the calls that it gets.
class call_log final : public profkit::collector {
 public:
  explicit call_log(std::vector<std::string>& entries) : entries_{&entries} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "call log"; }
  void start(profkit::profile_builder&) override { entries_->push_back("start"); }
  void before_step(profkit::step_record const& step) override { entries_->push_back("before " + std::to_string(step.index)); }
  void after_step(profkit::step_record const& step) override { entries_->push_back("after " + std::to_string(step.index)); }
  void drain(profkit::profile_builder&, bool last) override {
    if (last) entries_->push_back("last drain");
  }
  void stop() override { entries_->push_back("stop"); }

 private:
  std::vector<std::string>* entries_;
};

/// Notes which collectors are asked to prepare for a step, and which are called before it.
class preparing final : public profkit::collector {
 public:
  preparing(std::string name, std::vector<std::string>& entries) : name_{std::move(name)}, entries_{&entries} {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  void prepare_step(profkit::step_record const& step) override { entries_->push_back("prepare " + name_ + std::to_string(step.index)); }
  void before_step(profkit::step_record const& step) override { entries_->push_back("before " + name_ + std::to_string(step.index)); }

 private:
  std::string name_;
  std::vector<std::string>* entries_;
};

/// Throws at the chosen call.
class broken final : public profkit::collector {
 public:
  explicit broken(std::string where, int& calls) : where_{std::move(where)}, calls_{&calls} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "broken"; }
  void start(profkit::profile_builder&) override { fail_in("start"); }
  void before_step(profkit::step_record const&) override { fail_in("before"); }
  void after_step(profkit::step_record const&) override { fail_in("after"); }
  void drain(profkit::profile_builder&, bool) override { fail_in("drain"); }

 private:
  void fail_in(char const* where) {
    if (where != where_) return;
    ++*calls_;
    throw std::runtime_error{std::string{"it broke in "} + where};
  }
  std::string where_;
  int* calls_;
};

/// Adds a path, a thread, and then what a function adds.
class adding final : public profkit::collector {
 public:
  explicit adding(void (*what)(profkit::profile_builder&)) : what_{what} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "adding"; }
  void drain(profkit::profile_builder& into, bool) override {
    if (what_ == nullptr) return;
    into.position_of(profkit::path_record{profkit::path_record::no_parent, "mine", {}, "", 0});
    into.add(profkit::thread_record{1, "mine"});
    std::exchange(what_, nullptr)(into);
  }

 private:
  void (*what_)(profkit::profile_builder&);
};

profkit::timestamp second(std::int64_t count) { return profkit::timestamp{std::chrono::seconds{count}}; }

/// Longer than a tick of any clock: a step without a length has no scopes.
void work() {
  PROF_SCOPE("work");
  std::this_thread::sleep_for(std::chrono::microseconds{10});
}

class kernels final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "operations"; }
  [[nodiscard]] profkit::collector_kind kind() const noexcept override { return profkit::collector_kind::kernels; }
};

/// A program-defined count, such as kernels of an operating system.
class named_kernels final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "kernels"; }
};

}  // namespace

TEST_CASE("a profile converts its times to the clock shared by all processes of a machine", "[session]") {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 1;
  std::int64_t const before = profkit::detail::monotonic_ns();
  profkit::session session{options};
  for ([[maybe_unused]] profkit::step step : session) continue;
  profkit::report const report = session.report();
  std::int64_t const after = profkit::detail::monotonic_ns();
  REQUIRE(report.profile().steps.size() == 1);
  profkit::environment_record const& environment = report.profile().environment;
  REQUIRE(environment.clock_offset_ns);
  std::int64_t const begin = report.profile().steps[0].time.begin.time_since_epoch().count() - *environment.clock_offset_ns;
  CHECK(before <= begin);
  CHECK(begin <= after);
  CHECK(environment.boot_id.size() == 36);
  CHECK(report.summary().environment.clock_offset_ns == environment.clock_offset_ns);
}

TEST_CASE("a collector is called around every step, drained once more at the end, and stopped", "[session]") {
  std::vector<std::string> entries;
  profkit::session session{plain_options(1, 1)};
  session.collect(call_log{entries});
  for (profkit::step step : session) entries.push_back("in " + std::to_string(step.index()));
  profkit::report const report = session.report();
  CHECK(entries == std::vector<std::string>{"start", "before 0", "in 0", "after 0", "before 1", "in 1", "after 1", "last drain", "stop"});
  CHECK(report.summary().collectors.at(0).status == "collected");
}

TEST_CASE("a collector that throws is reported and not called again, and the session continues", "[session]") {
  for (char const* const where : {"start", "before", "after", "drain"}) {
    int calls = 0;
    profkit::session session{plain_options(0, 3)};
    session.collect(broken{where, calls});
    for (profkit::step step : session) work();
    profkit::summary const summary = session.report().summary();
    CHECK(calls == 1);
    CHECK(summary.collectors.at(0).status == "not collected");
    CHECK(summary.collectors.at(0).reason == std::string{"it broke in "} + where);
    CHECK(find_row(summary, "step/work")->host.count == 3);
  }
}

TEST_CASE("a collector that adds a record that cannot be is not called again, and the report says why", "[session]") {
  constexpr std::uint32_t far = 1U << 30U;
  struct {
    void (*add)(profkit::profile_builder&);
    char const* reason;
  } const cases[] = {
      {[](profkit::profile_builder& to) {
         to.add(profkit::scope_record{{second(1), second(2)}, far, 0});
       },
       "a scope without path"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::scope_record{{second(1), second(2)}, 0, far});
       },
       "a scope without thread"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::scope_record{{second(2), second(1)}, 0, 0});
       },
       "a scope ends before it begins"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::scope_record{{second(-2), second(1)}, 0, 0});
       },
       "a scope ends before it begins"},
      {[](profkit::profile_builder& to) {
         for (int i = 0; i < 2; ++i) to.add(profkit::scope_record{{second(0), second(1LL << 32)}, 0, 0});
       },
       "its times add up to more than 146 years"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::thread_record{2, "lost", far});
       },
       "a thread without path"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::gpu_scope_record{far, second(1), 0, {}});
       },
       "a GPU scope without path"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::gpu_operation_record{{second(1), second(2)}, 1});
       },
       "a GPU operation without name"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::api_call_record{{second(1), second(2)}, 1, far, 0});
       },
       "an API call without name"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::counter_record{second(1), 1.0, far, 0});
       },
       "a counter without name"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::allocation_record{second(1), 1, 1, 0, 7});
       },
       "an allocation without allocator"},
      {[](profkit::profile_builder& to) {
         to.position_of(profkit::allocator_record{"mine", 0, false});
         to.add(profkit::allocation_record{second(1), 1, 1, 0, 0, static_cast<profkit::allocation_kind>(77)});
       },
       "an allocation with an unknown kind of allocation"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::work_record{second(1), 0, {-1.0, 0.0}});
       },
       "work is negative or not a number"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::measured_roof_record{static_cast<profkit::precision>(77), 1.0, 1.0, ""});
       },
       "a measured roof with an unknown precision"},
      {[](profkit::profile_builder& to) { to.add(profkit::collective_record{}); }, "a collective without communicator"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::sample_record{second(1), 0, far, 0, 1});
       },
       "a sample without function"},
      {[](profkit::profile_builder& to) { to.add(profkit::energy_record{}); }, "energy without meter"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::graph_node_record{1, far});
       },
       "a node of a graph without path"},
      {[](profkit::profile_builder& to) {
         to.add(profkit::replayed_scope_record{0, far, 0});
       },
       "a scope of a replayed graph without path"},
  };
  for (auto const& each : cases) {
    INFO(each.reason);
    profkit::session session{plain_options(0, 3)};
    session.collect(adding{each.add});
    for (profkit::step step : session) work();
    profkit::summary const summary = session.report().summary();
    CHECK(summary.collectors.at(0).status == "not collected");
    CHECK(summary.collectors.at(0).reason == std::string{"cannot add a record: "} + each.reason);
    CHECK(find_row(summary, "step/work")->host.count == 3);
  }
}

TEST_CASE("a single value of a collector that cannot be is n/a in the report", "[session]") {
  profkit::session session{plain_options(0, 3)};
  session.collect(adding{[](profkit::profile_builder& to) {
    profkit::rank_record wrong;
    wrong.rank = 9;
    wrong.size = 2;
    to.environment().rank = wrong;
    to.set(&profkit::profile::sampling, profkit::sampling_record{});
    to.set(&profkit::quality_record::cost_of_1000_scopes, std::chrono::nanoseconds::max());
  }});
  for (profkit::step step : session) work();
  profkit::report const report = session.report();
  CHECK(!report.profile().environment.rank);
  CHECK(!report.profile().sampling);
  CHECK(report.profile().quality.cost_of_1000_scopes.count() == 0);
}

TEST_CASE("kernels=off switches the collector of kernels off, whatever its name, and no other", "[session]") {
  profkit::options options = plain_options();
  options.kernels = false;
  profkit::session session{options};
  session.collect(kernels{});
  session.collect(named_kernels{});
  profkit::summary const summary = session.report().summary();
  CHECK(summary.collectors.at(0).reason == "switched off by kernels=off");
  CHECK(summary.collectors.at(1).status == "collected");
}

TEST_CASE("a program's collector named kernels is not the collector of kernels", "[session]") {
  profkit::session session{plain_options()};
  session.collect(named_kernels{});
  profkit::report const report = session.report();
  CHECK(report.summary().collectors.at(0).status == "collected");
  CHECK_FALSE(report.summary().gpu);
  CHECK_FALSE(report.summary().budget);
}

TEST_CASE("there is one session at a time", "[session]") {
  profkit::session first{plain_options()};
  CHECK_THROWS_MATCHES(profkit::session{plain_options()}, profkit::error, MessageMatches(ContainsSubstring("one per process")));
  static_cast<void>(first.report());
  CHECK_NOTHROW(profkit::session{plain_options()});
}

TEST_CASE("report() ends the session and can be called again", "[session]") {
  profkit::session session{plain_options(0, 2)};
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::report const report = session.report();
  { PROF_SCOPE("too late"); }
  { profkit::step const step{session}; }
  CHECK(session.report().full_text() == report.full_text());
  CHECK(find_row(report.summary(), "too late") == nullptr);
  CHECK(report.summary().steps.host.count == 2);
}

TEST_CASE("switched off, steps run and nothing is recorded", "[session]") {
  std::vector<std::string> entries;
  profkit::options options = plain_options(1, 2);
  options.enabled = false;
  profkit::session session{options};
  session.collect(call_log{entries});
  int steps = 0;
  for (profkit::step step : session) {
    CHECK(step.is_warmup() == (steps == 0));
    ++steps;
    PROF_SCOPE("work");
  }
  profkit::summary const summary = session.report().summary();
  CHECK(steps == 3);
  CHECK(entries.empty());
  CHECK(summary.scopes.empty());
  CHECK(summary.steps.host.count == 0);
  CHECK(summary.collectors.at(0).reason == "profkit is off");
}

TEST_CASE("a program that traps invalid operations gets a report of any counters, and keeps its floating-point environment", "[session]") {
  struct before_test {
    before_test() { std::fegetenv(&environment); }
    ~before_test() { std::fesetenv(&environment); }
    std::fenv_t environment;
  } const restored;
  double const volatile not_a_number = std::numeric_limits<double>::quiet_NaN();
  constexpr double largest = std::numeric_limits<double>::max();
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
  ::feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  int const trapped = ::fegetexcept();  // some processors have no traps
  profkit::options options = plain_options(0, 200);
  options.wanted_interval = 0.5;
  profkit::session session{options};
  for (profkit::step step : session) {
    PROF_SCOPE("work", profkit::work{largest, largest});
    for (double const each : {largest, -largest}) PROF_COUNTER("large", each);
    PROF_COUNTER("loss", not_a_number);
    step.set_model_flops(largest);
  }
  static_cast<void>(session.snapshot());
  profkit::report const report = session.report();
  temporary_folder const folder{"traps"};
  report.write((folder.path / "out").string());
  std::string const text{report.full_text()};
  CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) == 0);
  CHECK(std::fegetround() == FE_UPWARD);
  CHECK(::fegetexcept() == trapped);
  std::fesetenv(FE_DFL_ENV);
  CHECK_THAT(text, ContainsSubstring("large"));
}

TEST_CASE("two sessions can exist if one is off", "[session]") {
  profkit::options off = plain_options();
  off.enabled = false;
  profkit::session const running{plain_options()};
  CHECK_NOTHROW(profkit::session{off});
}

TEST_CASE("a report has what the process used in the measured steps, or in a session without steps", "[session]") {
  constexpr std::size_t pages = 4096;
  auto const touch_new_memory = [] {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const memory = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    ::madvise(memory, pages * page, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < pages; ++i) static_cast<char volatile*>(memory)[i * page] = 1;
    ::munmap(memory, pages * page);
  };
  for (std::uint64_t const steps : {std::uint64_t{0}, std::uint64_t{2}}) {
    profkit::session session{plain_options(1, 2)};
    for (std::uint64_t i = 0; i < steps + (steps > 0 ? 1 : 0); ++i) {
      profkit::step const step{session};
      touch_new_memory();
    }
    if (steps == 0) touch_new_memory();
    profkit::summary const figures = session.report().summary();
    REQUIRE(figures.environment.host_use);
    profkit::host_use_record const& use = *figures.environment.host_use;
    CHECK(use.elapsed > std::chrono::nanoseconds{});
    CHECK(use.processors > 0);
    std::uint64_t const touched = pages * (steps == 0 ? 1 : steps);
    CHECK(use.minor_faults >= touched);
    bool const has_shadow_memory = under_thread_sanitizer || under_address_sanitizer;
    CHECK((has_shadow_memory || use.minor_faults < touched + pages));  // without those of the warm-up step
  }
}

TEST_CASE("steps=auto stops when the mean is known, and the report says so", "[session]") {
  profkit::options options = plain_options(2, 5);
  options.wanted_interval = 0.9;
  profkit::session session{options};
  std::uint64_t steps = 0;
  for (profkit::step step : session) {
    ++steps;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  profkit::report const report = session.report();
  CHECK(steps >= 62);  // 2 warm-up and at least 60 measured steps
  CHECK(report.summary().steps.host.count == steps - 2);
  REQUIRE(report.profile().stop);
  CHECK(*report.profile().stop->reached <= 0.9);
  std::string const stopped = "stopped after " + std::to_string(steps - 2) + " measured steps: the mean host step time is known to +-";
  CHECK_THAT(report.full_text(), ContainsSubstring(stopped));
}

TEST_CASE("steps=auto continues while the mean is not known, up to its bound", "[session]") {
  profkit::options options = plain_options(2, 5);
  options.wanted_interval = 1e-9;
  options.max_steps = 25;
  profkit::session session{options};
  std::uint64_t steps = 0;
  for (profkit::step step : session) ++steps;
  CHECK(steps == 27);
  CHECK_THAT(session.report().full_text(), ContainsSubstring("stopped at the bound of 25 measured steps"));
}

TEST_CASE("steps=auto ignores steps that the program excludes", "[session]") {
  profkit::options options = plain_options(2, 5);
  options.wanted_interval = 0.9;
  profkit::session session{options};
  std::uint64_t steps = 0;
  for (profkit::step step : session) {
    ++steps;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    if (step.index() % 2 == 0) step.exclude();
  }
  profkit::step_summary const summary = session.report().summary().steps;
  CHECK(summary.host.count >= 10);
  CHECK(summary.excluded == summary.host.count);
  CHECK(steps == 2 + summary.excluded + summary.host.count);
}

TEST_CASE("a custom loop asks whether another step is needed", "[session]") {
  {
    profkit::session session{plain_options(1, 3)};
    std::uint64_t steps = 0;
    while (session.wants_step()) {
      profkit::step const step{session};
      ++steps;
    }
    CHECK(steps == 4);
    CHECK_FALSE(session.report().profile().stop);
  }
  profkit::options options = plain_options(1, 3);
  options.wanted_interval = 0.9;
  profkit::session session{options};
  std::uint64_t steps = 0;
  while (session.wants_step()) {
    profkit::step const step{session};
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    ++steps;
  }
  CHECK(steps == 61);  // one of warm-up, and the 60 after which it looks first
}

TEST_CASE("switched off, steps=auto takes as many steps as without it", "[session]") {
  profkit::options options = plain_options(1, 3);
  options.wanted_interval = 0.01;
  options.enabled = false;
  profkit::session session{options};
  std::uint64_t steps = 0;
  for (profkit::step step : session) ++steps;
  CHECK(steps == 4);
  CHECK_FALSE(session.wants_step());
}

TEST_CASE("a bound of the logs that leaves no room is refused", "[session]") {
  profkit::options options = plain_options();
  options.log_slots_per_thread = 15;
  CHECK_THROWS_MATCHES(profkit::session{options}, profkit::error,
                       MessageMatches(ContainsSubstring("15") && ContainsSubstring("at least 16")));
  CHECK_NOTHROW(profkit::session{plain_options()});
}

TEST_CASE("the cost of a scope on this machine is measured and leaves no trace", "[session]") {
  profkit::session session{plain_options()};
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.cost_of_1000_scopes > std::chrono::nanoseconds{0});
  CHECK(profile.quality.cost_of_1000_scopes < std::chrono::milliseconds{10});
  CHECK(profile.scopes.empty());
  CHECK(profile.quality.dropped_events == 0);
}

TEST_CASE("all collectors prepare for a step before any is called before it", "[session]") {
  std::vector<std::string> entries;
  profkit::session session{plain_options(0, 2)};
  session.collect(preparing{"a", entries});
  session.collect(preparing{"b", entries});
  for ([[maybe_unused]] profkit::step const step : session) {
  }
  CHECK(entries == std::vector<std::string>{"prepare a0", "prepare b0", "before a0", "before b0", "prepare a1", "prepare b1", "before a1",
                                            "before b1"});
}

namespace {

/// Counts the rounds of the session's thread, which drains collectors after the logs.
class round_counter final : public profkit::collector {
 public:
  explicit round_counter(std::atomic<int>& rounds) : rounds_{&rounds} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "rounds"; }
  void drain(profkit::profile_builder&, bool) override { ++*rounds_; }

 private:
  std::atomic<int>* rounds_;
};

/// Waits until earlier records are drained, even on a busy machine, or for 10 seconds.
void wait_for_rounds(std::atomic<int> const& rounds) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  int const before = rounds;
  while (rounds < before + 3 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

}  // namespace

TEST_CASE("scopes are drained without a step: eight million on one thread, none dropped", "[session][thread]") {
  // More than a log holds (5.6 million), in an ordinary build.
  constexpr std::uint64_t bursts = repetitions(4);
  constexpr std::uint64_t scopes_per_burst = 2'000'000;
  std::atomic<int> rounds{0};
  profkit::session session{plain_options()};
  session.collect(round_counter{rounds});
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    for (std::uint64_t i = 0; i < scopes_per_burst; ++i) PROF_SCOPE("scope");
    wait_for_rounds(rounds);
  }
  profkit::report const report = session.report();
  CHECK(report.summary().scopes_recorded == bursts * scopes_per_burst);
  CHECK(report.profile().scopes.size() == 1'000'000);
  CHECK(report.profile().quality.dropped_events == 0);
}

TEST_CASE("a thread that records at full speed does not stall the steps", "[session][thread]") {
  constexpr std::uint64_t steps = 50;
  profkit::options options = plain_options(0, steps);
  options.max_records = 1'000'000'000;
  profkit::session session{options};
  std::atomic<bool> stop{false};
  std::uint64_t opened = 0;
  std::thread hot{[&] {
    for (; !stop; ++opened) PROF_SCOPE("hot");
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{repetitions(500)});
  auto const begin = std::chrono::steady_clock::now();
  for (profkit::step step : session) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  auto const taken = std::chrono::steady_clock::now() - begin;
  std::this_thread::sleep_for(std::chrono::milliseconds{repetitions(1500)});
  stop = true;
  hot.join();
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  // 50 to 60 ms alone; it was 24 s before. The rest allows for other load on the processors.
  CHECK(taken < 10 * steps * std::chrono::milliseconds{1});
  CHECK(profile.quality.bookkeeping < steps * std::chrono::milliseconds{5});
  CHECK(profile.steps.size() == steps);
  CHECK(count_scopes(profile, "hot") + profile.quality.dropped_events == opened);
}

TEST_CASE("a session samples the host if its options request it, with one collector", "[session]") {
  profkit::options options = plain_options();
  options.samples_per_second = 2e6;
  CHECK_THROWS_AS(profkit::session{options}, profkit::error);
  options.samples_per_second = 1000.0;
  options.warmup_steps = 1;
  profkit::session session{options};  // the refused one has left nothing behind
  auto const& second = session.collect(profkit::host_samples{});
  CHECK(second.status().reason == "another collector takes samples already");
  for (int i = 0; i < 2; ++i) {
    profkit::step const step{session};
    PROF_SCOPE("busy");
    auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
    while (std::chrono::steady_clock::now() < until) continue;
  }
  profkit::report const report = session.report();
  CHECK(report.profile().collectors.at(0).name == "host samples");
  CHECK(report.profile().collectors.at(1).status == "not collected");
  REQUIRE(report.summary().host_samples);
  profkit::host_samples_summary const& samples = *report.summary().host_samples;
  CHECK(samples.samples <= report.profile().samples.size());
  if (samples.samples == 0) SKIP("this machine took no samples: " + samples.mechanism);
  CHECK(samples.samples < report.profile().samples.size());  // not those of the warm-up step
  CHECK(samples.scopes.at(0).path == "step/busy");
  CHECK(report.text().find("SAMPLES") != std::string::npos);
  CHECK(report.full_text().find("Host samples") != std::string::npos);
}

TEST_CASE("a report without host samples does not mention them", "[session]") {
  profkit::session session{plain_options()};
  { profkit::step const step{session}; }
  profkit::report const report = session.report();
  CHECK_FALSE(report.profile().sampling);
  CHECK_FALSE(report.summary().host_samples);
  CHECK(report.text().find("SAMPLES") == std::string::npos);
  CHECK(report.full_text().find("Host samples") == std::string::npos);
}
