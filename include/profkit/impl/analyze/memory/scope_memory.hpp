// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../time/measured_time.hpp"
#include "../time/quantiles.hpp"
#include "memory_sums.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// An allocation that is live at the beginning of a stretch of time.
struct live_allocation {
  static constexpr std::uint32_t none = 0xffffffffU;

  allocation_record record;   ///< the allocation, from before the stretch
  std::uint32_t path = none;  ///< path of the innermost scope open on its thread at the allocation

  /// Position in the window's scopes: the innermost scope at the allocation, or the nearest one around it, that is still open when the
  /// stretch begins.
  std::uint32_t scope = none;

  bool is_in_measured_step = false;
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
  return memory_change_finder{profile, all_time, nothing}.changes();
}

/// The usage of an allocator at every moment. Negative if releases exceed known allocations.
class memory_totals {
 public:
  /// @param changes in time order.
  memory_totals(std::uint64_t at_start, own_vector<memory_change> const& changes)
      : changes_{changes}, count_{changes.size() + 1}, max_(2 * count_) {
    // A segment tree in one array: the totals are in the second half; element i of the first half is the maximum of elements 2 i and 2 i +
    // 1.
    std::uint64_t total = at_start;
    max_[count_] = static_cast<std::int64_t>(total);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      total += changes[i].difference();
      max_[count_ + i + 1] = static_cast<std::int64_t>(total);
    }
    for (std::size_t i = count_; i-- > 1;) max_[i] = std::max(max_[2 * i], max_[2 * i + 1]);
  }

  [[nodiscard]] std::int64_t before(timestamp moment) { return max_[count_ + changes_until(moment, false)]; }

  [[nodiscard]] std::int64_t after(timestamp moment) { return max_[count_ + changes_until(moment, true)]; }

  /// @return the maximum from before the beginning of the interval to its end, inclusive. Takes logarithmic time, less if the interval is
  ///   close to the previous one.
  [[nodiscard]] std::int64_t max_in(interval const& time) {
    std::size_t last = count_ + changes_until(time.end, true) + 1;
    std::size_t first = count_ + changes_until(time.begin, false);
    std::int64_t result = std::numeric_limits<std::int64_t>::min();
    for (; first < last; first /= 2, last /= 2) {
      if (first % 2 != 0) result = std::max(result, max_[first++]);
      if (last % 2 != 0) result = std::max(result, max_[--last]);
    }
    return result;
  }

 private:
  /// The number of changes before a moment, optionally including those at the moment. Searches from the previous result in growing steps,
  /// because consecutive scopes end close to each other.
  [[nodiscard]] std::size_t changes_until(timestamp moment, bool is_included) {
    auto const is_before = [&](memory_change const& change) { return is_included ? change.time <= moment : change.time < moment; };
    std::size_t low = near_;
    std::size_t high = near_;
    std::size_t step = 1;
    if (low > 0 && !is_before(changes_[low - 1])) {
      for (; low > 0 && !is_before(changes_[low - 1]); step *= 2) {
        high = low - 1;
        low -= std::min(low, step);
      }
    } else {
      for (; high < changes_.size() && is_before(changes_[high]); step *= 2) {
        low = high + 1;
        high += std::min(changes_.size() - high, step);
      }
    }
    auto const at = [&](std::size_t position) { return changes_.begin() + static_cast<std::ptrdiff_t>(position); };
    near_ = static_cast<std::size_t>(std::partition_point(at(low), at(high), is_before) - changes_.begin());
    return near_;
  }

  own_vector<memory_change> const& changes_;
  std::size_t count_;             ///< number of totals: before the first change and after each
  own_vector<std::int64_t> max_;  ///< a segment tree
  std::size_t near_ = 0;
};

/// A reading at the end of a step has the time of that end, or some nanoseconds later if several allocators are read.
inline interval with_readings_at_end(interval step) {
  constexpr std::chrono::nanoseconds readings{16};
  step.end = std::min(step.end, timestamp::max() - readings) + readings;
  return step;
}

inline measured_time with_readings_at_ends(measured_time const& time) {
  if (!time.has_steps()) return time;
  own_vector<interval> steps = time.steps();
  for (interval& step : steps) step = with_readings_at_end(step);
  return measured_time::of_stretches(std::move(steps));
}

/// Memory of each allocator by path, in one window.
///
/// A block belongs to the scope that was innermost at its allocation, and counts for all scopes around that scope until it is released or
/// they end. So each scope has a balance that starts at 0, independent of other blocks. Takes n log n time in the allocations and linear
/// time in the scopes; none without allocators.
class scope_memory {
 public:
  /// @param own the stretch that the window owns.
  /// @param around the measured time of all steps in the profile.
  scope_memory(profile const& profile, interval const& own, measured_time const& around, memory_before const& before, memory_sums& to)
      : profile_{profile}, own_{own}, around_{around}, before_{before}, to_{to}, with_ends_{with_readings_at_ends(around)} {}

  /// Adds the figures of the window.
  void add() && {
    if (profile_.allocators.empty()) return;
    find_scopes();
    own_vector<allocator_changes> const changes = memory_change_finder{profile_, own_, before_}.changes();
    for (std::uint32_t i = 0; i < changes.size(); ++i) add(i, changes[i]);
  }

 private:
  struct charged_scope {
    std::uint32_t scope;
    scope_balance balance;
  };

  static constexpr std::uint32_t no_balance = 0xffffffffU;

  void find_scopes() {
    if (!profile_.allocations.empty()) {
      scope_of_ = innermost_scopes(
          profile_, thread_lanes{profile_}, profile_.allocations, [](std::uint32_t) { return true; },
          [&](std::uint32_t each) { return profile_.allocations[each].time; }, parent_of_);
      balance_of_.assign(profile_.scopes.size(), no_balance);
    }
    is_measured_.reserve(profile_.scopes.size());
    measured_time_cursor in{around_};
    own_vector<bool> has_path(profile_.paths.size());
    for (std::uint32_t i = 0; i < profile_.scopes.size(); ++i) {
      scope_record const& scope = profile_.scopes[i];
      is_measured_.push_back(in.contains(scope.time.begin));
      if (!is_measured_.back() || scope.time.end < own_.begin || own_.end <= scope.time.begin) continue;
      measured_.push_back(i);
      if (!has_path[scope.path]) first_of_paths_.push_back(i);
      has_path[scope.path] = true;
      // The end of a scope from an earlier window may first appear here.
      if (scope.time.begin < own_.begin && scope.time.end < own_.end) ending_.push_back(i);
    }
  }

  void add(std::uint32_t allocator, allocator_changes const& changes) {
    allocator_memory& here = to_.of(profile_, allocator);
    here.unknown_releases += changes.unknown_releases;
    here.reused_addresses += changes.reused_addresses;
    memory_totals totals{before_.bytes_of(profile_, allocator), changes.in_order};
    find_totals(here, totals);
    for (memory_change const& change : changes.in_order) take(change, here);
    complete_balances(allocator, here);
    for (std::uint32_t const scope : changes.in_order.empty() ? first_of_paths_ : measured_) {
      scope_record const& each = profile_.scopes[scope];
      path_memory& row = here.by_path[each.path];
      row.wide_peak_bytes = std::max(row.wide_peak_bytes, max_in(each.time, totals));
    }
    for (std::uint32_t const scope : ending_) to_.crossing().of(profile_, profile_.scopes[scope], allocator);
  }

  /// The maximum usage in the part of an interval that lies in the window; 0 if there is none.
  [[nodiscard]] std::uint64_t max_in(interval const& time, memory_totals& totals) const {
    if (time.end < own_.begin || own_.end <= time.begin) return 0;
    std::int64_t const bytes = totals.max_in({std::max(time.begin, own_.begin), std::min(time.end, own_.end)});
    return static_cast<std::uint64_t>(std::max(bytes, std::int64_t{0}));
  }

  void find_totals(allocator_memory& to, memory_totals& totals) const {
    if (!with_ends_.has_steps()) {
      if (!to.first_bytes) to.first_bytes = totals.before(own_.begin);
      to.last_bytes = totals.after(own_.end);
      to.max_bytes = std::max(to.max_bytes, max_in(own_, totals));
      return;
    }
    for (interval const& step : with_ends_.steps()) {
      if (step.end < own_.begin || own_.end <= step.begin) continue;
      if (own_.begin <= step.begin && !to.first_bytes) to.first_bytes = totals.before(step.begin);
      to.last_bytes = totals.after(std::min(step.end, own_.end));
      to.max_bytes = std::max(to.max_bytes, max_in(step, totals));
    }
  }

  void take(memory_change const& change, allocator_memory& to) {
    std::uint32_t path = live_allocation::none;  // path of the scope that the block belongs to
    std::uint32_t scope = no_scope;              // that scope or the nearest one around it that is open
    bool is_of_measured = true;                  // the block was allocated in the measured time
    if (change.origin < profile_.allocations.size()) {
      is_of_measured = with_ends_.contains(profile_.allocations[change.origin].time);
      scope = scope_of_[change.origin];
      if (scope != no_scope) path = profile_.scopes[scope].path;
    } else if (change.origin != memory_change::unknown) {
      live_allocation const& piece = before_.live[change.origin - profile_.allocations.size()];
      is_of_measured = !with_ends_.has_steps() || piece.is_in_measured_step;
      path = piece.path;
      scope = piece.scope;
    }
    if (with_ends_.contains(change.time)) {
      bool const is_of_row = path != live_allocation::none && is_of_measured;
      add_difference(is_of_row ? to.by_path[path].own_change_bytes : to.outside_change_bytes, change.difference());
    }
    for (; scope != no_scope; scope = parent_of_[scope]) {
      scope_record const& record = profile_.scopes[scope];
      // A path is not its own parent, so only the first scope is charged as own memory.
      if (is_measured_[scope] && change.time <= record.time.end) charge(scope, change, record.path == path, to.by_path[record.path]);
    }
  }

  void charge(std::uint32_t scope, memory_change const& change, bool is_own, path_memory& row) {
    if (balance_of_[scope] == no_balance) {
      balance_of_[scope] = static_cast<std::uint32_t>(balances_.size());
      balances_.push_back({scope, {}});
    }
    scope_balance& to = balances_[balance_of_[scope]].balance;
    to.all.add(change.difference());
    if (is_own) to.own.add(change.difference());
    if (change.is_release) return;
    row.allocated_bytes += change.bytes;
    if (is_own) row.own_allocated_bytes += change.bytes;
    ++row.allocations;
  }

  void complete_balances(std::uint32_t allocator, allocator_memory& to) {
    for (charged_scope const& each : balances_) {
      scope_record const& scope = profile_.scopes[each.scope];
      if (own_.begin <= scope.time.begin && scope.time.end < own_.end) {
        to.by_path[scope.path].add(each.balance);
      } else {
        to_.crossing().of(profile_, scope, allocator).append(each.balance);
      }
      balance_of_[each.scope] = no_balance;
    }
    balances_.clear();
  }

  profile const& profile_;
  interval own_;
  measured_time const& around_;
  memory_before const& before_;
  memory_sums& to_;
  measured_time with_ends_;
  own_vector<std::uint32_t> scope_of_;        ///< by allocation: the innermost scope open on its thread
  own_vector<std::uint32_t> parent_of_;       ///< by scope
  own_vector<bool> is_measured_;              ///< by scope
  own_vector<std::uint32_t> measured_;        ///< the measured scopes that overlap the window
  own_vector<std::uint32_t> first_of_paths_;  ///< the first of them with each path: enough for an allocator whose usage does not change
  own_vector<std::uint32_t> ending_;          ///< those that began before the window and end in it
  own_vector<std::uint32_t> balance_of_;      ///< by scope: position in `balances_`
  own_vector<charged_scope> balances_;        ///< balances of the charged scopes
};

}  // namespace PROFKIT_NAMESPACE::detail
