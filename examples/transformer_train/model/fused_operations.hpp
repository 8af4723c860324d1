// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>

/// The operations of `run_config::fused`, each with its own backward formula. On a GPU they are the kernels of `fused_kernels.hpp` if the
/// trainer was built with nvcc. Otherwise ATen operations compute the same formulas. Sums and the results between two products are in fp32.
/// There is no second derivative.
namespace trainer::fused {

/// Returns "CUDA kernels" or "ATen operations".
[[nodiscard]] std::string_view implementation(c10::Device device);

struct normed_sum {
  at::Tensor sum;     ///< fp32
  at::Tensor normed;  ///< in the requested type
};

/// x + delta, and its RMSNorm.
/// @param x [rows, columns] fp32; @param delta [rows, columns] of `type`; undefined: nothing is added. @param scale [columns] fp32.
/// @throws c10::Error if the kernels do not support so many columns.
[[nodiscard]] normed_sum add_and_norm(at::Tensor const& x, at::Tensor const& delta, at::Tensor const& scale, double epsilon,
                                      at::ScalarType type);

/// Weights with the same input, as one product. A missing weight is undefined.
struct joined_weights {
  at::Tensor all;                     ///< [out, in] fp32: the storage of all parts, as rows; needs no gradient
  std::array<at::Tensor, 3> parts{};  ///< parameters, in the order of the rows
};

/// x all^T, in the type of x. Gradients of the parts are fp32 views of one tensor.
[[nodiscard]] at::Tensor linear(at::Tensor const& x, joined_weights const& weights);

/// Splits a product [batch T, 3 d_model] into q, k and v as [batch, heads, T, d_head], and rotates q and k.
/// @param turn [ctx, 1, d_head / 2] complex, ctx at least T.
[[nodiscard]] std::array<at::Tensor, 3> rope_and_split(at::Tensor const& joined, at::Tensor const& turn, std::int64_t batch,
                                                       std::int64_t heads);

/// silu(first half) * second half. @param joined [rows, 2 columns]; @return [rows, columns].
[[nodiscard]] at::Tensor swiglu(at::Tensor const& joined);

/// Mean cross entropy in nats, fp32. @param logits [rows, vocabulary]; @param targets [rows] int64.
[[nodiscard]] at::Tensor cross_entropy(at::Tensor const& logits, at::Tensor const& targets);

}  // namespace trainer::fused
