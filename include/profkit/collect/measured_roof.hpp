// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "collector.hpp"

namespace profkit {

/// Puts into the profile what a program measured that its device reaches, beside the peaks that the maker prints. It measures nothing
/// itself: a large product and a large copy, timed before the session, are the program's.
///
///     session.collect(profkit::measured_roof{{{profkit::precision::bf16, 7.1e14, 4.2e12, "matrix product 8192 x 8192 x 8192"}}});
class measured_roof final : public collector {
 public:
  /// @param roofs one for each precision that was measured.
  explicit measured_roof(std::vector<measured_roof_record> roofs) : roofs_{std::move(roofs)} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "measured roof"; }

  void start(profile_builder& into) override {
    if (roofs_.empty()) fail("nothing was measured");
    for (measured_roof_record& each : roofs_) into.add(std::move(each));
  }

 private:
  std::vector<measured_roof_record> roofs_;
};

}  // namespace profkit
