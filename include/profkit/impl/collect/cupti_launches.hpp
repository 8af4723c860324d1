// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/api_call.hpp"
#include "../record/site.hpp"
#include "cupti_library.hpp"

namespace profkit::detail {

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
