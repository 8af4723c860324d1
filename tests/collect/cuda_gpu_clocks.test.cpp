// SPDX-License-Identifier: Apache-2.0
//
// Reads clocks from an imitated NVML (fake_libnvidia_ml.cpp), which comes first in the library path.
#include <profkit/cuda.hpp>
#include <profkit/impl/report/headline.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "../support/profile_of.hpp"
#include "fake_cudart.hpp"
#include "fake_libnvidia_ml.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

fake_nvml& nvml() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  return *static_cast<fake_nvml*>(::dlsym(library, "fake_nvml_state"));
}

/// Starts with nothing read, and with all functions in working order.
struct fresh_fakes {
  fresh_fakes() {
    fake = {};
    nvml() = {};
    ::unsetenv("FAKE_NVML");
  }
};

std::string reason_of(char const* fails) {
  ::setenv("FAKE_NVML", fails, 1);
  profkit::session session{plain_options()};
  profkit::collector_status const status = session.collect(profkit::gpu_clocks{}).status();
  ::unsetenv("FAKE_NVML");
  return status.works ? "" : status.reason;
}

void pass_reading_interval() { std::this_thread::sleep_for(std::chrono::milliseconds{60}); }

}  // namespace

TEST_CASE("clocks, power and temperature are read in steps, of the device with CUDA's bus number", "[clocks]") {
  fresh_fakes const fresh;
  profkit::session session{plain_options(1, 2)};
  session.collect(profkit::gpu_clocks{});
  for (unsigned index = 0; session.wants_step(); ++index) {
    nvml().sm_mhz = index == 0 ? 300 : 1702;
    nvml().reasons = index == 0 ? 0x40 : 0x4;
    profkit::step const step{session};
    pass_reading_interval();
  }
  profkit::report const report = session.report();
  CHECK(std::string{nvml().bus_id} == "0000:1B:00.0");
  CHECK(nvml().users == 0);
  std::set<std::uint64_t> read;
  for (profkit::device_clock_record const& each : report.profile().device_clocks) read.insert(each.step);
  CHECK(read == std::set<std::uint64_t>{0, 1, 2});
  REQUIRE(report.summary().steps.clocks.size() == 1);
  profkit::clock_summary const& clocks = report.summary().steps.clocks[0];
  CHECK(clocks.throttled_readings == 0);  // without the reading of the warm-up step, which was throttled
  CHECK(clocks.min_mhz == 1702);
  CHECK(clocks.max_mhz == 1702);
  CHECK(clocks.device_max_mhz == 1980);
  CHECK(clocks.max_watt == 512.0);
  CHECK(clocks.max_celsius == 61U);
  CHECK_THAT(report.full_text(), ContainsSubstring("device 0: SM clock 1702 to 1702 of 1980 MHz") && ContainsSubstring("power cap"));
}

TEST_CASE("the step thread does not wait for a reading", "[clocks]") {
  fresh_fakes const fresh;
  profkit::session session{plain_options(0, 40)};
  session.collect(profkit::gpu_clocks{});
  nvml().delay_us = 400'000;
  auto const begin = std::chrono::steady_clock::now();
  for (profkit::step step : session) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  auto const loop = std::chrono::steady_clock::now() - begin;
  nvml().delay_us = 0;
  CHECK(loop < std::chrono::milliseconds{300});  // a reading takes 400
  CHECK_FALSE(session.report().profile().device_clocks.empty());
}

TEST_CASE("clocks are read for the last measured step, however short the steps are, and rarely before", "[clocks]") {
  fresh_fakes const fresh;
  profkit::session session{plain_options(1, 100)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) PROF_SCOPE("work");
  auto const clocks = session.report().profile().device_clocks;
  REQUIRE_FALSE(clocks.empty());
  CHECK(clocks.size() < 10);
  CHECK(clocks.back().step == 100);
}

TEST_CASE("an excluded step does not replace the last measured step", "[clocks]") {
  fresh_fakes const fresh;
  profkit::session session{plain_options(0, 3)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) {
    if (step.index() == 2) step.exclude();
  }
  auto const clocks = session.report().profile().device_clocks;
  REQUIRE_FALSE(clocks.empty());
  CHECK(clocks.back().step == 1);
}

TEST_CASE("a clock that is read long after the last step says nothing about it", "[clocks]") {
  fresh_fakes const fresh;
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) PROF_SCOPE("work");
  pass_reading_interval();
  CHECK(session.report().profile().device_clocks.size() <= 1);  // one if the session's thread has read before
}

TEST_CASE("if a device slowed down, the verdict is throttled, with the reason", "[clocks]") {
  fresh_fakes const fresh;
  nvml().reasons = 0x40;
  nvml().sm_mhz = 1200;
  profkit::session session{plain_options(0, 12)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.host_verdict.verdict == profkit::step_verdict::throttled);
  CHECK_THAT(profkit::verdict_text(summary),
             ContainsSubstring("hardware thermal slowdown") && ContainsSubstring("down to 1200 of 1980 MHz"));
}

TEST_CASE("power that cannot be read is n/a, and the clocks are read", "[clocks]") {
  fresh_fakes const fresh;
  ::setenv("FAKE_NVML", "nvmlDeviceGetPowerUsage=3", 1);
  profkit::session session{plain_options(0, 1)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::summary const summary = session.report().summary();
  ::unsetenv("FAKE_NVML");
  REQUIRE(summary.steps.clocks.size() == 1);
  CHECK_FALSE(summary.steps.clocks[0].max_watt);
  CHECK(summary.steps.clocks[0].max_mhz == 1980);
}

TEST_CASE("an error of NVML is reported once, with NVML's text", "[clocks]") {
  fresh_fakes const fresh;
  CHECK(reason_of("nvmlInit_v2=9") == "nvmlInit_v2: Driver Not Loaded");
  CHECK(reason_of("nvmlDeviceGetHandleByPciBusId_v2=999") == "nvmlDeviceGetHandleByPciBusId_v2: Unknown Error");
  CHECK(reason_of("nvmlDeviceGetClockInfo=3") == "nvmlDeviceGetClockInfo: Not Supported");
  fake.has_device = false;
  CHECK(reason_of("") == "cudaGetDevice: no CUDA-capable device is detected (cudaErrorNoDevice)");
}

// Runs separately, with an invalid file in place of NVML.
TEST_CASE("without NVML the report states that throttling is unknown", "[.missing]") {
  fake = {};
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::gpu_clocks{});
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::summary const summary = session.report().summary();
  CHECK(summary.collectors.at(0).reason == "there is no NVML: libnvidia-ml.so.1, which comes with the NVIDIA driver, cannot be opened");
  CHECK_THAT(profkit::verdict_text(summary), ContainsSubstring("GPU clocks: n/a (there is no NVML") && ContainsSubstring("throttling"));
}
