// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "site.hpp"

namespace profkit::detail {

/// The ways in which the end of a scope can be wrong.
enum class wrong_end_kind : std::uint32_t {
  on_another_thread,  ///< it ended on another thread
  after_another,      ///< an outer scope had ended before
  never,              ///< an outer scope ended while it was open
};

/// A source location whose scopes ended wrongly, and the other scope involved.
struct wrong_end {
  std::uint32_t state;  ///< 0: free, 1: being written, 2: complete
  wrong_end_kind kind;
  site const* where;  ///< null: unknown
  site const* other;  ///< the innermost open scope of the thread, or the one that ended instead; null: unknown
  std::uint64_t count;
};

/// The first wrong ends. Lock-free and safe in signal handlers. Two threads that count the same location at the same time may use two
/// entries.
struct wrong_end_list {
  static constexpr int size = 16;

  wrong_end entries[size];

  /// Counts that happen at the same time may be lost.
  void clear() noexcept {
    for (wrong_end& each : entries) __atomic_store_n(&each.state, std::uint32_t{0}, __ATOMIC_RELEASE);
  }

  void count(wrong_end_kind kind, site const* where, site const* other) noexcept {
    for (wrong_end& each : entries) {
      std::uint32_t state = __atomic_load_n(&each.state, __ATOMIC_ACQUIRE);
      if (state == 0 && __atomic_compare_exchange_n(&each.state, &state, std::uint32_t{1}, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        each.kind = kind;
        each.where = where;
        each.other = other;
        __atomic_store_n(&each.count, std::uint64_t{1}, __ATOMIC_RELAXED);
        __atomic_store_n(&each.state, std::uint32_t{2}, __ATOMIC_RELEASE);
        return;
      }
      if (state == 2 && each.kind == kind && each.where == where && each.other == other) {
        __atomic_fetch_add(&each.count, 1, __ATOMIC_RELAXED);
        return;
      }
    }
  }
};

}  // namespace profkit::detail
