// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../windows/state.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The balance of allocations and releases in a stretch of time, starting at 0.
struct memory_balance {
  std::uint64_t now = 0;  ///< modulo 2^64; represents a negative number if more was released than allocated
  std::int64_t peak = 0;

  auto members() { return listed(now, peak); }

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

  auto members() { return listed(all, own); }

  void append(scope_balance const& next) noexcept {
    all.append(next.all);
    own.append(next.own);
  }
};

/// Adds modulo 2^64.
inline void add_difference(std::int64_t& sum, std::uint64_t difference) noexcept {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + difference);
}

/// Memory of one allocator in the scopes of one path. The members correspond to those of `scope_memory_summary`.
struct path_memory {
  std::uint64_t peak_bytes = 0;
  std::uint64_t own_peak_bytes = 0;
  std::int64_t retained_bytes = 0;
  std::int64_t own_retained_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t own_allocated_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t wide_peak_bytes = 0;
  std::int64_t own_change_bytes = 0;

  auto members() {
    return listed(peak_bytes, own_peak_bytes, retained_bytes, own_retained_bytes, allocated_bytes, own_allocated_bytes, allocations,
                  wide_peak_bytes, own_change_bytes);
  }

  void add(scope_balance const& balance) {
    peak_bytes = std::max(peak_bytes, static_cast<std::uint64_t>(balance.all.peak));
    own_peak_bytes = std::max(own_peak_bytes, static_cast<std::uint64_t>(balance.own.peak));
    add_difference(retained_bytes, balance.all.now);
    add_difference(own_retained_bytes, balance.own.now);
  }
};

/// The figures of one allocator.
struct allocator_memory {
  std::string name;
  bool is_polled = false;
  std::optional<std::int64_t> first_bytes{};  ///< before the first measured step
  std::int64_t last_bytes = 0;                ///< after the last one
  std::uint64_t max_bytes = 0;
  std::int64_t outside_change_bytes = 0;  ///< changes outside any scope
  std::uint64_t unknown_releases = 0;
  std::uint64_t reused_addresses = 0;
  own_vector<path_memory> by_path{};

  auto members() {
    return listed(name, is_polled, first_bytes, last_bytes, max_bytes, outside_change_bytes, unknown_releases, reused_addresses, by_path);
  }

  [[nodiscard]] scope_memory_summary of_path(std::size_t path) const {
    path_memory const row = path < by_path.size() ? by_path[path] : path_memory{};
    scope_memory_summary result;
    result.source = name;
    result.is_polled = is_polled;
    result.peak_bytes = row.peak_bytes;
    result.own_peak_bytes = row.own_peak_bytes;
    result.retained_bytes = row.retained_bytes;
    result.own_retained_bytes = row.own_retained_bytes;
    if (!is_polled) {
      result.allocated_bytes = row.allocated_bytes;
      result.own_allocated_bytes = row.own_allocated_bytes;
      result.allocations = row.allocations;
    }
    result.wide_peak_bytes = row.wide_peak_bytes;
    result.own_change_bytes = row.own_change_bytes;
    return result;
  }

  /// @param has_row by path; changes of paths without a row count as outside.
  [[nodiscard]] allocator_summary summarize(own_vector<bool> const& has_row) const {
    allocator_summary result;
    result.source = name;
    result.is_polled = is_polled;
    result.first_bytes = first_bytes.value_or(0);
    result.last_bytes = last_bytes;
    result.max_bytes = max_bytes;
    result.outside_change_bytes = outside_change_bytes;
    auto between = static_cast<std::uint64_t>(result.last_bytes) - static_cast<std::uint64_t>(result.first_bytes);
    for (std::size_t path = 0; path < by_path.size(); ++path) {
      auto const change = static_cast<std::uint64_t>(by_path[path].own_change_bytes);
      between -= change;
      if (!has_row[path]) add_difference(result.outside_change_bytes, change);
    }
    // The total change is the change inside the steps plus the change between them.
    result.between_steps_change_bytes = static_cast<std::int64_t>(between - static_cast<std::uint64_t>(outside_change_bytes));
    result.unknown_releases = unknown_releases;
    result.reused_addresses = reused_addresses;
    return result;
  }
};

/// The figures of all allocators, in the order of `profile::allocators`.
class memory_sums {
 public:
  /// @param which position in `profile::allocators`.
  /// @return the figures of an allocator, with a row for each path.
  [[nodiscard]] allocator_memory& of(profile const& profile, std::uint32_t which) {
    grow_rows(allocators_, profile.allocators.size());
    allocator_memory& result = allocators_[which];
    result.name = profile.allocators[which].name;
    result.is_polled = profile.allocators[which].is_polled;
    grow_rows(result.by_path, profile.paths.size());
    return result;
  }

  /// Scopes that span several windows. A peak depends on the balance before it, so balances of consecutive stretches are joined. The group
  /// is the allocator.
  [[nodiscard]] crossing_scopes<scope_balance>& crossing() noexcept { return crossing_; }

  /// Counts the scopes that span several windows and end before the end of the last one.
  /// @param added the stretch of the added windows.
  void settle(interval const& added) {
    crossing_.settle(added, [this](auto const&... scope) { add(scope...); });
  }

  /// Counts the scopes that have not ended. Nothing may be added afterwards.
  void complete() {
    crossing_.complete([this](auto const&... scope) { add(scope...); });
  }

  /// Forgets everything but the counts that cover the whole session: releases and allocations that contradict earlier records.
  void forget_figures() {
    crossing_ = {};
    for (allocator_memory& each : allocators_) {
      allocator_memory left;
      left.unknown_releases = each.unknown_releases;
      left.reused_addresses = each.reused_addresses;
      left.name = std::move(each.name);
      left.is_polled = each.is_polled;
      each = std::move(left);
    }
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const {
    bool const is_right =
        std::all_of(allocators_.begin(), allocators_.end(), [&](allocator_memory const& each) { return each.by_path.size() <= paths; });
    return is_right && crossing_.is_in(allocators_.size(), paths);
  }

  /// Fills `scope_summary::memory` and `summary::allocators`.
  /// @param rows the path of each row of `summary::scopes`.
  /// @param paths number of all paths.
  void fill(summary& into, own_vector<std::uint32_t> const& rows, std::size_t paths) const {
    own_vector<bool> has_row(paths);
    for (std::size_t row = 0; row < rows.size(); ++row) has_row[rows[row]] = into.scopes[row].host.count > 0;
    for (allocator_memory const& each : allocators_) {
      into.allocators.push_back(each.summarize(has_row));
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (has_row[rows[row]]) into.scopes[row].memory.push_back(each.of_path(rows[row]));
      }
    }
  }

  auto members() { return listed(allocators_, crossing_); }

 private:
  void add(std::uint32_t allocator, std::uint32_t path, scope_balance const& scope) {
    grow_rows(allocators_[allocator].by_path, path + std::size_t{1});
    allocators_[allocator].by_path[path].add(scope);
  }

  own_vector<allocator_memory> allocators_;
  crossing_scopes<scope_balance> crossing_;
};

}  // namespace PROFKIT_NAMESPACE::detail
