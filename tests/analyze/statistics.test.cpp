// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/time/quantiles.hpp>
#include <profkit/statistics.hpp>

#include "../support/testing.hpp"

TEST_CASE("without samples every figure is n/a", "[statistics]") {
  profkit::running_statistics const empty;
  CHECK(empty.count() == 0);
  CHECK_FALSE(empty.mean());
  CHECK_FALSE(empty.min());
  CHECK_FALSE(empty.max());
  CHECK_FALSE(empty.standard_deviation());
  CHECK_FALSE(profkit::quantile({}, 0.5));
}

TEST_CASE("one sample has a mean and no standard deviation", "[statistics]") {
  profkit::running_statistics one;
  one.add(-4.0);
  CHECK(one.mean() == -4.0);
  CHECK(one.min() == -4.0);
  CHECK(one.max() == -4.0);
  CHECK_FALSE(one.standard_deviation());
}

TEST_CASE("the standard deviation is that of a sample (n - 1)", "[statistics]") {
  profkit::running_statistics statistics;
  for (double const value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) statistics.add(value);
  CHECK(statistics.mean() == Approx(5.0));
  CHECK(statistics.total() == Approx(40.0));
  CHECK(*statistics.standard_deviation() == Approx(2.138089935));  // sqrt(32 / 7); of the population it would be 2
}

TEST_CASE("a small spread around a large mean is not lost", "[statistics]") {
  profkit::running_statistics statistics;
  for (int i = 0; i < 1000; ++i) statistics.add(1e9 + (i % 2 == 0 ? 0.5 : -0.5));
  CHECK(*statistics.standard_deviation() == Approx(0.50025).epsilon(1e-4));
}

TEST_CASE("quantiles are linear between neighbours, as in NumPy", "[statistics]") {
  std::vector<double> const sorted{1.0, 2.0, 3.0, 10.0};
  CHECK(profkit::quantile(sorted, 0.0) == 1.0);
  CHECK(profkit::quantile(sorted, 0.5) == 2.5);
  CHECK(profkit::quantile(sorted, 0.95) == Approx(8.95));  // numpy.quantile([1, 2, 3, 10], 0.95)
  CHECK(profkit::quantile(sorted, 1.0) == 10.0);
  CHECK(profkit::quantile({7.0}, 0.95) == 7.0);
}

TEST_CASE("quantiles do not depend on the order of samples", "[statistics]") {
  std::vector<double> const samples{10.0, 1.0, 3.0, 2.0};
  for (double const q : {0.0, 0.3, 0.5, 0.95, 1.0}) {
    std::vector<double> moved = samples;
    CHECK(profkit::select_quantile(moved.begin(), moved.end(), q, [](double each) { return each; }) ==
          profkit::quantile({1.0, 2.0, 3.0, 10.0}, q));
  }
  std::vector<double> empty;
  CHECK_FALSE(profkit::select_quantile(empty.begin(), empty.end(), 0.5, [](double each) { return each; }));
}

TEST_CASE("merged statistics equal those of all samples", "[statistics]") {
  profkit::running_statistics all;
  profkit::running_statistics first;
  profkit::running_statistics second;
  for (double const value : {2.0, 4.0, 4.0, 4.0}) first.add(value);
  for (double const value : {5.0, 5.0, 7.0, 9.0}) second.add(value);
  all.add(first);
  all.add(second);
  all.add(profkit::running_statistics{});
  CHECK(all.count() == 8);
  CHECK(all.total() == Approx(40.0));
  CHECK(all.mean() == Approx(5.0));
  CHECK(*all.standard_deviation() == Approx(2.138089935));
  CHECK(all.min() == 2.0);
  CHECK(all.max() == 9.0);
}

TEST_CASE("the mean of huge samples is finite, also when parts are merged", "[statistics]") {
  constexpr double huge = 1.7e308;
  profkit::running_statistics all;
  profkit::running_statistics parts;
  for (int i = 0; i < 3; ++i) {
    profkit::running_statistics part;
    for (double const value : {huge, -huge, -huge, huge, huge}) all.add(value), part.add(value);
    parts.add(part);
  }
  profkit::running_statistics opposite;
  for (int i = 0; i < 15; ++i) opposite.add(-huge);
  CHECK(*all.mean() / huge == Approx(0.2));
  CHECK(*parts.mean() / huge == Approx(0.2));
  opposite.add(parts);
  CHECK(*opposite.mean() / huge == Approx(-0.4));
  CHECK(opposite.min() == -huge);
  CHECK(opposite.max() == huge);
  CHECK(*opposite.standard_deviation() > huge);
}
