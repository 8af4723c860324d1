// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/host_probe.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <unistd.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

using namespace std::chrono_literals;

namespace {

std::optional<profkit::host_speed_record> speed_after(profkit::options const& options) {
  profkit::session session{options};
  for (profkit::step const step : session) static_cast<void>(step);
  return session.report().summary().environment.host_speed;
}

}  // namespace

TEST_CASE("a session with measured steps records the host's speed before and after them", "[host_probe]") {
  auto const speed = speed_after(plain_options(1, 2));
  REQUIRE(speed);
  CHECK(speed->before > 0ns);
  CHECK(speed->after > 0ns);
  if (speed->waiting) {
    CHECK(*speed->waiting >= 0.0);
    CHECK(*speed->waiting <= 1.0);
  }
}

TEST_CASE("a session that is off, or has warm-up steps only, does not probe the host", "[host_probe]") {
  profkit::options off = plain_options(1, 2);
  off.enabled = false;
  CHECK_FALSE(speed_after(off));
  profkit::session session{plain_options(3, 1)};
  for (int i = 0; i < 3; ++i) profkit::step const step{session};
  CHECK_FALSE(session.report().summary().environment.host_speed);
}

TEST_CASE("the probe is not in the first measured step", "[host_probe]") {
  // An empty step takes microseconds, and the seven repetitions of the probe take many times that. The minimum of many steps, because a
  // step may be interrupted.
  auto shortest = std::chrono::nanoseconds::max();
  auto probe = std::chrono::nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    profkit::session session{plain_options(0, 1)};
    for (profkit::step const step : session) static_cast<void>(step);
    profkit::profile const profile = session.report().profile();
    REQUIRE(profile.steps.size() == 1);
    REQUIRE(profile.environment.host_speed);
    shortest = std::min(shortest, profile.steps.front().time.duration());
    probe = std::min(probe, profile.environment.host_speed->before);
  }
  CHECK(shortest < probe);
}

TEST_CASE("the time that a thread waits for a processor is counted if the kernel reports it", "[host_probe]") {
  auto const before = profkit::detail::processor_wait_of(::getpid());
  if (!before) SKIP("the kernel has no /proc/PID/task/TID/schedstat");
  // More threads than processors: each waits while others run.
  std::vector<std::thread> others;
  auto const until = std::chrono::steady_clock::now() + 200ms;
  auto const spin = [until] {
    while (std::chrono::steady_clock::now() < until) continue;
  };
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) others.emplace_back(spin);
  spin();
  for (std::thread& each : others) each.join();
  auto const after = profkit::detail::processor_wait_of(::getpid());
  REQUIRE(after);
  CHECK(*after > *before);
  CHECK_FALSE(profkit::detail::processor_wait_of(0));
}
