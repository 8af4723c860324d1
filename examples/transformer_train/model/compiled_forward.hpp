// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "config.hpp"
#include "model/model.hpp"

namespace torch::inductor {
class AOTIModelPackageLoader;
}  // namespace torch::inductor

namespace trainer {

/// The forward pass and the loss, compiled with AOTInductor: the package of `run_config::package_file`, which `reference/export_forward.py`
/// makes.
class compiled_forward {
 public:
  /// Loads the package. It cannot run before `use`.
  /// @throws input_error if the file cannot be read, is no such package, was made for another configuration, or if LibTorch has no loader.
  compiled_forward(run_config const& config, c10::Device device);
  ~compiled_forward();

  /// Makes the package compute with the parameters of this model, its mask and its rotation table. Copies no parameter; keeps the tensors.
  /// @throws input_error if the package needs a tensor that the model does not have.
  void use(transformer const& model);

  /// Mean cross entropy in nats. Opens the scope `compiled forward`. Does not wait for the device.
  /// @param tokens, targets [batch, ctx] int64, on the device. @throws std::runtime_error if the package fails.
  [[nodiscard]] at::Tensor loss(at::Tensor const& tokens, at::Tensor const& targets) const;

 private:
  std::string file_;
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};

}  // namespace trainer
