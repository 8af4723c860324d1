// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "../merge/moved.hpp"

namespace profkit::detail {

/// Kernel time by name and by the path that the kernels are charged to. Sums of several windows add up.
class launched_kernels {
 public:
  /// Maximum number of pairs of name and path. Kernels of further pairs count as launched outside any scope.
  static constexpr std::size_t max_pairs = std::size_t{1} << 14U;

  struct row {
    std::uint32_t name = 0;
    std::uint32_t path = attribution::none;
    std::uint64_t count = 0;
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds min = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds max{};
    std::uint32_t next = 0;  ///< row of the kernel that followed last time

    template <class Archive>
    friend void fields(Archive& archive, row& of) {
      archive(of.name), archive(of.path), archive(of.count), archive.amount(of.total), archive(of.min), archive(of.max);
    }
  };

  void add(std::uint32_t name, std::uint32_t path, std::chrono::nanoseconds time) {
    row& to = row_of(name, path);
    ++to.count;
    to.total += time;
    to.min = std::min(to.min, time);
    to.max = std::max(to.max, time);
  }

  /// Merges another one: the result is as if its kernels had been added here.
  /// @param path_of maps paths of `other` to paths of this object.
  /// @param name_of maps names of `other` to names of this object.
  void add(launched_kernels const& other, std::vector<std::uint32_t> const& path_of, std::vector<std::uint32_t> const& name_of) {
    moved_position const moved_path{path_of};
    moved_position const moved_name{name_of};
    for (row const& each : other.rows_) {
      row& to = row_of(moved_name(each.name), each.path == attribution::none ? attribution::none : moved_path(each.path));
      to.count += each.count;
      to.total += each.total;
      to.min = std::min(to.min, each.min);
      to.max = std::max(to.max, each.max);
    }
  }

  [[nodiscard]] std::vector<row> const& rows() const noexcept { return rows_; }

  /// @return the number of paths with figures.
  [[nodiscard]] std::size_t paths() const noexcept {
    std::size_t result = 0;
    for (row const& each : rows_) result = std::max(result, each.path == attribution::none ? 0 : each.path + std::size_t{1});
    return result;
  }

  /// @return the number of names with figures.
  [[nodiscard]] std::size_t names() const noexcept {
    std::size_t result = 0;
    for (row const& each : rows_) result = std::max(result, each.name + std::size_t{1});
    return result;
  }

 private:
  static constexpr std::uint32_t no_row = 0xffffffffU;

  struct pair_slot {
    std::uint32_t tag = 0;  ///< part of the hash of the pair
    std::uint32_t row = no_row;
  };

  /// The tables are computed when the rows are merged into another object.
  template <class Archive>
  friend void fields(Archive& archive, launched_kernels& of) {
    archive(of.rows_);
  }

  /// Steps mostly launch the same kernels in the same order, so the row is mostly the one that followed last time.
  row& row_of(std::uint32_t name, std::uint32_t path) {
    if (!rows_.empty()) {
      std::uint32_t& next = rows_[last_].next;
      if (rows_[next].name != name || rows_[next].path != path) {
        std::uint32_t const found = find(name, path);
        rows_[last_].next = found;  // `next` may dangle
        last_ = found;
      } else {
        last_ = next;
      }
    } else {
      last_ = find(name, path);
    }
    return rows_[last_];
  }

  std::uint32_t find(std::uint32_t name, std::uint32_t path) {
    if (path == attribution::none) return find_outside(name);
    if (slots_.size() < 2 * pairs_ + 2) make_slots();
    pair_slot& slot = slot_of(name, path);
    if (slot.row != no_row) return slot.row;
    if (pairs_ >= max_pairs) return find_outside(name);
    ++pairs_;
    slot = {tag_of(hash_of(name, path)), static_cast<std::uint32_t>(rows_.size())};
    return add_row(name, path);
  }

  std::uint32_t find_outside(std::uint32_t name) {
    if (name >= outside_.size()) outside_.resize(name + std::size_t{1}, no_row);
    if (outside_[name] == no_row) outside_[name] = add_row(name, attribution::none);
    return outside_[name];
  }

  std::uint32_t add_row(std::uint32_t name, std::uint32_t path) {
    row added;
    added.name = name;
    added.path = path;
    rows_.push_back(added);
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  static std::uint64_t hash_of(std::uint32_t name, std::uint32_t path) noexcept {
    return (std::uint64_t{name} << 32U | path) * 0x9e3779b97f4a7c15U;
  }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 16U); }

  /// The slot of a pair, or the empty one where it belongs. Linear probing in a table that is at most half full.
  [[nodiscard]] pair_slot& slot_of(std::uint32_t name, std::uint32_t path) {
    std::uint64_t const hash = hash_of(name, path);
    std::size_t const mask = slots_.size() - 1;
    for (std::size_t at = static_cast<std::size_t>(hash >> 32U) & mask;; at = (at + 1) & mask) {
      pair_slot& slot = slots_[at];
      if (slot.row == no_row) return slot;
      if (slot.tag == tag_of(hash) && rows_[slot.row].name == name && rows_[slot.row].path == path) return slot;
    }
  }

  void make_slots() {
    std::size_t size = 64;
    while (size < 4 * pairs_) size *= 2;
    slots_.assign(size, {});
    for (std::uint32_t at = 0; at < rows_.size(); ++at) {
      std::uint32_t const name = rows_[at].name;
      std::uint32_t const path = rows_[at].path;
      if (path != attribution::none) slot_of(name, path) = {tag_of(hash_of(name, path)), at};
    }
  }

  std::vector<row> rows_;               ///< in the order of first appearance
  std::vector<pair_slot> slots_;        ///< hash table of the rows with a path
  std::vector<std::uint32_t> outside_;  ///< positions in `rows_` of kernels without a path, by name
  std::size_t pairs_ = 0;               ///< number of rows with a path
  std::uint32_t last_ = 0;              ///< row of the last kernel
};

}  // namespace profkit::detail
