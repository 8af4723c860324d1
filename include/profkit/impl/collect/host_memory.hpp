// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../../memory_source.hpp"

namespace profkit {

namespace detail {

std::vector<memory_reading> read_host_memory();
/// @return 0 if the file cannot be read. Keeps the file open.
std::uint64_t resident_bytes() noexcept;

}  // namespace detail

/// @brief Resident memory of this process and its peak since the process started, read after each step. Sources: `/proc/self/statm` and
/// `getrusage` (`ru_maxrss`).
class host_memory final : public memory_source {
 public:
  /// @brief "host".
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }

  /// @brief Reads the resident memory.
  /// @throws profkit::error if `/proc/self/statm` cannot be read.
  [[nodiscard]] std::vector<memory_reading> read() override { return detail::read_host_memory(); }

  /// @brief Polls the resident memory at scopes. Adds two system calls to each scope, about 4 us.
  [[nodiscard]] polled_allocator at_scopes() const noexcept override {
    static site source{"host", __FILE__, __LINE__};
    return {&source, &detail::resident_bytes};
  }
};

}  // namespace profkit
