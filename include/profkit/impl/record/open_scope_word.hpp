// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit::detail {

/// The word that a scope stores until it ends: the address of the log that contains its beginning, its depth in that log, and flags.
/// Without a log address, the scope was not recorded. If it is 0, the end does nothing.
using open_scope_word = std::uintptr_t;

inline constexpr open_scope_word log_alignment = 4096;  ///< the lower bits of a word contain depth and flags
inline constexpr open_scope_word one_deeper = 8;        ///< the unit of the depth, which wraps around at 512

/// In `thread_log::innermost` only: the thread is writing to its log.
inline constexpr open_scope_word log_is_busy = 1;
/// In the word of a scope only: the scope lies deeper than `thread_log::known_depth`.
inline constexpr open_scope_word is_deep = 1;

[[nodiscard]] inline open_scope_word log_address_of(open_scope_word open) noexcept { return open & ~(log_alignment - 1); }

}  // namespace profkit::detail
