// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "site.hpp"

namespace profkit::detail {

/// How a scope did not end where it should.
enum class wrong_end_kind : std::uint32_t {
  on_another_thread,  ///< its end came on another thread than its beginning
  after_another,      ///< a scope around it had ended before
  never,              ///< a scope around it ended, and it had not
};

/// A place in the source whose scopes did not end where they should, and the scope that was open there.
struct wrong_end {
  std::uint32_t state;  ///< 0: free, 1: being written, 2: there
  wrong_end_kind kind;
  site const* where;  ///< null: not known
  site const* other;  ///< the innermost scope open on the thread, or the one that ended in its place; null: none is known
  std::uint64_t count;
};

/// The first few. Without a lock, and safe in signal handlers: two threads that see the same at once may take two entries.
struct wrong_end_list {
  static constexpr int size = 16;

  wrong_end entries[size];

  /// A thread that counts at this moment may be missed.
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
