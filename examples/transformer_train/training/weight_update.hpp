// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <profkit/scope.hpp>
#include <utility>
#include <vector>

#include "libtorch_bridge.hpp"
#include "model/work.hpp"
#include "training/gradient_clip.hpp"
#include "training/loss_scaler.hpp"
#include "training/optimizer.hpp"

namespace trainer {

/// Everything after the forward pass of a step: computing, treating and applying the gradients.
class weight_update {
 public:
  /// @param update null: gradients are computed and treated, then dropped.
  /// @param scaler empty: the loss is not scaled.
  /// @param max_gradient_norm 0: gradients are not clipped.
  weight_update(std::vector<at::Tensor> parameters, std::unique_ptr<optimizer> update, std::optional<loss_scaler> scaler,
                double max_gradient_norm)
      : parameters_{std::move(parameters)},
        optimizer_{std::move(update)},
        scaler_{std::move(scaler)},
        max_gradient_norm_{max_gradient_norm} {
    for (at::Tensor const& parameter : parameters_) numbers_ += parameter.numel();
  }

  /// Computes the gradients of the loss, or of the scaled loss.
  void backward(at::Tensor const& loss) const {
    at::Tensor const root = scaler_ ? scaled(loss) : loss;
    profkit_torch::libtorch_bridge::backward_call const call{root};
    root.backward();
  }

  /// Unscales, clips and frees the gradients, and updates the parameters. Waits for the device only if the loss is scaled and the optimizer
  /// requires it (see `optimizer::step`).
  void apply() {
    std::vector<at::Tensor> gradients;
    for (at::Tensor const& parameter : parameters_) gradients.push_back(parameter.grad());
    if (scaler_) {
      PROF_SCOPE("unscale gradients", unscale_work(numbers_));
      scaler_->unscale(gradients);
    }
    if (max_gradient_norm_ > 0.0) {
      PROF_SCOPE("clip gradients", clip_work(numbers_));
      clip_gradients(gradients, max_gradient_norm_);
    }
    if (optimizer_) {
      profkit::add_work(adamw_work(numbers_));  // also if the step is skipped, because only the device knows
      optimizer_->step(scaler_ ? std::optional{scaler_->overflow()} : std::nullopt);
    }
    if (scaler_) {
      PROF_SCOPE("update loss scale");
      scaler_->update();
    }
    // so that the next backward pass does not add to these gradients
    for (at::Tensor const& parameter : parameters_) parameter.mutable_grad().reset();
  }

  /// Empty if the loss is not scaled.
  [[nodiscard]] std::optional<loss_scaler> const& scaler() const noexcept { return scaler_; }

 private:
  [[nodiscard]] at::Tensor scaled(at::Tensor const& loss) const {
    PROF_SCOPE("scale loss");
    return scaler_->scaled(loss);
  }

  std::vector<at::Tensor> parameters_;
  std::int64_t numbers_ = 0;  ///< in all parameters
  std::unique_ptr<optimizer> optimizer_;
  std::optional<loss_scaler> scaler_;
  double max_gradient_norm_;
};

}  // namespace trainer
