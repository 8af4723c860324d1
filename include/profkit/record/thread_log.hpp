// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "site.hpp"
#include "ticks.hpp"

namespace profkit::detail {

/// What the low four bits of an event's first slot say; the rest of it is a pointer to the site. The second slot is the time, in ticks.
/// The end of a scope or call is one slot, `leave_mark` with the time.
enum class event_kind : std::uint64_t {
  continued = 0,      ///< no event: the rest of the slot is the address of the chunk in which the log goes on
  enter = 1,          ///< 2 slots
  enter_indexed = 2,  ///< 3 slots: the index
  enter_noted = 3,    ///< 3 slots: a `scope_note*`
  enter_step = 4,     ///< 2 slots; starts a new root of the tree
  counter = 5,        ///< 3 slots: the value
  begin_call = 6,     ///< 3 slots: the correlation; an API call that launches GPU operations
  enter_adopted = 7,  ///< 3 slots: a `scope_node const*`
  thread_rest = 8,    ///< 3 slots: a `scope_node const*`; where the thread's work outside scopes belongs from here on
  allocated = 9,      ///< 4 slots: address and bytes
  released = 10,      ///< 4 slots: address and bytes
  level = 11,         ///< 4 slots: 0 and bytes
  work = 12,          ///< 4 slots: floating-point operations and bytes; the first slot holds the rest of the work instead of a site
};

inline constexpr std::uint64_t event_kind_bits = 15;
static_assert(alignof(site) > event_kind_bits, "the kind of an event is kept in the low bits of the site's address");

/// Set in the slot that ends the innermost scope or call, and in no pointer of a program.
inline constexpr std::uint64_t leave_mark = std::uint64_t{1} << 63U;

struct scope_node;

/// Lets another part of the program know what became of a scope: filled in when the log is drained.
struct scope_note {
  std::uint32_t path = 0;     ///< `path_record::no_parent`: it has none
  std::int64_t begin_ns = 0;  ///< a `timestamp`
  bool resolved = false;
};

/// The events of one thread, with one writer (the thread) and one reader (the session that drains). They lie in chunks, each event in one
/// piece; a chunk that has been read is the next one to be written, so that a log which is drained in time stays in the processor's caches.
///
/// A scope is recorded only if there is room for its end too, and for the ends of all scopes that are open around it. So what is
/// recorded is always properly nested, and an end is never dropped.
struct thread_log {
  static constexpr std::uint64_t longest_chunk = std::uint64_t{1} << 13U;  ///< slots

  // Written by the thread that owns the log.
  std::uint64_t* next_slot = nullptr;  ///< published to the reader
  std::uint64_t* room_end = nullptr;   ///< up to here there is room for any event beside the ends of `known_depth` scopes
  std::uint64_t open = 0;              ///< recorded scopes and calls that have not ended
  std::uint64_t dropped = 0;

  /// What is open, from the outermost on; of what lies deeper only the number is known.
  static constexpr std::uint64_t known_depth = 64;
  std::uint64_t open_what[known_depth] = {};     ///< the first slots of the events
  std::uint64_t open_payload[known_depth] = {};  ///< of those that have one
  scope_node const* rest = nullptr;              ///< where what the thread launches outside scopes belongs

  std::uint64_t* chunk_last = nullptr;  ///< last slot of the chunk, in which only `continued` is written
  std::uint64_t* never_used = nullptr;  ///< from here on
  std::uint64_t* slots = nullptr;
  std::uint64_t slot_count = 0;
  std::uint64_t chunk_slots = 0;

  // Written by the reader.
  alignas(64) std::uint64_t const* read = nullptr;  ///< up to here
  std::uint64_t* free_chunks = nullptr;  ///< a stack; the first slot of each is the address of the next. The writer takes from it
  std::uint64_t dropped_before = 0;      ///< `dropped` when the running session began

  // Written by whoever attaches and detaches the log.
  alignas(64) std::uint32_t state = 0;  ///< a `log_state`
  std::uint32_t generation = 0;         ///< how many threads have owned it
  std::uint64_t thread_system_id = 0;
  char thread_name[16] = {};
  thread_log* next = nullptr;

  /// A scope begins now, as long as nothing is unusual.
  /// @return false, and nothing is recorded, if the log may be full, or more scopes than `known_depth` are open.
  [[nodiscard]] bool enter(std::uint64_t what) noexcept {
    std::uint64_t* const at = next_slot;
    std::uint64_t const depth = open;
    if (!has_room(at, depth)) return false;
    at[0] = what;
    at[1] = counter_ticks();
    open_what[depth] = what;
    open = depth + 1;
    publish(at + 2);
    return true;
  }

  [[nodiscard]] bool enter(std::uint64_t what, std::uint64_t payload) noexcept {
    std::uint64_t* const at = next_slot;
    std::uint64_t const depth = open;
    if (!has_room(at, depth)) return false;
    at[0] = what;
    at[1] = counter_ticks();
    at[2] = payload;
    open_what[depth] = what;
    open_payload[depth] = payload;
    open = depth + 1;
    publish(at + 3);
    return true;
  }

  /// Whether there is room for an event of so many slots, and for its end if it has one, beside the ends of what is open. Counts a drop if
  /// not.
  [[nodiscard]] bool reserve(std::uint64_t slots_needed) noexcept {
    if (has_room(next_slot, open) || make_room(slots_needed)) return true;
    __atomic_store_n(&dropped, dropped + 1, __ATOMIC_RELAXED);
    return false;
  }

  void put(std::uint64_t what, std::uint64_t ticks) noexcept {
    std::uint64_t* const at = next_slot;
    at[0] = what;
    at[1] = ticks;
    publish(at + 2);
  }

  void put(std::uint64_t what, std::uint64_t ticks, std::uint64_t payload) noexcept {
    std::uint64_t* const at = next_slot;
    at[0] = what;
    at[1] = ticks;
    at[2] = payload;
    publish(at + 3);
  }

  void put(std::uint64_t what, std::uint64_t ticks, std::uint64_t payload, std::uint64_t second_payload) noexcept {
    std::uint64_t* const at = next_slot;
    at[0] = what;
    at[1] = ticks;
    at[2] = payload;
    at[3] = second_payload;
    publish(at + 4);
  }

  /// To be called when the beginning is in the log.
  void opened(std::uint64_t what, std::uint64_t payload = 0) noexcept {
    if (open < known_depth) {
      open_what[open] = what;
      open_payload[open] = payload;
    }
    ++open;
  }

  /// To be called before the first event, and at no other time. @param memory aligned like a site. @param count at least 16.
  void use(std::uint64_t* memory, std::uint64_t count) noexcept {
    slots = memory;
    slot_count = count;
    chunk_slots =
        (count / 2 < longest_chunk ? count / 2 : longest_chunk) & ~std::uint64_t{1};  // addresses of chunks end like those of sites
    chunk_last = memory + chunk_slots - 1;
    never_used = memory + chunk_slots;
    next_slot = memory;
    read = memory;
  }

  /// By the reader, which is done with the chunk.
  void give_back(std::uint64_t* chunk) noexcept {
    std::uint64_t* above = __atomic_load_n(&free_chunks, __ATOMIC_RELAXED);
    do {
      chunk[0] = reinterpret_cast<std::uint64_t>(above);
    } while (!__atomic_compare_exchange_n(&free_chunks, &above, chunk, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  }

  /// The end of what was opened last.
  void close(std::uint64_t ticks) noexcept {
    --open;
    std::uint64_t* const at = next_slot;
    at[0] = ticks | leave_mark;
    publish(at + 1);
  }

 private:
  /// As far as the writer has looked.
  [[nodiscard]] bool has_room(std::uint64_t const* at, std::uint64_t depth) const noexcept {
    return __builtin_expect(reinterpret_cast<std::uintptr_t>(at) <= reinterpret_cast<std::uintptr_t>(room_end) && depth < known_depth, 1);
  }

  void publish(std::uint64_t* end) noexcept { __atomic_store_n(&next_slot, end, __ATOMIC_RELEASE); }

  __attribute__((noinline, cold)) bool make_room(std::uint64_t slots_needed) noexcept {
    std::uint64_t const needed = open + slots_needed;
    if (static_cast<std::uint64_t>(chunk_last - next_slot) < needed) {
      std::uint64_t* const chunk = needed < chunk_slots ? take_chunk() : nullptr;
      if (chunk == nullptr) return false;
      next_slot[0] = reinterpret_cast<std::uint64_t>(chunk) + static_cast<std::uint64_t>(event_kind::continued);
      chunk_last = chunk + chunk_slots - 1;
      publish(chunk);
    }
    auto const free_slots = static_cast<std::uint64_t>(chunk_last - next_slot);
    room_end = free_slots < spare ? nullptr : chunk_last - spare;
    return true;
  }

  std::uint64_t* take_chunk() noexcept {
    std::uint64_t* chunk = __atomic_load_n(&free_chunks, __ATOMIC_ACQUIRE);
    while (chunk != nullptr) {
      auto* const below = reinterpret_cast<std::uint64_t*>(chunk[0]);
      if (__atomic_compare_exchange_n(&free_chunks, &chunk, below, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return chunk;
    }
    if (static_cast<std::uint64_t>(slots + slot_count - never_used) < chunk_slots) return nullptr;
    chunk = never_used;
    never_used += chunk_slots;
    return chunk;
  }

  static constexpr std::uint64_t spare = known_depth + 4;
};

}  // namespace profkit::detail
