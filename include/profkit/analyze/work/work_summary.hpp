// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../../profile/work.hpp"

namespace profkit {

inline constexpr std::size_t precision_count = sizeof precision_names / sizeof precision_names[0];

/// What a device can do at most, by one account of it. What the account does not say is n/a.
struct device_rates {
  std::array<std::optional<double>, precision_count> flops_per_second{};  ///< dense, by `precision`
  std::optional<double> bytes_per_second{};                               ///< of the device's memory, read and written
};

/// Which part of a device needs longer for some work.
enum class work_bound : std::uint8_t { compute = 0, memory = 1 };

/// The shortest time in which a device could have done some work, over the time that it took. More than 1 cannot be: then the work was
/// counted wrong, or is of another precision.
struct roof_share {
  double share = 0.0;
  work_bound bound = work_bound::compute;
};

/// What scopes said they have to do (`profkit::work`), and how long it took. Rates are those of the scopes with all inside them.
struct work_summary {
  double flops = 0.0;       ///< said by the scopes and those inside; 0: not counted
  double bytes = 0.0;       ///< likewise
  double self_flops = 0.0;  ///< said by the scopes themselves
  double self_bytes = 0.0;
  std::string precision{};  ///< such as "bf16", or "fp32 + bf16" if the scopes differ; empty: not known
  milliseconds time{};
  std::string basis{};                       ///< what `time` is: "GPU busy time", "GPU time between CUDA events" or "host time"
  std::optional<double> flops_per_second{};  ///< n/a, like what follows, where there was nothing to count or no time
  std::optional<double> bytes_per_second{};
  std::optional<double> intensity{};           ///< flops per byte
  std::optional<roof_share> roof{};            ///< against the peaks that the maker prints
  std::optional<roof_share> measured_roof{};   ///< against what the program measured (`profkit::measured_roof`)
  std::optional<double> share_of_time_said{};  ///< of kernel time, or else of host time: in scopes that said what they do, or inside them
};

/// What the shares of `work_summary` are of.
struct limits_summary {
  std::string device{};        ///< its name; empty: not known
  std::string source{};        ///< of `peaks`; empty: there are none
  std::string why_no_peaks{};  ///< empty: there are
  device_rates peaks{};
  device_rates measured_rates{};  ///< the highest of `measured`
  std::vector<measured_roof_record> measured{};
};

/// What a step needs, and how fast that was done. Utilisation as in PaLM (Chowdhery et al. 2022, appendix B): the floating-point operations
/// that the model needs, whatever the program ran for them.
struct model_summary {
  double flops_per_step = 0.0;
  std::string flops_source{};  ///< who counted them
  double flops_per_second = 0.0;
  std::string basis{};  ///< the step time, as for `items_per_second`
  profkit::precision precision = profkit::precision::unknown;
  std::optional<double> peak_flops_per_second{};
  std::optional<double> utilization{};  ///< of the peak: MFU
  std::optional<double> measured_peak_flops_per_second{};
  std::optional<double> share_of_measured{};
  std::string why_no_peak{};  ///< empty: there is one
};

}  // namespace profkit
