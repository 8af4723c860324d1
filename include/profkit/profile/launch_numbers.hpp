// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "own_memory.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Extends the 32-bit correlations of CUPTI to 64 bits, so that they are unique in a session, and finds the call of a launch.
class launch_numbers {
 public:
  /// Consecutive arguments must be less than 2^31 launches apart.
  [[nodiscard]] std::uint64_t extend(std::uint32_t correlation) noexcept {
    if (newest_ == 0) newest_ = (std::uint64_t{1} << 32U) | correlation;
    auto const distance = static_cast<std::int32_t>(correlation - static_cast<std::uint32_t>(newest_));
    auto const extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(newest_) + distance);
    newest_ = std::max(newest_, extended);
    return extended;
  }

  /// @param calls the same list on each call; it may have grown.
  /// @return the beginning of the call with this extended correlation; nothing if it is not in the list.
  [[nodiscard]] std::optional<timestamp> begin_of(std::uint64_t correlation, own_vector<api_call_record> const& calls) {
    for (; indexed_ < calls.size(); ++indexed_) begins_.emplace(calls[indexed_].correlation, calls[indexed_].time.begin);
    auto const found = begins_.find(correlation);
    return found == begins_.end() ? std::nullopt : std::optional{found->second};
  }

 private:
  std::uint64_t newest_ = 0;
  own_hash_map<std::uint64_t, timestamp> begins_;  ///< filled by `begin_of`
  std::size_t indexed_ = 0;                        ///< number of calls in `begins_`
};

}  // namespace profkit::detail
