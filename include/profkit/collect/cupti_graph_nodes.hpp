// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "../record/scope_token.hpp"
#include "cupti_library.hpp"

namespace profkit::detail {

/// The scopes in which nodes of CUDA graphs were captured, from CUPTI callbacks for the creation and copying of nodes. Instantiating a
/// graph copies its nodes, and operations have the number of the copy. Copies of nodes whose capture was not recorded are not stored.
///
/// One object per process, never destroyed, because another thread may be in a callback when a session ends.
class cupti_graph_nodes {
 public:
  /// The scope that was open on the capturing thread, by CUPTI's number of the node.
  using captured_nodes = std::map<std::uint64_t, scope_token>;

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

  /// All nodes, if they changed since `seen`, which is updated; otherwise nothing. While a node is being copied, it may temporarily belong
  /// to the scope that copies.
  [[nodiscard]] std::optional<captured_nodes> get_if_changed(std::uint64_t& seen) {
    std::lock_guard<std::mutex> const lock{mutex_};
    if (std::exchange(seen, changes_) == changes_) return std::nullopt;
    return nodes_;
  }

 private:
  void forget() {
    std::lock_guard<std::mutex> const lock{mutex_};
    copies_.clear();
    nodes_.clear();
    changes_ = 0;
  }

  void created(CUgraphNode node) {
    std::optional<std::uint64_t> const number = number_of(node);
    if (!number) return;
    scope_token const scope = scope_token::of_launches();
    std::lock_guard<std::mutex> const lock{mutex_};
    if (copies_.count(graph_of(*number)) != 0) return;
    nodes_[*number] = scope;
    ++changes_;
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
    ++changes_;
    auto const known = origin ? nodes_.find(*origin) : nodes_.end();
    if (known == nodes_.end()) {
      nodes_.erase(*number);
    } else {
      nodes_[*number] = known->second;
    }
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
  captured_nodes nodes_;
  std::uint64_t changes_ = 0;       ///< number of changes of `nodes_`
  std::set<std::uint32_t> copies_;  ///< graphs that are copies of others
};

}  // namespace profkit::detail
