// SPDX-License-Identifier: Apache-2.0
//
// A program of two units that checks its own session. Compiled with every compiler. Does not use Catch2, which some compilers cannot
// compile.
#ifdef EVERYTHING
#include "all_headers.hpp"

#include <profkit/code.hpp>
#else
#include <profkit/profkit.hpp>
#endif

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

void other_unit_with_scopes(int count);
#ifdef FAST_MATH
int count_failures_of_fast_math();
#endif

namespace {

void require(bool condition, char const* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

profkit::report record() {
  profkit::options options;
  options.warmup_steps = 1;
  options.measured_steps = 3;
  profkit::session session{options};
  session.collect(profkit::host_memory());
  for (profkit::step step : session) {
    PROF_SCOPE("here");
    other_unit_with_scopes(5);
    std::thread{[token = profkit::scope_token::current()] {
      PROF_ADOPT_SCOPE("task", token);
      other_unit_with_scopes(1);
    }}.join();
    PROF_COUNTER("counter", step.index());
  }
  return session.report();
}

std::uint64_t count_of(profkit::summary const& in, std::string const& path) {
  for (auto const& each : in.scopes) {
    if (each.path == path) return each.host.count;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 2, "the argument is a folder to write to");
  profkit::report const report = record();
  profkit::summary const& summary = report.summary();
  require(summary.steps.host.count == 3, "three steps were measured");
  require(count_of(summary, "step") == 3 && count_of(summary, "step/here") == 3, "a scope of this unit was recorded in each");
  require(count_of(summary, "step/here/item_4") == 3 && count_of(summary, "step/here/item_5") == 0, "and five of the other unit");
  require(count_of(summary, "step/here (task)/item_0") == 3 || count_of(summary, "here (task)/item_0") == 3,
          "and one of another thread, for that scope");
  for (auto const& each : report.profile().scopes) require(each.time.begin <= each.time.end, "no scope ends before it begins");
  auto const whole = report.profile().time;
  for (auto const& each : report.profile().steps) {
    require(whole.begin <= each.time.begin && each.time.end <= whole.end, "steps lie within the session, so the clock is converted");
  }
  report.write(argv[1]);
  require(std::filesystem::file_size(std::filesystem::path{argv[1]} / "report.json") > 1000, "report.json is written");
  profkit::summary const again = profkit::load_summary(std::string{argv[1]} + "/summary.profkit");
  require(profkit::report_json(again) == profkit::report_json(summary) && profkit::report_text(again) == report.text(),
          "a loaded summary has the same figures and text");
  require(!profkit::report_html(again).empty() && !profkit::report_markdown(again).empty(), "and a page");
  profkit::save(report.profile(), std::string{argv[1]} + "/saved.profile");
  profkit::profile const loaded = profkit::load(std::string{argv[1]} + "/saved.profile");
  require(loaded.scopes.size() == report.profile().scopes.size() && loaded.steps.size() == 4, "a saved profile is what it was");
#ifdef FAST_MATH
  require(count_failures_of_fast_math() == 0, "NaN and infinities are kept with -ffast-math");
#endif
  std::printf("profkit %d.%d, clock: %s\n", PROFKIT_VERSION_MAJOR, PROFKIT_VERSION_MINOR, report.profile().quality.clock.c_str());
}
