// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainer {

/// The type of the numbers that a kernel reads and writes, as far as its name says it:
///
///     fp32, bf16, fp16, fp64, complex fp32, int64, bool
///     tf32                   fp32 numbers, whose inputs the tensor cores round
///     bf16+fp32, fp16+fp32   casts between the two
///     fp32+cast              works in fp32 and casts operands of another type, which the name leaves out
///     16 bits                bf16 or fp16
///     unnamed
///
/// Sums inside kernels of 16-bit numbers are in fp32. Names are those of PyTorch, cuBLAS, cuDNN, CUTLASS and FlashAttention.
[[nodiscard]] std::string kernel_type(std::string_view demangled_name);

}  // namespace trainer
