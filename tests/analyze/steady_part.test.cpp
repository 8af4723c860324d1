// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/steady_part.hpp>

#include "../support/made_series.hpp"
#include "../support/testing.hpp"

using profkit::find_steady_part;
using profkit::warmup_finding;

namespace {

/// 35 steps around 100 with noise of 1.
std::vector<double> quiet_series(std::uint64_t seed = 1) {
  normal_numbers numbers{seed};
  return made_series(numbers, 35, 1.0);
}

}  // namespace

TEST_CASE("the steady part begins after a warm-up of any shape, and spikes or later changes are no warm-up", "[statistics]") {
  std::vector<double> const flat(30, 10.0);
  auto const with = [](std::vector<double> series, std::size_t from, std::size_t to, double factor, double more) {
    for (std::size_t i = from; i < to; ++i) series[i] = series[i] * factor + more;
    return series;
  };
  std::vector<double> const longer = with(quiet_series(), 0, 9, 1.0, 30.0);
  std::vector<double> const steps = with(flat, 0, 7, 2.0, 0.0);
  std::vector<double> const first = with(quiet_series(), 0, 1, 50.0, 0.0);
  struct {
    char const* what;
    std::vector<double> series;
    std::size_t warmup;
    warmup_finding finding;
    std::size_t begin;
  } const cases[] = {{"longer at first", longer, 5, warmup_finding::too_short, 9},
                     {"longer at first", longer, 9, warmup_finding::enough, 9},
                     {"longer at first", longer, 12, warmup_finding::enough, 9},
                     {"without noise", steps, 3, warmup_finding::too_short, 7},
                     {"constant", flat, 3, warmup_finding::enough, 0},
                     {"one very long step", first, 0, warmup_finding::too_short, 1},
                     {"one very long step", first, 5, warmup_finding::enough, 1},
                     {"several parts", with(with(quiet_series(), 1, 9, 1.3, 0.0), 0, 1, 20.0, 0.0), 0, warmup_finding::too_short, 9},
                     {"shorter at first", with(quiet_series(), 0, 8, 1.0, -20.0), 5, warmup_finding::too_short, 8},
                     {"longer in the second half", with(quiet_series(), 24, 35, 1.0, 15.0), 5, warmup_finding::never_steady, 24},
                     {"spikes", with(with(quiet_series(), 14, 15, 9.0, 0.0), 27, 28, 5.0, 0.0), 5, warmup_finding::enough, 0}};
  for (auto const& each : cases) {
    INFO(each.what << ", warm-up " << each.warmup);
    auto const found = find_steady_part(each.series, each.warmup);
    CHECK(found.finding == each.finding);
    CHECK(found.begin == each.begin);
  }
  CHECK(find_steady_part(longer, 5).change < -0.03);
  CHECK(find_steady_part(with(quiet_series(), 0, 8, 1.0, -20.0), 5).change > 0.03);
}

TEST_CASE("a decaying warm-up is cut where it is negligible", "[statistics]") {
  std::vector<double> series = quiet_series();
  for (std::size_t i = 0; i < series.size(); ++i) series[i] += 80.0 * std::exp(-static_cast<double>(i) / 3.0);
  auto const found = find_steady_part(series, 2);
  CHECK(found.finding == warmup_finding::too_short);
  CHECK(found.begin >= 8);   // 5.6 there, at a noise of 1
  CHECK(found.begin <= 16);  // 0.4
  CHECK(find_steady_part(series, 16).finding == warmup_finding::enough);
}

TEST_CASE("a significant but irrelevant difference is not reported", "[statistics]") {
  std::vector<double> series(35, 100.0);
  std::fill(series.begin(), series.begin() + 9, 101.0);
  CHECK(find_steady_part(series, 5).finding == warmup_finding::enough);
}

TEST_CASE("one measured step that differs is no warm-up, unless the mean moves with it", "[statistics]") {
  // A graph replayed on an H200. The program waits for the device before the first measured step.
  std::vector<double> series{14.18, 14.15, 14.17, 14.16, 14.15, 15.68, 14.15, 14.15, 14.15, 14.18, 14.18, 14.19,
                             14.19, 14.18, 14.18, 14.19, 14.19, 14.19, 14.14, 14.15, 14.16, 14.14, 14.14, 14.19,
                             14.19, 14.19, 14.19, 14.18, 14.19, 14.19, 14.17, 14.15, 14.15, 14.16};
  CHECK(find_steady_part(series, 5).finding == warmup_finding::enough);
  series[5] = 20.0;
  auto const found = find_steady_part(series, 5);
  CHECK(found.finding == warmup_finding::too_short);
  CHECK(found.begin == 6);
}

TEST_CASE("too few steps give no result", "[statistics]") {
  CHECK(find_steady_part({}, 0).finding == warmup_finding::unknown);
  CHECK(find_steady_part({1.0, 2.0}, 0).finding == warmup_finding::unknown);
  CHECK(find_steady_part(std::vector<double>(12, 1.0), 9).finding == warmup_finding::unknown);
}

TEST_CASE("plain noise seldom looks like a warm-up", "[statistics]") {
  constexpr int series = 500;
  normal_numbers numbers{6};
  for (std::size_t const count : {30U, 40U}) {
    int alarms = 0;
    for (int i = 0; i < series; ++i) {
      if (find_steady_part(made_series(numbers, count, 3.0), 5).finding != warmup_finding::enough) ++alarms;
    }
    CHECK(alarms <= series / 50);  // 2 %
  }
}

TEST_CASE("a large warm-up is found in all series, no matter how large", "[statistics]") {
  constexpr int series = 200;
  for (double const autocorrelation : {0.0, 0.5}) {
    for (double const factor : {2.0, 11.0, 1000.0}) {
      INFO("autocorrelation " << autocorrelation << ", factor " << factor);
      normal_numbers numbers{8};
      int first = 0;
      int eight = 0;
      for (int i = 0; i < series; ++i) {
        std::vector<double> ms = made_series(numbers, 30, 1.0, autocorrelation);
        ms[0] *= factor;
        if (find_steady_part(ms, 0).finding == warmup_finding::too_short) ++first;
        ms = made_series(numbers, 35, 1.0, autocorrelation);
        for (std::size_t each = 0; each < 8; ++each) ms[each] *= factor;
        auto const found = find_steady_part(ms, 5);
        if (found.finding == warmup_finding::too_short && found.begin >= 8) ++eight;
      }
      CHECK(first >= series * 99 / 100);
      CHECK(eight >= series * 99 / 100);
    }
  }
}

TEST_CASE("a warm-up of three steps that take 10 % longer is found in noise of 3 %", "[statistics]") {
  constexpr int tries = 300;
  normal_numbers numbers{7};
  int found = 0;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> series = made_series(numbers, 35, 3.0);
    for (std::size_t each = 0; each < 8; ++each) series[each] += 10.0;
    if (find_steady_part(series, 5).finding == warmup_finding::too_short) ++found;
  }
  CHECK(found > tries * 85 / 100);
}

TEST_CASE("a linear trend is not mistaken for a warm-up", "[statistics]") {
  normal_numbers numbers{9};
  std::vector<double> line = made_series(numbers, 100, 1.0);
  for (std::size_t i = 0; i < line.size(); ++i) line[i] += 0.2 * static_cast<double>(i);
  CHECK(find_steady_part(line, 0).finding != warmup_finding::enough);
  CHECK(find_steady_part(line, 0).is_line_better);
  std::vector<double> step = made_series(numbers, 100, 1.0);
  for (std::size_t i = 0; i < 20; ++i) step[i] += 8.0;
  CHECK(find_steady_part(step, 0).begin == 20);
  CHECK_FALSE(find_steady_part(step, 0).is_line_better);
}
