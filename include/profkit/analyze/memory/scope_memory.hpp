// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/innermost_scopes.hpp"
#include "../summary.hpp"
#include "../time/measured_time.hpp"
#include "../time/thread_lanes.hpp"
#include "memory_changes.hpp"
#include "memory_totals.hpp"

namespace profkit::detail {

/// What the scopes of each path did with the memory of each allocator.
///
/// A piece of memory belongs to the scope that was innermost when it was given, and counts for all scopes around that one, until it is
/// released or they end. So each scope has a balance that starts at nothing, and what else is in the allocator does not matter.
class scope_memory {
 public:
  /// @param has_row by path.
  scope_memory(profile const& of, measured_time const& when, std::vector<bool> has_row)
      : of_{of}, when_{when}, with_ends_{steps_with_ends(when)}, has_row_{std::move(has_row)} {
    if (of.allocators.empty() || (when.has_steps() && when.steps().empty())) return;
    if (!of.allocations.empty()) find_scopes();
    std::vector<allocator_changes> const changes = find_memory_changes(of);
    for (std::size_t i = 0; i < changes.size(); ++i) add(of.allocators[i], changes[i]);
  }

  /// In the order of `profile::allocators`; empty unless some allocator was heard of.
  [[nodiscard]] std::vector<scope_memory_summary> of_path(std::size_t path) const {
    std::vector<scope_memory_summary> result;
    for (auto const& by_path : by_path_) result.push_back(by_path[path]);
    return result;
  }

  [[nodiscard]] std::vector<allocator_summary> const& allocators() const noexcept { return allocators_; }

 private:
  /// What a scope was given and has not given back.
  struct balance {
    std::uint64_t now = 0;  ///< modulo 2^64: a scope in which a level fell is below 0
    std::int64_t peak = 0;

    void add(std::uint64_t difference) noexcept {
      now += difference;
      peak = std::max(peak, static_cast<std::int64_t>(now));
    }
  };

  struct scope_balance {
    std::uint32_t scope;
    balance all;  ///< of it and the scopes inside
    balance own;
  };

  static constexpr std::uint32_t no_balance = 0xffffffffU;

  /// A level read where a step ends has the time of that end, or some nanoseconds more where several allocators are read.
  static measured_time steps_with_ends(measured_time const& when) {
    constexpr std::chrono::nanoseconds readings{16};
    profile steps;
    for (interval time : when.steps()) {
      time.end = std::min(time.end, timestamp::max() - readings) + readings;
      steps.steps.push_back({time, 0, false});
    }
    return measured_time{steps};
  }

  void find_scopes() {
    scope_of_ = innermost_scopes(
        of_, thread_lanes{of_}, of_.allocations, [](std::uint32_t) { return true; },
        [&](std::uint32_t each) { return of_.allocations[each].time; }, parent_of_);
    balance_of_.assign(of_.scopes.size(), no_balance);
    is_measured_.reserve(of_.scopes.size());
    measured_time_cursor in{when_};
    for (scope_record const& scope : of_.scopes) is_measured_.push_back(in.contains(scope.time.begin));
  }

  void add(allocator_record const& allocator, allocator_changes const& changes) {
    allocator_summary& summary = allocators_.emplace_back();
    summary.source = allocator.name;
    summary.is_polled = allocator.is_polled;
    summary.unknown_releases = changes.unknown_releases;
    summary.reused_addresses = changes.reused_addresses;
    memory_totals totals{allocator.bytes_at_start, changes.in_order};
    summarize_totals(summary, totals);

    scope_memory_summary nothing;
    nothing.source = allocator.name;
    nothing.is_polled = allocator.is_polled;
    if (!allocator.is_polled) nothing.allocated_bytes = nothing.own_allocated_bytes = nothing.allocations = 0;
    if (changes.in_order.empty()) nothing.wide_peak_bytes = allocator.bytes_at_start;
    by_path_.emplace_back(of_.paths.size(), nothing);
    if (changes.in_order.empty()) return;
    for (memory_change const& change : changes.in_order) take(change, summary);
    fold_balances();
    for (std::size_t i = 0; i < is_measured_.size(); ++i) {
      if (!is_measured_[i]) continue;
      scope_memory_summary& row = by_path_.back()[of_.scopes[i].path];
      row.wide_peak_bytes = std::max(row.wide_peak_bytes, not_negative(totals.highest_in(of_.scopes[i].time)));
    }
  }

  static void add_to(std::int64_t& sum, std::uint64_t difference) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + difference);
  }

  static std::uint64_t not_negative(std::int64_t bytes) { return static_cast<std::uint64_t>(std::max(bytes, std::int64_t{0})); }

  void summarize_totals(allocator_summary& to, memory_totals& totals) const {
    std::vector<interval> steps = with_ends_.steps();
    if (!when_.has_steps()) steps.push_back({timestamp::min(), timestamp::max()});
    to.first_bytes = totals.before(steps.front().begin);
    to.last_bytes = totals.after(steps.back().end);
    for (interval const& step : steps) to.highest_bytes = std::max(to.highest_bytes, not_negative(totals.highest_in(step)));
  }

  void take(memory_change const& change, allocator_summary& to) {
    std::uint32_t const owner = change.origin == memory_change::unknown ? no_scope : scope_of_[change.origin];
    if (with_ends_.contains(change.time)) {
      bool const is_in_row = owner != no_scope && has_row_[of_.scopes[owner].path];
      add_to(is_in_row ? by_path_.back()[of_.scopes[owner].path].own_change_bytes : to.outside_change_bytes, change.difference());
    } else if (change.time >= with_ends_.steps().front().begin && change.time <= with_ends_.steps().back().end) {
      add_to(to.between_steps_change_bytes, change.difference());
    }
    for (std::uint32_t scope = owner; scope != no_scope; scope = parent_of_[scope]) {
      if (is_measured_[scope] && change.time <= of_.scopes[scope].time.end) charge(scope, change, scope == owner);
    }
  }

  void charge(std::uint32_t scope, memory_change const& change, bool is_own) {
    if (balance_of_[scope] == no_balance) {
      balance_of_[scope] = static_cast<std::uint32_t>(balances_.size());
      balances_.push_back({scope, {}, {}});
    }
    scope_balance& to = balances_[balance_of_[scope]];
    to.all.add(change.difference());
    if (is_own) to.own.add(change.difference());
    scope_memory_summary& row = by_path_.back()[of_.scopes[scope].path];
    if (row.is_polled || change.is_release) return;
    *row.allocated_bytes += change.bytes;
    if (is_own) *row.own_allocated_bytes += change.bytes;
    ++*row.allocations;
  }

  void fold_balances() {
    for (scope_balance const& each : balances_) {
      scope_memory_summary& row = by_path_.back()[of_.scopes[each.scope].path];
      row.peak_bytes = std::max(row.peak_bytes, not_negative(each.all.peak));
      row.own_peak_bytes = std::max(row.own_peak_bytes, not_negative(each.own.peak));
      add_to(row.retained_bytes, each.all.now);
      add_to(row.own_retained_bytes, each.own.now);
      balance_of_[each.scope] = no_balance;
    }
    balances_.clear();
  }

  profile const& of_;
  measured_time const& when_;
  measured_time with_ends_;
  std::vector<bool> has_row_;
  std::vector<std::uint32_t> scope_of_;                     ///< by allocation: the innermost scope open on its thread
  std::vector<std::uint32_t> parent_of_;                    ///< by scope
  std::vector<bool> is_measured_;                           ///< by scope
  std::vector<std::uint32_t> balance_of_;                   ///< by scope: position in `balances_`
  std::vector<scope_balance> balances_;                     ///< of the scopes that were charged for something
  std::vector<std::vector<scope_memory_summary>> by_path_;  ///< by allocator and path
  std::vector<allocator_summary> allocators_;
};

/// Fills `scope_summary::memory` and `summary::allocators`. Takes n log n time in the allocations and linear time in the scopes; none
/// worth speaking of without allocations.
/// @param paths by row of `summary::scopes`.
inline void summarize_scope_memory(summary& into, profile const& of, measured_time const& when, std::vector<std::uint32_t> const& paths) {
  std::vector<bool> has_row(of.paths.size());
  for (std::size_t row = 0; row < paths.size(); ++row) has_row[paths[row]] = into.scopes[row].host.count > 0;
  scope_memory const memory{of, when, std::move(has_row)};
  into.allocators = memory.allocators();
  for (std::size_t row = 0; row < paths.size(); ++row) {
    if (into.scopes[row].host.count > 0) into.scopes[row].memory = memory.of_path(paths[row]);
  }
}

}  // namespace profkit::detail
