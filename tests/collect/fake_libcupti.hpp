// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the imitated libcupti offers to tests, as `fake_cupti` in its dynamic symbols. The functions are called on the thread that
/// "launches". Times are nanoseconds after some moment; 0 stands for none, as CUPTI has it.
struct fake_cupti_controls {
  void (*kernel)(char const* mangled, std::uint32_t grid, std::uint64_t start, std::uint64_t end);
  void (*copy)(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
  void (*set)(std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
  /// Another call of the runtime, which launches nothing.
  void (*call)();
  std::uint32_t next_correlation;
  std::uint64_t records_to_drop;  ///< reported as dropped
  std::uint64_t buffers_requested;
  bool is_subscribed;
};
