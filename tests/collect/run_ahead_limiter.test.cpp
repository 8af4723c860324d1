// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/session/step_side.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>

namespace {

/// A device that completes one step per query.
struct slow_device {
  profkit::profile profile;
  int drains = 0;

  void drain() {
    ++drains;
    profile.gpu_steps.push_back({profile.gpu_steps.empty() ? 0 : profile.gpu_steps.back().step + 1, 0, std::chrono::milliseconds{1}});
  }
};

}  // namespace

TEST_CASE("a host far ahead of its device waits until the distance is small", "[stop]") {
  slow_device device;
  profkit::detail::run_ahead_limiter lag;
  device.drain();
  lag.limit(profkit::detail::run_ahead_limiter::max_steps, device.profile, [&] { device.drain(); });
  CHECK(device.drains == 1);  // already close enough
  lag.limit(profkit::detail::run_ahead_limiter::max_steps + 7, device.profile, [&] { device.drain(); });
  CHECK(device.profile.gpu_steps.back().step == 7);
}

TEST_CASE("a session does not wait forever for GPU times that never arrive", "[stop]") {
  slow_device device;
  profkit::detail::run_ahead_limiter lag{std::chrono::milliseconds{200}};
  int asked = 0;
  lag.limit(1000, device.profile, [&] { ++asked; });
  CHECK(asked > 1);
  asked = 0;
  lag.limit(1001, device.profile, [&] { ++asked; });
  CHECK(asked == 0);
}
