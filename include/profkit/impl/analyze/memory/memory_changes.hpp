// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/bucket_order.hpp"

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

/// A change of an allocator's usage: an allocation, a release or a difference between two readings.
struct memory_change {
  static constexpr std::uint32_t unknown = 0xffffffffU;

  timestamp time;
  std::uint64_t bytes = 0;
  /// Position in `profile::allocations` of the allocation, for releases too; for a polled allocator, of the reading. Positions after the
  /// last allocation refer to `memory_before::live`. `unknown`: the allocation was not recorded.
  std::uint32_t origin = unknown;
  bool is_release = false;

  /// The change as an unsigned number modulo 2^64, to be added to unsigned sums.
  [[nodiscard]] std::uint64_t difference() const noexcept { return is_release ? std::uint64_t{0} - bytes : bytes; }
};

struct allocator_changes {
  own_vector<memory_change> in_order;  ///< changes in time order
  std::uint64_t unknown_releases = 0;  ///< releases without a recorded allocation
  std::uint64_t reused_addresses = 0;  ///< allocations at a live address; the old block counts as released at that moment
};

/// Matches releases with their allocations, and computes differences between consecutive readings of polled allocators on any thread.
class memory_change_finder {
 public:
  /// Finds the changes in a stretch of time.
  memory_change_finder(profile const& profile, interval const& own, memory_before const& before)
      : profile_{profile}, before_{before}, result_(profile.allocators.size()), live_(profile.allocators.size()) {
    for (std::size_t i = 0; i < profile.allocators.size(); ++i) usage_.push_back(before.bytes_of(profile, i));
    for (std::uint32_t i = 0; i < before.live.size(); ++i) {
      allocation_record const& piece = before.live[i].record;
      live_[piece.allocator][piece.address] = static_cast<std::uint32_t>(profile.allocations.size()) + i;
    }
    own_vector<std::uint64_t> times;
    times.reserve(profile.allocations.size());
    for (allocation_record const& each : profile.allocations) {
      // Events of several threads in one nanosecond: releases come first, because allocators reuse addresses immediately.
      times.push_back(static_cast<std::uint64_t>(each.time.time_since_epoch().count()) << 1U | (is_release(each) ? 0U : 1U));
    }
    bucket_order const order{times};
    for (std::uint32_t const each : order.positions()) {
      timestamp const time = profile.allocations[each].time;
      if (own.begin <= time && time < own.end) take(each);
    }
  }

  /// @return the changes by allocator.
  [[nodiscard]] own_vector<allocator_changes> changes() && { return std::move(result_); }

 private:
  static bool is_release(allocation_record const& change) { return change.kind == allocation_kind::released; }

  void take(std::uint32_t position) {
    allocation_record const& record = profile_.allocations[position];
    auto& live = live_[record.allocator];
    if (record.kind == allocation_kind::allocated) {
      auto const [piece, is_new] = live.try_emplace(record.address, position);
      if (!is_new) {
        ++result_[record.allocator].reused_addresses;
        add(record, bytes_of(piece->second), piece->second, true);
        piece->second = position;
      }
      add(record, record.bytes, position, false);
    } else if (record.kind == allocation_kind::released) {
      auto const piece = live.find(record.address);
      if (piece == live.end()) {
        ++result_[record.allocator].unknown_releases;
        if (record.bytes > 0) add(record, record.bytes, memory_change::unknown, true);
        return;
      }
      add(record, bytes_of(piece->second), piece->second, true);
      live.erase(piece);
    } else {
      std::uint64_t const usage = usage_[record.allocator];
      usage_[record.allocator] = record.bytes;
      if (record.bytes > usage) add(record, record.bytes - usage, position, false);
      if (record.bytes < usage) add(record, usage - record.bytes, position, true);
    }
  }

  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t origin) const {
    std::size_t const recorded = profile_.allocations.size();
    return origin < recorded ? profile_.allocations[origin].bytes : before_.live[origin - recorded].record.bytes;
  }

  void add(allocation_record const& at, std::uint64_t bytes, std::uint32_t origin, bool is_release) {
    result_[at.allocator].in_order.push_back({at.time, bytes, origin, is_release});
  }

  profile const& profile_;
  memory_before const& before_;
  own_vector<allocator_changes> result_;
  own_vector<own_hash_map<std::uint64_t, std::uint32_t>> live_;  ///< by allocator and address: the origin of the live block
  own_vector<std::uint64_t> usage_;                              ///< by allocator: the last reading
};

/// The changes of a whole profile, by allocator. Takes linear time (n log n if the allocations are out of order).
[[nodiscard]] inline own_vector<allocator_changes> find_memory_changes(profile const& profile) {
  memory_before const nothing;
  return memory_change_finder{profile, {timestamp::min(), timestamp::max()}, nothing}.changes();
}

}  // namespace profkit::detail
