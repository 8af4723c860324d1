// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/time/step_times.hpp>
#include <profkit/impl/analyze/time/trend_windows.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using Catch::Approx;

namespace {

profkit::trend_window window_of_step(std::uint64_t index) {
  using std::chrono::nanoseconds;
  profkit::trend_window result;
  profkit::timestamp const begin{nanoseconds{static_cast<std::int64_t>(index) * 1000}};
  result.first_step = index;
  result.total = nanoseconds{500 + static_cast<std::int64_t>(index % 100)};
  result.time = {begin, begin + result.total};
  result.steps = 1;
  result.host.add(result.total);
  result.collected_time = result.total;
  result.gpu_busy = nanoseconds{static_cast<std::int64_t>(index % 7)};
  result.memory_bytes = {index, index % 2 == 0 ? std::optional<std::uint64_t>{5} : std::nullopt};
  return result;
}

/// The figures that must not depend on how the run is cut.
struct run_totals {
  std::uint64_t steps = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds busy{};
  std::optional<std::uint64_t> memory;

  explicit run_totals(profkit::trend_windows const& windows) {
    for (profkit::trend_window const& each : windows.windows()) {
      steps += each.steps;
      total += each.total;
      busy += each.gpu_busy;
      memory = std::max(memory, each.memory_bytes.at(0));
    }
  }
};

}  // namespace

TEST_CASE("a run of any length has at most 512 windows of equally many steps, in order", "[trend_windows]") {
  for (std::uint64_t const steps : {1U, 511U, 512U, 513U, 5000U}) {
    profkit::trend_windows windows;
    for (std::uint64_t i = 0; i < steps; ++i) windows.add(window_of_step(i));
    REQUIRE(windows.windows().size() <= 512);
    CHECK(windows.windows().size() > (steps > 512 ? 256U : steps - 1));
    CHECK(run_totals{windows}.steps == steps);
    CHECK(run_totals{windows}.memory == steps - 1);
    std::uint64_t next = 0;
    for (profkit::trend_window const& each : windows.windows()) {
      CHECK(each.first_step == next);
      next += each.steps;
      bool const is_last = next == steps;
      CHECK((each.steps == windows.steps_per_window() || is_last));
      CHECK(each.host.count() == each.steps);
      CHECK(each.time.end == window_of_step(next - 1).time.end);
    }
  }
}

TEST_CASE("a run cut into parts has the same totals, and its windows stay in order", "[trend_windows]") {
  profkit::trend_windows whole;
  profkit::trend_windows joined;
  std::uint64_t step = 0;
  for (std::uint64_t const part : {3U, 700U, 1U, 2000U, 40U}) {
    profkit::trend_windows later;
    for (std::uint64_t i = 0; i < part; ++i, ++step) {
      whole.add(window_of_step(step));
      later.add(window_of_step(step));
    }
    joined.add(later);
  }
  REQUIRE(joined.windows().size() <= 512);
  CHECK(run_totals{joined}.steps == run_totals{whole}.steps);
  CHECK(run_totals{joined}.total == run_totals{whole}.total);
  CHECK(run_totals{joined}.busy == run_totals{whole}.busy);
  CHECK(run_totals{joined}.memory == run_totals{whole}.memory);
  for (std::size_t i = 1; i < joined.windows().size(); ++i) {
    profkit::trend_window const& before = joined.windows()[i - 1];
    CHECK(joined.windows()[i].first_step == before.first_step + before.steps);
  }
}

TEST_CASE("GPU busy time is the union of the operations, cut at the steps", "[trend_windows]") {
  using profkit::timestamp;
  using std::chrono::nanoseconds;
  auto const between = [](int begin, int end) { return profkit::interval{timestamp{nanoseconds{begin}}, timestamp{nanoseconds{end}}}; };
  std::vector<profkit::detail::timed_operation> operations;
  for (profkit::interval const& time : {between(5, 15), between(10, 12), between(14, 18), between(25, 45), between(60, 61)}) {
    operations.push_back({});
    operations.back().time = time;
    operations.back().step = 0;
  }
  operations.push_back({});
  operations.back().time = between(62, 63);  // it does not count
  auto const busy = profkit::detail::busy_in({between(10, 20), between(30, 40), between(40, 50), between(55, 70)}, operations,
                                             [](auto const& each) { return each.is_counted(); });
  CHECK(busy == std::vector<nanoseconds>{nanoseconds{8}, nanoseconds{10}, nanoseconds{5}, nanoseconds{1}});
}

TEST_CASE("the trend of a profile has the measured steps, their memory and the step that changed", "[trend_windows]") {
  profkit::profile profile;
  profkit::timestamp const origin{std::chrono::seconds{1'790'000'000}};
  profile.time.begin = origin;
  profkit::timestamp begin = origin + std::chrono::seconds{2};
  constexpr std::uint64_t steps = 1000;
  for (std::uint64_t i = 0; i < steps; ++i) {
    auto const length = std::chrono::microseconds{i < 600 ? 1100 + i % 7 : 1310 + i % 7};
    profile.steps.push_back({{begin, begin + length}, i, i < 10, 0, 0.0});
    profile.steps.back().is_excluded = i == 20;
    profile.memory.push_back({"host", "resident", i, 1000 + i, {}, {}});
    begin += std::chrono::milliseconds{2};
  }
  profkit::run_trend_summary const trend = profkit::analyze(profile).trend;
  CHECK(trend.memory == std::vector<std::string>{"host resident"});
  REQUIRE(trend.windows.size() == 495);  // 989 steps
  CHECK(trend.windows[0].first_step == 10);
  CHECK(trend.windows[0].begin == std::chrono::milliseconds{2020});
  CHECK(trend.windows[0].steps == 2);
  CHECK(trend.windows[0].mean.count() == Approx(1.1035));
  CHECK(trend.windows[0].p95.count() == Approx(1.104).epsilon(0.01));
  CHECK(trend.windows[0].memory_bytes.at(0) == 1011);
  CHECK_FALSE(trend.windows[0].gpu_busy_share);
  REQUIRE(trend.change);
  CHECK(trend.change->step == 600);
  CHECK(trend.change->begin == std::chrono::milliseconds{3200});
  CHECK(trend.change->time == std::chrono::seconds{1'790'000'003} + std::chrono::milliseconds{200});
  CHECK(trend.change->before.count() == Approx(1.103).epsilon(0.001));
  CHECK(trend.change->after.count() == Approx(1.313).epsilon(0.001));
  CHECK_FALSE(trend.change->is_of_gpu);
}
