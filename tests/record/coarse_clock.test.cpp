// SPDX-License-Identifier: Apache-2.0
//
// Steps with a coarse clock, like the counters of many processors: a millisecond here, 10 to 40 ns in reality.
#include <profkit/step.hpp>

#include <ctime>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

using namespace profkit::detail;

/// Replaces the function of the system.
extern "C" int clock_gettime(clockid_t /*clock*/, timespec* now) noexcept {
  static int readings = 0;
  *now = {0, ++readings / 1000 * 1'000'000};  // every thousandth reading
  return 0;
}

namespace {

struct loop final : profkit::step_loop {
  std::vector<raw_step> done;

 private:
  raw_step begin_step() override { return {}; }
  void end_step(raw_step const& ended) noexcept override { done.push_back(ended); }
};

}  // namespace

TEST_CASE("a step begins after earlier events and ends after its own events, even within one clock tick") {
  __atomic_fetch_or(&recorder.flags, use_monotonic_clock, __ATOMIC_RELAXED);
  loop steps;
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::uint64_t const before = ticks(use_monotonic_clock);
    std::uint64_t within = 0;
    {
      profkit::step const step{steps};
      within = ticks(use_monotonic_clock);
    }
    REQUIRE(steps.done.size() == i + 1);
    CHECK(before < steps.done[i].begin_ticks);
    CHECK(steps.done[i].begin_ticks <= within);
    CHECK(within < steps.done[i].end_ticks);
  }
}
