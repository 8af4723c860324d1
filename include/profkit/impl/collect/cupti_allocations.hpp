// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../record/memory_events.hpp"
#include "../record/site.hpp"
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

}  // namespace profkit::detail
