// SPDX-License-Identifier: Apache-2.0
//
// Reads the utilization of devices from an imitated NVML (fake_libnvidia_ml.cpp), with an imitated CUDA driver (fake_libcuda.cpp). Both
// come first in the library path.
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/collect/device_windows.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "../support/profile_of.hpp"
#include "fake_libnvidia_ml.hpp"
#if __has_include(<nvml.h>)
#include <nvml.h>
static_assert(sizeof(profkit::detail::gpm_metric) == sizeof(nvmlGpmMetric_t));
static_assert(offsetof(profkit::detail::gpm_metrics_get, metrics) == offsetof(nvmlGpmMetricsGet_t, metrics));
static_assert(sizeof(profkit::detail::gpm_metrics_get) >= sizeof(nvmlGpmMetricsGet_t));
static_assert(sizeof(profkit::detail::gpm_support) == sizeof(nvmlGpmSupport_t));
static_assert(sizeof(profkit::detail::nvml_utilization_rates) == sizeof(nvmlUtilization_t));
static_assert(profkit::detail::gpm_metrics_get::current_version == NVML_GPM_METRICS_GET_VERSION);
static_assert(profkit::detail::gpm_support{}.version == NVML_GPM_SUPPORT_VERSION);
#endif

// As in nvml.h of CUDA 13.
static_assert(sizeof(profkit::detail::gpm_metric) == 40 && offsetof(profkit::detail::gpm_metric, status) == 4 &&
              offsetof(profkit::detail::gpm_metric, value) == 8 && offsetof(profkit::detail::gpm_metric, short_name) == 16);
static_assert(sizeof(profkit::detail::gpm_metrics_get) == 24 + 333 * 40 && offsetof(profkit::detail::gpm_metrics_get, count) == 4 &&
              offsetof(profkit::detail::gpm_metrics_get, first) == 8 && offsetof(profkit::detail::gpm_metrics_get, second) == 16 &&
              offsetof(profkit::detail::gpm_metrics_get, metrics) == 24);
static_assert(sizeof(profkit::detail::gpm_support) == 8 && sizeof(profkit::detail::nvml_utilization_rates) == 8);

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using std::chrono::milliseconds;

namespace {

constexpr int sm_util = 2, tensor_util = 5, nvlink_receive = 60, pcie_send = 20;

fake_nvml& nvml_state() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  return *static_cast<fake_nvml*>(::dlsym(library, "fake_nvml_state"));
}

/// Starts with a device that has counters, in a program that has loaded the driver.
struct fresh_device {
  fresh_device() {
    nvml_state() = {};
    ::dlopen("libcuda.so.1", RTLD_NOW);
    ::unsetenv("FAKE_NVML");
    ::unsetenv("FAKE_CUDA");
  }
};

/// Short windows, because the imitated counters do not lag.
profkit::gpu_utilization quick_utilization(milliseconds max_pause = milliseconds{500}) {
  return profkit::gpu_utilization{profkit::detail::utilization_times{milliseconds{30}, milliseconds{20}, milliseconds{1}, max_pause}};
}

void work_for(int ms) { std::this_thread::sleep_for(milliseconds{ms}); }

int readings() { return nvml_state().sample_readings + nvml_state().rate_readings; }

/// Works until the session's thread has read the device this many more times, or for 10 s.
void work_for_readings(int more) {
  int const wanted = readings() + more;
  for (int ms = 0; ms < 10'000 && readings() < wanted; ++ms) work_for(1);
}

/// One measured step with some work.
template <class Work>
profkit::report measure(Work const& work, profkit::gpu_utilization collector = quick_utilization()) {
  profkit::session session{plain_options(0, 1)};
  session.collect(std::move(collector));
  for (profkit::step step : session) work();
  return session.report();
}
profkit::report measure_for(int ms) {
  return measure([ms] { work_for(ms); });
}

profkit::collector_record outcome(profkit::report const& report) { return report.summary().collectors.at(0); }

}  // namespace

TEST_CASE("counters are read over windows of measured steps, on the session's thread", "[utilization]") {
  fresh_device const fresh;
  profkit::session session{plain_options(2, 2)};
  session.collect(quick_utilization());
  nvml_state().fails[nvlink_receive] = true;
  for (profkit::step step : session) {
    nvml_state().metrics[sm_util] = step.is_warmup() ? 10.0 : step.index() == 2 ? 90.0 : 80.0;
    nvml_state().metrics[tensor_util] = 61.5;
    nvml_state().metrics[pcie_send] = 1024.0;
    if (step.is_warmup()) {
      work_for(60);
    } else {
      work_for_readings(3);
    }
    CHECK(nvml_state().reader != ::pthread_self());
  }
  profkit::report const report = session.report();
  CHECK(outcome(report).status == "collected");
  CHECK(std::string{nvml_state().bus_id} == "0000:1B:00.0");
  CHECK(nvml_state().wrong_calls == 0);
  CHECK(nvml_state().samples == 0);
  CHECK(nvml_state().users == 0);
  REQUIRE(report.summary().utilization.size() == 1);
  profkit::utilization_summary const& use = report.summary().utilization[0];
  CHECK(use.device == 0);
  CHECK(use.source == "GPM counters");
  CHECK(use.windows >= 3);
  CHECK(use.covered.count() >= 30.0 * static_cast<double>(use.windows));
  REQUIRE(use.sm_active);
  CHECK(use.sm_active->max == Approx(0.9));
  CHECK(use.sm_active->min == Approx(0.8));  // never the 10 % of the warm-up
  CHECK(use.sm_active->mean > 0.8);
  CHECK(use.sm_active->mean < 0.9);
  CHECK(use.tensor->mean == Approx(0.615));
  CHECK(use.dram->mean == 0.0);
  CHECK(use.pcie_send->mean == Approx(1024.0 * 1024.0 * 1024.0));
  CHECK_FALSE(use.nvlink_receive);
  CHECK_FALSE(use.memory_active);
}

TEST_CASE("an excluded step and a long pause between steps are in no window", "[utilization]") {
  fresh_device const fresh;
  profkit::session session{plain_options(0, 4)};
  session.collect(quick_utilization(milliseconds{30}));
  auto const make_step = [&](double sm_percent, bool is_excluded) {
    nvml_state().metrics[sm_util] = sm_percent;
    profkit::step step{session};
    if (is_excluded) step.exclude();
    work_for_readings(3);
  };
  make_step(70.0, false);
  make_step(5.0, true);
  make_step(60.0, false);
  work_for(100);
  make_step(65.0, false);
  profkit::report const report = session.report();
  REQUIRE(report.summary().utilization.size() == 1);
  CHECK(report.summary().utilization[0].sm_active->min == Approx(0.6));
  CHECK(report.summary().utilization[0].sm_active->max == Approx(0.7));
  std::size_t after_pause = 0;
  for (profkit::device_utilization_record const& each : report.profile().device_utilization) {
    if (each.step != 3) continue;
    ++after_pause;
    CHECK(report.profile().steps.at(3).time.begin <= each.time.begin);
  }
  CHECK(after_pause > 0);
}

TEST_CASE("a device without GPM reports its utilization rates", "[rates]") {
  fresh_device const fresh;
  nvml_state().has_gpm = 0;
  nvml_state().gpu_percent = 97;
  nvml_state().memory_percent = 41;
  profkit::report const report = measure([] { work_for_readings(8); });
  REQUIRE(report.summary().utilization.size() == 1);
  profkit::utilization_summary const& use = report.summary().utilization[0];
  CHECK(use.source == "utilization rates");
  CHECK(use.busy->mean == Approx(0.97));
  CHECK(use.memory_active->mean == Approx(0.41));
  CHECK_FALSE(use.sm_active);
  CHECK_FALSE(use.dram);
  CHECK(nvml_state().sample_readings == 0);
}

TEST_CASE("the windows before an error count, and the report names the error", "[utilization]") {
  fresh_device const fresh;
  nvml_state().metrics[sm_util] = 50.0;
  nvml_state().failing_reading = 3;  // the end of the second window
  profkit::report const report = measure([] {
    work_for_readings(3);
    work_for(60);
  });
  CHECK(outcome(report).status == "not collected");
  CHECK(outcome(report).reason == "nvmlGpmSampleGet: GPU is lost");
  REQUIRE(report.summary().utilization.size() == 1);
  CHECK(report.summary().utilization[0].windows == 1);
  CHECK(nvml_state().sample_readings == 3);
}

TEST_CASE("the report states why the utilization is unknown", "[utilization]") {
  fresh_device const fresh;
  SECTION("NVML does not start") {
    ::setenv("FAKE_NVML", "nvmlInit_v2=9", 1);
    CHECK(outcome(measure_for(1)).reason == "nvmlInit_v2: Driver Not Loaded");
  }
  SECTION("MIG") {
    nvml_state().is_divided = 1;
    CHECK(outcome(measure_for(100)).reason == "device 0 is in MIG mode, and its counters are those of all instances together");
  }
  SECTION("no sample") {
    ::setenv("FAKE_NVML", "nvmlGpmSampleGet=3", 1);
    CHECK(outcome(measure_for(100)).reason == "nvmlGpmSampleGet: Not Supported");
  }
  SECTION("no device in use") {
    ::setenv("FAKE_CUDA", "cuDevicePrimaryCtxGetState=3", 1);
    CHECK(outcome(measure_for(100)).reason == "this process used no CUDA device");
  }
  SECTION("steps that are shorter than a window") {
    profkit::report const report = measure([] { work_for(30); }, profkit::gpu_utilization{});
    CHECK_THAT(outcome(report).reason, StartsWith("the measured steps were too short: a window needs 1.2 s of steps"));
    CHECK(nvml_state().sample_readings == 0);
  }
  SECTION("no step") {
    profkit::session session{plain_options(0, 1)};
    session.collect(quick_utilization());
    CHECK(outcome(session.report()).reason == "no step was measured");
  }
  CHECK(nvml_state().users == 0);
  ::unsetenv("FAKE_NVML");
  ::unsetenv("FAKE_CUDA");
}

TEST_CASE("utilization=on adds the collector once, and without it NVML stays closed", "[utilization]") {
  fresh_device const fresh;
  {
    profkit::session session{profkit::options::parse("steps=1,warmup=0")};
    for (profkit::step step : session) work_for(1);
    CHECK(session.report().summary().collectors.empty());
    CHECK(nvml_state().bus_id[0] == '\0');
  }
  profkit::session session{profkit::options::parse("steps=1,warmup=0,utilization=on")};
  CHECK(nvml_state().users == 1);
  CHECK(session.collect(profkit::gpu_utilization()).status().reason == "the session already has this collector");
  for (profkit::step step : session) work_for(1);
  CHECK(session.report().summary().collectors.at(0).kind == profkit::collector_kind::gpu_utilization);
}
