// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "../../profile_builder.hpp"
#include "../profile/own_memory.hpp"
#include "../record/memory_poll.hpp"
#include "../record/scope_token.hpp"
#include "../record/slow_path.hpp"
#include "cupti_library.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// Records allocations and releases of driver memory, by CUPTI callbacks around the driver calls. `cudaMalloc`, `cudaMallocAsync`,
/// `cudaFree` and others use these calls, and caching allocators use them for their segments. Callbacks cost time only in these calls,
/// which take microseconds or more.
class cupti_allocations {
 public:
  static constexpr char const* name = "cuda driver";

  /// For callbacks of CUPTI_CB_DOMAIN_DRIVER_API, on the thread that makes the call.
  static void on_call(CUpti_CallbackId call, void const* data) noexcept {
    auto const& at = *static_cast<CUpti_CallbackData const*>(data);
    // Another thread may allocate released memory at once. So releases are recorded before the call, and allocations after it.
    switch (call) {
      case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
        return got<cuMemAlloc_v2_params>(at, [](auto const& with) { return with.bytesize; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
        return got<cuMemAllocPitch_v2_params>(at, [](auto const& with) { return *with.pPitch * with.Height; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
        return got<cuMemAllocManaged_params>(
            at, [](auto const& with) { return with.bytesize; }, true);
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:  // the same parameters
        return got<cuMemAllocAsync_params>(at, [](auto const& with) { return with.bytesize; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
        return got<cuMemAllocFromPoolAsync_params>(at, [](auto const& with) { return with.bytesize; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:  // identified by its handle
        if (has_succeeded(at)) {
          auto const& with = *static_cast<cuMemCreate_params const*>(at.functionParams);
          record_allocation(driver(), reinterpret_cast<void const*>(*with.handle), with.size);
        }
        return;
      case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
        return given_back(at, [](void const* with) { return static_cast<cuMemFree_v2_params const*>(with)->dptr; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
      case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
        return given_back(at, [](void const* with) { return static_cast<cuMemFreeAsync_params const*>(with)->dptr; });
      case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
        return given_back(at, [](void const* with) { return static_cast<cuMemRelease_params const*>(with)->handle; });
      default:
        return;
    }
  }

  /// Enables the callbacks.
  /// @throws profkit::error with the failed call.
  static void enable(cupti_library const& cupti, CUpti_SubscriberHandle subscriber) {
    for (CUpti_CallbackId const call :
         {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
          CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuMemCreate, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
          CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemRelease}) {
      cupti.check(cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call), "cuptiEnableCallback");
    }
  }

 private:
  static site& driver() noexcept {
    static site value{name, __FILE__, __LINE__};
    return value;
  }

  static site& managed() noexcept {
    static site value{managed_allocator, __FILE__, __LINE__};
    return value;
  }

  /// The addresses of managed memory, because the same call releases it and device memory. Never destroyed, like `cupti_graph_nodes`.
  struct managed_addresses {
    std::mutex mutex;
    std::set<CUdeviceptr> live;
    std::atomic<std::size_t> count{0};  ///< of `live`
  };
  static managed_addresses& addresses() {
    static managed_addresses* const value = new managed_addresses;
    return *value;
  }

  /// @return whether it is the address of managed memory; from now on, or until now.
  static bool mark_managed(CUdeviceptr address, bool is_allocated) noexcept {
    managed_addresses& all = addresses();
    if (!is_allocated && all.count.load() == 0) return false;  // no lock in programs without managed memory
    try {
      std::lock_guard<std::mutex> const lock{all.mutex};
      bool const was_managed = all.live.erase(address) > 0;
      if (is_allocated) all.live.insert(address);
      all.count.store(all.live.size());
      return is_allocated || was_managed;
    } catch (std::exception const&) {
      return false;
    }
  }

  static bool has_succeeded(CUpti_CallbackData const& at) noexcept {
    return at.callbackSite == CUPTI_API_EXIT && at.functionReturnValue != nullptr &&
           *static_cast<CUresult const*>(at.functionReturnValue) == CUDA_SUCCESS;
  }

  template <class Parameters, class BytesOf>
  static void got(CUpti_CallbackData const& at, BytesOf&& bytes_of, bool is_managed = false) noexcept {
    if (!has_succeeded(at)) return;
    auto const& with = *static_cast<Parameters const*>(at.functionParams);
    bool const is_marked = mark_managed(*with.dptr, is_managed) && is_managed;
    record_allocation(is_marked ? managed() : driver(), reinterpret_cast<void const*>(*with.dptr), bytes_of(with));
  }

  template <class AddressOf>
  static void given_back(CUpti_CallbackData const& at, AddressOf&& address_of) noexcept {
    if (at.callbackSite != CUPTI_API_ENTER) return;
    auto const address = static_cast<std::uint64_t>(address_of(at.functionParams));
    if (address != 0) record_release(mark_managed(address, false) ? managed() : driver(), reinterpret_cast<void const*>(address));
  }
};

/// Whether a driver call launches operations or waits for a device: `cuLaunchKernelEx_ptsz`, `cuGraphLaunch`, `cuMemcpyHtoDAsync_v2`,
/// `cuStreamSynchronize`, ...
inline bool launches_or_waits(std::string_view name) noexcept {
  for (std::string_view const start :
       {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

/// Records driver calls that launch operations or wait for a device, by CUPTI callbacks around them. Runtime calls use driver calls and
/// share their correlation number.
///
/// Driver callbacks are used because they are cheapest: on an H200 with CUPTI 13.0 they add 1 to 5 % to the cost of kernel records; API
/// records or runtime callbacks add 13 to 45 %. API records of selected calls (`cuptiActivityEnableRuntimeApi`) do not arrive for contexts
/// that already exist.
class cupti_launches {
 public:
  /// For callbacks of CUPTI_CB_DOMAIN_DRIVER_API, on the thread that makes the call.
  /// @return false if the call neither launches nor waits.
  static bool on_call(CUpti_CallbackId call, void const* data) noexcept {
    if (call >= calls) return false;
    site& where = sites()[call];
    if (where.name == nullptr) return false;
    auto const& at = *static_cast<CUpti_CallbackData const*>(data);
    if (at.callbackSite == CUPTI_API_ENTER) {
      bool const is_wanted = is_recording().load(std::memory_order_relaxed);
      auto const prepare = before_launch().load(std::memory_order_relaxed);
      if (is_wanted && prepare != nullptr) prepare();
      *at.correlationData = is_wanted ? begin_api_call(where, at.correlationId) : 0;
    } else {
      end_api_call(*at.correlationData);
    }
    return true;
  }

  /// Called on the thread of a recorded call, before it; null: nothing. It may set the default scope of the thread.
  static std::atomic<void (*)() noexcept>& before_launch() noexcept {
    static std::atomic<void (*)() noexcept> value{nullptr};
    return value;
  }

  /// Enables the callbacks.
  /// @throws profkit::error with the failed call.
  void enable(cupti_library const& cupti, CUpti_SubscriberHandle subscriber) {
    for (CUpti_CallbackId call = 1; call < calls; ++call) {
      char const* name = nullptr;
      if (cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, call, &name) != CUPTI_SUCCESS || name == nullptr) continue;
      if (!launches_or_waits(name)) continue;
      sites()[call] = {name, "", 0};
      cupti.check(cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call), name);
      if (std::string_view{name}.find("Synchronize") == std::string_view::npos) launching_.push_back(call);
    }
    is_listening_ = true;
    record(true);
  }

  /// Starts or stops recording. Calls that have already begun are recorded to their end.
  static void record(bool wanted) noexcept { is_recording().store(wanted, std::memory_order_relaxed); }

  /// Enables or disables the callbacks of launching calls, which cost some nanoseconds even if nothing is recorded. Disable them only when
  /// no recorded call can still be running, because its end would be missed. The callbacks of waiting calls stay enabled, because these
  /// calls can take any time.
  /// @throws profkit::error with the failed call.
  void listen(bool wanted, cupti_library const& cupti, CUpti_SubscriberHandle subscriber) {
    if (std::exchange(is_listening_, wanted) == wanted) return;
    for (CUpti_CallbackId const call : launching_) {
      cupti.check(cupti.enable_callback(wanted ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call), "cuptiEnableCallback");
    }
  }

  /// Whether the callbacks of launching calls are enabled.
  [[nodiscard]] bool is_listening() const noexcept { return is_listening_; }

 private:
  static constexpr CUpti_CallbackId calls = 4096;  ///< larger than the number of driver calls

  /// The sites of the calls, by callback id. Never destroyed, because logs point to them.
  static std::array<site, calls>& sites() {
    static std::array<site, calls> all{};
    return all;
  }

  static std::atomic<bool>& is_recording() {
    static std::atomic<bool> value{false};
    return value;
  }

  own_vector<CUpti_CallbackId> launching_;
  bool is_listening_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
