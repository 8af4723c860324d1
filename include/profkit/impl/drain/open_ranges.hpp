// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/path_table.hpp"
#include "../record/log_event.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Finds the paths of scopes by their sites. Does not compare names for scopes that it has seen before.
///
/// Beyond the bounds of the table of paths, a scope with an index gets the path without its index. Any other scope, and all scopes inside
/// it, are one scope with the name `path_table::merged_name`.
class scope_paths {
 public:
  /// @param parent position of the parent path, or `path_record::no_parent`.
  /// @return the position of the path; `path_record::no_parent` if the scope is inside a merged one. A scope without its own path is
  /// counted.
  [[gnu::always_inline]] std::uint32_t path_of(std::uint32_t parent, site const& where, std::optional<std::int64_t> index,
                                               profile_builder& into) {
    path_key const key{reinterpret_cast<std::uintptr_t>(&where) | (index ? has_index : 0), index.value_or(0), parent};
    recent_path const& recent = recent_[slot_of(key)];
    if (__builtin_expect(recent.key == key, 1)) return recent.path;
    return look_up(key, where, into);
  }

 private:
  static constexpr std::uintptr_t has_index = 1;
  static_assert(alignof(site) > has_index, "the lowest bit of a site's address is free");

  struct path_key {
    std::uintptr_t where = 0;  ///< address of the site, plus `has_index`
    std::int64_t index = 0;
    std::uint32_t parent = path_record::no_parent;

    bool operator==(path_key const& other) const noexcept { return where == other.where && parent == other.parent && index == other.index; }
  };

  struct path_hash {
    std::size_t operator()(path_key const& key) const noexcept {
      std::uint64_t const inside = key.parent * std::uint64_t{0xd6e8feb86659fd93};
      std::uint64_t const which = static_cast<std::uint64_t>(key.index) * 0xc2b2ae3d27d4eb4fU;
      return (key.where + inside + which) * 0x9e3779b97f4a7c15U;
    }
  };

  struct recent_path {
    path_key key;
    std::uint32_t path = 0;
  };

  /// The position of a path in `recent_`. The highest bits of the hash differ for the few paths of most programs.
  static std::size_t slot_of(path_key const& key) noexcept { return path_hash{}(key) >> (64U - recent_bits); }

  __attribute__((noinline)) std::uint32_t look_up(path_key key, site const& where, profile_builder& into) {
    if (merged_.count(key.parent) > 0) {
      into.count(&quality_record::collapsed_scopes);
      return path_record::no_parent;
    }
    std::uint32_t const path = find_or_add(key, where, into);
    if (path != path_record::no_parent) {
      recent_[slot_of(key)] = {key, path};
      return path;
    }
    if ((key.where & has_index) != 0) {
      std::uint32_t const without_index = find_or_add({key.where & ~has_index, 0, key.parent}, where, into);
      if (without_index != path_record::no_parent) {
        into.count(&quality_record::collapsed_scopes);
        return without_index;
      }
    }
    return merged_inside(key.parent, where, into);
  }

  /// The path of the merged scopes inside a path. Roots are never merged: a root without an index always has a path.
  std::uint32_t merged_inside(std::uint32_t parent, site const& where, profile_builder& into) {
    auto const known = merged_inside_.find(parent);
    if (known != merged_inside_.end()) return known->second;
    if (merged_.size() >= path_table::max_paths) {  // charged to the scope around it
      into.count(&quality_record::collapsed_scopes);
      return path_record::no_parent;
    }
    std::uint32_t const path = into.position_of(path_record{parent, path_table::merged_name, std::nullopt, where.file, where.line});
    merged_.insert(path);
    return merged_inside_[parent] = path;
  }

  std::uint32_t find_or_add(path_key const& key, site const& where, profile_builder& into) {
    auto const known = paths_.find(key);
    if (known != paths_.end()) return known->second;
    bool const is_indexed = (key.where & has_index) != 0;
    auto const path =
        into.position_if_room({key.parent, where.name, is_indexed ? std::optional{key.index} : std::nullopt, where.file, where.line});
    if (!path) return path_record::no_parent;
    return paths_[key] = *path;
  }

  static constexpr unsigned recent_bits = 9;
  std::array<recent_path, std::size_t{1} << recent_bits> recent_;
  own_hash_map<path_key, std::uint32_t, path_hash> paths_;
  own_hash_map<std::uint32_t, std::uint32_t> merged_inside_;  ///< by path: the path of the merged scopes inside it
  own_hash_set<std::uint32_t> merged_;                        ///< paths of merged scopes
};

/// Kinds of scopes.
enum class scope_kind : std::uint8_t {
  collapsed,  ///< without its own path; not in the profile
  ordinary,
  step
};

/// A scope or an API call that has begun.
struct open_range {
  timestamp begin;
  site const* call = nullptr;     ///< null for a scope
  std::uint32_t path = 0;         ///< path of the scope, or of the innermost scope around the call
  std::uint32_t correlation = 0;  ///< correlation of a call
  scope_kind kind = scope_kind::ordinary;

  /// Whether the scope has its own path. If not, `path` is the path of the parent.
  [[nodiscard]] bool has_path() const noexcept { return kind != scope_kind::collapsed; }
};

/// The open scopes and calls of a thread, outermost first.
///
/// Does not use `std::vector::push_back`, which builds an element elsewhere and copies it with wider loads. These loads wait for the narrow
/// stores (store forwarding fails), which took a quarter of the draining time.
class open_ranges {
 public:
  [[nodiscard]] bool empty() const noexcept { return depth_ == 0; }

  /// The number of open scopes and calls.
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  /// The innermost scope or call.
  [[nodiscard]] open_range const& back() const noexcept { return ranges_[depth_ - 1]; }

  /// The path of the innermost scope; `path_record::no_parent` if none is open.
  [[nodiscard]] std::uint32_t path() const noexcept { return empty() ? path_record::no_parent : back().path; }

  /// The next range needs no memory.
  void make_room() {
    if (__builtin_expect(depth_ == ranges_.size(), 0)) grow();
  }

  void push_scope(timestamp begin, std::uint32_t path, scope_kind kind = scope_kind::ordinary) {
    open_range& next = push();
    next.begin = begin;
    next.call = nullptr;
    next.path = path;
    next.kind = kind;
  }

  void push_call(timestamp begin, site const& call, std::uint32_t correlation) {
    std::uint32_t const around = path();
    open_range& next = push();
    next.begin = begin;
    next.call = &call;
    next.path = around;
    next.correlation = correlation;
  }

  void pop() noexcept { --depth_; }

  /// The number of open scopes.
  [[nodiscard]] std::uint64_t scopes() const noexcept {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < depth_; ++i) result += ranges_[i].call == nullptr ? 1U : 0U;
    return result;
  }

  /// Calls a function for each scope and call, innermost first.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = depth_; i-- > 0;) visit(ranges_[i]);
  }

  /// The innermost scope; there must be one.
  [[nodiscard]] open_range const& innermost_scope() const noexcept {
    std::size_t i = depth_ - 1;
    while (ranges_[i].call != nullptr) --i;
    return ranges_[i];
  }

 private:
  open_range& push() {
    make_room();
    return ranges_[depth_++];
  }

  __attribute__((noinline)) void grow() { ranges_.resize(2 * ranges_.size() + 8); }

  own_vector<open_range> ranges_;  ///< entries beyond `depth_` are reused
  std::size_t depth_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
