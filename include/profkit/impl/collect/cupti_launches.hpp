// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/memory_poll.hpp"
#include "../record/slow_path.hpp"
#include "cupti_library.hpp"

namespace profkit::detail {

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
        return got<cuMemAllocManaged_params>(at, [](auto const& with) { return with.bytesize; });
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

  static bool has_succeeded(CUpti_CallbackData const& at) noexcept {
    return at.callbackSite == CUPTI_API_EXIT && at.functionReturnValue != nullptr &&
           *static_cast<CUresult const*>(at.functionReturnValue) == CUDA_SUCCESS;
  }

  template <class Parameters, class BytesOf>
  static void got(CUpti_CallbackData const& at, BytesOf&& bytes_of) noexcept {
    if (!has_succeeded(at)) return;
    auto const& with = *static_cast<Parameters const*>(at.functionParams);
    record_allocation(driver(), reinterpret_cast<void const*>(*with.dptr), bytes_of(with));
  }

  template <class AddressOf>
  static void given_back(CUpti_CallbackData const& at, AddressOf&& address_of) noexcept {
    if (at.callbackSite != CUPTI_API_ENTER) return;
    auto const address = static_cast<std::uint64_t>(address_of(at.functionParams));
    if (address != 0) record_release(driver(), reinterpret_cast<void const*>(address));
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
      *at.correlationData = is_wanted ? begin_api_call(where, at.correlationId) : 0;
    } else {
      end_api_call(*at.correlationData);
    }
    return true;
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

}  // namespace profkit::detail
