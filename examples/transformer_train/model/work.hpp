// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <profkit/profile/work.hpp>

#include "config.hpp"
#include "tables/flops.hpp"

namespace trainer {

/// In what matrix products compute.
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

/// Floating-point operations of a step that the model needs: the matrix products, forward and, as the mode says, backward, which takes
/// twice as many. Attention counts all T^2 pairs of a query and a key, however it is computed, so that runs compare: as A. Chowdhery et
/// al., "PaLM" (2022), appendix B, does.
[[nodiscard]] constexpr double model_flops_of_step(run_config const& config) {
  std::int64_t const forward = count_forward_flops(config.size, config.batch, config.ctx).matmuls(config.size.layers);
  return static_cast<double>(config.mode == run_mode::forward ? forward : 3 * forward);
}

/// What the operations of a forward pass of `transformer` have to do, counted from the shapes. Those of a layer are of one layer.
///
/// Each reads once what it takes and writes once what it gives. What passes between its kernels where it is written out in several, casts,
/// and copies into another layout are no work: what they cost is part of how far an operation is from its limit.
///
/// Matrix products compute in the precision of the session, and take and give numbers of it. Their backward pass has for each factor a
/// product of the same size, and for each number that the forward pass moved two: a factor of 2 in both. All else computes in fp32. Its
/// backward pass is counted where it does the same work again, or none; of the others FLOPs and bytes grow by different factors.
class forward_work {
 public:
  /// @param element_bytes of a number that matrix products take.
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

  /// The rows that the tokens name, in fp32, and the tokens.
  [[nodiscard]] constexpr profkit::work embedding() const {
    return element_wise(0, 2 * activations_ * fp32_bytes + tokens_ * token_bytes, unknown_backward);
  }

  /// RMSNorm: of an element the square, its part in the sum, the product with the inverse root of the mean, that with the scale; without
  /// the three operations for that inverse root, once a token. From fp32.
  [[nodiscard]] constexpr profkit::work norm() const {
    return element_wise(4 * activations_, activations_ * (fp32_bytes + element_bytes_) + d_model_ * fp32_bytes, unknown_backward);
  }

  [[nodiscard]] constexpr profkit::work qkv_projections() const {
    return product(flops_.qkv_projections, activations_ + 3 * d_model_ * d_model_ + 3 * activations_);
  }

  /// Of queries or of keys: a complex product, four multiplications and two additions, for each pair of numbers. Gives fp32. The backward
  /// pass turns by the same angles the other way.
  [[nodiscard]] constexpr profkit::work rope() const {
    return element_wise(3 * activations_, activations_ * (element_bytes_ + fp32_bytes) + rotation_bytes_, 1.0F);
  }

  [[nodiscard]] constexpr profkit::work scores() const { return product(flops_.scores, 2 * activations_ + pairs_); }

  /// In place; the mask has a byte for each query and key. The backward pass scales and masks the gradients.
  [[nodiscard]] constexpr profkit::work scale_and_mask() const {
    return element_wise(pairs_, 2 * pairs_ * element_bytes_ + length_ * length_, 1.0F);
  }

  /// Gives fp32.
  [[nodiscard]] constexpr profkit::work softmax() const {
    return element_wise(flops_.softmax, pairs_ * (element_bytes_ + fp32_bytes), unknown_backward);
  }

  [[nodiscard]] constexpr profkit::work weighted_values() const { return product(flops_.weighted_values, pairs_ + 2 * activations_); }

  /// The two products of a kernel that skips what the mask hides and keeps the scores to itself; in the backward pass four, and the
  /// gradients of all that it moved. (Kernels compute the scores a second time there: that is their way, and no work of the model.)
  [[nodiscard]] constexpr profkit::work fused_attention() const {
    return product(causal_attention_flops(flops_, length_), 4 * activations_);
  }

  [[nodiscard]] constexpr profkit::work output_projection() const {
    return product(flops_.output_projection, 2 * activations_ + d_model_ * d_model_);
  }

  /// A sum of an fp32 tensor and the result of a product. Its gradient is that of both.
  [[nodiscard]] constexpr profkit::work residual() const {
    return element_wise(activations_, activations_ * (2 * fp32_bytes + element_bytes_), no_backward);
  }

  /// w1 and w3.
  [[nodiscard]] constexpr profkit::work ffn_projections() const {
    return product(2 * matmul_flops(tokens_, d_model_, d_ff_), activations_ + 2 * d_model_ * d_ff_ + 2 * tokens_ * d_ff_);
  }

  /// silu(a) b: of an element the negation, the exponential, the addition of 1, the division, the product.
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
  /// As good as nothing: 0 says that it is not known.
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
  std::int64_t pairs_;        ///< of a query and a key, of all heads
  std::int64_t activations_;  ///< elements of [batch, length, d_model]
  std::int64_t element_bytes_;
  std::int64_t rotation_bytes_;  ///< a complex number for each position and pair
  forward_flops flops_;
};

/// Cross entropy: of a logit its part in the maximum, less the maximum, the exponential, its part in the sum; without the few operations
/// once a token. Takes logits and targets, gives one number.
/// @param element_bytes of a logit.
[[nodiscard]] constexpr profkit::work loss_work(std::int64_t logits, std::int64_t targets, std::int64_t element_bytes) {
  return {4.0 * static_cast<double>(logits), static_cast<double>(logits * element_bytes + targets * 8 + 4), profkit::precision::fp32};
}

/// AdamW on so many parameters, fp32: of each the weight decay 1, the first moment 3, the second 4, the denominator with root, bias
/// correction and epsilon 3, the update 3. Takes parameter, gradient and moments, gives parameter and moments.
/// Source: I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2, factors of a whole step made once.
[[nodiscard]] constexpr profkit::work adamw_work(std::int64_t parameters) {
  return {14.0 * static_cast<double>(parameters), 7.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

/// Gradients divided by the scale of the loss, in place.
[[nodiscard]] constexpr profkit::work unscale_work(std::int64_t parameters) {
  return {1.0 * static_cast<double>(parameters), 2.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

/// The norm of the gradients, two operations and a reading of each, and their scaling in place, which has to wait for it.
[[nodiscard]] constexpr profkit::work clip_work(std::int64_t parameters) {
  return {3.0 * static_cast<double>(parameters), 3.0 * 4.0 * static_cast<double>(parameters), profkit::precision::fp32};
}

}  // namespace trainer
