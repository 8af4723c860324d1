// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include "config.hpp"

namespace trainer {

/// The type of the inputs of matrix products.
[[nodiscard]] inline at::ScalarType compute_type(precision_kind precision) {
  if (precision == precision_kind::bf16) return at::kBFloat16;
  if (precision == precision_kind::fp16 || precision == precision_kind::fp16_scaled) return at::kHalf;
  return at::kFloat;
}

/// Sets whether fp32 matrix products may round their inputs to TF32. Applies to the whole process.
inline void set_tf32(precision_kind precision) {
  at::globalContext().setFloat32MatmulPrecision(precision == precision_kind::tf32 ? "high" : "highest");
}

/// Autocast like `torch.autocast`, for the lifetime of the guard; off for fp32 and tf32. Guards nest. LibTorch has no such guard.
class autocast_guard {
 public:
  autocast_guard(c10::DeviceType device, precision_kind precision)
      : device_{device}, was_enabled_{at::autocast::is_autocast_enabled(device)}, previous_type_{at::autocast::get_autocast_dtype(device)} {
    at::ScalarType const type = compute_type(precision);
    // The cache is indexed by tensor only, so inside another guard it may contain another type.
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device, type != at::kFloat);
    if (type != at::kFloat) at::autocast::set_autocast_dtype(device, type);
  }

  ~autocast_guard() {
    // Cast weights stay in the cache until here, so that each is cast once.
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, previous_type_);
  }

  autocast_guard(autocast_guard const&) = delete;
  autocast_guard& operator=(autocast_guard const&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  at::ScalarType previous_type_;
};

}  // namespace trainer
