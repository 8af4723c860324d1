// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"

namespace profkit::detail {

/// Kernel time by name and by the path that the kernels are charged to. Sums of several windows add up.
class launched_kernels {
 public:
  /// Maximum number of pairs of name and path. Kernels of further pairs count as launched outside any scope.
  static constexpr std::size_t max_pairs = std::size_t{1} << 14U;

  struct row {
    std::uint32_t name = 0;
    std::uint32_t path = attribution::none;
    std::uint64_t count = 0;  ///< 0: there is no such kernel
    std::chrono::nanoseconds total{};
    std::chrono::nanoseconds min = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds max{};

    template <class Archive>
    friend void fields(Archive& archive, row& value) {
      archive(value.name), archive(value.path), archive(value.count), archive.amount(value.total), archive(value.min), archive(value.max);
    }
  };

  void add(std::uint32_t name, std::uint32_t path, std::chrono::nanoseconds time) {
    row& to = row_of(name, path);
    ++to.count;
    to.total += time;
    to.min = std::min(to.min, time);
    to.max = std::max(to.max, time);
  }

  /// @param visit called with each row that has kernels.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (row const& each : pairs_) visit(each);
    for (row const& each : outside_) {
      if (each.count > 0) visit(each);
    }
  }

  /// @return the number of paths with figures.
  [[nodiscard]] std::size_t paths() const noexcept {
    std::size_t result = 0;
    for (row const& each : pairs_) result = std::max(result, each.path + std::size_t{1});
    return result;
  }

 private:
  /// The hash table is not stored; reading rebuilds it.
  template <class Archive>
  friend void fields(Archive& archive, launched_kernels& value) {
    archive(value.pairs_), archive(value.outside_);
    if constexpr (Archive::is_reader) {
      bool is_right = value.pairs_.size() <= max_pairs;
      for (row const& each : value.pairs_) is_right = is_right && each.path != attribution::none;
      for (std::size_t name = 0; name < value.outside_.size(); ++name)
        is_right = is_right && value.outside_[name].name == name && value.outside_[name].path == attribution::none;
      archive.check(is_right, "kernels with a wrong name or path");
      value.enter_all();
    }
  }

  /// Searches with linear probing in a table that is at most a quarter full. The tags keep most searches away from the rows of other pairs,
  /// because the table is small enough for a processor's cache.
  row& row_of(std::uint32_t name, std::uint32_t path) {
    if (path == attribution::none) return row_outside(name);
    if (slots_.empty()) slots_.resize(first_size);
    std::uint64_t const hash = hash_of(name, path);
    for (std::size_t at = first_slot(hash);; at = (at + 1) & (slots_.size() - 1)) {
      std::uint32_t const slot = slots_[at];
      if (slot == empty_slot) return add_pair(name, path);
      if ((slot & ~position_bits) != tag_of(hash)) continue;
      row& found = pairs_[(slot & position_bits) - 1];
      if (found.name == name && found.path == path) return found;
    }
  }

  row& row_outside(std::uint32_t name) {
    for (std::uint32_t next = static_cast<std::uint32_t>(outside_.size()); next <= name; ++next) outside_.emplace_back().name = next;
    return outside_[name];
  }

  row& add_pair(std::uint32_t name, std::uint32_t path) {
    if (pairs_.size() >= max_pairs) return row_outside(name);
    row& added = pairs_.emplace_back();
    added.name = name;
    added.path = path;
    if (slots_.size() < 4 * pairs_.size()) {
      enter_all();
    } else {
      enter(pairs_.size() - 1);
    }
    return added;
  }

  /// Computes the hash table.
  void enter_all() {
    std::size_t size = first_size;
    while (size < 4 * pairs_.size()) size *= 2;
    slots_.assign(size, empty_slot);
    for (std::size_t position = 0; position < pairs_.size(); ++position) enter(position);
  }

  /// Enters a pair that the hash table does not contain.
  void enter(std::size_t position) {
    std::uint64_t const hash = hash_of(pairs_[position].name, pairs_[position].path);
    std::size_t at = first_slot(hash);
    while (slots_[at] != empty_slot) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = tag_of(hash) | static_cast<std::uint32_t>(position + 1);
  }

  static std::uint64_t hash_of(std::uint32_t name, std::uint32_t path) noexcept {
    return (std::uint64_t{name} << 32U | path) * 0x9e3779b97f4a7c15U;
  }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 16U) & ~position_bits; }
  [[nodiscard]] std::size_t first_slot(std::uint64_t hash) const noexcept { return (hash >> 48U) & (slots_.size() - 1); }

  static constexpr std::uint32_t empty_slot = 0;
  static constexpr std::uint32_t position_bits = 0x7fff;  ///< slot: 1 + position in `pairs_`; the other bits are from the hash
  static constexpr std::size_t first_size = 64;
  static_assert(max_pairs <= position_bits);

  own_vector<row> pairs_;            ///< in the order of first appearance
  own_vector<row> outside_;          ///< kernels without a path, by name
  own_vector<std::uint32_t> slots_;  ///< hash table of `pairs_`; its size is a power of two
};

}  // namespace profkit::detail
