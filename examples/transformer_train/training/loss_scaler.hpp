// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cstdint>
#include <vector>

namespace trainer {

/// Dynamic loss scaling: multiplies the loss by a scale, so that fp16 does not round small gradients to zero. A step with overflowing
/// gradients must be skipped, and the scale decreases; after many steps without overflow it increases. Source: PyTorch 2.11,
/// torch/amp/grad_scaler.py. The state stays on the device. Only `skipped_steps` waits for the device.
class loss_scaler {
 public:
  /// PyTorch's defaults. All factors are powers of two, so that scaling and unscaling do not round.
  struct settings {
    double scale = 65'536.0;
    double growth = 2.0;
    double backoff = 0.5;
    std::int64_t growth_interval = 2000;  ///< steps without overflow before the scale increases
  };

  explicit loss_scaler(c10::Device device) : loss_scaler(device, settings{}) {}
  loss_scaler(c10::Device device, settings const& chosen)
      : settings_{chosen},
        scale_{at::full({}, chosen.scale, at::TensorOptions{device}.dtype(at::kFloat))},
        steps_without_overflow_{at::zeros({}, at::TensorOptions{device}.dtype(at::kInt))},
        overflow_{at::zeros({}, scale_.options())},
        skipped_{at::zeros({}, scale_.options().dtype(at::kDouble))} {}

  [[nodiscard]] at::Tensor scaled(at::Tensor const& loss) const { return loss * scale_; }

  /// Divides the gradients by the scale, and notes whether any of them is infinite or NaN.
  void unscale(std::vector<at::Tensor> const& gradients) {
    c10::NoGradGuard const no_grad;
    overflow_.zero_();
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_, scale_.reciprocal());
  }

  /// A scalar on the device: 1 if the last unscaled gradients overflowed, else 0.
  [[nodiscard]] at::Tensor const& overflow() const noexcept { return overflow_; }

  /// Counts the step, and sets the scale of the next one.
  void update() {
    c10::NoGradGuard const no_grad;
    skipped_.add_(overflow_);
    at::_amp_update_scale_(scale_, steps_without_overflow_, overflow_, settings_.growth, settings_.backoff, settings_.growth_interval);
  }

  /// The scale: a scalar on the device.
  [[nodiscard]] at::Tensor const& scale() const noexcept { return scale_; }

  /// The number of steps that overflowed. Waits for the device.
  [[nodiscard]] std::uint64_t skipped_steps() const { return static_cast<std::uint64_t>(skipped_.item<double>()); }

 private:
  settings settings_;
  at::Tensor scale_;
  at::Tensor steps_without_overflow_;
  at::Tensor overflow_;
  at::Tensor skipped_;
};

}  // namespace trainer
