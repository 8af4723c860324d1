// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "library_pin.hpp"
#include "recorder.hpp"

namespace profkit {

/// @brief Records an allocation and charges it to the scopes that are open on this thread.
///
/// Call it from the hook of an allocator, on any thread. It takes no lock and makes no CUDA call, so it may run under the allocator's lock.
/// It maps memory only for the first event of a thread. Costs one load and a branch without a session.
/// @param source named like a memory source, such as "libtorch"; must live as long as the program.
/// @param address address of the block; `record_release` must get the same address.
/// @param bytes size of the block.
inline void record_allocation(site& source, void const* address, std::uint64_t bytes) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::log_of_this_thread();
  if (auto const claimed = log != nullptr ? log->claim(4) : 0) {
    log->put(claimed, detail::tagged(source, detail::event_kind::allocated), detail::ticks(flags), reinterpret_cast<std::uint64_t>(address),
             bytes);
  }
}

/// @brief Records that a block was released, on any thread. Threads, locks and cost: see `record_allocation`.
/// @param source as for `record_allocation`.
/// @param address address of the block.
/// @param bytes size of the block, used for blocks that were allocated before recording began; 0 if unknown.
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
