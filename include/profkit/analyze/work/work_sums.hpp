// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "../../profile/finite.hpp"
#include "../../profile/time.hpp"
#include "../../profile/work.hpp"
#include "work_summary.hpp"

namespace profkit::detail {

/// Sums of work by precision, because each precision has its own rate.
class work_sums {
 public:
  /// @param otherwise the precision of work without one.
  /// @param times multiplier of the work.
  void add(work const& done, precision otherwise, double times = 1.0) {
    precision const kind = done.precision == precision::unknown ? otherwise : done.precision;
    flops_[static_cast<std::size_t>(kind)] += counted(done.flops) * times;
    bytes_ += counted(done.bytes) * times;
  }

  void add(work_sums const& other) {
    for (std::size_t i = 0; i < precision_count; ++i) flops_[i] += other.flops_[i];
    bytes_ += other.bytes_;
  }

  [[nodiscard]] double flops() const {
    double sum = 0.0;
    for (double const each : flops_) sum += each;
    return sum;
  }
  [[nodiscard]] double bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const { return flops() == 0.0 && bytes_ == 0.0; }

  /// @return such as "fp32 + bf16"; empty if unknown.
  [[nodiscard]] std::string precisions() const {
    if (flops_[0] == flops()) return {};
    std::string result;
    for (std::size_t i = precision_count; i-- > 0;) {
      if (flops_[i] > 0.0) result.insert(0, std::string{precision_names[i]} + (result.empty() ? "" : " + "));
    }
    return result;
  }

  /// The roofline model (Williams, Waterman and Patterson 2009), expressed as times. Computing and memory access can overlap, so the
  /// shortest possible time is the longer of the two; the share of the roof is that time divided by the measured time. With one precision
  /// this equals the achieved rate divided by the minimum of the peak and intensity times bandwidth. n/a if a required rate is unknown.
  [[nodiscard]] std::optional<roof_share> share_of_roof(device_rates const& most, milliseconds taken) const {
    double const seconds = std::chrono::duration<double>{taken}.count();
    if (empty() || seconds <= 0.0) return std::nullopt;
    double computing = 0.0;
    for (std::size_t i = 0; i < precision_count; ++i) {
      if (flops_[i] == 0.0) continue;
      if (!most.flops_per_second[i]) return std::nullopt;
      computing += flops_[i] / *most.flops_per_second[i];
    }
    if (bytes_ > 0.0 && !most.bytes_per_second) return std::nullopt;
    double const moving = bytes_ > 0.0 ? bytes_ / *most.bytes_per_second : 0.0;
    return roof_share{std::max(computing, moving) / seconds, moving > computing ? work_bound::memory : work_bound::compute};
  }

 private:
  /// Negative and non-finite amounts count as 0.
  static double counted(double value) { return amount_or_zero(value); }

  template <class Archive>
  friend void fields(Archive& archive, work_sums& state) {
    archive(state.flops_), archive(state.bytes_);
    if constexpr (Archive::is_reader) {
      bool const is_right =
          state.bytes_ >= 0.0 && std::all_of(state.flops_.begin(), state.flops_.end(), [](double each) { return each >= 0.0; });
      archive.check(is_right, "work is negative or not a number");
    }
  }

  std::array<double, precision_count> flops_{};
  double bytes_ = 0.0;
};

}  // namespace profkit::detail
