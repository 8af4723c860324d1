// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../merge/add_rows.hpp"

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

  template <class Archive>
  friend void fields(Archive& archive, path_memory& state) {
    archive(state.peak_bytes), archive(state.own_peak_bytes), archive(state.retained_bytes), archive(state.own_retained_bytes);
    archive(state.allocated_bytes), archive(state.own_allocated_bytes), archive(state.allocations), archive(state.wide_peak_bytes);
    archive(state.own_change_bytes);
  }

  /// @param balance the complete balance of one scope.
  void add(scope_balance const& balance) {
    peak_bytes = std::max(peak_bytes, static_cast<std::uint64_t>(balance.all.peak));
    own_peak_bytes = std::max(own_peak_bytes, static_cast<std::uint64_t>(balance.own.peak));
    add_difference(retained_bytes, balance.all.now);
    add_difference(own_retained_bytes, balance.own.now);
  }

  void add(path_memory const& other) {
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
    own_peak_bytes = std::max(own_peak_bytes, other.own_peak_bytes);
    add_difference(retained_bytes, static_cast<std::uint64_t>(other.retained_bytes));
    add_difference(own_retained_bytes, static_cast<std::uint64_t>(other.own_retained_bytes));
    allocated_bytes += other.allocated_bytes;
    own_allocated_bytes += other.own_allocated_bytes;
    allocations += other.allocations;
    wide_peak_bytes = std::max(wide_peak_bytes, other.wide_peak_bytes);
    add_difference(own_change_bytes, static_cast<std::uint64_t>(other.own_change_bytes));
  }
};

/// The figures of one allocator in some windows.
struct allocator_memory {
  /// The usage at one moment.
  struct total {
    timestamp step;    ///< beginning of the step of the moment
    timestamp moment;  ///< the moment; changes up to it are included
    std::int64_t bytes = 0;

    template <class Archive>
    friend void fields(Archive& archive, total& sum) {
      archive(sum.step), archive(sum.moment), archive(sum.bytes);
    }
  };

  std::string name;
  bool is_polled = false;
  std::optional<total> first{};  ///< before the first measured step
  std::optional<total> last{};   ///< after the last one
  std::uint64_t max_bytes = 0;
  std::int64_t outside_change_bytes = 0;  ///< changes outside any scope
  std::uint64_t unknown_releases = 0;
  std::uint64_t reused_addresses = 0;
  own_vector<path_memory> by_path{};

  template <class Archive>
  friend void fields(Archive& archive, allocator_memory& memory) {
    archive(memory.name), archive(memory.is_polled), archive(memory.first), archive(memory.last);
    archive(memory.max_bytes), archive(memory.outside_change_bytes), archive(memory.unknown_releases), archive(memory.reused_addresses);
    archive(memory.by_path);
  }

  void add_first(total const& other) {
    if (!first || key(other) < key(*first)) first = other;
  }
  void add_last(total const& other) {
    if (!last || key(*last) < key(other)) last = other;
  }

  void add(allocator_memory const& other) {
    name = other.name;
    is_polled = is_polled || other.is_polled;
    if (other.first) add_first(*other.first);
    if (other.last) add_last(*other.last);
    max_bytes = std::max(max_bytes, other.max_bytes);
    add_difference(outside_change_bytes, static_cast<std::uint64_t>(other.outside_change_bytes));
    unknown_releases += other.unknown_releases;
    reused_addresses += other.reused_addresses;
    add_rows(by_path, other.by_path);
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
    if (first) result.first_bytes = first->bytes;
    if (last) result.last_bytes = last->bytes;
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

 private:
  static std::tuple<timestamp, timestamp, std::int64_t> key(total const& sum) { return {sum.step, sum.moment, sum.bytes}; }
};

/// The figures of all allocators, in the order of `profile::allocators`.
class memory_sums {
 public:
  /// @param allocators the allocators that a window knows: all of the session so far, or the first of them.
  void add(own_vector<allocator_memory> const& allocators) { add_rows(allocators_, allocators); }

  /// @return the number of allocators.
  [[nodiscard]] std::size_t size() const noexcept { return allocators_.size(); }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const {
    return std::all_of(allocators_.begin(), allocators_.end(), [&](allocator_memory const& each) { return each.by_path.size() <= paths; });
  }

  /// Adds the counts that cover the whole session: releases and allocations that contradict earlier records.
  void add_contradictions(memory_sums const& other) {
    own_vector<allocator_memory> found;
    for (allocator_memory const& each : other.allocators_) {
      allocator_memory& added = found.emplace_back();
      added.name = each.name;
      added.is_polled = each.is_polled;
      added.unknown_releases = each.unknown_releases;
      added.reused_addresses = each.reused_addresses;
    }
    add(found);
  }

  /// Adds a scope that spans several windows, after all of them were added.
  void add(std::uint32_t allocator, std::uint32_t path, scope_balance const& scope) {
    auto& rows = allocators_[allocator].by_path;
    if (path >= rows.size()) rows.resize(path + std::size_t{1});
    rows[path].add(scope);
  }

  /// Fills `scope_summary::memory` and `summary::allocators`.
  /// @param paths the path of each row of `summary::scopes`.
  /// @param count number of all paths.
  void fill(summary& into, own_vector<std::uint32_t> const& paths, std::size_t count) const {
    own_vector<bool> has_row(count);
    for (std::size_t row = 0; row < paths.size(); ++row) has_row[paths[row]] = into.scopes[row].host.count > 0;
    for (allocator_memory const& each : allocators_) {
      into.allocators.push_back(each.summarize(has_row));
      for (std::size_t row = 0; row < paths.size(); ++row) {
        if (has_row[paths[row]]) into.scopes[row].memory.push_back(each.of_path(paths[row]));
      }
    }
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, memory_sums& state) {
    archive(state.allocators_);
  }

  own_vector<allocator_memory> allocators_;
};

}  // namespace profkit::detail
