// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainer {

/// The type of the numbers that a kernel reads and writes, according to its name:
///
///     fp32, bf16, fp16, fp64, complex fp32, int64, bool
///     tf32                   fp32 numbers, which tensor cores round
///     bf16+fp32, fp16+fp32   casts between the two
///     fp32+cast              computes in fp32 and casts operands of another type, which is not in the name
///     16 bits                bf16 or fp16
///     unnamed
///
/// Sums inside kernels of 16-bit numbers are in fp32. Knows names from PyTorch, cuBLAS, cuDNN, CUTLASS and FlashAttention.
[[nodiscard]] std::string kernel_type(std::string_view demangled_name);

}  // namespace trainer
