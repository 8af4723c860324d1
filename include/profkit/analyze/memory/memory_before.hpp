// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"

namespace profkit::detail {

/// An allocation that is live at the beginning of a stretch of time.
struct live_allocation {
  static constexpr std::uint32_t none = 0xffffffffU;

  allocation_record record;   ///< the allocation, from before the stretch
  std::uint32_t path = none;  ///< path of the innermost scope open on its thread at the allocation

  /// Position in the window's scopes: the innermost scope at the allocation, or the nearest one around it, that is still open when the
  /// stretch begins.
  std::uint32_t scope = none;
};

/// The state of the allocators at the beginning of a stretch of time.
struct memory_before {
  /// Usage by allocator. Allocators beyond the end of the list have `allocator_record::bytes_at_start`.
  own_vector<std::uint64_t> bytes;

  /// The live allocations that are released in the stretch, or whose address is reused there.
  own_vector<live_allocation> live;

  [[nodiscard]] std::uint64_t bytes_of(profile const& records, std::size_t allocator) const {
    return allocator < bytes.size() ? bytes[allocator] : records.allocators[allocator].bytes_at_start;
  }
};

}  // namespace profkit::detail
