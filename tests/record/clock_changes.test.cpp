// SPDX-License-Identifier: Apache-2.0
//
// Sessions during which the system clock is set. The clock is imitated: this program has its own clock_gettime.
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <profkit/save_load.hpp>
#include <string>
#include <thread>

#include "../support/profile_of.hpp"
#include "../support/set_clock.hpp"
#include "../support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

namespace {

char const* clock_source = nullptr;  ///< the clock source to report; null: that of the system

}  // namespace

extern "C" std::FILE* fopen(char const* path, char const* mode) {
  static auto* const system = reinterpret_cast<std::FILE* (*)(char const*, char const*)>(::dlsym(RTLD_NEXT, "fopen"));
  bool const is_source = clock_source != nullptr && std::strstr(path, "current_clocksource") != nullptr;
  return is_source ? ::fmemopen(const_cast<char*>(clock_source), std::strlen(clock_source), "r") : system(path, mode);
}

namespace {

struct fallback_clock {
  explicit fallback_clock(bool wanted) { clock_source = wanted ? "hpet\n" : nullptr; }
  ~fallback_clock() { clock_source = nullptr; }
};

constexpr auto length = 20ms;

void work() {
  PROF_SCOPE("work");
  std::this_thread::sleep_for(length);
}

/// Scopes and steps are as long as measured by the steady clock, and the saved profile can be loaded.
void check_times(profkit::profile const& profile, std::chrono::nanoseconds lasted) {
  CHECK(profile.time.duration() >= 6 * length);
  CHECK(profile.time.duration() <= lasted + 1ms);
  for (profkit::scope_record const& each : profile.scopes) {
    if (profile.paths[each.path].name != "work") continue;
    CHECK(each.time.duration() >= length);
    CHECK(each.time.duration() <= lasted - 5 * length + 1ms);
    CHECK(profile.time.begin <= each.time.begin);
    CHECK(each.time.end <= profile.time.end);
  }
  for (profkit::step_record const& each : profile.steps) CHECK(each.time.duration() >= length);
  temporary_folder const folder{"clock-changes-saved"};
  profkit::save(profile, folder.path / "saved");
  profkit::profile const loaded = profkit::load(folder.path / "saved");
  CHECK(loaded.quality.clock_changes == profile.quality.clock_changes);
  CHECK(loaded.quality.clock_change == profile.quality.clock_change);
}

}  // namespace

TEST_CASE("durations follow the steady clock despite changes of the system clock, and the report states the change") {
  auto const by =
      GENERATE(std::chrono::nanoseconds{5s}, std::chrono::nanoseconds{-5s}, std::chrono::nanoseconds{-24h}, std::chrono::nanoseconds{2ms});
  bool const has_steps = GENERATE(true, false);
  bool const has_counter = GENERATE(true, false);
  bool const has_journal = GENERATE(true, false);
  CAPTURE(by.count(), has_steps, has_counter, has_journal);
  fallback_clock const fallback{!has_counter};
  temporary_folder const folder{"clock-changes"};
  profkit::options options = plain_options(1, 5);
  if (has_journal) options.journal = (folder.path / "journal").string();
  std::chrono::system_clock::time_point const calendar_begin = std::chrono::system_clock::now();
  auto const begin = std::chrono::steady_clock::now();
  profkit::session session{options};
  clock_is_set const undo;
  for (int i = 0; i < 6; ++i) {
    std::optional<profkit::step> step;
    if (has_steps) step.emplace(session);
    if (i == 3) set_clock_by(by);
    work();
  }
  profkit::report const report = session.report();
  auto const lasted = std::chrono::steady_clock::now() - begin;
  profkit::profile const& profile = report.profile();
  CHECK(profile.quality.clock == (has_counter ? "time-stamp counter" : "CLOCK_MONOTONIC"));
  CHECK(count_scopes(profile, has_steps ? "step/work" : "work") == 6);
  CHECK(profile.steps.size() == (has_steps ? 6 : 0));
  CHECK(profile.quality.clock_changes == 1);
  CHECK(std::chrono::abs(profile.quality.clock_change - by) < 10us);
  CHECK(calendar_begin - 1ms <= profile.time.begin);
  CHECK(profile.time.begin <= calendar_begin + lasted);
  check_times(profile, lasted);
  if (has_journal) check_times(profkit::load(options.journal), lasted);
  double const seconds = std::chrono::duration<double>{by}.count();
  char text[100];
  std::snprintf(text, sizeof text, "\nthe system clock was set by %+.3f s during the session; durations are not affected\n", seconds);
  CHECK_THAT(report.full_text(), ContainsSubstring(text));
}

TEST_CASE("a clock that is set twice is counted twice, and an unchanged clock is not mentioned") {
  profkit::session session{plain_options(0, 3)};
  clock_is_set const undo;
  std::chrono::nanoseconds const to[] = {0s, 5s, -1s};
  for (profkit::step step : session) {
    set_clock_by(to[step.index()]);
    work();
    // The session's thread reads the clock while draining. A snapshot forces a drain, even if the host is busy.
    CHECK(session.snapshot().summary().quality.clock_changes == step.index());
  }
  profkit::report const report = session.report();
  CHECK(report.summary().quality.clock_changes == 2);
  CHECK_THAT(report.full_text(), ContainsSubstring("the system clock was set 2 times during the session, by -1.000 s in all"));
  profkit::session quiet{plain_options(0, 3)};
  for (profkit::step step : quiet) work();
  CHECK_THAT(quiet.report().full_text(), !ContainsSubstring("system clock was set"));
}
