// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <vector>

namespace trainer {

/// Scales the gradients so that their common 2-norm is at most `max_norm`; smaller gradients do not change. Does not wait for the device;
/// LibTorch's own function does, to return the norm. Source: PyTorch 2.11, torch/nn/utils/clip_grad.py.
inline void clip_gradients(std::vector<at::Tensor> const& gradients, double max_norm) {
  c10::NoGradGuard const no_grad;
  at::Tensor const norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  // Small gradients are multiplied by 1: only the device knows the norm, so the host cannot skip the multiplication.
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1.0));
}

}  // namespace trainer
