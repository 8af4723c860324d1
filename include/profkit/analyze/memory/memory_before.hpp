// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../profile/profile.hpp"

namespace profkit::detail {

/// A piece of memory that is live when a stretch of time begins.
struct live_allocation {
  static constexpr std::uint32_t none = 0xffffffffU;

  allocation_record record;   ///< the allocation, which lies before the stretch
  std::uint32_t path = none;  ///< of the innermost scope that was open on its thread then

  /// Position in the window's scopes: the innermost scope, of that one and the scopes around it, that is open when the stretch begins.
  std::uint32_t scope = none;
};

/// The state of the allocators when a stretch of time begins.
struct memory_before {
  /// By allocator: all that it has given. Allocators beyond the end of the list have given `allocator_record::bytes_at_start`.
  std::vector<std::uint64_t> bytes;

  /// The pieces that are released in the stretch, or whose address is given again there.
  std::vector<live_allocation> live;

  [[nodiscard]] std::uint64_t bytes_of(profile const& records, std::size_t allocator) const {
    return allocator < bytes.size() ? bytes[allocator] : records.allocators[allocator].bytes_at_start;
  }
};

}  // namespace profkit::detail
