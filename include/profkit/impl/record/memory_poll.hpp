// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "library_pin.hpp"
#include "quiet_thread.hpp"
#include "recorder.hpp"

namespace PROFKIT_NAMESPACE {
namespace detail {

inline void record_memory_event(site& source, event_kind kind, void const* address, std::uint64_t bytes) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return;
  thread_log* const log = log_of_this_thread();
  if (auto const claimed = log != nullptr ? log->claim(4) : 0)
    log->put(claimed, tagged(source, kind), ticks(flags), reinterpret_cast<std::uint64_t>(address), bytes);
}

}  // namespace detail

/// @brief Records an allocation and charges it to the scopes that are open on this thread.
///
/// Call it from the hook of an allocator, on any thread. It takes no lock and makes no CUDA call, so it may run under the allocator's lock.
/// It maps memory only for the first event of a thread. Costs one load and a branch without a session.
/// @param source named like a memory source, such as "libtorch"; must live as long as the program.
/// @param address address of the block; `record_release` must get the same address.
/// @param bytes size of the block.
inline void record_allocation(site& source, void const* address, std::uint64_t bytes) noexcept {
  detail::record_memory_event(source, detail::event_kind::allocated, address, bytes);
}

/// @brief Records that a block was released, on any thread. Threads, locks and cost: see `record_allocation`.
/// @param source as for `record_allocation`.
/// @param address address of the block.
/// @param bytes size of the block, used for blocks that were allocated before recording began; 0 if unknown.
inline void record_release(site& source, void const* address, std::uint64_t bytes = 0) noexcept {
  detail::record_memory_event(source, detail::event_kind::released, address, bytes);
}

/// @brief An allocator without hooks whose memory in use can be queried. It is polled at both ends of every scope while a session runs.
struct polled_allocator {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};  ///< result of `usage` if it cannot be queried now: nothing is recorded

  site* source = nullptr;  ///< named like the memory source; must live as long as the program
  /// @brief Returns bytes in use. Called on any thread, also shortly after the end of the session. What it does is not recorded: scopes
  /// that it opens and allocations that it reports have no effect. The thread cannot be cancelled in it.
  std::uint64_t (*usage)() noexcept = nullptr;
};

namespace detail {

inline constexpr int max_polled_allocators = 8;
inline polled_allocator polled_allocators[max_polled_allocators] = {};

[[nodiscard]] inline std::uint64_t usage_of(polled_allocator const& polled) noexcept {
  foreign_call const call;
  return polled.usage();
}

/// The function behind `recorder_state::poll_memory`. @param now the end of the scope in ticks; 0: a scope is about to begin.
inline void poll_allocators(std::uint64_t now) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return;
  thread_log* const log = log_of_this_thread();
  if (log == nullptr) return;
  for (polled_allocator const& each : polled_allocators) {
    site* const source = __atomic_load_n(&each.source, __ATOMIC_ACQUIRE);
    if (source == nullptr) return;
    std::uint64_t const bytes = usage_of(each);
    auto const claimed = bytes == polled_allocator::unknown ? 0 : log->claim(4);
    if (claimed != 0) {
      log->put(claimed, tagged(*source, event_kind::usage), now != 0 ? now : ticks(flags), std::uint64_t{0}, bytes);
    }
  }
}

inline void forget_polled_allocators() noexcept {
  for (polled_allocator& each : polled_allocators) __atomic_store_n(&each.source, static_cast<site*>(nullptr), __ATOMIC_RELEASE);
}

/// @return false if `max_polled_allocators` are already polled.
inline bool start_polling(polled_allocator const& asked) noexcept {
  bool const is_first = __atomic_load_n(&recorder.poll_memory, __ATOMIC_ACQUIRE) == nullptr;
  if (is_first) forget_polled_allocators();  // in the child of a fork, the parent's may be there
  for (polled_allocator& each : polled_allocators) {
    if (each.source != nullptr) continue;
    each.usage = asked.usage;
    __atomic_store_n(&each.source, asked.source, __ATOMIC_RELEASE);
    __atomic_store_n(&recorder.poll_memory, &poll_allocators, __ATOMIC_RELEASE);
    __atomic_fetch_or(&recorder.flags, polls_memory, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

/// Scopes on other threads may still poll for a short time.
inline void stop_polling() noexcept {
  __atomic_fetch_and(&recorder.flags, ~polls_memory, __ATOMIC_RELEASE);
  forget_polled_allocators();
}

}  // namespace detail
}  // namespace PROFKIT_NAMESPACE
