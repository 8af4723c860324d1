// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.hpp"
#include "memory_source.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Memory of this process that the system has swapped out, read after each step. Source: `VmSwap` in `/proc/self/status`.
class host_swap final : public memory_source {
 public:
  /// @brief Reads `/proc/self/status`, or another file in tests.
  explicit host_swap(std::string path = "/proc/self/status") : path_{std::move(path)} {}
  /// @brief "host swap".
  [[nodiscard]] std::string_view name() const noexcept override { return "host swap"; }
  /// @brief Reads the swapped-out memory in bytes.
  /// @throws profkit::error if the file has no `VmSwap`.
  [[nodiscard]] std::vector<memory_reading> read() override {
    std::ifstream status{path_};
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("VmSwap:", 0) == 0) return {{"swapped out", std::stoull(line.substr(7)) * 1024U, std::nullopt, {}}};
    }
    throw error{"cannot find VmSwap in " + path_};
  }

 private:
  std::string path_;
};

}  // namespace PROFKIT_NAMESPACE
