// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/optim/adamw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config.hpp"

namespace trainer {

/// AdamW with PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8, weight decay 0.01.
class optimizer {
 public:
  optimizer() = default;
  virtual ~optimizer() = default;
  optimizer(optimizer const&) = delete;
  optimizer& operator=(optimizer const&) = delete;

  /// Updates the parameters from their gradients.
  /// @param skip a scalar on the device: if 1, the step changes neither parameters, moments nor the step count.
  virtual void step(std::optional<at::Tensor> const& skip) = 0;
};

/// LibTorch's own: a dozen small kernels per parameter. The device cannot skip them, so a step with `skip` waits for the device; without,
/// it does not.
class libtorch_adamw final : public optimizer {
 public:
  libtorch_adamw(std::vector<at::Tensor> parameters, double learning_rate)
      : adamw_{std::move(parameters), torch::optim::AdamWOptions{learning_rate}} {}

  void step(std::optional<at::Tensor> const& skip) override {
    if (!skip || skip->item<float>() == 0.0F) adamw_.step();
  }

 private:
  torch::optim::AdamW adamw_;
};

/// Updates all parameters at once, in a few kernels. LibTorch has these kernels but no optimizer class for them. They read `skip`
/// themselves, so a step does not wait for the device.
class fused_adamw final : public optimizer {
 public:
  fused_adamw(std::vector<at::Tensor> parameters, double learning_rate)
      : parameters_{std::move(parameters)},
        steps_{at::zeros({static_cast<std::int64_t>(parameters_.size())}, parameters_.at(0).options().requires_grad(false))},
        step_of_each_{steps_.unbind()},
        learning_rate_{learning_rate} {
    for (at::Tensor const& parameter : parameters_) {
      means_.push_back(at::zeros_like(parameter));
      squares_.push_back(at::zeros_like(parameter));
    }
  }

  void step(std::optional<at::Tensor> const& skip) override {
    c10::NoGradGuard const no_grad;
    gradients_.clear();
    for (at::Tensor const& parameter : parameters_) gradients_.push_back(parameter.grad());
    // The kernels need one counter per parameter. These are views of one tensor, so one kernel increments them all.
    steps_.add_(1);
    torch::optim::AdamWOptions const defaults;
    auto const [beta1, beta2] = defaults.betas();
    at::_fused_adamw_(parameters_, gradients_, means_, squares_, /*max_exp_avg_sqs=*/{}, step_of_each_, learning_rate_, beta1, beta2,
                      defaults.weight_decay(), defaults.eps(), /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, skip);
    if (skip) steps_.sub_(*skip);
    gradients_.clear();
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> gradients_;
  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
  at::Tensor steps_;
  std::vector<at::Tensor> step_of_each_;
  double learning_rate_;
};

[[nodiscard]] inline std::unique_ptr<optimizer> make_optimizer(optimizer_kind kind, std::vector<at::Tensor> parameters,
                                                               double learning_rate) {
  if (kind == optimizer_kind::fused_adamw) return std::make_unique<fused_adamw>(std::move(parameters), learning_rate);
  return std::make_unique<libtorch_adamw>(std::move(parameters), learning_rate);
}

}  // namespace trainer
