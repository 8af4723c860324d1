// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A place in the tree of scopes, with its parent. Created on first use and never removed.
struct scope_node {
  std::uint32_t state;       ///< a `scope_node_state`
  std::uint32_t names;       ///< number of names in its path, including those of adopted scopes
  scope_node const* parent;  ///< null: none
  std::uint64_t what;        ///< the site and the event kind, as in the log
  std::uint64_t payload;     ///< the index; for `enter_adopted`, the adopted node
  void* nvtx_name;           ///< handle of the registered string; owned by the NVTX hooks

  [[nodiscard]] site const& where() const noexcept { return *reinterpret_cast<site const*>(what & ~event_kind_bits); }
  [[nodiscard]] event_kind kind() const noexcept { return static_cast<event_kind>(what & event_kind_bits); }
  [[nodiscard]] std::int64_t index() const noexcept { return static_cast<std::int64_t>(payload); }
  [[nodiscard]] scope_node const& adopted_from() const noexcept { return *reinterpret_cast<scope_node const*>(payload); }
};

enum scope_node_state : std::uint32_t { node_free = 0, node_in_the_making = 1, node_made = 2 };

/// All nodes of the process: a lock-free hash table with open addressing. Two threads that create the same node at once may create two
/// nodes, which become one path in the profile.
struct scope_node_table {
  static constexpr std::uint64_t size = 1U << 14U;
  static constexpr std::uint64_t max_probes = 64;

  scope_node nodes[size];

  /// Finds a node or creates it. @return null if `max_probes` entries are taken.
  scope_node* find(scope_node const* parent, std::uint64_t what, std::uint64_t payload) noexcept {
    std::uint64_t hash = (reinterpret_cast<std::uint64_t>(parent) + payload * 31U) * 0x9e3779b97f4a7c15U + what;
    hash = (hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 32U;
    for (std::uint64_t probe = 0; probe < max_probes; ++probe) {
      scope_node& node = nodes[(hash + probe) % size];
      std::uint32_t state = __atomic_load_n(&node.state, __ATOMIC_ACQUIRE);
      if (state == node_free &&
          __atomic_compare_exchange_n(&node.state, &state, std::uint32_t{node_in_the_making}, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        node.parent = parent;
        node.what = what;
        node.payload = payload;
        node.names =
            1 + (parent == nullptr ? 0 : parent->names) + (node.kind() == event_kind::enter_adopted ? node.adopted_from().names : 0);
        __atomic_store_n(&node.state, std::uint32_t{node_made}, __ATOMIC_RELEASE);
        return &node;
      }
      if (state == node_made && node.parent == parent && node.what == what && node.payload == payload) return &node;
    }
    return nullptr;
  }
};

}  // namespace PROFKIT_NAMESPACE::detail

namespace profkit::layout_13 {

__attribute__((visibility("default"))) inline detail::scope_node_table scope_nodes{};

}  // namespace profkit::layout_13

namespace PROFKIT_NAMESPACE::detail {

using layout_13::scope_nodes;

/// The node of the innermost recorded scope that is open on this thread. Null if no scope is open, if the table is full, or in a signal
/// handler that interrupted the recorder.
inline scope_node* current_node(thread_log const& log) noexcept {
  if (log.is_busy()) return nullptr;
  scope_node* node = nullptr;
  std::uint64_t const open = log.depth();
  std::uint64_t const known = open < thread_log::known_depth ? open : thread_log::known_depth - 1;
  for (std::uint64_t depth = 0; depth < known; ++depth) {
    std::uint64_t const what = log.open_what[depth];
    std::uint64_t const where = what & ~event_kind_bits;
    switch (static_cast<event_kind>(what & event_kind_bits)) {
      case event_kind::enter_step:  // starts a new root
        node = scope_nodes.find(nullptr, what, 0);
        break;
      case event_kind::enter_indexed:
        node = scope_nodes.find(node, what, log.open_payload[depth]);
        break;
      case event_kind::enter_adopted:
        node = reinterpret_cast<scope_node*>(log.open_payload[depth]);
        continue;
      case event_kind::enter:
      case event_kind::enter_noted:
        node = scope_nodes.find(node, where | static_cast<std::uint64_t>(event_kind::enter), 0);
        break;
      default:  // API calls are not scopes
        continue;
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

/// Whether a scope may be open on this thread. API calls do not count.
inline bool is_inside_scope(thread_log const& log) noexcept {
  if (log.is_busy() || log.depth() >= thread_log::known_depth) return true;
  for (std::uint64_t depth = 0; depth < log.depth(); ++depth) {
    if (static_cast<event_kind>(log.open_what[depth] & event_kind_bits) != event_kind::begin_call) return true;
  }
  return false;
}

}  // namespace PROFKIT_NAMESPACE::detail
