// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <profkit/impl/collect/cupti_library.hpp>
#include <vector>

namespace bench {

/// The cost of CUPTI alone, used as in its samples: provides a new buffer on request, and reads and frees full buffers. Active from
/// construction to destruction.
class bare_cupti {
 public:
  /// @throws profkit::error
  explicit bare_cupti(std::vector<CUpti_ActivityKind> const& kinds) : kinds_{kinds} {
    next_record = cupti_.get_next_record;
    auto const ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {};
    cupti_.check(cupti_.subscribe(&subscriber_, ignore, nullptr), "cuptiSubscribe");
    cupti_.check(cupti_.register_callbacks(request, complete), "cuptiActivityRegisterCallbacks");
    for (CUpti_ActivityKind const kind : kinds_) cupti_.check(cupti_.enable(kind), "cuptiActivityEnable");
  }

  /// Stops recording. CUPTI still does some work at each call until `cuptiFinalize`.
  void switch_off() {
    for (CUpti_ActivityKind const kind : kinds_) cupti_.disable(kind);
  }

  ~bare_cupti() {
    switch_off();
    cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cupti_.unsubscribe(subscriber_);
  }

  bare_cupti(bare_cupti const&) = delete;
  bare_cupti& operator=(bare_cupti const&) = delete;

  [[nodiscard]] static std::uint64_t records() noexcept { return read; }

 private:
  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    *size = std::size_t{4} << 20U;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
    *max_records = 0;
  }

  static void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used) {
    CUpti_Activity* record = nullptr;
    while (next_record(buffer, used, &record) == CUPTI_SUCCESS) ++read;
    std::free(buffer);
  }

  static inline decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  static inline std::uint64_t read = 0;

  std::vector<CUpti_ActivityKind> kinds_;
  profkit::detail::cupti_library cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace bench
