// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The source location that opens a scope or samples a counter. The macros define one per use.
///
/// A static, constant-initialised object, so the hot path needs no check for initialisation. Its alignment leaves four bits of its address
/// for the kind of event in the logs.
struct alignas(16) site {
  char const* name;           ///< a string literal; read whenever logs are drained
  char const* file;           ///< `__FILE__`
  std::uint32_t line;         ///< `__LINE__`
  void* nvtx_name = nullptr;  ///< handle of the registered string; owned by the NVTX hooks
};

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

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

/// The kind of an event, in the low four bits of its first slot; the other bits are a pointer to the site. The second slot is the time in
/// ticks. The end of a scope or call is a single slot: `leave_mark` and the time.
enum class event_kind : std::uint64_t {
  continued = 0,          ///< no event: the other bits are the address of the next `log_chunk`
  enter = 1,              ///< 2 slots
  enter_indexed = 2,      ///< 3 slots; the third is the index
  enter_noted = 3,        ///< 3 slots; the third is a `scope_note*`
  enter_step = 4,         ///< 2 slots; starts a new root of the tree of scopes
  counter = 5,            ///< 3 slots; the third is the value
  begin_call = 6,         ///< 3 slots; the third is the correlation of an API call that launches GPU operations
  enter_adopted = 7,      ///< 3 slots; the third is a `scope_node const*`
  default_scope = 8,      ///< 3 slots; the third is a `scope_node const*`, the new default scope of the thread
  allocated = 9,          ///< 4 slots, with address and bytes
  released = 10,          ///< 4 slots, with address and bytes
  usage = 11,             ///< 4 slots, with 0 and the bytes in use of a polled allocator
  work = 12,              ///< 4 slots, with floating-point operations and bytes; the first slot contains the other values instead of a site
  scope_collective = 13,  ///< 8 slots, see `put_collective`; the first slot contains a `communicator*`; for the innermost scope
  reported_collective = 14,  ///< 4 slots, with number and bytes; the first slot contains a `reported_collective const*`
};

inline constexpr std::uint64_t event_kind_bits = 15;
static_assert(alignof(site) > event_kind_bits, "the kind of an event is kept in the low bits of the site's address");

/// Marks a slot that ends the innermost scope or call. Pointers of user space do not have this bit.
inline constexpr std::uint64_t leave_mark = std::uint64_t{1} << 63U;

/// Ends the innermost scope or call at an unknown time, because control left it without its destructor (`longjmp`, a coroutine that
/// resumed elsewhere). The reader uses the time of the previous event.
inline constexpr std::uint64_t leave_at_unknown_time = leave_mark;

struct scope_note;

/// Notes in the order in which their scopes began. Used by the session's thread.
struct scope_note_list {
  scope_note* oldest = nullptr;
  scope_note* newest = nullptr;
};

/// The path and beginning of a scope. The session's thread fills them in when it drains the log of the scope, and adds the note to a list.
struct scope_note {
  std::uint32_t path = 0;     ///< `path_record::no_parent`: the scope has no path
  std::int64_t begin_ns = 0;  ///< a `timestamp`
  scope_note_list* list = nullptr;
  scope_note* newer = nullptr;  ///< in the list
};

/// Numbers of events that are not in any log, by reason. May be changed on any thread at any time, also in a signal handler.
struct lost_events {
  std::uint64_t full = 0;            ///< the log had reached its bound
  std::uint64_t no_memory = 0;       ///< the system provided no memory for the log
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

}  // namespace PROFKIT_NAMESPACE::detail
