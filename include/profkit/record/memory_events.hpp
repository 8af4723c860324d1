// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "library_pin.hpp"
#include "recorder.hpp"

namespace profkit {

/// An allocator says that it gave memory to the program: charged to the scopes that are open on this thread. Without a session that costs
/// one load and a branch. Takes no lock and makes no call of CUDA, so that a hook which runs under an allocator's lock may call it;
/// allocates only if it is the first thing that the thread records.
/// @param source has the name of a memory source, such as "libtorch", and lives as long as the program.
/// @param address of the piece; `record_release` says the same one.
/// @param bytes of the piece.
inline void record_allocation(site& source, void const* address, std::uint64_t bytes) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::log_of_this_thread();
  if (auto const claimed = log != nullptr ? log->claim(4) : 0) {
    log->put(claimed, detail::tagged(source, detail::event_kind::allocated), detail::ticks(flags), reinterpret_cast<std::uint64_t>(address),
             bytes);
  }
}

/// The allocator has the memory back, from whatever thread. Same rules as `record_allocation`.
/// @param source as for `record_allocation`.
/// @param address of the piece.
/// @param bytes of the piece as the allocator knows them, for pieces that were given before recording began; 0 if it does not say.
inline void record_release(site& source, void const* address, std::uint64_t bytes = 0) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::log_of_this_thread();
  if (auto const claimed = log != nullptr ? log->claim(4) : 0) {
    log->put(claimed, detail::tagged(source, detail::event_kind::released), detail::ticks(flags), reinterpret_cast<std::uint64_t>(address),
             bytes);
  }
}

}  // namespace profkit
