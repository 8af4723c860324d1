// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../time/bucket_order.hpp"

namespace profkit::detail {

/// An allocator gave memory, or has it back.
struct memory_change {
  static constexpr std::uint32_t unknown = 0xffffffffU;

  timestamp time;
  std::uint64_t bytes = 0;
  /// Position in `profile::allocations`: what made the piece that came or went, whoever released it; of a level, the reading itself.
  /// `unknown`: a piece that was not seen to come.
  std::uint32_t origin = unknown;
  bool is_release = false;

  /// To be added to a sum of unsigned numbers: these count modulo 2^64, so that less than before is a number, too.
  [[nodiscard]] std::uint64_t difference() const noexcept { return is_release ? std::uint64_t{0} - bytes : bytes; }
};

struct allocator_changes {
  std::vector<memory_change> in_order;  ///< of time
  std::uint64_t unknown_releases = 0;   ///< of pieces that were not seen to come
  std::uint64_t reused_addresses = 0;   ///< pieces given where one was live: the release of that one was not seen, and counts as made then
};

/// Finds what each release released, and how much each level is more or less than the one before, whatever thread read that.
class memory_change_finder {
 public:
  explicit memory_change_finder(profile const& of) : of_{of}, result_(of.allocators.size()), live_(of.allocators.size()) {
    for (allocator_record const& each : of.allocators) totals_.push_back(each.bytes_at_start);
    std::vector<std::uint64_t> times;
    times.reserve(of.allocations.size());
    for (allocation_record const& each : of.allocations) {
      // Of what happened in the same nanosecond on different threads, releases come first: their addresses are given again at once.
      times.push_back(static_cast<std::uint64_t>(each.time.time_since_epoch().count()) << 1U | (is_release(each) ? 0U : 1U));
    }
    bucket_order const order{times};
    for (std::uint32_t const each : order.positions()) take(each);
  }

  /// By allocator.
  [[nodiscard]] std::vector<allocator_changes> changes() && { return std::move(result_); }

 private:
  static bool is_release(allocation_record const& of) { return of.kind == allocation_kind::released; }

  void take(std::uint32_t position) {
    allocation_record const& record = of_.allocations[position];
    auto& live = live_[record.allocator];
    if (record.kind == allocation_kind::allocated) {
      auto const [piece, is_new] = live.try_emplace(record.address, position);
      if (!is_new) {
        ++result_[record.allocator].reused_addresses;
        add(record, of_.allocations[piece->second].bytes, piece->second, true);
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
      add(record, of_.allocations[piece->second].bytes, piece->second, true);
      live.erase(piece);
    } else {
      std::uint64_t const total = totals_[record.allocator];
      totals_[record.allocator] = record.bytes;
      if (record.bytes > total) add(record, record.bytes - total, position, false);
      if (record.bytes < total) add(record, total - record.bytes, position, true);
    }
  }

  void add(allocation_record const& at, std::uint64_t bytes, std::uint32_t origin, bool is_release) {
    result_[at.allocator].in_order.push_back({at.time, bytes, origin, is_release});
  }

  profile const& of_;
  std::vector<allocator_changes> result_;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> live_;  ///< by allocator: the allocation that made the piece at an address
  std::vector<std::uint64_t> totals_;                                   ///< by allocator: the last level
};

/// By allocator. Takes time in proportion to the allocations, n log n if they are out of order.
[[nodiscard]] inline std::vector<allocator_changes> find_memory_changes(profile const& of) { return memory_change_finder{of}.changes(); }

}  // namespace profkit::detail
