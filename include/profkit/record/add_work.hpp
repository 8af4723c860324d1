// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../profile/work.hpp"
#include "recorder.hpp"

namespace profkit {

namespace detail {

/// The precision and the factor for backward, without its sign, in the bits that hold the site in other events.
[[nodiscard]] inline std::uint64_t packed(work const& done) noexcept {
  std::uint32_t backward = 0;
  __builtin_memcpy(&backward, &done.backward, sizeof backward);
  return std::uint64_t{backward & 0x7fffffffU} << 32U | static_cast<std::uint64_t>(done.precision) << 8U |
         static_cast<std::uint64_t>(event_kind::work);
}

inline void put_work(thread_log& log, std::uint32_t flags, work const& done) noexcept {
  open_scope_word const claimed = log.claim(4);
  if (claimed == 0) return;
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  __builtin_memcpy(&flops, &done.flops, sizeof flops);
  __builtin_memcpy(&bytes, &done.bytes, sizeof bytes);
  log.put(claimed, packed(done), ticks(flags), flops, bytes);
}

}  // namespace detail

/// Says what the innermost scope that is open on this thread has to do, where `PROF_SCOPE` could not know it yet. Said twice, both count.
/// Without a session, or outside scopes, it does nothing. Same rules as a scope: neither locks, allocates nor throws.
inline void add_work(work const& done) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::this_thread_log();
  if (log != nullptr) detail::put_work(*log, flags, done);
}

}  // namespace profkit
