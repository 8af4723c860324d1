// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

inline constexpr name_table<attention_kind, 2> attention_impls{{{"naive", attention_kind::naive}, {"fused", attention_kind::sdpa}}};

/// The type of the tensors: without autocast, and fp16 without loss scaling.
inline constexpr name_table<precision_kind, 4> tensor_precisions{
    {{"fp32", precision_kind::fp32}, {"tf32", precision_kind::tf32}, {"bf16", precision_kind::bf16}, {"fp16", precision_kind::fp16}}};

struct attention_config {
  std::int64_t batch = 8;
  std::int64_t length = 64;   ///< length of a sequence in tokens
  std::int64_t d_model = 16;  ///< width of the single head
  attention_kind implementation = attention_kind::naive;
  precision_kind precision = precision_kind::fp32;
  std::uint64_t seed = 0;
};

/// Causal attention with one head, forward and backward, on random tensors. Hides LibTorch from its users.
class attention_case {
 public:
  /// Creates query, key, value, the gradient of the output, and for naive attention the mask.
  /// @throws out_of_memory
  attention_case(attention_config const& config, compute_device const& device);
  ~attention_case();

  /// Runs forward and backward, then drops the gradients. Does not wait for the device.
  /// @throws out_of_memory
  void step();

  /// Memory in use between the phases of the last step, from LibTorch's allocator. Empty without a GPU.
  [[nodiscard]] std::optional<std::uint64_t> bytes_before_backward() const;

  /// The backend that LibTorch chooses for fused attention with these tensors: flash, efficient, cudnn or math. Empty for naive attention.
  [[nodiscard]] std::string_view backend() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
