// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string_view>

#include "config.hpp"

namespace trainer {

/// Sets the permitted kernels of `scaled_dot_product_attention`. Applies to the whole process.
inline void set_sdpa_backend(sdpa_backend wanted) {
  auto const may_be = [&](sdpa_backend backend) { return wanted == sdpa_backend::automatic || wanted == backend; };
  at::Context& context = at::globalContext();
  context.setSDPUseFlash(may_be(sdpa_backend::flash));
  context.setSDPUseMemEfficient(may_be(sdpa_backend::efficient));
  context.setSDPUseCuDNN(may_be(sdpa_backend::cudnn));
  context.setSDPUseMath(may_be(sdpa_backend::math));
}

/// The kernel for causal attention without dropout on these tensors: "flash", "efficient", "cudnn" or "math". Empty if no permitted kernel
/// supports them.
[[nodiscard]] inline std::optional<std::string_view> sdpa_backend_for(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) {
  // LibTorch would print many lines of warnings about why each kernel cannot run.
  struct : c10::WarningHandler {
    void process(c10::Warning const& /*warning*/) override {}
  } silent;
  c10::WarningUtils::WarningHandlerGuard const no_warnings{&silent};
  auto choice = at::SDPBackend::error;
  try {
    choice = static_cast<at::SDPBackend>(at::_fused_sdp_choice(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true));
  } catch (c10::Error const& error) {
    std::string_view const message = error.what_without_backtrace();
    auto const says = [&](std::string_view words) { return message.find(words) != message.npos; };
    if (!says("No available kernel") && !says("No viable backend") && !says("Invalid backend")) throw;
  }
  switch (choice) {
    case at::SDPBackend::flash_attention:
      return "flash";
    case at::SDPBackend::efficient_attention:
      return "efficient";
    case at::SDPBackend::cudnn_attention:
      return "cudnn";
    case at::SDPBackend::math:
      return "math";
    case at::SDPBackend::overrideable:
      return "overrideable";
    case at::SDPBackend::error:
      break;
  }
  return std::nullopt;
}

}  // namespace trainer
