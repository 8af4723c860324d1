// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_containers.hpp"
#include "../../profile/profile.hpp"
#include "grouped_positions.hpp"

namespace profkit::detail {

/// The scopes of each system thread, in the order of their ends. Several threads of the profile can be one lane, because logs and system
/// thread numbers are reused.
class thread_lanes {
 public:
  thread_lanes() = default;

  explicit thread_lanes(profile const& profile) {
    own_hash_map<std::uint64_t, std::uint32_t> known;  // lane by system thread number
    for (thread_record const& thread : profile.threads) {
      lane_of_.push_back(known.try_emplace(thread.system_id, static_cast<std::uint32_t>(known.size())).first->second);
    }
    count_ = known.size();
    scopes_ = grouped_positions{profile.scopes.size(), count_, [&](std::uint32_t scope) { return lane_of_[profile.scopes[scope].thread]; },
                                [&](std::uint32_t scope) { return profile.scopes[scope].time.end; }};
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// @param thread position in `profile::threads`.
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t thread) const { return lane_of_[thread]; }

  /// @return positions in `profile::scopes`.
  [[nodiscard]] grouped_positions::range scopes(std::size_t lane) const { return scopes_[lane]; }

 private:
  own_vector<std::uint32_t> lane_of_;  ///< lane of each thread
  std::size_t count_ = 0;
  grouped_positions scopes_;
};

}  // namespace profkit::detail
