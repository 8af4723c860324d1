// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profkit {

/// What the scopes of one row did with the memory of one allocator. A piece belongs to the scope that was innermost on the thread which
/// asked for it, and to all scopes around that one, until it is released, by whatever thread. Where the allocator is polled, a rise of its
/// level belongs to the scope at whose end, or at the beginning of whose next inner scope, it was read; and so does a fall.
struct scope_memory_summary {
  std::string source;            ///< name of the allocator
  bool is_polled = false;        ///< what came and went between two readings is not known
  std::uint64_t peak_bytes = 0;  ///< most that one scope had at any moment, of what was allocated in it or inside it
  std::uint64_t own_peak_bytes = 0;
  std::int64_t retained_bytes = 0;  ///< of that, had at the scopes' ends; over all scopes, negative only where the allocator is polled
  std::int64_t own_retained_bytes = 0;
  std::optional<std::uint64_t> allocated_bytes;  ///< n/a, like what follows, where the allocator is polled
  std::optional<std::uint64_t> own_allocated_bytes;
  std::optional<std::uint64_t> allocations;
  std::uint64_t wide_peak_bytes = 0;  ///< most that the allocator had given, to any thread, at any moment of one of the scopes
  /// Allocated by the scopes themselves in the measured time, less what was released in it of all they ever allocated.
  std::int64_t own_change_bytes = 0;
};

/// All that an allocator has given, over the measured steps. `last_bytes` - `first_bytes` is the sum of `own_change_bytes` over the rows,
/// `outside_change_bytes` and `between_steps_change_bytes`.
struct allocator_summary {
  std::string source;
  bool is_polled = false;
  std::int64_t first_bytes = 0;           ///< when the first measured step began; below 0 where more was released than was seen to be given
  std::int64_t last_bytes = 0;            ///< when the last one ended
  std::uint64_t highest_bytes = 0;        ///< at any moment of a measured step
  std::int64_t outside_change_bytes = 0;  ///< allocated outside the scopes of the rows, less what was released of that
  std::int64_t between_steps_change_bytes = 0;  ///< allocated less released between the measured steps, by whatever scope
  std::uint64_t unknown_releases = 0;           ///< in the whole session: of pieces that were not seen to be given
  std::uint64_t reused_addresses = 0;           ///< in the whole session: pieces given where one was live, whose release was not seen
};

}  // namespace profkit
