// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "../record/api_call.hpp"
#include "../record/site.hpp"
#include "cupti_library.hpp"

namespace profkit::detail {

/// Whether a call of the driver can make a device work, or waits until one has worked: `cuLaunchKernelEx_ptsz`, `cuGraphLaunch`,
/// `cuMemcpyHtoDAsync_v2`, `cuStreamSynchronize`, ...
inline bool launches_or_waits(std::string_view name) noexcept {
  for (std::string_view const start :
       {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

/// Records the calls of the driver that launch operations, and those that wait for a device, from CUPTI's callbacks around them. Calls of
/// the runtime come down to these and share their correlation with them. Measured on an H200 with CUPTI 13.0: a callback of the driver adds
/// 1 to 5 percent to what kernel records cost, API records or callbacks of the runtime 13 to 45; and API records of chosen calls alone
/// (`cuptiActivityEnableRuntimeApi`) stay away in a context that was made before.
class cupti_launches {
 public:
  /// For callbacks of CUPTI_CB_DOMAIN_DRIVER_API, on the thread that makes the call.
  /// @return false if it neither launches nor waits.
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

  /// @throws profkit::error
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

  /// What has begun is recorded to its end.
  static void record(bool wanted) noexcept { is_recording().store(wanted, std::memory_order_relaxed); }

  /// Switches the callbacks of calls that launch; a callback costs the call some nanoseconds even if it records nothing. To be switched
  /// off when nothing has been recorded for so long that no recorded call can still be under way: its end would be missed. So the calls
  /// that wait, as long as they like, keep theirs: there are few.
  /// @throws profkit::error
  void listen(bool wanted, cupti_library const& cupti, CUpti_SubscriberHandle subscriber) {
    if (std::exchange(is_listening_, wanted) == wanted) return;
    for (CUpti_CallbackId const call : launching_) {
      cupti.check(cupti.enable_callback(wanted ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call), "cuptiEnableCallback");
    }
  }

  /// Whether the callbacks of calls that launch are on.
  [[nodiscard]] bool is_listening() const noexcept { return is_listening_; }

 private:
  static constexpr CUpti_CallbackId calls = 4096;  ///< more than the driver has

  /// The logs point to them. By number of the call; never destroyed.
  static std::array<site, calls>& sites() {
    static std::array<site, calls> all{};
    return all;
  }

  static std::atomic<bool>& is_recording() {
    static std::atomic<bool> value{false};
    return value;
  }

  std::vector<CUpti_CallbackId> launching_;
  bool is_listening_ = false;
};

}  // namespace profkit::detail
