// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "../../collector.hpp"

namespace profkit {

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
    for (measured_roof_record& each : roofs_) into.add(std::move(each));
  }

 private:
  std::vector<measured_roof_record> roofs_;
};

}  // namespace profkit
