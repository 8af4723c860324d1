// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../../work.hpp"
#include "../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Number of values of `precision`.
inline constexpr std::size_t precision_count = sizeof precision_names / sizeof precision_names[0];

/// @brief Maximum rates of a device according to one source. Unknown rates are n/a.
struct device_rates {
  std::array<std::optional<double>, precision_count> flops_per_second{};  ///< dense rates, by `precision`
  std::optional<double> bytes_per_second{};                               ///< memory bandwidth, read and written
};

/// @brief The part of a device that limits some work: arithmetic or memory.
enum class work_bound : std::uint8_t {
  compute = 0,  ///< the arithmetic takes longer at its peak rate than the memory traffic
  memory = 1,   ///< the memory traffic takes longer at the peak bandwidth than the arithmetic
};

/// @brief The shortest possible time of some work on a device, divided by the measured time. A share above 1 is impossible: the declared
/// work or its precision is wrong. Source: docs/roofline.md.
struct roof_share {
  double share = 0.0;                      ///< as a fraction
  work_bound bound = work_bound::compute;  ///< what determines the shortest time
};

/// @brief Declared work of scopes (`profkit::work`) and its time. Rates include the scopes inside.
struct work_summary {
  double flops = 0.0;                          ///< declared by the scopes and the scopes inside; 0: unknown
  double bytes = 0.0;                          ///< the same for bytes
  double self_flops = 0.0;                     ///< declared by the scopes themselves
  double self_bytes = 0.0;                     ///< the same for bytes
  std::string precision{};                     ///< such as "bf16", or "fp32 + bf16" if the scopes differ; empty: unknown
  milliseconds time{};                         ///< time of the scopes
  std::string basis{};                         ///< the kind of `time`: "GPU busy time", "GPU time between CUDA events" or "host time"
  std::optional<double> flops_per_second{};    ///< n/a, like the next members, without declared work or time
  std::optional<double> bytes_per_second{};    ///< rate of bytes
  std::optional<double> intensity{};           ///< flops per byte
  std::optional<roof_share> roof{};            ///< against the published peaks
  std::optional<roof_share> measured_roof{};   ///< against measured rates (`profkit::measured_roof`)
  std::optional<double> share_of_time_said{};  ///< share of kernel time, or else of host time, in scopes with declared work
};

/// @brief The device rates that the shares of `work_summary` refer to.
struct limits_summary {
  std::string device{};                                 ///< device name; empty: unknown
  std::string source{};                                 ///< document with the peaks; empty without peaks
  std::string why_no_peaks{};                           ///< the reason; empty with peaks
  device_rates peaks{};                                 ///< published peaks
  device_rates measured_rates{};                        ///< maxima of `measured`
  detail::own_vector<measured_roof_record> measured{};  ///< rates measured by the program
};

/// @brief Model FLOPs of a step and their utilisation (MFU). Source: PaLM (Chowdhery et al. 2022, appendix B): only floating-point
/// operations that the model needs count, without recomputation.
struct model_summary {
  double flops_per_step = 0.0;                                 ///< floating-point operations per step
  std::string flops_source{};                                  ///< origin of the count
  double flops_per_second = 0.0;                               ///< divided by `loop_time`
  std::string basis{};                                         ///< the time, as for `items_per_second`
  profkit::precision precision = profkit::precision::unknown;  ///< precision of the peak
  std::optional<double> peak_flops_per_second{};               ///< published peak
  std::optional<double> utilization{};                         ///< MFU: share of the peak
  std::optional<double> measured_peak_flops_per_second{};      ///< maximum measured rate
  std::optional<double> share_of_measured{};                   ///< share of that rate
  std::string why_no_peak{};                                   ///< why there is no peak; empty with a peak
};

/// @brief The utilization of one unit of a device, as fractions from 0 to 1. Windows are weighted by their length.
struct share_of_unit {
  double mean = 0.0;  ///< weighted mean over all windows
  double min = 0.0;   ///< smallest value of a window
  double max = 0.0;   ///< largest value of a window
};

/// @brief A transfer rate of a device, in bytes per second. Windows are weighted by their length.
struct rate_of_unit {
  double mean = 0.0;  ///< weighted mean over all windows
  double min = 0.0;   ///< smallest value of a window
  double max = 0.0;   ///< largest value of a window
};

/// @brief The utilization of a device in the measured steps, by all programs on it, as its own counters report it. Figures that the device
/// does not report are n/a. `device_unit` describes the units.
struct utilization_summary {
  std::int32_t device = 0;                        ///< number in the process
  std::string source{};                           ///< source of the figures: "GPM counters", or "utilization rates" on older devices
  std::uint64_t windows = 0;                      ///< number of windows
  milliseconds covered{};                         ///< sum of their lengths
  std::optional<share_of_unit> busy{};            ///< `device_unit::busy`
  std::optional<share_of_unit> sm_active{};       ///< `device_unit::sm_active`
  std::optional<share_of_unit> sm_occupancy{};    ///< `device_unit::sm_occupancy`
  std::optional<share_of_unit> tensor{};          ///< `device_unit::tensor`
  std::optional<share_of_unit> tensor_fp64{};     ///< `device_unit::tensor_fp64`
  std::optional<share_of_unit> tensor_float{};    ///< `device_unit::tensor_float`
  std::optional<share_of_unit> tensor_integer{};  ///< `device_unit::tensor_integer`
  std::optional<share_of_unit> fp64{};            ///< `device_unit::fp64`
  std::optional<share_of_unit> fp32{};            ///< `device_unit::fp32`
  std::optional<share_of_unit> fp16{};            ///< `device_unit::fp16`
  std::optional<share_of_unit> integer{};         ///< `device_unit::integer`
  std::optional<share_of_unit> dram{};            ///< `device_unit::dram`
  std::optional<share_of_unit> memory_active{};   ///< `device_unit::memory_active`
  std::optional<rate_of_unit> nvlink_receive{};   ///< `device_unit::nvlink_receive`
  std::optional<rate_of_unit> nvlink_send{};      ///< `device_unit::nvlink_send`
  std::optional<rate_of_unit> pcie_receive{};     ///< `device_unit::pcie_receive`
  std::optional<rate_of_unit> pcie_send{};        ///< `device_unit::pcie_send`
};

/// @brief The energy of a meter during the scopes with one path that take at least ten changes of its counter.
struct energy_scope_summary {
  std::string path{};       ///< such as "step/validation"
  std::uint64_t count = 0;  ///< number of these scopes
  double joules = 0.0;      ///< mean per scope
  double mean_watt = 0.0;   ///< mean power during the scopes
};

/// @brief The energy of measured steps by one meter, without the time between the steps. It covers the whole device or processor package,
/// and all programs on it. Method: docs/utilization.md.
struct energy_summary {
  std::string meter{};                                ///< such as "GPU 0", "package-0", "dram of package-0"
  std::uint64_t steps = 0;                            ///< number of steps with known energy
  milliseconds covered{};                             ///< sum of their durations
  double joules = 0.0;                                ///< their energy
  double joules_per_step = 0.0;                       ///< mean per step
  std::optional<double> joules_per_item{};            ///< mean per item; n/a without items
  double mean_watt = 0.0;                             ///< mean power during the steps
  milliseconds resolution{};                          ///< mean time between two changes of the counter
  std::optional<double> min_joules{};                 ///< the step with the least energy; n/a if no step is long enough for the counter
  std::optional<double> max_joules{};                 ///< the step with the most energy
  detail::own_vector<energy_scope_summary> scopes{};  ///< by scope; without scopes that are too short for the counter
};

}  // namespace PROFKIT_NAMESPACE
