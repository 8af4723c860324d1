// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <profkit/memory_source.hpp>
#include <string_view>
#include <vector>

namespace trainer {

/// The host memory of LibTorch's tensors, for runs without a GPU, with the exact peak. Records each allocation and each release, so that
/// the report has memory by scope.
///
/// LibTorch reports allocations of the thread that created the session, and of autograd threads in its backward passes. Allocations of
/// other threads, and those made before the session, are not counted.
class torch_cpu_memory final : public profkit::memory_source {
 public:
  static constexpr std::string_view source_name = "libtorch cpu";

  torch_cpu_memory();
  ~torch_cpu_memory() override;
  torch_cpu_memory(torch_cpu_memory&&) noexcept;
  torch_cpu_memory& operator=(torch_cpu_memory&&) = delete;
  torch_cpu_memory(torch_cpu_memory const&) = delete;
  torch_cpu_memory& operator=(torch_cpu_memory const&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return source_name; }
  void start(profkit::profile_builder& into) override;
  [[nodiscard]] std::vector<profkit::memory_reading> read() override;
  void reset_peak() override;
  void stop() override;

 private:
  class reporter;
  struct reporting;
  std::unique_ptr<reporting> reporting_;  ///< while the session runs
};

}  // namespace trainer
