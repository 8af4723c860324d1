// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "model/fused_operations.hpp"
#include "model/parameter_set.hpp"
#include "model/work.hpp"

namespace trainer {

/// Decoder-only Transformer: token embedding -> L x [x + MHA(RMSNorm(x)); x + SwiGLU(RMSNorm(x))] -> RMSNorm -> LM head. Pre-norm, untied
/// embeddings, no biases, no dropout. Uses ATen tensors, because `torch::nn::Module` would only add compile time here.
class transformer {
 public:
  /// @param ctx the maximum sequence length; the causal mask and the rotation table are created for it once.
  /// @param compute_type the type of matrix products: float, or the autocast type.
  /// @param fused uses the operations of `fused_operations.hpp`; attention is then `scaled_dot_product_attention`.
  transformer(model_size const& size, std::int64_t ctx, attention_kind attention, at::ScalarType compute_type, c10::Device device,
              bool fused = false);

  /// @param tokens [batch, T] int64, T <= ctx.
  /// @return logits [batch, T, vocabulary].
  [[nodiscard]] at::Tensor forward(at::Tensor const& tokens) const;

  [[nodiscard]] std::vector<named_parameter> const& parameters() const noexcept { return parameters_.all(); }

  /// [ctx, 1, d_head / 2] complex: e^(i angle) of each position and pair.
  [[nodiscard]] at::Tensor const& rotation() const noexcept { return rotation_; }
  /// [ctx, ctx] bool, true where a key is later than its query.
  [[nodiscard]] at::Tensor const& mask() const noexcept { return mask_; }

  /// The kernel that fused attention uses for [batch, length] tokens in the current gradient mode: "flash", "efficient", "cudnn" or "math".
  /// Empty if no permitted kernel supports it.
  [[nodiscard]] std::optional<std::string_view> attention_backend(std::int64_t batch, std::int64_t length) const;

 private:
  struct attention_block {
    at::Tensor norm;
    at::Tensor query;
    at::Tensor key;
    at::Tensor value;
    at::Tensor output;
    at::Tensor query_key_value;  ///< for the fused operations: the storage of all three
  };
  struct feed_forward_block {
    at::Tensor norm;
    at::Tensor w1;
    at::Tensor w2;
    at::Tensor w3;
    at::Tensor w1_w3;  ///< for the fused operations: the storage of both
  };
  struct layer {
    attention_block attention;
    feed_forward_block feed_forward;
  };

  [[nodiscard]] at::Tensor attention_sublayer(attention_block const& block, at::Tensor const& x) const;
  [[nodiscard]] at::Tensor feed_forward_sublayer(feed_forward_block const& block, at::Tensor const& x) const;
  [[nodiscard]] at::Tensor naive_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) const;
  [[nodiscard]] at::Tensor fused_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) const;
  [[nodiscard]] at::Tensor forward_fused(at::Tensor const& tokens) const;
  /// @param x [rows, d_model] fp32; `delta` is added to it. @param delta the result of the previous sublayer; undefined: none.
  /// @return the result of this sublayer, to be added to x.
  [[nodiscard]] at::Tensor fused_attention_sublayer(attention_block const& block, at::Tensor& x, at::Tensor const& delta,
                                                    std::int64_t batch) const;
  [[nodiscard]] at::Tensor fused_feed_forward_sublayer(feed_forward_block const& block, at::Tensor& x, at::Tensor const& delta,
                                                       std::int64_t batch) const;
  [[nodiscard]] at::Tensor fused_norm(at::Tensor& x, at::Tensor const& delta, at::Tensor const& scale, forward_work const& work) const;
  [[nodiscard]] forward_work work_of(at::Tensor const& x) const;
  [[nodiscard]] at::Tensor heads_first(at::Tensor const& x) const;
  [[nodiscard]] at::Tensor normalise(at::Tensor const& x, at::Tensor const& scale) const;
  [[nodiscard]] at::Tensor rotate(at::Tensor const& x) const;

  model_size size_;
  attention_kind attention_;
  at::ScalarType compute_type_;
  bool fused_;
  parameter_set parameters_;
  at::Tensor rotation_;
  at::Tensor mask_;
  at::Tensor token_embedding_;
  std::vector<layer> layers_;
  at::Tensor final_norm_;
  at::Tensor lm_head_;
};

/// Mean cross entropy in nats. Opens the scope `loss`.
/// @param logits [batch, T, vocabulary]; @param targets [batch, T] int64. @param fused uses the operations of `fused_operations.hpp`.
[[nodiscard]] at::Tensor cross_entropy(at::Tensor const& logits, at::Tensor const& targets, bool fused = false);

}  // namespace trainer
