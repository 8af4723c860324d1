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

/// The types of the tensors: no autocast, and fp16 is not scaled.
inline constexpr name_table<precision_kind, 4> tensor_precisions{
    {{"fp32", precision_kind::fp32}, {"tf32", precision_kind::tf32}, {"bf16", precision_kind::bf16}, {"fp16", precision_kind::fp16}}};

struct attention_config {
  std::int64_t batch = 8;
  std::int64_t length = 64;   ///< length of a sequence in tokens
  std::int64_t d_model = 16;  ///< width of the only head
  attention_kind implementation = attention_kind::naive;
  precision_kind precision = precision_kind::fp32;
  std::uint64_t seed = 0;
};

/// Causal attention of one head, forward and backward, on random tensors. Hides LibTorch.
class attention_case {
 public:
  /// Creates query, key, value, the gradient of the output, and for naive attention the mask.
  /// @throws out_of_memory
  attention_case(attention_config const& config, compute_device const& device);
  ~attention_case();

  /// Runs forward and backward, then drops the gradients. Does not wait for the device.
  /// @throws out_of_memory
  void step();

  /// The usage of LibTorch's allocator between the phases of the last step; nothing without a GPU.
  [[nodiscard]] std::optional<std::uint64_t> bytes_before_backward() const;

  /// The backend that LibTorch chooses for fused attention of these tensors: flash, efficient, cudnn or math. Empty for naive attention.
  [[nodiscard]] std::string_view backend() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
