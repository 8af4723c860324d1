// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit::detail {

/// A chunk of a log. Its slots follow it in memory.
struct log_chunk {
  log_chunk* below = nullptr;           ///< next chunk on the stack of free chunks
  std::uint32_t slots = 0;              ///< number of slots that follow
  std::uint32_t gives_memory_back = 0;  ///< 1: the reader returns its pages to the system

  [[nodiscard]] std::uint64_t* begin() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  /// The last slot, reserved for `event_kind::continued`.
  [[nodiscard]] std::uint64_t* last() noexcept { return begin() + slots - 1; }
};

inline constexpr std::uint64_t chunk_header_slots = sizeof(log_chunk) / sizeof(std::uint64_t);

/// The chunks that the reader returns to the writer. Lock-free, because one thread pushes and one thread pops.
struct free_chunk_stack {
  log_chunk* top = nullptr;

  void push(log_chunk& chunk) noexcept {
    chunk.below = __atomic_load_n(&top, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&top, &chunk.below, &chunk, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }

  /// @return null if there is none.
  [[nodiscard]] log_chunk* pop() noexcept {
    log_chunk* chunk = __atomic_load_n(&top, __ATOMIC_ACQUIRE);
    while (chunk != nullptr) {
      if (__atomic_compare_exchange_n(&top, &chunk, chunk->below, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) break;
    }
    return chunk;
  }
};

}  // namespace profkit::detail
