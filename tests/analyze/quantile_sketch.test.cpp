// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/time/quantiles.hpp>
#include <profkit/statistics.hpp>

#include "../support/testing.hpp"

namespace {

using std::chrono::nanoseconds;

struct named_durations {
  std::string name;
  std::vector<std::int64_t> ns;
};

template <class Next>
named_durations make_durations(std::string name, std::size_t count, Next next) {
  named_durations result{std::move(name), {}};
  for (std::size_t i = 0; i < count; ++i) result.ns.push_back(next(i));
  return result;
}

std::vector<named_durations> hostile_durations() {
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  std::mt19937_64 random{7};
  std::uniform_real_distribution<double> share{0.0, 1.0};
  std::vector<named_durations> result;
  result.push_back({"one", {1'234'567}});
  result.push_back({"two far apart", {3, 86'400'000'000'000}});
  result.push_back({"the shortest and the longest", {0, 1, longest - 1, longest}});
  result.push_back(make_durations("constant", 1000, [](std::size_t) { return std::int64_t{98'765'433}; }));
  result.push_back(make_durations("zeros", 500, [](std::size_t) { return std::int64_t{0}; }));
  result.push_back(make_durations("mostly zeros", 500, [](std::size_t i) { return i % 10 == 0 ? std::int64_t{777'777} : 0; }));
  result.push_back(make_durations("every nanosecond", 2000, [](std::size_t i) { return static_cast<std::int64_t>(i); }));
  result.push_back(make_durations("bimodal", 1001, [](std::size_t i) { return i % 2 == 0 ? std::int64_t{1'000} : 5'000'000'000; }));
  result.push_back(make_durations("heavy tail", 20'000, [&](std::size_t) {
    return static_cast<std::int64_t>(
        std::min(1e18, 1000.0 / std::pow(1.0 - share(random), 2.0)));  // Pareto distribution with infinite mean
  }));
  result.push_back(
      make_durations("all magnitudes", 20'000, [&](std::size_t) { return static_cast<std::int64_t>(std::exp2(62.9 * share(random))); }));
  result.push_back(make_durations("edges of buckets", 63 * 3,
                                  [](std::size_t i) { return (std::int64_t{1} << (i / 3)) + static_cast<std::int64_t>(i % 3) - 1; }));
  return result;
}

double exact_quantile(std::vector<std::int64_t> const& ns, double q) {
  std::vector<double> sorted(ns.begin(), ns.end());
  std::sort(sorted.begin(), sorted.end());
  return *profkit::quantile(sorted, q);
}

constexpr double some_quantiles[] = {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};

}  // namespace

TEST_CASE("quantiles of a sketch are within 1 % of the exact ones, for any durations", "[statistics]") {
  for (named_durations const& each : hostile_durations()) {
    INFO(each.name);
    profkit::quantile_sketch sketch;
    profkit::quantile_sketch parts[3];  // added one after the other; the last one stays empty
    for (std::size_t i = 0; i < each.ns.size(); ++i) {
      sketch.add(nanoseconds{each.ns[i]});
      parts[i % 3 == 0 ? 0 : 1].add(nanoseconds{each.ns[i]});
    }
    for (std::size_t i = 1; i < 3; ++i) parts[0].add(parts[i]);
    CHECK(sketch.count() == each.ns.size());
    CHECK(sketch.min()->count() == *std::min_element(each.ns.begin(), each.ns.end()));
    CHECK(sketch.max()->count() == *std::max_element(each.ns.begin(), each.ns.end()));
    for (double const q : some_quantiles) {
      INFO("quantile " << q);
      CHECK(*sketch.quantile(q) == Approx(exact_quantile(each.ns, q)).epsilon(0.01));
      CHECK(parts[0].quantile(q) == sketch.quantile(q));
    }
    CHECK(*sketch.quantile(0.0) == static_cast<double>(sketch.min()->count()));
    CHECK(*sketch.quantile(1.0) == static_cast<double>(sketch.max()->count()));
  }
}

TEST_CASE("quantiles of equal durations, and of durations below 128 ns, are exact", "[statistics]") {
  profkit::quantile_sketch same;
  for (int i = 0; i < 10; ++i) same.add(nanoseconds{98'765'433});
  profkit::quantile_sketch few;
  for (int i = 0; i < 128; ++i) few.add(nanoseconds{i});
  for (double const q : {0.25, 0.5, 0.95, 0.99}) {
    CHECK(*same.quantile(q) == 98'765'433.0);
    CHECK(*few.quantile(q) == Approx(q * 127.0).epsilon(1e-12));
  }
}

TEST_CASE("a bucket of a sketch counts more durations than 16 bits hold, also after merging", "[statistics]") {
  profkit::quantile_sketch sketch;
  for (int i = 0; i < 100'000; ++i) sketch.add(nanoseconds{1000});
  for (int i = 0; i < 40'000; ++i) sketch.add(nanoseconds{100});
  profkit::quantile_sketch merged;
  for (int i = 0; i < 3; ++i) merged.add(sketch);
  for (profkit::quantile_sketch const* each : {&sketch, &merged}) {
    CHECK(*each->quantile(0.28) == 100.0);
    CHECK(*each->quantile(0.29) == Approx(1000.0).epsilon(0.01));
    CHECK(*each->quantile(0.9) == Approx(1000.0).epsilon(0.01));
  }
  CHECK(merged.count() == 420'000);
}

TEST_CASE("durations before zero count as zero in the quantiles, and keep their minimum", "[statistics]") {
  profkit::quantile_sketch sketch;
  for (std::int64_t const ns : {-500, -20, -1, 100}) sketch.add(nanoseconds{ns});
  CHECK(sketch.min() == nanoseconds{-500});
  CHECK(*sketch.quantile(0.5) == 0.0);
  CHECK(*sketch.quantile(1.0) == 100.0);
  profkit::quantile_sketch before;
  for (int i = 0; i < 3; ++i) before.add(nanoseconds{-7});
  CHECK(*before.quantile(0.5) == -7.0);
}

TEST_CASE("a sketch takes memory for the range of the durations, not for their number", "[statistics]") {
  profkit::quantile_sketch sketch;
  for (int i = 0; i < 100; ++i) sketch.add(nanoseconds{1'000'000 + 1000 * i});
  std::size_t const after_100 = sketch.bytes();
  for (int i = 0; i < 100'000; ++i) sketch.add(nanoseconds{1'000'000 + i});
  CHECK(sketch.bytes() == after_100);
  CHECK(after_100 < 1024);
  for (unsigned power = 0; power < 63; ++power) {
    for (std::int64_t part = 0; part < 64; ++part) {
      sketch.add(nanoseconds{(std::int64_t{1} << power) + ((std::int64_t{1} << power) / 64) * part});
    }
  }
  CHECK(sketch.bytes() < 34 * 1024);
}
