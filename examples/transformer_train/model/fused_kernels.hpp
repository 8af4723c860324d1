// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The CUDA kernels of `fused_operations.hpp`. They take raw pointers, so nvcc needs no header of LibTorch.
///
/// All tensors are contiguous. `void` pointers refer to values of the given type. Rows can have any length; rows with a multiple of 8
/// values use vector loads. Sums are in fp32 and always in the same order, so results are reproducible. The functions do not synchronise
/// the device and return no status: check `cudaGetLastError` after a launch.
namespace trainer::fused_kernels {

enum class number { fp32, bf16, fp16 };

/// Maximum number of values per row for `norm_backward`: its sums must fit into the 48 KiB of shared memory of a block.
inline constexpr std::int64_t max_norm_columns = 12'000;

/// Number of partial sums that `norm_backward` computes for the gradient of the scale.
[[nodiscard]] constexpr std::int64_t norm_parts(std::int64_t rows) { return rows < 264 ? rows : 264; }

/// sum = x + delta; normed = sum * rstd * scale, with rstd = 1 / sqrt(mean(sum^2) + epsilon).
/// @param delta may be null: then sum = x, and `sum` is not written.
void norm_forward(number type, float const* x, void const* delta, float const* scale, float* sum, void* normed, float* rstd,
                  std::int64_t rows, std::int64_t columns, float epsilon, cudaStream_t stream);

/// Gradients of `norm_forward` with respect to x, delta and scale.
/// @param grad_sum null means 0.
/// @param grad_normed null means 0.
/// @param grad_delta may be null; otherwise receives a copy of `grad_x` in the given type.
/// @param parts workspace of [norm_parts(rows), columns] for the partial sums.
void norm_backward(number type, float const* grad_sum, void const* grad_normed, float const* sum, float const* rstd, float const* scale,
                   float* grad_x, void* grad_delta, float* parts, float* grad_scale, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream);

/// Splits [rows, 3 heads d_head] into q, k and v, and rotates q and k (RoPE).
/// @param turn [length, d_head / 2] pairs of cosine and sine. Row r belongs to position r % length.
void rope_forward(number type, void const* joined, float const* turn, void* q, void* k, void* v, std::int64_t rows, std::int64_t length,
                  std::int64_t heads, std::int64_t d_head, cudaStream_t stream);

/// The inverse: rotates q and k back and joins q, k and v.
void rope_backward(number type, void const* q, void const* k, void const* v, float const* turn, void* joined, std::int64_t rows,
                   std::int64_t length, std::int64_t heads, std::int64_t d_head, cudaStream_t stream);

/// hidden = silu(joined[:, :columns]) * joined[:, columns:].
void swiglu_forward(number type, void const* joined, void* hidden, std::int64_t rows, std::int64_t columns, cudaStream_t stream);
void swiglu_backward(number type, void const* grad_hidden, void const* joined, void* grad_joined, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream);

/// The loss of each row, and the log-sum-exp of its logits. The loss is NaN if the target is not a valid column.
void cross_entropy_forward(number type, void const* logits, std::int64_t const* targets, float* losses, float* log_sums, std::int64_t rows,
                           std::int64_t columns, cudaStream_t stream);
/// Gradient of the mean loss with respect to the logits.
/// @param grad_mean gradient of the mean loss: one value on the device.
void cross_entropy_backward(number type, float const* grad_mean, void const* logits, std::int64_t const* targets, float const* log_sums,
                            void* grad_logits, std::int64_t rows, std::int64_t columns, cudaStream_t stream);

}  // namespace trainer::fused_kernels
