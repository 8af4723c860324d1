// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "log_event.hpp"
#include "ticks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A chunk of a log. Its slots follow it in memory.
struct log_chunk {
  log_chunk* below = nullptr;           ///< next chunk on the stack of free chunks
  std::uint32_t slot_count = 0;         ///< number of slots that follow
  std::uint32_t gives_memory_back = 0;  ///< 1: the reader returns its pages to the system

  [[nodiscard]] std::uint64_t* begin() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  /// The last slot, reserved for `event_kind::continued`.
  [[nodiscard]] std::uint64_t* last() noexcept { return begin() + slot_count - 1; }
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

/// `thread_log::state`
enum log_state : std::uint32_t {
  log_free = 0,     ///< the reader has read it to its end; any new thread may take it
  log_owned = 1,    ///< a thread writes to it, and its `thread_system_id` and `generation` are those of this thread
  log_left = 2,     ///< its thread has ended; the reader still has to read it
  log_retired = 3,  ///< never used again
  log_taken = 4,    ///< a thread is about to own it
};

struct scope_node;

/// The events of one thread, with one writer (the thread) and one reader (the draining session).
///
/// Events are in chunks, and no event spans two chunks. The writer reuses the chunk that was read last. So a log that is drained in time
/// stays in the processor's caches.
///
/// A scope is recorded only if the log has space for its end and the ends of all open scopes: in the current chunk for the outer
/// `known_depth` scopes, and for deeper scopes also in reserved chunks. A scope ends only if it is open on this thread, and it ends the
/// scopes inside it. So recorded scopes always nest, and an end is never dropped.
///
/// A signal handler may interrupt the writer anywhere and record events too. While `innermost` is `log_is_busy`, the handler records
/// nothing. At any other time the log is consistent, and the handler restores `innermost`. Therefore the writer reads `innermost`, marks it
/// busy, and only then reads the other members.
struct thread_log {
  // Written by the thread that owns the log.
  std::uint64_t* next_slot = nullptr;  ///< published to the reader
  std::uint64_t* room_end = nullptr;   ///< before this slot, any event fits in addition to the ends of `known_depth` scopes
  open_scope_word innermost = 0;       ///< the word of the innermost open scope; `log_is_busy` while an event is written

  /// The open scopes, outermost first. Of deeper scopes, only the number is known.
  static constexpr std::uint64_t known_depth = 64;
  std::uint64_t open_what[known_depth] = {};     ///< the first slots of the events
  std::uint64_t open_payload[known_depth] = {};  ///< payloads of the events that have one
  std::uint64_t deep = 0;                        ///< number of open scopes and calls, if more than `known_depth`
  scope_node const* default_scope = nullptr;     ///< scope to which launches outside scopes are charged

  log_chunk* chunk = nullptr;                                   ///< the chunk that contains `next_slot`
  log_chunk* (*provide_chunk)(thread_log&) noexcept = nullptr;  ///< `take_chunk` of logs in the list of the recorder
  std::uint64_t min_slots = 0;                                  ///< number of slots of the first chunk, which is the smallest
  std::uint64_t slot_bound = 0;                                 ///< maximum number of slots of all chunks together
  std::uint64_t mapped_slots = 0;                               ///< number of slots of all existing chunks
  unsigned char* unused = nullptr;                              ///< mapped memory that is not a chunk yet
  unsigned char* unused_end = nullptr;
  log_chunk* reserve = nullptr;     ///< chunks kept for the ends of scopes deeper than `known_depth`, linked by `below`
  std::uint64_t reserved_ends = 0;  ///< number of such ends that fit into `reserve`
  lost_events lost;

  // Written by the reader.
  alignas(64) std::uint64_t const* read = nullptr;  ///< the next slot to read
  log_chunk* read_chunk = nullptr;                  ///< the chunk that contains `read`
  free_chunk_stack free_chunks;

  // Written when a thread takes or leaves the log.
  alignas(64) std::uint32_t state = log_free;  ///< a `log_state`
  std::uint32_t generation = 0;                ///< number of threads that have owned the log
  bool is_broken = false;                      ///< must not be used again: a signal handler jumped out of a write
  std::uint64_t thread_system_id = 0;
  char thread_name[16] = {};  ///< set when the thread leaves the log; until then `name_of_thread` asks the system
  thread_log* next = nullptr;

  /// The fast path of a beginning scope.
  /// @return 0, with nothing recorded, if the log is busy or may be full, or more than `known_depth` scopes are open.
  [[nodiscard]] open_scope_word enter(std::uint64_t what) noexcept {
    open_scope_word const around = __atomic_load_n(&innermost, __ATOMIC_RELAXED);
    if (!is_usual(around)) return 0;
    mark_busy();
    std::uint64_t* const at = next_slot;
    if (__builtin_expect(!has_room(at), 0)) {
      release(around);
      return 0;
    }
    at[0] = what;
    at[1] = counter_ticks();
    remember(known(around, __builtin_offsetof(thread_log, open_what)), what);
    publish(at + 2);
    release(around + one_deeper);
    return around + one_deeper;
  }

  [[nodiscard]] open_scope_word enter(std::uint64_t what, std::uint64_t payload) noexcept {
    open_scope_word const around = __atomic_load_n(&innermost, __ATOMIC_RELAXED);
    if (!is_usual(around)) return 0;
    mark_busy();
    std::uint64_t* const at = next_slot;
    if (__builtin_expect(!has_room(at), 0)) {
      release(around);
      return 0;
    }
    at[0] = what;
    at[1] = counter_ticks();
    at[2] = payload;
    remember(known(around, __builtin_offsetof(thread_log, open_what)), what);
    known(around, __builtin_offsetof(thread_log, open_payload)) = payload;
    publish(at + 3);
    release(around + one_deeper);
    return around + one_deeper;
  }

  /// The fast path of an ending scope. It must be the innermost scope, and its word must have no flags.
  /// @return false, with nothing recorded, if this is not the case.
  [[nodiscard]] bool close(open_scope_word open) noexcept {
    if (__builtin_expect(__atomic_load_n(&innermost, __ATOMIC_RELAXED) != open, 0)) return false;
    mark_busy();
    std::uint64_t* const at = next_slot;
    at[0] = counter_ticks() | leave_mark;
    publish(at + 1);
    release(open - one_deeper);
    return true;
  }

  /// Reserves the log for one event of `slots` slots, including its end if it has one. To be followed by `put` or `open`.
  /// @return 0, with the loss counted, if a signal handler interrupts the writer or the log is full.
  [[nodiscard]] open_scope_word claim(std::uint64_t slot_count) noexcept {
    open_scope_word const around = __atomic_load_n(&innermost, __ATOMIC_RELAXED);
    if (__builtin_expect((around & log_is_busy) != 0, 0)) {
      lost_events::count(lost.interrupting);
      return 0;
    }
    mark_busy();
    if ((is_usual(around) && has_room(next_slot)) || make_room(depth_of(around), slot_count)) return around;
    release(around);
    return 0;
  }

  /// Writes an event without an end. @param claimed the result of `claim`.
  template <class... Slots>
  void put(open_scope_word claimed, Slots... values) noexcept {
    write(values...);
    release(claimed);
  }

  /// Writes the beginning of a scope or call. @param claimed the result of `claim`. @return the word of the scope.
  template <class... Payload>
  open_scope_word open(open_scope_word claimed, std::uint64_t what, std::uint64_t ticks, Payload... payload) noexcept {
    write(what, ticks, payload...);
    std::uint64_t const depth = depth_of(claimed);
    if (depth < known_depth) {
      remember(open_what[depth], what);
      open_payload[depth] = (std::uint64_t{0} + ... + payload);
    }
    release_at(depth + 1);
    open_scope_word const word = address() + ((depth + 1) * one_deeper) % log_alignment;
    return depth < known_depth ? word : word | is_deep;
  }

  /// Ends a scope or call of this log, and the inner ones that were left without their destructors. The log must not be busy.
  /// @return the number of ended scopes and calls; 0, with nothing recorded, if the scope is not open.
  std::uint64_t leave(open_scope_word open, std::uint64_t ticks) noexcept {
    open_scope_word const around = __atomic_load_n(&innermost, __ATOMIC_RELAXED);
    std::uint64_t const depth = depth_of(around);
    std::uint64_t const wanted = depth_of_word(open, depth);
    if (wanted == 0 || wanted > depth) return 0;
    mark_busy();
    std::uint64_t* at = next_slot;
    for (std::uint64_t each = depth; each > wanted; --each) at = put_end(at, each, leave_at_unknown_time);
    publish(put_end(at, wanted, ticks | leave_mark));
    release_at(wanted - 1);
    return depth - wanted + 1;
  }

  /// The site of the open scope or call at a depth, or of the last scope or call that was open there. May be called on any thread. @return
  /// null if unknown.
  [[nodiscard]] site const* site_at(std::uint64_t depth) const noexcept {
    if (depth == 0 || depth > known_depth) return nullptr;
    return reinterpret_cast<site const*>(__atomic_load_n(&open_what[depth - 1], __ATOMIC_RELAXED) & ~event_kind_bits);
  }

  /// The depth of an open scope of this log; 0 if it is not open. The log must not be busy.
  [[nodiscard]] std::uint64_t depth_of_word(open_scope_word open) const noexcept { return depth_of_word(open, depth()); }

  /// The depth stored in the word of a scope that ended wrongly; 0 if unknown.
  [[nodiscard]] static std::uint64_t shown_depth(open_scope_word open) noexcept {
    return (open & is_deep) != 0 ? 0 : open % log_alignment / one_deeper;
  }

  [[nodiscard]] bool is_busy() const noexcept { return (__atomic_load_n(&innermost, __ATOMIC_RELAXED) & log_is_busy) != 0; }

  /// The number of open recorded scopes and calls. The log must not be busy.
  [[nodiscard]] std::uint64_t depth() const noexcept { return depth_of(__atomic_load_n(&innermost, __ATOMIC_RELAXED)); }

  /// Initialises the log. To be called once, before the first event.
  /// @param first the first chunk; its slots follow it in memory.
  /// @param bound maximum number of slots of all chunks together.
  void use(log_chunk& first, std::uint64_t slot_count, std::uint64_t bound) noexcept {
    first.slot_count = static_cast<std::uint32_t>(slot_count);
    chunk = &first;
    min_slots = slot_count;
    mapped_slots = slot_count;
    slot_bound = bound;
    next_slot = first.begin();
    read = first.begin();
    read_chunk = &first;
    innermost = address();
  }

  /// Prepares the log for a new owner: no scope is open.
  void reset() noexcept {
    room_end = nullptr;
    default_scope = nullptr;
    release_at(0);
  }

 private:
  static constexpr std::uint64_t spare = known_depth + 4;
  /// Represents any depth above `known_depth` in `innermost`.
  static constexpr std::uint64_t too_deep = known_depth + 1;
  static constexpr open_scope_word unusual = log_is_busy | (log_alignment - known_depth * one_deeper);
  static_assert((known_depth & (known_depth - 1)) == 0, "one test finds any depth above known_depth");

  [[nodiscard]] open_scope_word address() const noexcept { return reinterpret_cast<open_scope_word>(this); }

  [[nodiscard]] static bool is_usual(open_scope_word around) noexcept { return __builtin_expect((around & unusual) == 0, 1); }

  /// Whether the log has space at `at`, according to `room_end`, which `make_room` updates.
  [[nodiscard]] bool has_room(std::uint64_t const* at) const noexcept {
    return reinterpret_cast<std::uintptr_t>(at) <= reinterpret_cast<std::uintptr_t>(room_end);
  }

  /// The array element of the scope that begins inside `around`. The word is the address of the log plus depth times element size, so
  /// adding the offset of the array gives the address of the element.
  static std::uint64_t& known(open_scope_word around, std::uintptr_t offset_of_array) noexcept {
    static_assert(one_deeper == sizeof(std::uint64_t));
    return *reinterpret_cast<std::uint64_t*>(around + offset_of_array);
  }

  /// Stores a value atomically, because another thread may read it for a message.
  static void remember(std::uint64_t& at, std::uint64_t what) noexcept { __atomic_store_n(&at, what, __ATOMIC_RELAXED); }

  void mark_busy() noexcept {
    __atomic_store_n(&innermost, log_is_busy, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }

  void release(open_scope_word now) noexcept {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&innermost, now, __ATOMIC_RELAXED);
  }

  void release_at(std::uint64_t depth) noexcept {
    deep = depth;
    release(address() + (depth < too_deep ? depth : too_deep) * one_deeper);
  }

  [[nodiscard]] std::uint64_t depth_of(open_scope_word around) const noexcept {
    std::uint64_t const shown = around % log_alignment / one_deeper;
    return shown < too_deep ? shown : deep;
  }

  /// The depth of a scope that may be open. @param depth depth of the innermost scope.
  [[nodiscard]] static std::uint64_t depth_of_word(open_scope_word open, std::uint64_t depth) noexcept {
    std::uint64_t const shown = open % log_alignment / one_deeper;
    if ((open & is_deep) == 0) return shown;
    constexpr std::uint64_t wrap = log_alignment / one_deeper;
    if (depth < too_deep) return 0;
    std::uint64_t const inside = (depth - shown) % wrap;
    return depth - inside < too_deep || inside > depth ? 0 : depth - inside;
  }

  template <class... Slots>
  void write(Slots... values) noexcept {
    std::uint64_t* at = next_slot;
    ((*at++ = values), ...);
    publish(at);
  }

  void publish(std::uint64_t* end) noexcept { __atomic_store_n(&next_slot, end, __ATOMIC_RELEASE); }

  [[nodiscard]] std::uint64_t free_after(std::uint64_t const* at) const noexcept { return static_cast<std::uint64_t>(chunk->last() - at); }

  /// The number of ends that fit into a chunk in addition to those of the outer `known_depth` scopes.
  [[nodiscard]] static std::uint64_t deep_ends_in(log_chunk const& chunk_with_ends) noexcept {
    return chunk_with_ends.slot_count - 1 - known_depth;
  }

  /// Writes the end of the scope at a depth. @return the slot after it, not published yet.
  std::uint64_t* put_end(std::uint64_t* at, std::uint64_t depth, std::uint64_t end) noexcept {
    if (__builtin_expect(depth > known_depth && free_after(at) <= known_depth, 0)) at = continue_in(*take_reserved(), at);
    *at = end;
    return at + 1;
  }

  /// @return the first slot of `following`, not published yet.
  std::uint64_t* continue_in(log_chunk& following, std::uint64_t* at) noexcept {
    *at = reinterpret_cast<std::uint64_t>(&following) + static_cast<std::uint64_t>(event_kind::continued);
    chunk = &following;
    room_end = nullptr;
    return following.begin();
  }

  log_chunk* take_reserved() noexcept {
    log_chunk* const taken = reserve;
    reserve = taken->below;
    reserved_ends -= deep_ends_in(*taken);
    return taken;
  }

  /// Makes room for an event of `slots` slots, and for the ends of the open scopes. @return false, with the loss counted, if the log is
  /// full.
  __attribute__((noinline, cold)) bool make_room(std::uint64_t depth, std::uint64_t slot_count) noexcept {
    std::uint64_t const deeper = depth > known_depth ? depth - known_depth : 0;
    std::uint64_t const needed = depth - deeper + slot_count;
    if (free_after(next_slot) < needed) {
      if (needed >= min_slots) {
        lost_events::count(lost.full);
        return false;
      }
      log_chunk* const taken = reserved_ends >= deeper + slot_count && reserve != nullptr ? take_reserved() : take_chunk();
      if (taken == nullptr) return false;
      publish(continue_in(*taken, next_slot));
    }
    while (deeper > 0 && free_after(next_slot) - needed + reserved_ends < deeper) {
      if (min_slots <= known_depth + 1) {
        lost_events::count(lost.full);
        return false;
      }
      log_chunk* const taken = take_chunk();
      if (taken == nullptr) return false;
      taken->below = reserve;
      reserve = taken;
      reserved_ends += deep_ends_in(*taken);
    }
    std::uint64_t const free_slots = free_after(next_slot);
    room_end = free_slots < spare ? nullptr : chunk->last() - spare;
    return true;
  }

  /// A chunk that the reader has read, or a new one. @return null, with the loss counted, if there is none.
  [[nodiscard]] log_chunk* take_chunk() noexcept {
    if (provide_chunk != nullptr) return provide_chunk(*this);
    log_chunk* const read_before = free_chunks.pop();
    if (read_before == nullptr) lost_events::count(lost.full);
    return read_before;
  }
};

}  // namespace PROFKIT_NAMESPACE::detail
