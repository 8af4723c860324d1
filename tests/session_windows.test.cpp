// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/windows/window_stream.hpp>
#include <profkit/memory_source.hpp>
#include <profkit/session.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/analyze.hpp>
#include <profkit/save_load.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/made_full_profile.hpp"
#include "support/made_kinds.hpp"
#include "support/made_loop.hpp"
#include "support/profile_of.hpp"
#include "support/random_loop_profile.hpp"
#include "support/random_memory_profile.hpp"
#include "support/random_step_profile.hpp"
#include "support/repetitions.hpp"
#include "support/summary_bytes.hpp"
#include "support/wait_for_drain.hpp"
#include "support/with_more.hpp"

using namespace std::chrono_literals;

namespace {

/// The records of a profile, as they arrive while a session runs.
class arriving_profile {
 public:
  arriving_profile(profkit::profile const& profile, std::uint64_t seed) : profile_{profile}, random_{seed} {
    for (profkit::scope_record const& each : profile.scopes) see(each.time);
    for (profkit::gpu_operation_record const& each : profile.gpu_operations) see(each.time);
    for (profkit::step_record const& each : profile.steps) see(each.time);
    for (profkit::api_call_record const& each : profile.api_calls) see(each.time);
    if (last_ < first_) first_ = last_ = {};  // nothing was recorded
    max_delay_ = std::max<std::int64_t>(1, (last_ - first_).count() / (2 + static_cast<std::int64_t>(up_to(20))));
    for (profkit::gpu_operation_record const& each : profile.gpu_operations) operations_.push_back(each.time.end + delay());
    for (profkit::gpu_scope_record const& each : profile.gpu_scopes) gpu_scopes_.push_back(each.begin + delay());
    std::map<std::uint64_t, profkit::timestamp> ends;
    for (profkit::step_record const& each : profile.steps) ends[each.index] = each.time.end;
    profkit::timestamp latest = first_;
    for (profkit::step_record const& each : profile.steps) {
      latest = std::max(latest, each.time.end + delay());
      steps_.push_back(latest);
    }
    latest = first_;
    for (profkit::gpu_step_record const& each : profile.gpu_steps) {
      latest = std::max(latest, ends[each.step] + delay());
      gpu_steps_.push_back(latest);
    }
    for (profkit::memory_record const& each : profile.memory) memory_.push_back(ends.count(each.step) != 0 ? ends[each.step] : first_);
    for (profkit::device_clock_record const& each : profile.device_clocks)
      clocks_.push_back(ends.count(each.step) != 0 ? ends[each.step] : first_);
    for (profkit::device_utilization_record const& each : profile.device_utilization) uses_.push_back(each.time.end);
    for (profkit::energy_record const& each : profile.energy) energy_.push_back(each.time + delay());
  }

  /// The profile without its records.
  [[nodiscard]] profkit::profile head() const {
    profkit::profile result = profile_;
    result.scopes.clear(), result.steps.clear(), result.gpu_scopes.clear(), result.gpu_steps.clear(), result.gpu_operations.clear();
    result.api_calls.clear(), result.counters.clear(), result.memory.clear(), result.allocations.clear(), result.work.clear();
    result.device_clocks.clear(), result.device_utilization.clear(), result.energy.clear(), result.collectives.clear(),
        result.samples.clear();
    return result;
  }

  /// Adds the records that have arrived since the last call.
  profkit::detail::arrival continue_to(profkit::timestamp to, profkit::profile& into) {
    auto const arrive = [&](auto const& from, auto& list, auto const& time_of) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        profkit::timestamp const time = time_of(i);
        if (now_ < time && time <= to) list.push_back(from[i]);
      }
    };
    arrive(profile_.scopes, into.scopes, [&](std::size_t i) { return profile_.scopes[i].time.end; });
    arrive(profile_.steps, into.steps, [&](std::size_t i) { return steps_[i]; });
    arrive(profile_.api_calls, into.api_calls, [&](std::size_t i) { return profile_.api_calls[i].time.end; });
    arrive(profile_.counters, into.counters, [&](std::size_t i) { return profile_.counters[i].time; });
    arrive(profile_.samples, into.samples, [&](std::size_t i) { return profile_.samples[i].time; });
    arrive(profile_.allocations, into.allocations, [&](std::size_t i) { return profile_.allocations[i].time; });
    arrive(profile_.collectives, into.collectives, [&](std::size_t i) { return profile_.collectives[i].time.end; });
    arrive(profile_.work, into.work, [&](std::size_t i) { return profile_.work[i].begin; });
    arrive(profile_.gpu_operations, into.gpu_operations, [&](std::size_t i) { return operations_[i]; });
    arrive(profile_.gpu_scopes, into.gpu_scopes, [&](std::size_t i) { return gpu_scopes_[i]; });
    arrive(profile_.gpu_steps, into.gpu_steps, [&](std::size_t i) { return gpu_steps_[i]; });
    arrive(profile_.memory, into.memory, [&](std::size_t i) { return memory_[i]; });
    arrive(profile_.device_clocks, into.device_clocks, [&](std::size_t i) { return clocks_[i]; });
    arrive(profile_.device_utilization, into.device_utilization, [&](std::size_t i) { return uses_[i]; });
    arrive(profile_.energy, into.energy, [&](std::size_t i) { return energy_[i]; });
    now_ = to;
    return what_is_open();
  }

  [[nodiscard]] profkit::interval time() const { return {first_, last_}; }

  /// The longest time from the beginning of an operation to its arrival.
  [[nodiscard]] std::chrono::nanoseconds max_operation() const {
    std::chrono::nanoseconds result{1};
    for (std::size_t i = 0; i < operations_.size(); ++i)
      result = std::max(result, operations_[i] - profile_.gpu_operations[i].time.begin + 1ns);
    return result;
  }

 private:
  std::uint64_t up_to(std::uint64_t most) { return random_() % (most + 1); }

  /// A random delay, often 0.
  std::chrono::nanoseconds delay() {
    return std::chrono::nanoseconds{random_() % 2 == 0 ? 0 : up_to(static_cast<std::uint64_t>(max_delay_))};
  }

  void see(profkit::interval const& time) {
    first_ = std::min(first_, time.begin);
    last_ = std::max(last_, time.end);
  }

  profkit::detail::arrival what_is_open() const {
    profkit::detail::arrival result;
    result.logs_until = now_;
    result.times_steps = !profile_.gpu_steps.empty();
    result.has_steps = profkit::detail::measured_time::had_steps(profile_);
    if (!profile_.steps.empty() && profile_.allocators.empty()) result.has_steps = profile_.steps.front().time.begin <= now_;
    for (std::size_t i = 0; i < profile_.gpu_scopes.size(); ++i) {
      if (profile_.gpu_scopes[i].begin > now_ || gpu_scopes_[i] <= now_) continue;
      result.unread_gpu_scope = std::min(result.unread_gpu_scope.value_or(profile_.gpu_scopes[i].begin), profile_.gpu_scopes[i].begin);
    }
    for (profkit::scope_record each : profile_.scopes) {
      if (each.time.begin > now_ || each.time.end <= now_) continue;
      each.time.end = profkit::timestamp::max();
      result.open_scopes.push_back(each);
    }
    std::stable_sort(result.open_scopes.begin(), result.open_scopes.end(),
                     [](auto const& a, auto const& b) { return a.time.begin > b.time.begin; });
    for (profkit::api_call_record const& each : profile_.api_calls) {
      if (each.time.begin <= now_ && now_ < each.time.end)
        result.open_call = std::min(result.open_call.value_or(each.time.begin), each.time.begin);
    }
    return result;
  }

  profkit::profile const& profile_;
  std::mt19937_64 random_;
  profkit::timestamp first_ = profkit::timestamp::max();
  profkit::timestamp last_ = profkit::timestamp::min();
  profkit::timestamp now_ = profkit::timestamp::min();
  std::int64_t max_delay_ = 0;
  std::vector<profkit::timestamp> operations_, steps_, gpu_scopes_, gpu_steps_, memory_, clocks_, uses_, energy_;  ///< arrival time of each
};

void append(profkit::profile const& from, profkit::profile& to) {
  auto const add = [&](auto const& list, auto& into) { into.insert(into.end(), list.begin(), list.end()); };
  add(from.scopes, to.scopes), add(from.steps, to.steps), add(from.gpu_scopes, to.gpu_scopes), add(from.gpu_steps, to.gpu_steps);
  add(from.gpu_operations, to.gpu_operations), add(from.api_calls, to.api_calls), add(from.counters, to.counters);
  add(from.memory, to.memory), add(from.work, to.work), add(from.device_clocks, to.device_clocks);
  add(from.device_utilization, to.device_utilization), add(from.energy, to.energy);
  add(from.allocations, to.allocations), add(from.collectives, to.collectives), add(from.samples, to.samples);
}

/// @return the number of added windows.
std::uint64_t check_stream(profkit::profile const& profile, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  arriving_profile from{profile, seed};
  profkit::detail::window_waits const waits{0ns, profile.steps.empty() ? from.max_operation() : 0ns, 1000h, 1000h};
  profkit::detail::window_stream stream{{}, waits};
  stream.waiting() = from.head();
  profkit::profile whole = from.head();
  auto const continue_to = [&](profkit::timestamp to) {
    profkit::profile arrived;
    profkit::detail::arrival const result = from.continue_to(to, arrived);
    for (profkit::profile* const each : {&whole, &stream.waiting()}) append(arrived, *each);
    return result;
  };
  std::vector<profkit::timestamp> rounds;
  std::uint64_t const length = 1 + static_cast<std::uint64_t>((from.time().end - from.time().begin).count()) * 5 / 4;
  for (int i = 0; i < 60; ++i) rounds.push_back(from.time().begin + std::chrono::nanoseconds{random() % length});
  std::sort(rounds.begin(), rounds.end());
  for (profkit::timestamp const each : rounds) {
    stream.add_complete(continue_to(each));
    if (random() % 4 != 0) continue;
    profkit::detail::journal_head head = stream.head();  // as if a journal continued in another file here
    stream = profkit::detail::window_stream{{}, waits};
    stream.resume(head.figures, std::move(head.waiting));
  }
  profkit::detail::arrival const last = continue_to(profkit::timestamp::max());
  stream.add_rest(last.has_steps);
  CHECK((bytes_of(stream.sums().finish()) == bytes_of(profkit::analyze(whole))));
  return stream.windows();
}

std::uint64_t check_with_more(profkit::profile const& profile, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  return check_stream(with_more(profile, random), seed);
}

}  // namespace

TEST_CASE("figures summed while records arrive, or continued from a journal, are those of the whole session") {
  std::uint64_t windows = 0;
  std::uint64_t const seeds = repetitions(100);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    windows += check_with_more(make_random_step_profile(seed), seed);
    windows += check_with_more(make_random_loop_profile(seed), seed);
    windows += check_with_more(make_random_memory_profile(seed), seed);
    profkit::profile without_steps = make_random_step_profile(seed);
    without_steps.steps.clear();
    windows += check_with_more(without_steps, seed);
  }
  CHECK(windows > 12 * seeds);
  made_kinds many_kinds;
  for (int i = 0; i < 60; ++i) many_kinds.step({{"part " + std::to_string(i % 20)}});
  CHECK(check_with_more(many_kinds.profile, 1) > 1);
  made_kinds ahead;  // steps whose work continues in later windows
  for (int i = 0; i < 20; ++i) ahead.step({{i % 8 == 5 ? "evaluate" : "train", 1.0, i % 8 == 5 ? 8.0 : 3.0}});
  CHECK(check_with_more(ahead.profile, 1) > 1);
  made_loop long_run;  // more steps than the history has windows and than a series has groups
  for (int i = 0; i < (repeats_less ? 1'500 : 70'000); ++i) long_run.step(2.0 * i, 2.0 * i + 1.0 + i % 7 / 10.0, i < 7);
  long_run.profile.collectors.clear();  // no kernels to wait for
  CHECK(check_stream(long_run.profile, 1) > 1);
  check_with_more(make_random_loop_profile(2770), 2770);  // a launching call is open shortly after a border
  for (char const* const name : {"small-128-train-fp32", "small-128-train-fp32-graph", "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    CHECK(check_stream(profkit::load(std::string{TEST_DATA "/"} + name + ".profile"), 1) >= 3);
  }
  CHECK(check_stream(profkit::load(TEST_RANKS "/slowhost/rank1.profile"), 1) >= 3);
}

namespace {

constexpr int scopes_of_a_part = 50'000;

void run_part() {
  for (int i = 0; i < scopes_of_a_part; ++i) {
    PROF_SCOPE("many");
  }
  wait_for_drain();
}

profkit::options few_records() {
  profkit::options result = plain_options(1, 5);
  result.max_records = 1000;
  return result;
}

void check_figures(profkit::report const& report, std::string const& path, std::uint64_t scopes) {
  REQUIRE(find_row(report.summary(), path) != nullptr);
  CHECK(find_row(report.summary(), path)->host.count == scopes);
  CHECK(report.profile().scopes.size() <= 1000);
  CHECK(report.summary().quality.discarded_records == 0);
  CHECK(report.summary().quality.untraced_records >= scopes - 1000);
}

}  // namespace

TEST_CASE("figures cover the whole session if not all records are kept") {
  profkit::session session{few_records()};
  SECTION("with steps") {
    for (profkit::step each : session) {
      static_cast<void>(each);
      run_part();
    }
    profkit::report const report = session.report();
    check_figures(report, "step/many", 5 * scopes_of_a_part);
    CHECK(find_row(report.summary(), "step")->host.count == 5);
    CHECK(report.summary().steps.host.count == 5);
    CHECK_THAT(report.full_text(), Catch::Matchers::ContainsSubstring("are in the figures, but not in the profile and in traces"));
    CHECK(profkit::analyze(report.profile()).quality.discarded_records == report.summary().quality.untraced_records);
  }
  SECTION("without steps, in a scope that is open all the time") {
    {
      PROF_SCOPE("outer");
      for (int i = 0; i < 6; ++i) run_part();
      profkit::report const so_far = session.snapshot();
      check_figures(so_far, "outer/many", 6 * scopes_of_a_part);
      CHECK(find_row(so_far.summary(), "outer")->host.count == 0);
      run_part();
    }
    profkit::report const report = session.report();
    check_figures(report, "outer/many", 7 * scopes_of_a_part);
    CHECK(find_row(report.summary(), "outer")->host.count == 1);
    CHECK(find_row(report.summary(), "outer")->host.total >= find_row(report.summary(), "outer/many")->host.total);
  }
  SECTION("on several threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int part = 0; part < 3; ++part) run_part();
      });
    }
    for (std::thread& each : threads) each.join();
    check_figures(session.report(), "many", 12 * scopes_of_a_part);
  }
}

namespace {

class one_reading final : public profkit::memory_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "pool"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override { return {{"used", ++bytes_, {}, {}}}; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Delays the session's thread after the drains of the collectors before it.
class slow_drain final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "slow"; }
  void drain(profkit::profile_builder&, bool) override { std::this_thread::sleep_for(std::chrono::milliseconds{60}); }
};

}  // namespace

TEST_CASE("figures have the readings of all steps if steps end while the session's thread is busy") {
  constexpr std::uint64_t steps = 40;
  profkit::options options = plain_options(0, steps);
  options.max_records = 1000;
  profkit::session session{options};
  session.collect(one_reading{});
  session.collect(slow_drain{});
  for (profkit::step const& each : session) {
    static_cast<void>(each);
    for (int i = 0; i < 10'000; ++i) PROF_SCOPE("many");
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  profkit::report const report = session.report();
  CHECK(report.summary().steps.host.count == steps);
  REQUIRE(report.summary().memory.size() == 1);
  CHECK(report.summary().memory.front().samples == steps);
  CHECK(report.summary().memory.front().last_bytes == steps);
}

TEST_CASE("a scope of another thread that is open for long counts once, and does not hold up the figures of many steps") {
  constexpr std::uint64_t steps = 12;
  profkit::options options = plain_options(1, steps);
  options.max_records = 1000;
  profkit::session session{options};
  std::atomic<bool> is_open{false};
  std::atomic<bool> is_over{false};
  std::thread worker;
  for (profkit::step const each : session) {
    if (each.index() == 2) {
      worker = std::thread{[&] {
        PROF_SCOPE("worker");
        is_open = true;
        while (!is_over) {
          PROF_SCOPE("sleep");
          std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
      }};
      while (!is_open) std::this_thread::yield();
    }
    run_part();
    if (each.index() == 10) {
      profkit::report const so_far = session.snapshot();
      CHECK(find_row(so_far.summary(), "step/many")->host.count >= 8 * scopes_of_a_part);
      if (profkit::scope_summary const* const open = find_row(so_far.summary(), "worker")) CHECK(open->host_self.count() == 0.0);
      is_over = true;
    }
  }
  worker.join();
  profkit::report const report = session.report();
  check_figures(report, "step/many", steps * scopes_of_a_part);
  REQUIRE(find_row(report.summary(), "worker") != nullptr);
  profkit::scope_summary const& row = *find_row(report.summary(), "worker");
  CHECK(row.host.count == 1);
  CHECK(row.host_self.count() >= 0.0);
  CHECK(row.host_self < 0.1 * row.host.total);
  for (profkit::step_kind_summary const& kind : report.summary().kinds) {
    for (profkit::kind_scope_summary const& each : kind.scopes) CHECK(each.host_self.count() >= 0.0);
  }
}

namespace {

/// Steps with different durations; each has as many scopes as its number.
profkit::report report_of_uneven_steps(profkit::kept_steps keep, std::uint64_t steps) {
  profkit::options options = plain_options(2, steps - 2);
  options.keep = keep;
  profkit::session session{options};
  for (profkit::step each : session) {
    for (std::uint64_t i = 0; i < each.index(); ++i) {
      PROF_SCOPE("part");
      PROF_COUNTER("counter", i);
    }
    if (each.index() % 10 == 7) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return session.report();
}

void check_kept(profkit::report const& report, std::vector<std::uint64_t> const& steps) {
  std::vector<std::uint64_t> kept;
  std::size_t scopes = 0;
  for (profkit::step_record const& each : report.profile().steps) {
    kept.push_back(each.index);
    scopes += each.index;
  }
  CHECK(kept == steps);
  CHECK(count_scopes(report.profile(), "step/part") == scopes);
  CHECK(count_scopes(report.profile(), "step") == steps.size());
  CHECK(report.profile().counters.size() == scopes);
}

}  // namespace

TEST_CASE("keep=last:N and keep=slowest:K keep the records of these steps and the figures of all") {
  constexpr std::uint64_t steps = 60;
  auto const [keep, kept] = GENERATE(table<profkit::kept_steps, std::vector<std::uint64_t>>({
      {{profkit::kept_steps::last, 3}, {57, 58, 59}},
      {{profkit::kept_steps::slowest, 6}, {7, 17, 27, 37, 47, 57}},
  }));
  profkit::report const report = report_of_uneven_steps(keep, steps);
  check_kept(report, kept);
  CHECK(report.summary().steps.host.count == steps - 2);
  CHECK(find_row(report.summary(), "step/part")->host.count == steps * (steps - 1) / 2 - 1);
  std::uint64_t const all = 3 * steps * (steps - 1) / 2;
  CHECK(report.summary().quality.discarded_records == 0);
  CHECK(report.profile().quality.untraced_records < all);
  CHECK(report.profile().quality.untraced_records > 0);
}

TEST_CASE("keep=last:N keeps records from before the first step, and all records of a session without steps") {
  profkit::options options = plain_options(0, 3);
  options.keep = {profkit::kept_steps::last, 1};
  profkit::session session{options};
  { PROF_SCOPE("setup"); }
  wait_for_drain();
  SECTION("with steps") {
    for (profkit::step each : session) PROF_SCOPE_INDEXED("part", static_cast<std::int64_t>(each.index()));
    profkit::report const report = session.report();
    CHECK(count_scopes(report.profile(), "setup") == 1);
    CHECK(count_scopes(report.profile(), "step/part_0") == 0);
    CHECK(count_scopes(report.profile(), "step/part_2") == 1);
    CHECK(report.profile().steps.size() == 1);
  }
  SECTION("without") { CHECK(count_scopes(session.report().profile(), "setup") == 1); }
}

TEST_CASE("windows become due however often records are taken before", "[windows]") {
  profkit::profile_builder content;
  profkit::detail::window_stream stream;
  std::uint32_t const path = content.position_of(profkit::path_record{profkit::path_record::no_parent, "scope", {}, "", 0});
  std::uint32_t const thread = content.add(profkit::thread_record{1, "main"});
  int scopes = 0;
  for (; !stream.is_due(content) && scopes < 1'000'000; ++scopes) {
    content.add(profkit::scope_record{{}, path, thread});
    if (scopes % 1000 == 0) stream.take(content);  // as for metrics
  }
  CHECK(scopes < 100'000);
}

TEST_CASE("a window waits for threads that may still be writing, and not if what was read is older than that", "[windows]") {
  profkit::profile_builder content;
  profkit::detail::window_stream stream;
  std::uint32_t const path = content.position_of(profkit::path_record{profkit::path_record::no_parent, "scope", {}, "", 0});
  std::uint32_t const thread = content.add(profkit::thread_record{1, "main"});
  profkit::timestamp const begin{1h};
  for (std::int64_t i = 0; i < 5000; ++i) {
    profkit::timestamp const at = begin + i * 1us;
    content.add(profkit::scope_record{{at, at + 1us}, path, thread});
  }
  profkit::timestamp const end = begin + 5001us;
  bool const has_steps = GENERATE(false, true);
  if (has_steps) content.add(profkit::step_record{{begin, end - 1us}, 0});
  profkit::detail::arrival until;
  until.has_steps = has_steps;
  until.logs_until = end;
  stream.take(content);
  SECTION("read at once") {
    stream.add_complete(until);
    CHECK(stream.windows() == (has_steps ? 0 : 1));
    CHECK(stream.waiting().scopes.size() == (has_steps ? 5000 : 1000));
  }
  SECTION("read later, because the reader is behind") {
    until.read_at = end + 20ms;
    stream.add_complete(until);
    CHECK(stream.windows() == 1);
    CHECK(stream.waiting().scopes.size() == (has_steps ? 1 : 0));  // the last one ends with the step
  }
}
