// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace trainer {

/// [length, length] bool, true where a key is later than its query.
[[nodiscard]] inline at::Tensor causal_mask(std::int64_t length, c10::Device device) {
  return at::ones({length, length}, at::TensorOptions{device}.dtype(at::kBool)).triu(1);
}

/// q k^T / sqrt(d), minus infinity where the mask is true.
/// @param q, k [..., T, d]; @return [..., T, T].
[[nodiscard]] inline at::Tensor masked_scores(at::Tensor const& q, at::Tensor const& k, at::Tensor const& mask) {
  double const scale = 1.0 / std::sqrt(static_cast<double>(q.size(-1)));
  at::Tensor scores = q.matmul(k.transpose(-2, -1));
  // In place: no backward formula needs the product itself, and the scores are the largest tensor.
  scores.mul_(scale).masked_fill_(mask, -std::numeric_limits<double>::infinity());
  return scores;
}

/// Softmax over the last dimension, as separate operations.
[[nodiscard]] inline at::Tensor naive_softmax(at::Tensor const& scores) {
  // Shifting a row does not change its softmax, so no gradient needs to flow through the maximum.
  at::Tensor const maximum = scores.detach().amax(-1, /*keepdim=*/true);
  at::Tensor const exponentials = (scores - maximum).exp();
  return exponentials / exponentials.sum(-1, /*keepdim=*/true);
}

/// Causal attention as separate operations. @param q, k, v [..., T, d]; @param mask from `causal_mask`; @return [..., T, d].
[[nodiscard]] inline at::Tensor naive_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v, at::Tensor const& mask) {
  return naive_softmax(masked_scores(q, k, mask)).matmul(v);
}

/// Causal attention with LibTorch's fused kernels, if one supports the tensors. @param q, k, v [batch, heads, T, d]; @return the same
/// shape.
[[nodiscard]] inline at::Tensor fused_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) {
  return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
}

}  // namespace trainer
