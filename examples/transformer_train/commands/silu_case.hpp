// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "config.hpp"
#include "device.hpp"

namespace trainer {

/// `naive` consists of separate operations; `native` is LibTorch's single operation.
enum class silu_kind { naive, native };
inline constexpr name_table<silu_kind, 2> silu_impls{{{"naive", silu_kind::naive}, {"native", silu_kind::native}}};

struct silu_config {
  std::int64_t rows = 8192;
  std::int64_t columns = 4096;
  silu_kind implementation = silu_kind::naive;
  precision_kind precision = precision_kind::fp32;  ///< type of the tensors; no autocast
  std::uint64_t seed = 0;

  [[nodiscard]] std::int64_t elements() const noexcept { return rows * columns; }
};

/// SiLU, x * sigmoid(x), forward and backward, on random numbers. Hides LibTorch from its users.
class silu_case {
 public:
  /// @throws out_of_memory
  silu_case(silu_config const& config, compute_device const& device);
  ~silu_case();

  /// Runs forward and backward, then drops the gradient. Launches nothing outside these phases, so every launch outside the scope `forward`
  /// belongs to the backward pass. Does not wait for the device.
  /// @throws out_of_memory
  void step();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
