// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/profile_of.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

/// Scopes on this thread and on another one, which end in the step.
void some_work(std::uint64_t scopes) {
  std::thread other{[scopes] {
    for (std::uint64_t i = 0; i < scopes; ++i) PROF_SCOPE("beside");
  }};
  for (std::uint64_t i = 0; i < scopes; ++i) {
    PROF_SCOPE_INDEXED("layer", static_cast<std::int64_t>(i % 3));
    PROF_SCOPE("inner");
    PROF_COUNTER("loss", static_cast<double>(i));
  }
  other.join();
}

/// All scopes with a name, anywhere in the tree.
std::size_t count_named(profkit::profile const& profile, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(profile.scopes.begin(), profile.scopes.end(),
                                                [&](profkit::scope_record const& each) { return profile.paths[each.path].name == name; }));
}

/// The figures of the first steps of a profile as JSON, without figures of the whole session.
std::string figures_of(profkit::profile profile, std::size_t steps) {
  REQUIRE(profile.steps.size() >= steps);
  profile.steps.resize(steps);
  profile.quality = {};
  profile.environment = {};
  profile.time = {};
  for (profkit::thread_record& each : profile.threads) each.system_id = 0;  // later steps have further threads
  return profkit::report_json(profkit::analyze(profile));
}

}  // namespace

TEST_CASE("a snapshot between steps has everything that ended before", "[session][snapshot]") {
  profkit::session session{plain_options(0, 3)};
  for (std::size_t steps = 1; steps <= 3; ++steps) {
    {
      profkit::step const step{session};
      some_work(10);
    }
    profkit::report const so_far = session.snapshot();
    CHECK(so_far.profile().steps.size() == steps);
    CHECK(count_named(so_far.profile(), "inner") == 10 * steps);
    CHECK(count_scopes(so_far.profile(), "beside") == 10 * steps);
    CHECK_FALSE(so_far.profile().quality.snapshot->is_step_open);
  }
}

TEST_CASE("the figures of a snapshot are those of the final report over the same steps", "[session][snapshot]") {
  profkit::session session{plain_options(2, 30)};
  std::vector<profkit::profile> snapshots;
  for (profkit::step step : session) {
    some_work(50);
    step.set_items(7);
    if (step.index() % 8 == 5) snapshots.push_back(session.snapshot().profile());
  }
  profkit::profile const all = session.report().profile();
  REQUIRE(snapshots.size() == 4);
  for (profkit::profile const& each : snapshots) {
    std::size_t const steps = each.steps.size();
    CHECK(steps % 8 == 5);
    CHECK(figures_of(each, steps) == figures_of(all, steps));
  }
}

TEST_CASE("a snapshot of a session without steps has all scopes that ended before, and counts those that are open", "[session][snapshot]") {
  profkit::session session{plain_options()};
  for (int i = 0; i < 100; ++i) PROF_SCOPE("done");
  PROF_SCOPE("open");
  profkit::report const so_far = session.snapshot();
  CHECK_FALSE(so_far.summary().covers_steps);
  CHECK(count_scopes(so_far.profile(), "done") == 100);
  CHECK(count_scopes(so_far.profile(), "open") == 0);
  CHECK(so_far.profile().quality.open_scopes == 1);
  CHECK_THAT(so_far.full_text(),
             ContainsSubstring("Snapshot of a running session") && ContainsSubstring("1 scopes were open and are not in the report"));
}

TEST_CASE("a snapshot in the first step has no step figures yet", "[session][snapshot]") {
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) {
    some_work(3);
    profkit::report const so_far = session.snapshot();
    CHECK(so_far.summary().covers_steps);
    CHECK(so_far.summary().steps.host.count == 0);
    CHECK_THAT(so_far.full_text(), ContainsSubstring("No step was measured") && ContainsSubstring("the open step is not in the report"));
  }
}

TEST_CASE("a snapshot has the status of each collector", "[session][snapshot]") {
  class silent final : public profkit::collector {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "silent"; }
    void before_step(profkit::step_record const&) override { fail("nothing to hear"); }
  };
  profkit::session session{plain_options(0, 2)};
  session.collect(silent{});
  auto const reason = [&] { return session.snapshot().summary().collectors.at(0).reason; };
  CHECK(reason().empty());
  { profkit::step const step{session}; }
  CHECK(reason() == "nothing to hear");
}

TEST_CASE("a snapshot counts the steps without a GPU time so far", "[session][snapshot]") {
  class late final : public profkit::collector {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "late"; }
    [[nodiscard]] bool times_steps() const noexcept override { return true; }
    void drain(profkit::profile_builder& into, bool last) override {
      std::uint64_t const timed = into.so_far().gpu_steps.size();
      if (last || timed == 0) into.add(profkit::gpu_step_record{timed, 0, std::chrono::microseconds{5}});
    }
  };
  profkit::session session{plain_options(0, 3)};
  session.collect(late{});
  for (profkit::step step : session) std::this_thread::sleep_for(std::chrono::milliseconds{11});
  profkit::report const so_far = session.snapshot();
  CHECK(so_far.profile().quality.snapshot->untimed_steps == 2);
  CHECK_THAT(so_far.full_text(), ContainsSubstring("2 steps have no time between CUDA events yet"));
}

TEST_CASE("a thread with a small stack can take a snapshot", "[session][snapshot]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers enlarge the stack frames");
#endif
  profkit::session session{plain_options(0, 2)};
  for (profkit::step step : session) some_work(3);
  std::pair<profkit::session*, std::size_t> shared{&session, 0};
  ::pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  REQUIRE(::pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN) + 16 * 1024) == 0);
  ::pthread_t thread{};
  auto const take = [](void* with) -> void* {
    auto& [from, steps] = *static_cast<std::pair<profkit::session*, std::size_t>*>(with);
    steps = from->snapshot().profile().steps.size();
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, &attributes, take, &shared) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  CHECK(shared.second == 2);
}
