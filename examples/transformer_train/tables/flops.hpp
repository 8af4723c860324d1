// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config.hpp"

namespace trainer {

/// FLOPs of [m, k] x [k, n]: each of the m n results is a sum of k products, with k multiplications and k additions. (The first product
/// needs no addition; by convention it counts.)
[[nodiscard]] constexpr std::int64_t matmul_flops(std::int64_t m, std::int64_t k, std::int64_t n) { return 2 * m * k * n; }

/// FLOPs per element: maximum of its row, subtraction of the maximum, exponential, sum, division. An exponential counts as one.
inline constexpr std::int64_t softmax_flops_per_element = 5;

/// Floating-point operations of one forward pass by part, counted from the shapes: B = batch, T = context, d = d_model, h = heads. Parts of
/// a layer count one layer. A backward pass has twice the matrix products of the forward pass: one for the gradient of each factor.
struct forward_flops {
  std::int64_t qkv_projections = 0;    ///< per layer: three products [B T, d] x [d, d]
  std::int64_t scores = 0;             ///< per layer: Q K^T, B h products [T, d/h] x [d/h, T], together 2 B T^2 d; without scale and mask
  std::int64_t softmax = 0;            ///< per layer: 5 for each of the B h T^2 scores
  std::int64_t weighted_values = 0;    ///< per layer: B h products [T, T] x [T, d/h], together 2 B T^2 d
  std::int64_t output_projection = 0;  ///< per layer: [B T, d] x [d, d]
  std::int64_t feed_forward = 0;       ///< per layer: w1 and w3, [B T, d] x [d, d_ff] each, and w2, [B T, d_ff] x [d_ff, d]; without SwiGLU
  std::int64_t lm_head = 0;            ///< [B T, d] x [d, vocabulary]

  /// The two products of attention, for all T^2 pairs of a query and a key. Naive attention computes masked pairs too.
  [[nodiscard]] constexpr std::int64_t attention_products() const { return scores + weighted_values; }

  /// All matrix products of the forward pass.
  [[nodiscard]] constexpr std::int64_t matmuls(std::int64_t layers) const {
    return layers * (qkv_projections + attention_products() + output_projection + feed_forward) + lm_head;
  }
};

/// FLOPs of `transformer` in model.cpp. RoPE, norms, SwiGLU, residuals and the loss are not counted.
[[nodiscard]] constexpr forward_flops count_forward_flops(model_size const& size, std::int64_t batch, std::int64_t ctx) {
  std::int64_t const tokens = batch * ctx;
  std::int64_t const d_head = size.d_model / size.heads;
  forward_flops result;
  result.qkv_projections = 3 * matmul_flops(tokens, size.d_model, size.d_model);
  result.scores = batch * size.heads * matmul_flops(ctx, d_head, ctx);
  result.softmax = softmax_flops_per_element * batch * size.heads * ctx * ctx;
  result.weighted_values = batch * size.heads * matmul_flops(ctx, ctx, d_head);
  result.output_projection = matmul_flops(tokens, size.d_model, size.d_model);
  result.feed_forward = 2 * matmul_flops(tokens, size.d_model, size.d_ff) + matmul_flops(tokens, size.d_ff, size.d_model);
  result.lm_head = matmul_flops(tokens, size.d_model, vocabulary);
  return result;
}

/// FLOPs of both attention products in a kernel that skips masked pairs: query i has i + 1 keys, so T (T + 1) / 2 of T^2 pairs. Source: T.
/// Dao, "FlashAttention-2" (2023), section 4.1, which halves the count for a causal mask.
[[nodiscard]] constexpr std::int64_t causal_attention_flops(forward_flops const& flops, std::int64_t ctx) {
  return flops.attention_products() / (2 * ctx) * (ctx + 1);
}

}  // namespace trainer
