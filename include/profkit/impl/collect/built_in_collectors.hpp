// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../collector.hpp"
#include "../../memory_source.hpp"
#include "../../profile_builder.hpp"
#include "../record/log_event.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Times of `gpu_utilization`. The counters of a Hopper GPU change about every 100 ms, with a delay of the same length. So shorter windows
/// give wrong values.
struct utilization_times {
  std::chrono::nanoseconds window = std::chrono::seconds{1};               ///< minimum length of a window
  std::chrono::nanoseconds before_first = std::chrono::milliseconds{200};  ///< from the first measured step to the first window
  std::chrono::nanoseconds between_readings = std::chrono::milliseconds{200};
  /// A longer pause between two steps ends the window without a result, because the pause is not part of the measured steps.
  std::chrono::nanoseconds max_pause = std::chrono::milliseconds{100};
};

std::unique_ptr<collector> measure_utilization(utilization_times const& times);
std::unique_ptr<collector> measure_energy(std::string powercap);

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

/// @brief Measures the utilization of the GPUs of this process: SMs, tensor and other pipes, memory, NVLink, PCIe. Reads counters of the
/// whole device (NVML's GPM, Hopper and later); on other devices NVML's utilization rates.
///
/// Measures windows of one second or longer inside measured steps. A window may cover many steps, or a part of one. The figures are means
/// over windows: they do not describe a single step, scope or kernel, and they include other programs on the same device.
///
/// Reads once a second on the session's thread. Opens NVML at run time, does not change device settings, does not synchronise the device
/// and needs no privileges. `PROFKIT=utilization=on` adds this collector to any program. Source: NVML API Reference, "GPM" and
/// `nvmlDeviceGetUtilizationRates`.
class gpu_utilization final : public detail::made_collector {
 public:
  /// @brief Measures windows of a second or longer.
  gpu_utilization() : gpu_utilization{detail::utilization_times{}} {}
  /// @brief For tests that cannot wait for windows of a second.
  /// @param times replaces the usual times.
  explicit gpu_utilization(detail::utilization_times const& times) : made_collector{detail::measure_utilization(times)} {}
};

/// @brief Measures the energy of the measured steps: of the GPUs of this process (NVML's counter of the whole device), and of processor
/// packages and their memory (RAPL), where the system lets the process read it.
///
/// The counters change every 20 to 100 ms. The energy between two changes is interpolated, so the mean over a run is exact, and a step has
/// a figure of its own only if it takes as long as ten changes. The report states the time between changes.
///
/// Reads the counters on the session's thread, at most every 5 ms and, once it has seen three changes, at most 1 % of the time. Opens NVML
/// at run time, does not change device settings and does not synchronise the device. `PROFKIT=energy` adds this collector to any program.
/// Sources: NVML API Reference, `nvmlDeviceGetTotalEnergyConsumption`; Linux kernel, "Power Capping Framework".
class energy final : public detail::made_collector {
 public:
  /// @brief Creates the collector.
  /// @param powercap the folder of RAPL counters; another one for tests.
  explicit energy(std::string powercap = "/sys/class/powercap") : made_collector{detail::measure_energy(std::move(powercap))} {}
};

namespace detail {

std::vector<memory_reading> read_host_memory();
/// @return 0 if the file cannot be read. Keeps the file open.
std::uint64_t resident_bytes() noexcept;

}  // namespace detail

/// @brief Resident memory of this process and its peak since the process started, read after each step. Sources: `/proc/self/statm` and
/// `getrusage` (`ru_maxrss`).
class host_memory final : public memory_source {
 public:
  /// @brief "host".
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }

  /// @brief Reads the resident memory.
  /// @throws profkit::error if `/proc/self/statm` cannot be read.
  [[nodiscard]] std::vector<memory_reading> read() override { return detail::read_host_memory(); }

  /// @brief Polls the resident memory at scopes. Adds two system calls to each scope, about 4 us.
  [[nodiscard]] polled_allocator at_scopes() const noexcept override {
    static site source{"host", __FILE__, __LINE__};
    return {&source, &detail::resident_bytes};
  }
};

/// @brief Options of `host_samples`.
struct host_sample_options {
  double per_second = 1000.0;   ///< samples per second of processor time of each thread; from 1 to 10,000
  bool use_perf_events = true;  ///< false: use timers and signals even if the system permits `perf_event_open`
};

namespace detail {

std::unique_ptr<collector> sample_host(host_sample_options const& wanted);

}  // namespace detail

/// @brief Samples the functions that the threads of the program execute, and charges each sample to the innermost open scope of its thread.
///
/// Samples each thread with a log, that is, each thread with a scope or a launch. Sampling of a thread starts at most 25 ms after its first
/// scope (100 ms if the session's thread is busy). Uses a ring of `perf_event_open` for each thread, and no signals. Time in system calls
/// and waiting time are not sampled; the report derives them.
///
/// If the system refuses `perf_event_open`, it uses timers of processor time. They send a real-time signal to the thread at most 100 times
/// per second; the report says so. Each thread then gets an alternate signal stack, unless it has one.
class host_samples final : public detail::made_collector {
 public:
  /// @brief Creates a collector with a sampling rate.
  /// @param wanted the rate.
  /// @throws profkit::error if the rate is not from 1 to 10,000.
  explicit host_samples(host_sample_options const& wanted = {}) : made_collector{detail::sample_host(wanted)} {}
};

/// @brief Adds rates that the program measured on its device to the profile. Reports show them beside the published peaks.
///
/// The collector does not measure: the program times, for example, a large matrix product and a large copy before the session.
///
///     session.collect(profkit::measured_roof{{{profkit::precision::bf16, 7.1e14, 4.2e12, "matrix product 8192 x 8192 x 8192"}}});
class measured_roof final : public collector {
 public:
  /// @brief Creates the collector.
  /// @param roofs one entry per measured precision.
  explicit measured_roof(std::vector<measured_roof_record> roofs) : roofs_{std::move(roofs)} {}

  /// @brief "measured roof".
  [[nodiscard]] std::string_view name() const noexcept override { return "measured roof"; }

  /// @brief Adds the rates to the profile. Fails if there are none.
  void start(profile_builder& into) override {
    if (roofs_.empty()) fail("nothing was measured");
    for (measured_roof_record const& each : roofs_) into.add(each);
  }

 private:
  std::vector<measured_roof_record> roofs_;
};

}  // namespace PROFKIT_NAMESPACE
