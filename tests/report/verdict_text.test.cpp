// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/headline.hpp>
#include <profkit/impl/report/steps_section.hpp>
#include <profkit/report.hpp>

#include "../support/made_series.hpp"
#include "../support/parsed_report.hpp"
#include "../support/testing.hpp"

namespace {

/// Steps with these durations, in sequence, the first `warmup` of them warm-up.
profkit::profile profile_of_steps(std::vector<double> const& ms, std::size_t warmup) {
  profkit::profile result;
  profkit::timestamp begin{std::chrono::seconds{1'790'000'000}};
  for (std::size_t i = 0; i < ms.size(); ++i) {
    profkit::timestamp const end = begin + std::chrono::nanoseconds{static_cast<std::int64_t>(ms[i] * 1e6)};
    result.steps.push_back({{begin, end}, i, i < warmup, 0});
    begin = end;
  }
  return result;
}

std::vector<double> quiet_steps() {
  normal_numbers numbers{16};
  return made_series(numbers, 35, 1.0);
}

std::string text_of(profkit::profile const& profile) { return profkit::verdict_text(profkit::analyze(profile)); }

}  // namespace

TEST_CASE("every verdict is given with its reason in one sentence", "[verdict]") {
  std::vector<double> ms = quiet_steps();
  CHECK_THAT(text_of(profile_of_steps(ms, 5)), ContainsSubstring("host: stable: the mean is known to +-0.") &&
                                                   ContainsSubstring(" %; n = 30 (effective 2") && ContainsSubstring("), 0 outliers\n") &&
                                                   ContainsSubstring("; a kind of step rarer than 1 in 10 may be unseen\n") &&
                                                   ContainsSubstring("warm-up 5 given; steady from step 0\n"));
  CHECK_THAT(text_of(profile_of_steps({1.0, 2.0, 3.0}, 1)),
             ContainsSubstring("host: too few: n = 2; at least 10 measured steps are needed") &&
                 ContainsSubstring("warm-up 1 given; too few steps to find the steady part"));
  CHECK_THAT(text_of(profile_of_steps({ms.begin(), ms.begin() + 25}, 5)),
             ContainsSubstring("host: too few: the mean is known to +-0.") &&
                 ContainsSubstring("; with fewer than 29, a kind of step that is 1 in 10 may be unseen\n"));
  for (std::size_t i = 0; i < 9; ++i) ms[i] += 30.0;
  CHECK_THAT(text_of(profile_of_steps(ms, 5)),
             ContainsSubstring("host: still warming: use at least 9 warm-up steps; after them a step is ") &&
                 ContainsSubstring(" % shorter") && ContainsSubstring("warm-up 5 given; still warming: use at least 9\n"));
  CHECK_THAT(text_of(profile_of_steps(ms, 9)), ContainsSubstring("warm-up 9 given; steady from step 9\n"));
  ms = quiet_steps();
  for (std::size_t i = 0; i < ms.size(); ++i) ms[i] += static_cast<double>(i);
  CHECK_THAT(text_of(profile_of_steps(ms, 5)),
             ContainsSubstring("host: drifting: a step grows by 2") && ContainsSubstring(" % over the run (p = ") &&
                 ContainsSubstring(" % (significant, p = ") && ContainsSubstring("warm-up 5 given; no steady part: the steps drift\n"));
}

TEST_CASE("steps that change slowly have no steady part, and no interval begins below 0", "[verdict]") {
  normal_numbers numbers{18};
  std::vector<double> ms;
  for (int i = 0; i < 200; ++i) ms.push_back(100.0 + 0.1 * std::abs(i - 100) + numbers.next());
  CHECK_THAT(text_of(profile_of_steps(ms, 0)),
             ContainsSubstring("host: noisy: ") && ContainsSubstring("warm-up 0 given; no steady part found\n"));
  CHECK_THAT(text_of(profile_of_steps({10.0, 11.0, 30.0}, 0)), ContainsSubstring("95 % interval of the mean 0.000 to 45.234 ms"));
}

TEST_CASE("steps that are not of one kind are described in one sentence", "[verdict]") {
  std::vector<double> ms = quiet_steps();
  ms.resize(200);
  normal_numbers numbers{17};
  for (double& each : ms) each = 100.0 + 0.5 * numbers.next();
  std::vector<double> long_steps = ms;
  for (std::size_t i = 0; i < ms.size(); i += 50) long_steps[i] = 1000.0;
  CHECK_THAT(text_of(profile_of_steps(long_steps, 0)),
             ContainsSubstring("host: uneven: 1 step in 50 takes 10.0 times as long (steps 0, 50, 100, ...); the mean is known to +-") &&
                 ContainsSubstring("warm-up 0 given; the first steps are not longer\n"));
  std::vector<double> alternating = ms;
  for (std::size_t i = 1; i < ms.size(); i += 2) alternating[i] += 60.0;
  CHECK_THAT(text_of(profile_of_steps(alternating, 0)),
             ContainsSubstring("host: uneven: steps alternate between 100 ms and 160 ms; the mean is known"));
  std::vector<double> levels = ms;
  for (std::size_t i = 40; i < 90; ++i) levels[i] += 30.0;
  CHECK_THAT(text_of(profile_of_steps(levels, 0)),
             ContainsSubstring("host: uneven: steps change between 100 ms and 130 ms: 50 of 200 steps take 130 ms, in 1 run; ") &&
                 ContainsSubstring("the mean has no interval, because the levels changed too seldom"));
  std::vector<double> few = ms;
  for (std::size_t const i : {3U, 17U, 60U}) few[i] = 300.0;
  CHECK_THAT(text_of(profile_of_steps(few, 0)),
             ContainsSubstring("host: uneven: 3 of 200 steps take 3.0") && ContainsSubstring(" times as long (steps 3, 17, 60)"));
  profkit::verdict_summary const found = profkit::analyze(profile_of_steps(few, 0)).steps.host_verdict;
  REQUIRE(found.pattern);
  CHECK(found.pattern->others == 3);
}

TEST_CASE("the verdict names a measured cause first", "[verdict]") {
  normal_numbers numbers{18};
  profkit::profile profile = profile_of_steps(made_series(numbers, 35, 20.0), 5);
  CHECK_THAT(text_of(profile), ContainsSubstring("host: noisy: the mean is known to "));
  profile.environment.host_speed = profkit::host_speed_record{std::chrono::microseconds{100}, std::chrono::microseconds{100}, 0.84};
  CHECK_THAT(text_of(profile),
             ContainsSubstring("host: noisy: the step thread waited 84\xc2\xa0% of the time for a processor; the mean is known to "));
}

TEST_CASE("a mean that slow changes could move too far is reported instead of stable", "[verdict]") {
  profkit::verdict_summary found;
  found.verdict = profkit::step_verdict::too_few;
  found.measured = 30;
  found.relative_half_width = 0.008;
  found.cautious_half_width = 0.016;
  found.effective_samples = 21.0;
  found.outliers = 1;
  CHECK(profkit::verdict_reason(found, {}) ==
        "the mean is known to +-0.8 %; n = 30 (effective 21), 1 outlier; +-1.6 % if the steps change slowly, which only 100 steps show");
}

TEST_CASE("the uncertainty of a mean has two digits below 0.1 %, and none below 0.001 %", "[verdict]") {
  CHECK(profkit::detail::format_half_width(0.0412) == "+-4.1 %");
  CHECK(profkit::detail::format_half_width(0.00041) == "+-0.041 %");
  CHECK(profkit::detail::format_half_width(6.2e-8) == "+-0.001 %");
  CHECK(profkit::detail::format_half_width(0.0) == "+-0.0 %");
}

TEST_CASE("clocks that the program asked for and that were not read are n/a, with the consequence", "[verdict]") {
  profkit::profile profile = profile_of_steps(quiet_steps(), 5);
  CHECK_THAT(text_of(profile), !ContainsSubstring("GPU clocks"));
  profile.collectors = {{"GPU clocks", "not collected", "no libnvidia-ml", profkit::collector_kind::gpu_clocks}};
  CHECK_THAT(text_of(profile), ContainsSubstring("GPU clocks: n/a (no libnvidia-ml), so throttling is unknown"));
  profile.device_clocks.push_back({profile.steps[20].time.end, 20, 0, 1200, 1980, 0x8, 300'000U, 85U});
  CHECK_THAT(text_of(profile),
             ContainsSubstring("host: throttled: device 0 had slowed down in 1 of 1 readings (hardware slowdown; SM clock down "
                               "to 1200 of 1980 MHz)") &&
                 ContainsSubstring("device 0: SM clock 1200 to 1200 of 1980 MHz, mean 1200, hardware slowdown; 300 W, at most "
                                   "300; at most 85 C; 1 reading\n"));
}

TEST_CASE("the report says why a session with steps=auto stopped", "[verdict]") {
  profkit::profile profile = profile_of_steps(quiet_steps(), 5);
  CHECK_THAT(text_of(profile), !ContainsSubstring("stopped"));
  profile.stop = profkit::stop_record{0.01, 0.0042, false, 1000};
  CHECK_THAT(text_of(profile),
             ContainsSubstring("stopped after 30 measured steps: the mean host step time is known to +-0.4 %, wanted +-1 %"));
  profile.stop = profkit::stop_record{0.001, 0.0042, true, 30};
  CHECK_THAT(text_of(profile),
             ContainsSubstring("stopped at the bound of 30 measured steps: the mean GPU step time is known to +-0.4 %, wanted +-0.1 %"));
  profile.stop = profkit::stop_record{0.001, {}, false, 1000};
  CHECK_THAT(text_of(profile),
             ContainsSubstring("the program ended the loop after 30 measured steps: the mean step time is not known yet"));
}

TEST_CASE("report.json has the figures of the verdicts, and null for missing ones", "[verdict]") {
  profkit::profile profile = profile_of_steps(quiet_steps(), 5);
  json const without = json_of(profile)["steps"];
  CHECK(without["verdict"] == "stable");
  CHECK(without["ci95_low_ms"].get<double>() < without["mean_ms"].get<double>());
  CHECK(without["ci95_high_ms"].get<double>() > without["mean_ms"].get<double>());
  CHECK(without["mad_ms"].get<double>() > 0.0);
  CHECK(without["effective_samples"].get<double>() <= 30.0);
  CHECK(without["outliers"] == 0);
  CHECK(without["drift_percent"].is_number());
  CHECK(without["steady_from"] == 0);
  CHECK(without["warmup_verdict"] == "warm-up 5 given; steady from step 0");
  CHECK(without["verdict_reason"].get<std::string>().rfind("the mean is known to", 0) == 0);
  for (char const* const name : {"gpu_mad_ms", "gpu_ci95_low_ms", "gpu_effective_samples", "gpu_outliers", "gpu_drift_percent",
                                 "gpu_verdict", "gpu_verdict_reason", "gpu_steady_from", "gpu_warmup_verdict", "clocks", "stop"}) {
    CHECK(without.at(name).is_null());
  }
  for (std::uint64_t step = 0; step < 35; ++step) profile.gpu_steps.push_back({step, 0, std::chrono::milliseconds{7}});
  profile.device_clocks.push_back({profile.steps[20].time.end, 20, 0, 1700, 1980, 0x4, {}, 60U});
  profile.stop = profkit::stop_record{0.01, 0.005, false, 1000};
  json const with = json_of(profile)["steps"];
  CHECK(with["gpu_verdict"] == "stable");
  CHECK(with["gpu_ci95_high_ms"].get<double>() == Approx(7.0));
  REQUIRE(with["clocks"].size() == 1);
  CHECK(with["clocks"][0]["mean_mhz"].get<double>() == 1700.0);
  CHECK(with["clocks"][0]["reasons"] == json{"power cap"});
  check_members(with, R"({"/clocks/0/max_watt": null, "/clocks/0/max_celsius": 60, "/stop/reached_percent": 0.5})"_json);
}

TEST_CASE("the table of steps has the interval, the MAD and the verdict", "[verdict]") {
  std::string const csv = profkit::detail::csv_of(profkit::detail::step_table(profkit::analyze(profile_of_steps(quiet_steps(), 5))));
  CHECK_THAT(csv, ContainsSubstring("max ms,95 % +- ms,MAD ms,verdict\n") && ContainsSubstring(",stable\n"));
}

TEST_CASE("the step at which the steps changed is named with its time, and the history has a table", "[verdict]") {
  normal_numbers numbers{7};
  std::vector<double> ms = made_series(numbers, 400, 1.0);
  for (std::size_t i = 250; i < ms.size(); ++i) ms[i] += 20.0;
  auto const profile = std::make_shared<profkit::profile>(profile_of_steps(ms, 0));
  profile->time = {profile->steps.front().time.begin - std::chrono::hours{30}, profile->steps.back().time.end};
  profkit::report const report{profile};
  std::string const text = report.full_text();
  CHECK_THAT(text, ContainsSubstring("from step 250 (14:13:45 UTC, 30:00:25 into the run) steps take 1") &&
                       ContainsSubstring(" ms (host time, p < 0.0001)"));
  CHECK_THAT(text, ContainsSubstring("\nTrend\n=====\n\nFrom step 250 on, 30:00:25 into the run, steps take "));
  auto const trend = json_of(report)["trend"];
  CHECK(trend["windows"].size() == 400);
  check_members(trend, R"({"/change/step": 250, "/change/is_of_gpu": false})"_json);
  CHECK(trend["change"]["before_ms"].get<double>() == Approx(100.0).epsilon(0.01));
  CHECK(trend["change"]["after_ms"].get<double>() == Approx(120.0).epsilon(0.01));
  profkit::report const quiet = report_of(profile_of_steps(quiet_steps(), 5));
  CHECK_THAT(quiet.full_text(), !ContainsSubstring("into the run") && !ContainsSubstring("\nTrend\n"));
  CHECK(json_of(quiet)["trend"]["change"].is_null());
}
