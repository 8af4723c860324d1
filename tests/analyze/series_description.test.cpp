// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/series_description.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "../support/judged_series.hpp"
#include "../support/repetitions.hpp"

using Catch::Approx;
using profkit::series_shape;

namespace {

profkit::series_description described(std::vector<double> const& ms) { return profkit::describe({ms.begin(), ms.end()}); }

std::vector<double> quiet(std::size_t count, std::uint64_t seed = 1) {
  normal_numbers numbers{seed};
  return made_series(numbers, count, 1.0);
}

}  // namespace

TEST_CASE("every 50th step that is 10 times as long is a period with its steps", "[statistics]") {
  std::vector<double> ms = quiet(200);
  for (std::size_t i = 0; i < ms.size(); i += 50) ms[i] *= 10.0;
  auto const found = described(ms);
  CHECK(found.shape == series_shape::periodic);
  CHECK(found.period == 50);
  REQUIRE(found.others);
  CHECK(found.others->count == 4);
  CHECK(found.others->median / found.others->usual == Approx(10.0).epsilon(0.05));
  CHECK(found.others->first[1] == 50);
  CHECK(found.warmup == 0);  // the first step is long, but so are later ones
  CHECK_FALSE(found.change);
}

TEST_CASE("long steps without a period are mixed, levels are levels, and a smooth shape has a period", "[statistics]") {
  std::vector<double> ms = quiet(100);
  for (std::size_t const i : {3U, 17U, 60U}) ms[i] *= 3.0;
  CHECK(described(ms).shape == series_shape::mixed);
  CHECK(described(ms).others->count == 3);

  ms = quiet(120);
  for (std::size_t i = 0; i < ms.size(); i += 2) ms[i] += 60.0;
  CHECK(described(ms).period == 2);

  ms = quiet(120);
  for (std::size_t i = 20; i < 45; ++i) ms[i] += 20.0;
  for (std::size_t i = 70; i < 90; ++i) ms[i] += 20.0;
  CHECK(described(ms).shape == series_shape::levels);
  CHECK(described(ms).others->runs == 2);
  CHECK_FALSE(described(ms).interval);  // too few changes to know how long each level lasts
  CHECK_FALSE(described(ms).change);

  ms = quiet(300);
  for (std::size_t i = 0; i < ms.size(); ++i) ms[i] += 3.0 * std::sin(0.25 * static_cast<double>(i));
  CHECK(described(ms).shape == series_shape::periodic);
  CHECK(described(ms).period == 25);
}

TEST_CASE("long steps that come half as often in the second half have no period", "[statistics]") {
  std::vector<double> ms = quiet(400);
  for (std::size_t i = 0; i < ms.size(); i += i < 200 ? 10 : 20) ms[i] *= 3.0;
  CHECK(described(ms).shape == series_shape::mixed);
  CHECK(described(ms).period == 0);
  CHECK(described(ms).others->count == 30);
}

TEST_CASE("a few long steps at the end, and long steps before and after a change, are no tail", "[statistics]") {
  std::vector<double> ms = quiet(60);
  for (std::size_t i = 57; i < ms.size(); ++i) ms[i] *= 2.0;
  CHECK(described(ms).shape == series_shape::mixed);
  CHECK(described(ms).others->first[0] == 57);
  CHECK(described(ms).interval);

  ms = quiet(100);
  for (std::size_t i = 50; i < ms.size(); ++i) ms[i] *= 1.1;
  for (std::size_t i = 3; i < ms.size(); i += 20) ms[i] *= 3.0;
  CHECK(described(ms).period == 20);
  CHECK(described(ms).others->count == 5);
  REQUIRE(described(ms).change);
  CHECK(described(ms).change->at == 50);
}

TEST_CASE("a tail without a mean has no interval", "[statistics]") {
  normal_numbers numbers{3};
  std::vector<double> ms;
  for (int i = 0; i < 300; ++i) ms.push_back(100.0 * std::pow(numbers.uniform(), -1.0 / 1.2));
  CHECK(described(ms).shape == series_shape::tailed);
  CHECK_FALSE(described(ms).interval);
}

TEST_CASE("a warm-up ends at its step, and one long first step is a warm-up", "[statistics]") {
  std::vector<double> ms = quiet(35);
  for (std::size_t i = 0; i < 9; ++i) ms[i] += 30.0;
  CHECK(described(ms).warmup == 9);
  CHECK_FALSE(described(ms).change);

  ms = quiet(35);
  ms[0] = 5000.0;
  CHECK(described(ms).warmup == 1);
  ms[3] = 5000.0;  // a late long step is no warm-up
  CHECK(described(ms).warmup == 0);

  std::vector<double> constant(30, 10.0);
  CHECK(described(constant).warmup == 0);
  CHECK(described(constant).shape == series_shape::even);
  std::fill(constant.begin(), constant.begin() + 7, 20.0);
  CHECK(described(constant).warmup == 7);

  ms = quiet(60);
  for (std::size_t i = 0; i < ms.size(); ++i) ms[i] += 80.0 * std::exp(-static_cast<double>(i) / 3.0);
  CHECK(described(ms).warmup >= 8);   // 5.6 there, at a noise of 1
  CHECK(described(ms).warmup <= 16);  // 0.4
  CHECK(described(ms).is_gradual);    // nobody can say where it ends
}

TEST_CASE("first steps of several lengths are a warm-up, and one long step among the first ones is none", "[statistics]") {
  for (std::size_t const count : {40U, 60U, 500U}) {
    std::vector<double> ms = quiet(count);
    ms[0] *= 3.0;
    ms[1] *= 1.5;
    CAPTURE(count);
    CHECK(described(ms).warmup == 2);
    CHECK(described(ms).shape != series_shape::tailed);
  }
  normal_numbers numbers{1};
  std::vector<double> ms = made_series(numbers, 300, 0.01);
  ms[20] += 1.0;
  CHECK(described(ms).warmup == 0);
}

TEST_CASE("one step that differs from equal ones is one of another kind", "[statistics]") {
  for (std::size_t const at : {7U, 30U}) {
    std::vector<double> ms(50, 100.0);
    ms[at] = 150.0;
    CHECK(described(ms).warmup == 0);
    REQUIRE(described(ms).others);
    CHECK(described(ms).others->count == 1);
    CHECK(described(ms).others->first[0] == at);
  }
}

TEST_CASE("steps that get shorter for long do not change at one step, and are no tail", "[statistics]") {
  std::vector<double> ms = quiet(500);
  for (std::size_t i = 0; i < ms.size(); ++i) ms[i] *= 1.0 + 2.0 * std::exp(-static_cast<double>(i) / 40.0);
  CHECK_FALSE(described(ms).change);
  CHECK(described(ms).has_drift());
  CHECK(described(ms).shape != series_shape::tailed);
}

TEST_CASE("steps that get longer near the end drift", "[statistics]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> ms = quiet(1000, seed);
    for (std::size_t i = 700; i < ms.size(); ++i) ms[i] += 0.033 * static_cast<double>(i - 700);
    CAPTURE(seed);
    CHECK((described(ms).has_drift() || described(ms).change));
  }
}

TEST_CASE("steps that become longer for good are a change and no warm-up", "[statistics]") {
  for (std::size_t const at : {2U, 10U, 24U}) {
    std::vector<double> ms = quiet(35);
    for (std::size_t i = at; i < ms.size(); ++i) ms[i] += 40.0;
    REQUIRE(described(ms).change);
    CHECK(described(ms).change->at == at);
    CHECK(described(ms).change->before == Approx(100.0).epsilon(0.02));
    CHECK(described(ms).change->after == Approx(140.0).epsilon(0.02));
    CHECK(described(ms).change->p_value < 0.01);
    CHECK(described(ms).warmup == 0);
    CHECK_FALSE(described(ms).has_drift());
  }
  std::vector<double> ms = quiet(600);
  for (std::size_t i = 200; i < 400; ++i) ms[i] += 20.0;  // and back
  CHECK_FALSE(described(ms).change);
  CHECK(described(ms).shape == series_shape::levels);
}

TEST_CASE("a line is a drift with its size, and a few extreme values do not change it", "[statistics]") {
  std::vector<double> ms;
  for (int i = 0; i < 31; ++i) ms.push_back(100.0 + 0.5 * i);
  ms[10] = 900.0;
  ms[20] = 1.0;
  auto const found = described(ms);
  REQUIRE(found.trend);
  CHECK(found.trend->drift == Approx(15.0).epsilon(0.02));
  CHECK(found.has_drift());
  CHECK_FALSE(found.change);
  std::vector<double> long_run;
  for (int i = 0; i < 10000; ++i) long_run.push_back(100.0 + 0.001 * i);
  CHECK(described(long_run).trend->drift == Approx(10.0).epsilon(0.01));
  CHECK(described(std::vector<double>(30, 7.0)).trend->drift == 0.0);
  CHECK_FALSE(described(std::vector<double>(30, 7.0)).has_drift());
}

TEST_CASE("little is said of few values, and nothing of none", "[statistics]") {
  CHECK(described({}).shape == series_shape::too_short);
  CHECK_FALSE(described({}).interval);
  CHECK_FALSE(described({1.0, 2.0, 3.0}).trend);
  CHECK(described({1.0, 2.0, 3.0}).interval);
  CHECK(described({100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}).warmup == 0);
  for (double const value : {0.0, 1e-9, 1e9}) {
    auto const found = described(std::vector<double>(50, value));
    CHECK(found.shape == series_shape::even);
    CHECK(std::isfinite(found.moved));
  }
}

TEST_CASE("sentences about simulated series are seldom false", "[statistics]") {
  // A few of the series of bench/series.cpp. docs/statistics.md has the rates.
  std::size_t const series = repeats_less ? 3 : 12;
  std::size_t all = 0;
  std::size_t all_false = 0;
  std::size_t with_mean = 0;
  std::size_t right_mean = 0;
  for (series_kind const& kind : series_catalogue()) {
    for (std::size_t const steps : {10U, 30U, 100U, 300U}) {
      INFO(kind.name << ", " << steps << " steps");
      judged_cell const cell = judge_cell(kind, steps, series, 3);
      CHECK(4 * cell.any_false <= cell.series + 3);
      all += cell.series;
      all_false += cell.any_false;
      if (!cell.has_mean || steps < 100) continue;
      with_mean += cell.series;
      right_mean += cell.covered + cell.without_interval;
    }
  }
  CHECK(all_false * 100 <= 3 * all);
  CHECK(right_mean * 100 >= 93 * with_mean);
}

TEST_CASE("large drifts, warm-ups, changes and long steps are found", "[statistics]") {
  for (char const* const name : {"drift of 10.0 %", "from half on +10 %", "first 5 x 2", "every 20th x 10", "alternating 100, 160",
                                 "first third half as long", "square 10 %, period 20"}) {
    for (series_kind const& kind : series_catalogue()) {
      if (kind.name != name) continue;
      INFO(name);
      judged_cell const cell = judge_cell(kind, 100, 20, 4);
      CHECK(cell.found >= 18);
    }
  }
}
