// SPDX-License-Identifier: Apache-2.0
//
// Energy from an imitated NVML (fake_libnvidia_ml.cpp) and from an imitated folder of RAPL counters. The power is constant, so the
// energy of a step follows from its time. Where threads run, bounds are wide: on a busy host a counter is read late.
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/collect/energy_meters.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <atomic>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/temporary_folder.hpp"
#include "fake_libnvidia_ml.hpp"

namespace {

/// A program that has loaded the driver, on a device with this power.
struct device_with_power {
  device_with_power(unsigned watt, unsigned changes_every_ms) {
    state() = {};
    state().watt = watt;
    state().energy_changes_every_ms = changes_every_ms;
    ::dlopen("libcuda.so.1", RTLD_NOW);
    ::unsetenv("FAKE_CUDA");
    ::unsetenv("FAKE_NVML");
  }
  ~device_with_power() { ::unsetenv("FAKE_NVML"); }
  device_with_power(device_with_power const&) = delete;
  device_with_power& operator=(device_with_power const&) = delete;
  static fake_nvml& state() { return *static_cast<fake_nvml*>(::dlsym(::dlopen("libnvidia-ml.so.1", RTLD_NOW), "fake_nvml_state")); }
};

/// A folder like /sys/class/powercap whose counters grow with time. They wrap around 0.7 s after their start, and every 5 s.
class powercap_folder {
 public:
  explicit powercap_folder(std::string const& name) : folder_{"energy-" + name} {
    add("intel-rapl:0", "package-0", 20);
    add("intel-rapl:0:0", "core", 10);
    add("intel-rapl:0:1", "dram", 4);
    add("intel-rapl:1", "psys", 50);
    write();
    thread_ = std::thread{[this] {
      while (!ends_) {
        write();
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
      }
    }};
  }
  ~powercap_folder() {
    ends_ = true;
    thread_.join();
  }
  [[nodiscard]] std::string path() const { return folder_.path.string(); }

 private:
  struct counter {
    std::filesystem::path file;
    std::uint64_t watt;
  };

  void add(std::string const& folder, std::string const& name, std::uint64_t watt) {
    std::filesystem::create_directories(folder_.path / folder);
    std::ofstream{folder_.path / folder / "name"} << name << '\n';
    std::ofstream{folder_.path / folder / "max_energy_range_uj"} << watt * period_us << '\n';
    counters_.push_back({folder_.path / folder / "energy_uj", watt});
    std::ofstream{counters_.back().file} << std::string(20, '0') << '\n';
  }

  /// Writes in place, so that a reader never sees an empty file.
  void write() {
    auto const us =
        static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start_) / std::chrono::microseconds{1}) + period_us - 700'000;
    for (counter const& each : counters_) {
      char text[32];
      std::uint64_t const value = us * each.watt % (each.watt * period_us);
      int const length = std::snprintf(text, sizeof text, "%020llu\n", static_cast<unsigned long long>(value));
      std::FILE* const file = std::fopen(each.file.c_str(), "r+");
      REQUIRE(file != nullptr);
      std::fwrite(text, 1, static_cast<std::size_t>(length), file);
      std::fclose(file);
    }
  }

  static constexpr std::uint64_t period_us = 5'000'000;

  temporary_folder folder_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<counter> counters_;
  std::thread thread_;
  std::atomic<bool> ends_{false};
};

constexpr char const* no_folder = "/nowhere/powercap";

profkit::report measure_energy_of(std::uint64_t warmup, std::uint64_t steps, int ms, std::string const& powercap) {
  profkit::session session{plain_options(warmup, steps)};
  session.collect(profkit::energy(powercap));
  for (profkit::step step : session) {
    step.set_items(100);
    std::this_thread::sleep_for(std::chrono::milliseconds{ms});
    if (step.index() == warmup + 1) step.exclude();
  }
  return session.report();
}

profkit::collector_record energy_outcome(profkit::report const& report) { return report.summary().collectors.at(0); }

profkit::timestamp at(int ms) { return profkit::timestamp{std::chrono::hours{24} + std::chrono::milliseconds{ms}}; }

}  // namespace

TEST_CASE("short steps have their mean energy over the run, by step and by item", "[energy]") {
  device_with_power const device{500, 20};
  profkit::report const report = measure_energy_of(10, 60, 12, no_folder);
  INFO(energy_outcome(report).reason);
  REQUIRE(report.summary().energy.size() == 1);
  profkit::energy_summary const& gpu = report.summary().energy[0];
  CHECK(gpu.meter == "GPU 0");
  CHECK(gpu.mean_watt == Catch::Approx(500.0).epsilon(0.3));
  CHECK(gpu.joules == Catch::Approx(gpu.mean_watt * gpu.covered.count() / 1e3));
  CHECK(gpu.joules_per_step == Catch::Approx(gpu.joules / static_cast<double>(gpu.steps)));
  CHECK(gpu.joules_per_item.value() == Catch::Approx(gpu.joules_per_step / 100.0));
  CHECK(gpu.steps >= 20);
  CHECK(gpu.steps <= 59);  // without the excluded one
  CHECK(gpu.resolution.count() >= 20.0);
  CHECK_FALSE(gpu.min_joules);
  CHECK(device_with_power::state().users == 0);
}

TEST_CASE("steps that are long enough for the counter have an energy of their own", "[energy]") {
  device_with_power const device{300, 5};
  profkit::report const report = measure_energy_of(1, 4, 600, no_folder);
  REQUIRE(report.summary().energy.size() == 1);
  profkit::energy_summary const& gpu = report.summary().energy[0];
  CHECK(gpu.steps == 3);
  CHECK(gpu.min_joules.value() >= 0.7 * 300.0 * 0.6);
  CHECK(gpu.max_joules.value() >= gpu.min_joules.value());
}

TEST_CASE("scopes that are long enough for the counter have the energy during them", "[energy]") {
  device_with_power const device{300, 5};
  profkit::session session{plain_options(1, 2)};
  session.collect(profkit::energy(no_folder));
  for (profkit::step step : session) {
    {
      PROF_SCOPE("long");
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
      PROF_SCOPE("inner");
      std::this_thread::sleep_for(std::chrono::milliseconds{600});
    }
    PROF_SCOPE("short");
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  profkit::report const report = session.report();
  REQUIRE(report.summary().energy.size() == 1);
  profkit::energy_summary const& gpu = report.summary().energy[0];
  REQUIRE(gpu.scopes.size() == 2);
  CHECK(gpu.scopes[0].path == "step/long");
  CHECK(gpu.scopes[1].path == "step/long/inner");
  for (profkit::energy_scope_summary const& each : gpu.scopes) {
    double const seconds = find_row(report.summary(), each.path.c_str())->host.mean.value().count() / 1e3;
    CHECK(each.count == 2);  // of measured steps
    CHECK(each.joules == Catch::Approx(300.0 * seconds).epsilon(0.15));
    CHECK(each.mean_watt == Catch::Approx(300.0).epsilon(0.15));
  }
  CHECK(gpu.steps == 2);
  CHECK(gpu.joules >= gpu.scopes[0].joules * 2);
}

TEST_CASE("the energy of a scope is known once its counter has passed it, in any order of its record and its step", "[energy]") {
  for (bool const is_late : {false, true}) {
    std::uint64_t now_ms = 0;
    // 100 W, and 300 W from 1 s on; the counter changes every 10 ms.
    auto const joules_until = [](std::uint64_t ms) { return (ms < 1000 ? ms * 100 : ms * 300 - 200'000) * 1000; };
    profkit::detail::energy_meter meter{{"meter", -1}, [&] { return joules_until(now_ms / 10 * 10); }};
    profkit::profile_builder into;
    std::uint32_t const path = into.position_of(profkit::path_record{profkit::path_record::no_parent, "scope", {}, "", 0});
    auto const expect_scope = [&](int from, int to) { meter.expect_scope({{at(from), at(to)}, path, 0}); };
    for (; now_ms < 1500; ++now_ms) {
      auto const now = static_cast<int>(now_ms);
      meter.read(at(now));
      if (now == 900) expect_scope(600, 900);  // of a step that is not measured
      if (now == (is_late ? 1320 : 1200)) expect_scope(900, 1200);
      if (now == 1200) expect_scope(1150, 1200);  // too short
      if (now == 1300) meter.expect({{at(900), at(1300)}, 7, 1});
      meter.settle(into, at(now < 900 ? 600 : now < 1300 ? 900 : now), false);
    }
    std::vector<profkit::energy_record> found;
    for (profkit::energy_record const& each : into.so_far().energy) {
      if (each.path == path) found.push_back(each);
    }
    REQUIRE(found.size() == 1);
    CHECK(found[0].step == 7);
    CHECK(found[0].steps == 0);
    CHECK(found[0].duration == std::chrono::milliseconds{300});
    CHECK(static_cast<double>(found[0].microjoules) / 1e6 == Catch::Approx(10.0 + 60.0).epsilon(0.05));
  }
}

TEST_CASE("counters of packages and their memory wrap around, and their parts are no meters", "[energy]") {
  device_with_power const device{500, 0};  // does not report its energy
  powercap_folder const folder{"wrap"};
  profkit::report const report = measure_energy_of(5, 100, 15, folder.path());
  auto const& found = report.summary().energy;
  REQUIRE(found.size() == 2);
  CHECK(found[0].meter == "package-0");
  CHECK(found[0].mean_watt == Catch::Approx(20.0).epsilon(0.3));
  CHECK(found[1].meter == "dram of package-0");
  CHECK(found[1].mean_watt == Catch::Approx(4.0).epsilon(0.3));
}

TEST_CASE("energy that cannot be measured has a reason", "[energy]") {
  device_with_power const device{500, 1'000'000};
  auto const reason = [](int ms = 5, std::uint64_t steps = 3) { return energy_outcome(measure_energy_of(0, steps, ms, no_folder)).reason; };
  CHECK(reason() == "the measured steps were shorter than the time between two changes of the counters");
  CHECK(reason(5, 0) == "no step was measured");
  ::setenv("FAKE_NVML", "nvmlInit_v2=9", 1);
  CHECK(reason() == "GPU: nvmlInit_v2: Driver Not Loaded; host: there is no RAPL counter in /nowhere/powercap");
  ::setenv("FAKE_NVML", "nvmlDeviceGetTotalEnergyConsumption=3", 1);
  CHECK(reason() == "GPU: nvmlDeviceGetTotalEnergyConsumption: Not Supported; host: there is no RAPL counter in /nowhere/powercap");
  ::unsetenv("FAKE_NVML");
  device_with_power::state().is_divided = 1;
  CHECK_THAT(reason(), Catch::Matchers::ContainsSubstring("GPU: device 0 is in MIG mode"));
  temporary_folder const unreadable{"energy-unreadable"};
  std::filesystem::create_directories(unreadable.path / "intel-rapl:0" / "energy_uj");
  std::ofstream{unreadable.path / "intel-rapl:0" / "name"} << "package-0\n";
  std::ofstream{unreadable.path / "intel-rapl:0" / "max_energy_range_uj"} << "1000\n";
  CHECK_THAT(energy_outcome(measure_energy_of(0, 3, 5, unreadable.path.string())).reason,
             Catch::Matchers::ContainsSubstring("energy_uj: Is a directory"));
}

TEST_CASE("a session measures energy once", "[energy]") {
  device_with_power const device{500, 20};
  profkit::options options = plain_options(0, 3);
  options.energy = true;
  profkit::session session{options};
  CHECK(session.collect(profkit::energy(no_folder)).status().reason == "the session already has this collector");
}

TEST_CASE("the energy of a curve is on straight lines between its changes", "[energy]") {
  profkit::detail::energy_curve curve;
  CHECK_FALSE(curve.begins_before(at(1000)));
  std::uint64_t const values[] = {7, 7, 107, 107, 107, 207, 207, 507};  // every 10 ms
  for (int i = 0; i < 8; ++i) curve.add(at(10 * i), values[i]);
  CHECK_FALSE(curve.begins_before(at(14)));
  CHECK(curve.begins_before(at(15)));  // the middle of the readings around the first change
  CHECK(curve.reaches(at(65)));
  CHECK_FALSE(curve.reaches(at(66)));
  CHECK(curve.at(at(15)) == 107.0);
  CHECK(curve.at(at(30)) == 157.0);
  CHECK(curve.at(at(45)) == 207.0);
  CHECK(curve.at(at(55)) == 357.0);
  CHECK(curve.resolution() == std::chrono::milliseconds{25});
  curve.forget_before(at(46));
  CHECK(curve.at(at(55)) == 357.0);
  for (int i = 8; i < 100'000; ++i) curve.add(at(10 * i), static_cast<std::uint64_t>(i) * 100);
  curve.forget_before(at(46));  // bounded, with a longer line in the middle
  CHECK(curve.at(at(500'000)) == Catch::Approx(5'000'000.0).epsilon(0.001));
}

TEST_CASE("a counter that is read less often than it changes has the energy of a constant power", "[energy]") {
  constexpr double watt = 100.0;
  double sum = 0.0;
  constexpr int phases = 20;
  for (int phase = 0; phase < phases; ++phase) {
    profkit::detail::energy_curve curve;
    int now = 5 * phase;
    int const first = now;
    int readings = 0;
    for (; now < 5000; now += curve.has_unknown_period() ? 25 : 330) {  // changes every 100 ms
      curve.add(at(now), static_cast<std::uint64_t>(now / 100 * 100 * watt * 1000.0));
      readings += curve.has_unknown_period() ? 1 : 0;
    }
    CHECK(readings <= 13);
    REQUIRE(curve.begins_before(at(first + 125)));
    REQUIRE(curve.reaches(at(4300)));
    sum += (curve.at(at(4300)) - curve.at(at(first + 125))) / 1000.0 / (4300 - first - 125);
  }
  CHECK(sum / phases == Catch::Approx(watt).epsilon(0.005));  // 2 % if changes were in the middle between readings
  profkit::detail::energy_curve still;
  for (int i = 0; i < 100; ++i) still.add(at(i), 7);
  CHECK_FALSE(still.has_unknown_period());
}

TEST_CASE("the energy of all measured steps is that of their time, without the time between them", "[energy]") {
  std::uint64_t now_ms = 0;
  // 100 W; the counter changes every 20 ms.
  profkit::detail::energy_meter meter{{"meter", -1}, [&] { return now_ms / 20 * 20 * 100'000; }};
  profkit::profile_builder into;
  int step_begin = -1;
  for (; now_ms < 5000; now_ms += 7) {
    auto const now = static_cast<int>(now_ms);
    if (now % 28 == 0) step_begin = now;  // of 14 ms, then a pause of 14 ms
    if (now % 28 == 14) meter.expect({{at(step_begin), at(now)}, static_cast<std::uint64_t>(now / 28), 3});
    meter.read(at(now));
    meter.settle(into, at(step_begin), false);
  }
  meter.settle(into, at(5000), true);
  profkit::profile const& profile = into.so_far();
  REQUIRE(profile.energy_meters.size() == 1);
  REQUIRE(profile.energy.size() >= 10);
  std::uint64_t steps = 0;
  double microjoules = 0.0;
  std::chrono::nanoseconds duration{};
  for (profkit::energy_record const& each : profile.energy) {
    CHECK(each.steps > 1);
    CHECK(each.items == 3 * each.steps);
    CHECK(each.duration == each.steps * std::chrono::milliseconds{14});
    steps += each.steps;
    microjoules += static_cast<double>(each.microjoules);
    duration += each.duration;
  }
  CHECK(steps >= 175);
  double const seconds = static_cast<double>(duration.count()) / 1e9;
  CHECK(microjoules / 1e6 / seconds == Catch::Approx(100.0).epsilon(0.03));
}
