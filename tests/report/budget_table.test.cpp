// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze/analyze.hpp>
#include <profkit/report/budget_table.hpp>
#include <profkit/report/report.hpp>
#include <profkit/report/report_json.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "../support/made_gpu_profile.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

profkit::summary const& recorded_summary() {
  static profkit::summary const summary = profkit::analyze(made_gpu_profile());
  return summary;
}

}  // namespace

// In both measured steps of 10 ms operations run in [1.5, 4.8] and [5.8, 6.8], in the second in [8.0, 8.5], too. What ended the idle
// stretches was launched until 1.4 by `load` on the other thread, and until 5.6 by `backward`.
TEST_CASE("the budget is one table whose last column adds up to 100 percent", "[budget]") {
  std::string const csv = profkit::budget_table(recorded_summary()).to_csv();
  CHECK_THAT(csv, ContainsSubstring("part of the step,GPU busy,idle: launch-bound,idle: host-bound,idle: synchronisation,idle: copies,"
                                    "idle: queued,ms a step,of step\n"));
  CHECK_THAT(csv, ContainsSubstring("all,4.550,"));
  CHECK_THAT(csv, ContainsSubstring(",10.000,100.0 %\n"));
}

TEST_CASE("the verdict says how much the GPU idles, why, and for which scopes it waits", "[budget]") {
  std::string const verdict = profkit::budget_verdict(recorded_summary());
  CHECK_THAT(verdict, ContainsSubstring("The GPU idles for 54.5 % of the step, 5.450 of 10.000 ms: launch-bound "));
  CHECK_THAT(verdict, ContainsSubstring("it waits longest for step "));
  CHECK_THAT(verdict, ContainsSubstring("copies 0.600 ms, 0.300 ms of it with no other operation"));
  CHECK_THAT(verdict, !ContainsSubstring("communication"));
}

TEST_CASE("report.json has the budget over all measured steps", "[budget]") {
  json const budget = json::parse(profkit::report_json(recorded_summary())).at("budget");
  CHECK(budget.at("wall_ms").get<double>() == Approx(20.0));
  CHECK(budget.at("gpu_busy_ms").get<double>() == Approx(9.1));
  double total = 0.0;
  double share = 0.0;
  double idle = 0.0;
  for (json const& part : budget.at("parts")) {
    total += part.at("total_ms").get<double>();
    share += part.at("share").get<double>();
    for (json const& cause : part.at("gpu_idle")) idle += cause.get<double>();
  }
  CHECK(total == Approx(20.0));
  CHECK(share == Approx(1.0));
  CHECK(idle == Approx(10.9));
  double starving = 0.0;
  for (json const& scope : budget.at("starving")) starving += scope.at("total_ms").get<double>();
  CHECK(starving == Approx(10.9));
}

TEST_CASE("launch-bound is n/a where no launching call was recorded, and the report says why", "[budget]") {
  profkit::profile profile = made_gpu_profile();
  profile.api_calls.clear();
  profkit::summary const summary = profkit::analyze(profile);
  CHECK_THAT(profkit::budget_table(summary).to_csv(), ContainsSubstring("all,4.550,n/a,"));
  CHECK_THAT(profkit::starving_table(summary).to_csv(), ContainsSubstring(",n/a,"));
  CHECK_THAT(profkit::budget_verdict(summary), ContainsSubstring("launch-bound: n/a, because no launching call was recorded"));
  json const budget = json::parse(profkit::report_json(summary)).at("budget");
  CHECK(budget.at("gpu_idle").at("launch_bound_ms").is_null());
  CHECK(budget.at("gpu_idle").at("host_bound_ms").get<double>() == Approx(10.9));
  for (char const* const list : {"parts", "starving"}) CHECK(budget.at(list).dump().find(R"("launch_bound_ms":null)") != std::string::npos);
  CHECK(json::parse(profkit::report_json(recorded_summary())).at("budget").at("gpu_idle").at("launch_bound_ms").is_number());
}

TEST_CASE("a report with kernels shows the budget first, one without shows none", "[budget]") {
  profkit::profile profile = made_gpu_profile();
  auto const text_of = [](profkit::profile const& of) { return profkit::report{std::make_shared<profkit::profile const>(of)}.full_text(); };
  std::string const text = text_of(profile);
  CHECK(text.find("Where the step went\n") < text.find("\nScopes\n"));
  CHECK_THAT(text, ContainsSubstring("What the GPU waits for\n"));
  profile.collectors.clear();
  CHECK_THAT(text_of(profile), !ContainsSubstring("Where the step went"));
}
