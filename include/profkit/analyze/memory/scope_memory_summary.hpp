// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profkit {

/// @brief Memory of one allocator in the scopes of one row. Definitions: docs/memory.md.
///
/// A block belongs to the scope that was innermost on the allocating thread, and to all scopes around it, until it is released on any
/// thread. For a polled allocator, a change of its usage belongs to the innermost scope before the reading.
struct scope_memory_summary {
  std::string source;                                ///< name of the allocator
  bool is_polled = false;                            ///< changes between two readings are unknown
  std::uint64_t peak_bytes = 0;                      ///< maximum that one scope held at any moment, of memory allocated in it or inside it
  std::uint64_t own_peak_bytes = 0;                  ///< the same for memory allocated in the scope itself
  std::int64_t retained_bytes = 0;                   ///< the part still live at the ends of the scopes, as a sum; negative only if polled
  std::int64_t own_retained_bytes = 0;               ///< the same for memory allocated in the scopes themselves
  std::optional<std::uint64_t> allocated_bytes;      ///< sum of all allocations; n/a, like the next two, if polled
  std::optional<std::uint64_t> own_allocated_bytes;  ///< the same for the scopes themselves
  std::optional<std::uint64_t> allocations;          ///< number of allocations
  std::uint64_t wide_peak_bytes = 0;                 ///< maximum usage of the allocator, by all threads, during one of the scopes
  /// @brief Allocated by the scopes themselves in the measured steps, minus releases of such memory in the measured steps.
  std::int64_t own_change_bytes = 0;
};

/// @brief The usage of an allocator over the measured steps. `last_bytes` - `first_bytes` is the sum of `own_change_bytes` over the rows,
/// `outside_change_bytes` and `between_steps_change_bytes`.
struct allocator_summary {
  std::string source;                     ///< name of the allocator
  bool is_polled = false;                 ///< changes between two readings are unknown
  std::int64_t first_bytes = 0;           ///< at the beginning of the first measured step; negative if releases exceed known allocations
  std::int64_t last_bytes = 0;            ///< at the end of the last measured step
  std::uint64_t max_bytes = 0;            ///< maximum during the measured steps
  std::int64_t outside_change_bytes = 0;  ///< allocated outside the scopes of the rows, minus releases of such memory
  std::int64_t between_steps_change_bytes = 0;  ///< allocated minus released between the measured steps
  std::uint64_t unknown_releases = 0;           ///< whole session: releases without a known allocation
  std::uint64_t reused_addresses = 0;           ///< whole session: allocations at an address that was still live
};

}  // namespace profkit
