// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "site.hpp"

namespace profkit::detail {

/// What the low four bits of an event's first slot say; the rest of it is a pointer to the site. The second slot is the time, in ticks.
/// The end of a scope or call is one slot, `leave_mark` with the time.
enum class event_kind : std::uint64_t {
  continued = 0,      ///< no event: the rest of the slot is the address of the `log_chunk` in which the log goes on
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

/// Ends the innermost scope or call, at a time that is not known: control left it without its destructor (`longjmp`, a coroutine that
/// resumed elsewhere). The reader takes the time of the event before.
inline constexpr std::uint64_t leave_at_unknown_time = leave_mark;

/// Lets another part of the program know what became of a scope: filled in when the log is drained.
struct scope_note {
  std::uint32_t path = 0;     ///< `path_record::no_parent`: it has none
  std::int64_t begin_ns = 0;  ///< a `timestamp`
  bool resolved = false;
};

/// Events that are not in any log, by the reason. Any thread adds, at any time, also in a signal handler.
struct lost_events {
  std::uint64_t full = 0;            ///< the log had reached its bound
  std::uint64_t no_memory = 0;       ///< the system gave no memory for the log
  std::uint64_t no_log = 0;          ///< too many threads have logs, or the thread is ending
  std::uint64_t interrupting = 0;    ///< a signal handler interrupted the recorder on its own thread
  std::uint64_t unmatched_ends = 0;  ///< ends of scopes that are not open on this thread; their beginnings are in a log

  static void count(std::uint64_t& counter) noexcept { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); }

  void add(lost_events const& more) noexcept {
    full += __atomic_load_n(&more.full, __ATOMIC_RELAXED);
    no_memory += __atomic_load_n(&more.no_memory, __ATOMIC_RELAXED);
    no_log += __atomic_load_n(&more.no_log, __ATOMIC_RELAXED);
    interrupting += __atomic_load_n(&more.interrupting, __ATOMIC_RELAXED);
    unmatched_ends += __atomic_load_n(&more.unmatched_ends, __ATOMIC_RELAXED);
  }

  void subtract(lost_events const& before) noexcept {
    full -= before.full;
    no_memory -= before.no_memory;
    no_log -= before.no_log;
    interrupting -= before.interrupting;
    unmatched_ends -= before.unmatched_ends;
  }
};

}  // namespace profkit::detail
