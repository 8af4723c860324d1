// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <profkit/summary.hpp>
#include <string>
#include <string_view>

#include "measure/torch_memory.hpp"

namespace trainer {

/// The peak of LibTorch's allocator ("allocated", "reserved"); empty without a GPU.
[[nodiscard]] inline std::optional<std::uint64_t> allocator_peak(profkit::summary const& summary, std::string_view quantity) {
  for (profkit::memory_summary const& memory : summary.memory) {
    if (memory.source == torch_memory::source_name && memory.quantity == quantity) return memory.peak_bytes;
  }
  return std::nullopt;
}

[[nodiscard]] inline profkit::scope_summary const* find_scope(profkit::summary const& summary, std::string_view path) {
  for (profkit::scope_summary const& scope : summary.scopes) {
    if (scope.path == path) return &scope;
  }
  return nullptr;
}

/// Whether the work of the backward pass is in scopes inside the phase: see libtorch_bridge.hpp. Otherwise an autograd thread without open
/// scopes launches it.
[[nodiscard]] inline bool is_backward_in_scopes(profkit::summary const& summary) {
  return std::any_of(summary.scopes.begin(), summary.scopes.end(), [](profkit::scope_summary const& scope) {
    std::string_view const path = scope.path;
    return path.starts_with("step/backward/") && path.ends_with(" (backward)");
  });
}

/// Time of a phase of the step: between CUDA events, or host time without a GPU. Null if there is no such phase.
[[nodiscard]] inline profkit::duration_summary const* phase_time(profkit::summary const& summary, std::string_view phase) {
  profkit::scope_summary const* const scope = find_scope(summary, "step/" + std::string{phase});
  if (scope == nullptr) return nullptr;
  return scope->gpu_events ? &*scope->gpu_events : &scope->host;
}

}  // namespace trainer
