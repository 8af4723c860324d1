// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../../work.hpp"
#include "recorder.hpp"

namespace profkit {

namespace detail {

/// Packs the precision and the backward factor, without its sign, into the bits that contain the site in other events.
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

/// @brief Declares work of the innermost scope that is open on this thread, for amounts that are not known when the scope begins.
///
/// Several declarations for one scope add up. Does nothing without a session or outside scopes. May be called on any thread; does not lock,
/// allocate, throw or synchronise the device.
/// @param done floating-point operations and bytes.
inline void add_work(work const& done) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::this_thread_log();
  if (log != nullptr) detail::put_work(*log, flags, done);
}

}  // namespace profkit
