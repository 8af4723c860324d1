// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../time.hpp"

namespace profkit::detail {

/// The balance of allocations and releases in a stretch of time, starting at 0.
struct memory_balance {
  std::uint64_t now = 0;  ///< modulo 2^64; represents a negative number if more was released than allocated
  std::int64_t peak = 0;

  template <class Archive>
  friend void fields(Archive& archive, memory_balance& state) {
    archive(state.now), archive(state.peak);
  }

  void add(std::uint64_t difference) noexcept {
    now += difference;
    peak = std::max(peak, static_cast<std::int64_t>(now));
  }

  /// Appends the balance of the following stretch of time.
  void append(memory_balance const& next) noexcept {
    peak = std::max(peak, static_cast<std::int64_t>(now + static_cast<std::uint64_t>(next.peak)));
    now += next.now;
  }
};

/// The balances of one scope.
struct scope_balance {
  memory_balance all;  ///< includes the scopes inside
  memory_balance own;

  template <class Archive>
  friend void fields(Archive& archive, scope_balance& balance) {
    archive(balance.all), archive(balance.own);
  }

  void append(scope_balance const& next) noexcept {
    all.append(next.all);
    own.append(next.own);
  }
};

/// Balances of scopes that cross a border between windows. A peak depends on the balance before it, so balances of consecutive stretches
/// are joined.
class crossing_balances {
 public:
  /// @param end the end of the scope.
  void add(std::uint32_t allocator, profile const& profile, scope_record const& scope, scope_balance const& balance) {
    crossing_scope& here = balances_[key(allocator, profile, scope)];
    here.balance.append(balance);
    here.end = scope.time.end;
  }

  /// Sets the end of a scope, which may have been unknown before.
  void end(std::uint32_t allocator, profile const& profile, scope_record const& scope) {
    balances_[key(allocator, profile, scope)].end = scope.time.end;
  }

  /// Appends the figures of the following stretch.
  void append(crossing_balances const& next) {
    for (auto const& [scope, each] : next.balances_) {
      crossing_scope& here = balances_[scope];
      here.balance.append(each.balance);
      here.end = std::min(here.end, each.end);
    }
  }

  /// Whether all positions are below these numbers.
  [[nodiscard]] bool is_in(std::size_t allocators, std::size_t paths) const {
    return std::all_of(balances_.begin(), balances_.end(),
                       [&](auto const& each) { return std::get<0>(each.first) < allocators && std::get<1>(each.first) < paths; });
  }

  /// Removes the scopes that lie completely in a stretch of time.
  /// @param take called with allocator, path and balance of each.
  template <class Take>
  void settle(interval const& stretch, Take const& take) {
    for (auto each = balances_.begin(); each != balances_.end();) {
      if (stretch.begin <= std::get<3>(each->first) && each->second.end < stretch.end) {
        take(std::get<0>(each->first), std::get<1>(each->first), each->second.balance);
        each = balances_.erase(each);
      } else {
        ++each;
      }
    }
  }

  /// Removes all scopes.
  template <class Take>
  void complete(Take const& take) {
    for (auto const& [scope, each] : balances_) take(std::get<0>(scope), std::get<1>(scope), each.balance);
    balances_.clear();
  }

 private:
  struct crossing_scope {
    scope_balance balance;
    timestamp end = timestamp::max();  ///< the end of the scope

    template <class Archive>
    friend void fields(Archive& archive, crossing_scope& state) {
      archive(state.balance), archive(state.end);
    }
  };

  /// Allocator, path, system thread number and beginning.
  using scope_key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, timestamp>;

  template <class Archive>
  friend void fields(Archive& archive, crossing_balances& state) {
    archive(state.balances_);
  }

  static scope_key key(std::uint32_t allocator, profile const& profile, scope_record const& scope) {
    return {allocator, scope.path, profile.threads[scope.thread].system_id, scope.time.begin};
  }

  std::map<scope_key, crossing_scope> balances_;
};

}  // namespace profkit::detail
