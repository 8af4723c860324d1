// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/budget_section.hpp>
#include <profkit/report.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"

namespace {

profkit::summary const& recorded_summary() {
  static profkit::summary const summary = profkit::analyze(made_gpu_profile());
  return summary;
}

profkit::detail::section budget_of(profkit::summary const& summary) {
  return profkit::detail::budget_section(profkit::detail::report_view{summary}).value();
}

}  // namespace

// In both measured steps of 10 ms, operations run in [1.5, 4.8] and [5.8, 6.8]; in the second one also in [8.0, 8.5]. The operations that
// end the idle stretches are launched by `load` on the other thread until 1.4, and by `backward` until 5.6.
TEST_CASE("the parts of the budget add up to the step", "[budget]") {
  std::string const csv = profkit::detail::csv_of(table_of(budget_of(recorded_summary()), "budget"));
  CHECK_THAT(csv, ContainsSubstring("part of the step,ms,of step,GPU busy ms,launch-bound ms,host-bound ms,synchronisation ms,copies ms,"
                                    "queued ms\n"));
  CHECK_THAT(csv, ContainsSubstring("\nall,10.000,100.0 %,4.550,"));
}

TEST_CASE("the section states the idle time of the GPU, the scopes that it waits for, and the overlap", "[budget]") {
  profkit::detail::section const section = budget_of(recorded_summary());
  CHECK_THAT(section.answer, ContainsSubstring("the GPU idles 54\xc2\xa0% of the step"));
  profkit::detail::data_table const& waiting = table_of(section, "starving");
  CHECK(std::get<std::string>(waiting.rows.front().cells.front().value) == "step");
  CHECK(waiting.columns.back().heading == "queued");
  std::string const overlap = profkit::detail::overlap_text(*recorded_summary().budget);
  CHECK_THAT(
      overlap,
      ContainsSubstring(
          "operations ran concurrently for 2.00\xc2\xa0ms a step, counted once for the operation that began first; copies 0.60\xc2\xa0ms a "
          "step, 0.30\xc2\xa0ms of it with no other operation"));
  CHECK_THAT(overlap, !ContainsSubstring("communication"));
  profkit::budget_summary without = *recorded_summary().budget;
  without.overlap = {};
  CHECK_THAT(profkit::detail::overlap_text(without), ContainsSubstring("overlap: no operations ran concurrently; copies 0.60"));
}

TEST_CASE("report.json has the budget over all measured steps", "[budget]") {
  json const budget = json_of(recorded_summary()).at("budget");
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

TEST_CASE("launch-bound is n/a if no launching call was recorded, and the report says why", "[budget]") {
  profkit::profile profile = made_gpu_profile();
  profile.api_calls.clear();
  profkit::summary const summary = profkit::analyze(profile);
  CHECK_THAT(profkit::detail::csv_of(table_of(budget_of(summary), "budget")), ContainsSubstring("all,10.000,100.0 %,4.550,n/a,"));
  CHECK_THAT(profkit::detail::csv_of(table_of(budget_of(summary), "starving")), ContainsSubstring(",n/a,"));
  CHECK_THAT(profkit::detail::overlap_text(*summary.budget),
             ContainsSubstring("launch-bound: n/a, because no launching call was recorded"));
  json const budget = json_of(summary).at("budget");
  CHECK(budget.at("gpu_idle").at("launch_bound_ms").is_null());
  CHECK(budget.at("gpu_idle").at("host_bound_ms").get<double>() == Approx(10.9));
  for (char const* const list : {"parts", "starving"}) CHECK(budget.at(list).dump().find(R"("launch_bound_ms":null)") != std::string::npos);
  CHECK(json_of(recorded_summary()).at("budget").at("gpu_idle").at("launch_bound_ms").is_number());
}

TEST_CASE("a report with kernels shows the budget before the scopes, and one without has none", "[budget]") {
  profkit::profile profile = made_gpu_profile();
  auto const text_of = [](profkit::profile const& content) { return report_of(content).full_text(); };
  std::string const text = text_of(profile);
  CHECK(text.find("Where the step went\n") < text.find("\nScopes\n"));
  CHECK_THAT(text, ContainsSubstring("What the GPU waits for\n"));
  profile.collectors.clear();
  CHECK_THAT(text_of(profile), !ContainsSubstring("Where the step went") && !ContainsSubstring("What the GPU waits for"));
}
