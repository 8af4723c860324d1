// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <profkit/work.hpp>

#include "config.hpp"
#include "tables/flops.hpp"

namespace trainer {

/// The arithmetic of matrix products.
[[nodiscard]] constexpr profkit::precision arithmetic_of(precision_kind precision) {
  switch (precision) {
    case precision_kind::fp32:
      return profkit::precision::fp32;
    case precision_kind::tf32:
      return profkit::precision::tf32;
    case precision_kind::bf16:
      return profkit::precision::bf16;
    case precision_kind::fp16:
    case precision_kind::fp16_scaled:
      return profkit::precision::fp16;
  }
  return profkit::precision::unknown;
}

/// The floating-point operations that the model needs for a step: the matrix products of the forward pass and, depending on the mode, of
/// the backward pass, which has twice as many. Attention counts all T^2 pairs of query and key, however it is computed, so that runs are
/// comparable. Source: A. Chowdhery et al., "PaLM" (2022), appendix B.
[[nodiscard]] constexpr double model_flops_of_step(run_config const& config) {
  std::int64_t const forward = count_forward_flops(config.size, config.batch, config.ctx).matmuls(config.size.layers);
  return static_cast<double>(config.mode == run_mode::forward ? forward : 3 * forward);
}

/// The work of the operations in a forward pass of `transformer`, counted from the shapes. Operations of a layer have the work of one
/// layer.
///
/// Each operation reads its inputs once and writes its result once. Intermediate results between its kernels, casts and layout copies do
/// not count as work: they are overhead of the implementation.
///
/// Matrix products compute in the precision of the session, and their inputs and results have its type. For each factor, their backward
/// pass has a product of the same size, so FLOPs and bytes double. Everything else computes in fp32. Its backward pass is counted if it
/// does the same work again, or none; otherwise it is unknown, because FLOPs and bytes would need different factors.
class forward_work {
 public:
  /// @param element_bytes size of an element of matrix products.
  constexpr forward_work(model_size const& size, std::int64_t batch, std::int64_t length, std::int64_t element_bytes)
      : d_model_{size.d_model},
        d_ff_{size.d_ff},
        length_{length},
        tokens_{batch * length},
        pairs_{batch * size.heads * length * length},
        activations_{tokens_ * size.d_model},
        element_bytes_{element_bytes},
        rotation_bytes_{length * (size.d_model / size.heads / 2) * 2 * fp32_bytes},
        flops_{count_forward_flops(size, batch, length)} {}

  /// Reads the tokens and their rows, in fp32, and writes the rows.
  [[nodiscard]] constexpr profkit::work embedding() const {
    return element_wise(0, 2 * activations_ * fp32_bytes + tokens_ * token_bytes, unknown_backward);
  }

  /// RMSNorm, in fp32. Per element: square, sum, product with the inverse root mean square, product with the scale. The three operations
  /// per token for the inverse root are not counted.
  [[nodiscard]] constexpr profkit::work norm() const {
    return element_wise(4 * activations_, activations_ * (fp32_bytes + element_bytes_) + d_model_ * fp32_bytes, unknown_backward);
  }

  [[nodiscard]] constexpr profkit::work qkv_projections() const {
    return product(flops_.qkv_projections, activations_ + 3 * d_model_ * d_model_ + 3 * activations_);
  }

  /// RoPE of queries or of keys: a complex product, with four multiplications and two additions, per pair of numbers. Returns fp32. The
  /// backward pass rotates by the opposite angles.
  [[nodiscard]] constexpr profkit::work rope() const {
    return element_wise(3 * activations_, activations_ * (element_bytes_ + fp32_bytes) + rotation_bytes_, 1.0F);
  }

  [[nodiscard]] constexpr profkit::work scores() const { return product(flops_.scores, 2 * activations_ + pairs_); }

  /// In place; the mask has a byte per query and key. The backward pass scales and masks the gradients.
  [[nodiscard]] constexpr profkit::work scale_and_mask() const {
    return element_wise(pairs_, 2 * pairs_ * element_bytes_ + length_ * length_, 1.0F);
  }

  /// Returns fp32.
  [[nodiscard]] constexpr profkit::work softmax() const {
    return element_wise(flops_.softmax, pairs_ * (element_bytes_ + fp32_bytes), unknown_backward);
  }

  [[nodiscard]] constexpr profkit::work weighted_values() const { return product(flops_.weighted_values, pairs_ + 2 * activations_); }

  /// The two products of a kernel that skips masked pairs and keeps the scores internal. The backward pass has four, and gradients of all
  /// inputs and the result. Kernels also recompute the scores there, which is no work of the model.
  [[nodiscard]] constexpr profkit::work fused_attention() const {
    return product(causal_attention_flops(flops_, length_), 4 * activations_);
  }

  [[nodiscard]] constexpr profkit::work output_projection() const {
    return product(flops_.output_projection, 2 * activations_ + d_model_ * d_model_);
  }

  /// The sum of an fp32 tensor and the result of a product. Both have the gradient of the sum, without computation.
  [[nodiscard]] constexpr profkit::work residual() const {
    return element_wise(activations_, activations_ * (2 * fp32_bytes + element_bytes_), no_backward);
  }

  /// w1 and w3.
  [[nodiscard]] constexpr profkit::work ffn_projections() const {
    return product(2 * matmul_flops(tokens_, d_model_, d_ff_), activations_ + 2 * d_model_ * d_ff_ + 2 * tokens_ * d_ff_);
  }

  /// silu(a) b. Per element: negation, exponential, addition of 1, division, product.
  [[nodiscard]] constexpr profkit::work swiglu() const {
    return element_wise(5 * tokens_ * d_ff_, 3 * tokens_ * d_ff_ * element_bytes_, unknown_backward);
  }

  [[nodiscard]] constexpr profkit::work ffn_output_projection() const {
    return product(matmul_flops(tokens_, d_ff_, d_model_), tokens_ * d_ff_ + d_ff_ * d_model_ + activations_);
  }

  [[nodiscard]] constexpr profkit::work lm_head() const {
    return product(flops_.lm_head, activations_ + d_model_ * vocabulary + tokens_ * vocabulary);
  }

 private:
  static constexpr std::int64_t fp32_bytes = 4;
  static constexpr std::int64_t token_bytes = 8;

  static constexpr float unknown_backward = 0.0F;
  /// Practically zero, because 0 means unknown.
  static constexpr float no_backward = std::numeric_limits<float>::min();

  [[nodiscard]] constexpr profkit::work product(std::int64_t flops, std::int64_t elements) const {
    return {static_cast<double>(flops), static_cast<double>(elements * element_bytes_), profkit::precision::unknown, 2.0F};
  }

  [[nodiscard]] static constexpr profkit::work element_wise(std::int64_t flops, std::int64_t bytes, float backward) {
    return {static_cast<double>(flops), static_cast<double>(bytes), profkit::precision::fp32, backward};
  }

  std::int64_t d_model_;
  std::int64_t d_ff_;
  std::int64_t length_;
  std::int64_t tokens_;
  std::int64_t pairs_;        ///< pairs of a query and a key, over all heads
  std::int64_t activations_;  ///< elements of [batch, length, d_model]
  std::int64_t element_bytes_;
  std::int64_t rotation_bytes_;  ///< a complex number per position and pair
  forward_flops flops_;
};

/// Cross entropy. Per logit: maximum, subtraction of the maximum, exponential, sum; the few operations per token are not counted. Reads
/// logits and targets, writes one number.
/// @param element_bytes size of a logit.
[[nodiscard]] constexpr profkit::work loss_work(std::int64_t logits, std::int64_t targets, std::int64_t element_bytes) {
  return {4.0 * static_cast<double>(logits), static_cast<double>(logits * element_bytes + targets * 8 + 4), profkit::precision::fp32};
}

/// AdamW in fp32. Per parameter: 1 operation for weight decay, 3 for the first moment, 4 for the second, 3 for the denominator with root,
/// bias correction and epsilon, 3 for the update. Reads parameter, gradient and moments; writes parameter and moments.
/// Source: I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2; factors that are the same for all
/// parameters are not counted.
[[nodiscard]] constexpr profkit::work adamw_work(std::int64_t parameters) {
  return {14.0 * static_cast<double>(parameters), 7.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

/// Divides the gradients by the loss scale, in place.
[[nodiscard]] constexpr profkit::work unscale_work(std::int64_t parameters) {
  return {1.0 * static_cast<double>(parameters), 2.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

/// The norm of the gradients (two operations and a read per element), then their scaling in place, which needs the norm.
[[nodiscard]] constexpr profkit::work clip_work(std::int64_t parameters) {
  return {3.0 * static_cast<double>(parameters), 3.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

}  // namespace trainer
