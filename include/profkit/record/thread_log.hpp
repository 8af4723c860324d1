// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "site.hpp"

namespace profkit::detail {

/// What the low four bits of `log_slot::what` say. The rest of it is a pointer to the site, 0 where there is none.
enum class event_kind : std::uint64_t {
  leave = 0,          ///< one slot
  enter = 1,          ///< one slot
  enter_indexed = 2,  ///< and a payload slot: the index
  enter_noted = 3,    ///< and a payload slot: a `scope_note*`
  enter_step = 4,     ///< one slot; starts a new root of the tree
  counter = 5,        ///< and a payload slot: the value
  begin_call = 6,     ///< and a payload slot: the correlation; an API call that launches GPU operations
  end_call = 7,       ///< one slot
  enter_adopted = 8,  ///< and a payload slot: a `scope_node const*`
  thread_rest = 9,    ///< and a payload slot: a `scope_node const*`; where the thread's work outside scopes belongs from here on
  allocated = 10,     ///< and a payload slot: address and bytes
  released = 11,      ///< and a payload slot: address and bytes
  level = 12,         ///< and a payload slot: 0 and bytes
  work = 13,          ///< and a payload slot: floating-point operations and bytes; `what` holds the rest of the work instead of a site
};

inline constexpr std::uint64_t event_kind_bits = 15;

/// A `what` of 8 bytes, or a payload that follows one.
struct log_slot {
  std::uint64_t ticks;
  std::uint64_t what;
};

static_assert(alignof(site) > event_kind_bits, "the kind of an event is kept in the low bits of the site's address");

/// What an open scope or API call began with.
struct open_entry {
  std::uint64_t what;     ///< as in `log_slot`
  std::uint64_t payload;  ///< the index, the `scope_node`, or nothing
};

struct scope_node;

/// Lets another part of the program know what became of a scope: filled in when the log is drained.
struct scope_note {
  std::uint32_t path = 0;
  std::int64_t begin_ns = 0;  ///< on CLOCK_REALTIME
  bool resolved = false;
};

/// The events of one thread: a ring with one writer (the thread) and one reader (the session that drains).
///
/// A scope is recorded only if there is room for its end too, and for the ends of all scopes that are open around it. So what is
/// recorded is always properly nested, and an end is never dropped.
struct thread_log {
  // Written by the thread that owns the log.
  std::uint64_t written = 0;   ///< slots, ever; published to the reader
  std::uint64_t room_end = 0;  ///< `written` may not pass this, as far as the writer has looked
  std::uint64_t open = 0;      ///< recorded scopes that have not ended
  std::uint64_t dropped = 0;
  log_slot* slots = nullptr;
  std::uint64_t mask = 0;  ///< number of slots, a power of two, less one

  /// From the outermost on; of deeper ones only the number is known.
  static constexpr std::uint64_t known_entries = 64;
  open_entry entries[known_entries] = {};
  scope_node const* rest = nullptr;  ///< where what the thread launches outside scopes belongs

  // Written by the reader.
  alignas(64) std::uint64_t read = 0;
  std::uint64_t released = 0;        ///< a multiple of the pieces in which memory goes back to the system
  std::uint64_t dropped_before = 0;  ///< `dropped` when the running session began

  // Written by whoever attaches and detaches the log.
  alignas(64) std::uint32_t state = 0;  ///< a `log_state`
  std::uint32_t generation = 0;         ///< how many threads have owned it
  std::uint64_t thread_system_id = 0;
  char thread_name[16] = {};
  thread_log* next = nullptr;

  /// Whether `slots_needed` slots are free beside those that the open scopes' ends will take. Counts a drop if not.
  bool reserve(std::uint64_t slots_needed) noexcept {
    std::uint64_t const needed_end = written + open + slots_needed;
    if (__builtin_expect(needed_end <= room_end, 1)) return true;
    room_end = __atomic_load_n(&read, __ATOMIC_ACQUIRE) + mask + 1;
    if (needed_end <= room_end) return true;
    __atomic_store_n(&dropped, dropped + 1, __ATOMIC_RELAXED);
    return false;
  }

  /// To be called when the beginning is in the log.
  void opened(std::uint64_t what, std::uint64_t payload = 0) noexcept {
    entries[open < known_entries ? open : known_entries - 1] = {what, payload};
    ++open;
  }

  void put(std::uint64_t ticks, std::uint64_t what) noexcept {
    slots[written & mask] = {ticks, what};
    __atomic_store_n(&written, written + 1, __ATOMIC_RELEASE);
  }

  void put(std::uint64_t ticks, std::uint64_t what, std::uint64_t payload) noexcept { put_two(ticks, what, payload, 0); }

  void put_two(std::uint64_t ticks, std::uint64_t what, std::uint64_t payload, std::uint64_t second_payload) noexcept {
    slots[written & mask] = {ticks, what};
    slots[(written + 1) & mask] = {payload, second_payload};
    __atomic_store_n(&written, written + 2, __ATOMIC_RELEASE);
  }
};

}  // namespace profkit::detail
