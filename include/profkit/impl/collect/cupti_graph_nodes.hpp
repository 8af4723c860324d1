// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/scope_token.hpp"
#include "cupti_library.hpp"

namespace profkit::detail {

/// The scopes in which nodes of CUDA graphs were captured, from CUPTI callbacks for the creation and copying of nodes. Instantiating a
/// graph copies its nodes, and operations have the number of the copy. Copies of nodes whose capture was not recorded are not stored.
///
/// One object per process, never destroyed, because another thread may be in a callback when a session ends.
class cupti_graph_nodes {
 public:
  /// CUPTI's number of a node, and the scope that was open on the capturing thread.
  using captured_node = std::pair<std::uint64_t, scope_token>;

  static cupti_graph_nodes& instance() {
    static cupti_graph_nodes* const nodes = new cupti_graph_nodes;
    return *nodes;
  }

  /// Clears the table and enables the two necessary callbacks. Does not enable the whole domain: reading its data crashed a program with
  /// CUPTI 13.0.
  /// @throws profkit::error with the failed call.
  void start(cupti_library const& cupti, CUpti_SubscriberHandle subscriber) {
    forget();
    number_of_.store(cupti.get_graph_node_id, std::memory_order_release);
    for (CUpti_CallbackId const id : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
      cupti.check(cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id), "cuptiEnableCallback");
    }
  }

  /// For callbacks of CUPTI_CB_DOMAIN_RESOURCE, on the thread that captures, instantiates or copies. If memory runs out, the capture of a
  /// node counts as not recorded.
  void on_resource(CUpti_CallbackId id, void const* data) noexcept {
    auto const* const graph = static_cast<CUpti_GraphData const*>(static_cast<CUpti_ResourceData const*>(data)->resourceDescriptor);
    if (graph == nullptr) return;
    try {
      if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) created(graph->node);
      if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) cloned(graph->node, graph->originalNode);
    } catch (std::exception const&) {
    }
  }

  /// The nodes that are new or changed since the last call. The newest node waits for the next callback, which says whether it is a copy,
  /// unless `last` is set. If several threads capture, a copy may be returned twice, first with the scope that copies.
  [[nodiscard]] own_vector<captured_node> take_changed(bool last) {
    own_vector<captured_node> result;
    std::lock_guard<std::mutex> const lock{mutex_};
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    result.reserve(changed_.size());
    bool is_newest_known = true;
    for (std::uint64_t const number : changed_) {
      auto const at = nodes_.find(number);
      if (at == nodes_.end()) continue;
      if (number == newest_ && !last) {
        is_newest_known = false;
        continue;
      }
      at->second.is_taken = true;
      result.emplace_back(number, at->second.scope);
    }
    changed_.clear();
    if (!is_newest_known) changed_.push_back(newest_);
    return result;
  }

 private:
  struct entry {
    scope_token scope;
    bool is_taken = false;  ///< `take_changed` has returned it
  };

  void forget() {
    std::lock_guard<std::mutex> const lock{mutex_};
    copies_.clear();
    nodes_.clear();
    changed_.clear();
    newest_ = 0;
  }

  void created(CUgraphNode node) {
    std::optional<std::uint64_t> const number = number_of(node);
    if (!number) return;
    scope_token const scope = scope_token::of_launches();
    std::lock_guard<std::mutex> const lock{mutex_};
    if (copies_.count(graph_of(*number)) != 0) return;
    set(*number, scope);
    newest_ = *number;
  }

  /// To be called with the mutex.
  void set(std::uint64_t number, scope_token const& scope) {
    changed_.push_back(number);
    nodes_[number].scope = scope;
  }

  /// CUPTI's number of the graph that contains a node. Source: cuptiGetGraphId in cupti_callbacks.h, and the records' graphId.
  static std::uint32_t graph_of(std::uint64_t node) noexcept { return static_cast<std::uint32_t>(node >> 32U); }

  /// CUPTI reports a copy as created first, in the scope that copies, and then as copied. Later creations in a copied graph come from the
  /// driver, which adds the nodes of child graphs without reporting their originals.
  void cloned(CUgraphNode node, CUgraphNode original) {
    std::optional<std::uint64_t> const number = number_of(node);
    if (!number) return;
    std::optional<std::uint64_t> const origin = number_of(original);
    std::lock_guard<std::mutex> const lock{mutex_};
    copies_.insert(graph_of(*number));
    newest_ = 0;
    if (auto const known = origin ? nodes_.find(*origin) : nodes_.end(); known != nodes_.end()) return set(*number, known->second.scope);
    auto const created = nodes_.find(*number);
    if (created == nodes_.end()) return;
    if (created->second.is_taken) return set(*number, {});
    nodes_.erase(created);
  }

  /// To be called without the mutex, because CUPTI takes its own locks.
  [[nodiscard]] std::optional<std::uint64_t> number_of(CUgraphNode node) const noexcept {
    auto const function = number_of_.load(std::memory_order_acquire);
    std::uint64_t number = 0;
    if (function == nullptr || node == nullptr || function(node, &number) != CUPTI_SUCCESS) return std::nullopt;
    return number;
  }

  std::atomic<decltype(&::cuptiGetGraphNodeId)> number_of_{nullptr};
  std::mutex mutex_;
  std::map<std::uint64_t, entry> nodes_;
  own_vector<std::uint64_t> changed_;  ///< nodes that are new or changed since `take_changed`
  std::uint64_t newest_ = 0;           ///< a node that may be a copy; 0: none
  std::set<std::uint32_t> copies_;     ///< graphs that are copies of others
};

}  // namespace profkit::detail
