// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "../../work.hpp"
#include "recorder.hpp"

// What a program declares about a scope: its work, and that it is a collective operation.

namespace PROFKIT_NAMESPACE {

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

namespace detail {

/// Counts messages by partner and tag. Thread-safe. Its table is never freed, because a `communicator` lives as long as the program.
class message_counts {
 public:
  constexpr message_counts() noexcept = default;
  constexpr message_counts(message_counts const&) noexcept {}  // a copy starts anew
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment,cert-oop54-cpp): nothing is assigned
  constexpr message_counts& operator=(message_counts const&) noexcept { return *this; }
  ~message_counts() = default;

  /// The number of a message that could not be counted.
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  /// @return how many messages had this partner and tag so far; `unknown` beyond 32,768 partners and tags.
  std::uint64_t next(std::uint32_t partner, std::int32_t tag) noexcept {
    std::uint64_t const key = std::uint64_t{partner} << 32U | static_cast<std::uint32_t>(tag);
    while (__atomic_exchange_n(&is_locked_, true, __ATOMIC_ACQUIRE)) continue;
    std::uint64_t result = unknown;
    bool const has_room = 2 * used_ < capacity_ || grow();
    if (capacity_ > 0) {
      entry& at = find(key);
      if (at.count == 0 && has_room) {
        at.key = key;
        ++used_;
      }
      if (at.count > 0 || has_room) result = at.count++;
    }
    __atomic_store_n(&is_locked_, false, __ATOMIC_RELEASE);
    return result;
  }

 private:
  struct entry {
    std::uint64_t key;
    std::uint64_t count;  ///< 0: free
  };

  [[nodiscard]] entry& find(std::uint64_t key) noexcept {
    std::uint64_t at = key * 0x9e3779b97f4a7c15U >> 32U;
    while (entries_[at % capacity_].count > 0 && entries_[at % capacity_].key != key) ++at;
    return entries_[at % capacity_];
  }

  bool grow() noexcept {
    constexpr std::uint64_t smallest = 256;
    constexpr std::uint64_t largest = std::uint64_t{1} << 16U;
    if (capacity_ == largest) return false;
    std::uint64_t const capacity = capacity_ == 0 ? smallest : 2 * capacity_;
    // Not from the program's heap, whose behaviour large blocks change.
    void* const made = ::mmap(nullptr, capacity * sizeof(entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return false;
    entry* const old = entries_;
    std::uint64_t const old_capacity = capacity_;
    entries_ = static_cast<entry*>(made);
    capacity_ = capacity;
    for (std::uint64_t i = 0; i < old_capacity; ++i) {
      if (old[i].count > 0) find(old[i].key) = old[i];
    }
    if (old != nullptr) ::munmap(old, old_capacity * sizeof(entry));
    return true;
  }

  entry* entries_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
  bool is_locked_ = false;
};

/// The time in ticks; 0 if no session runs.
[[nodiscard]] inline std::uint64_t ticks_if_recording() noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  return (flags & recording) == 0 ? 0 : ticks(flags);
}

}  // namespace detail

/// @brief A group of ranks that communicate, for `collective`. Lives as long as the program.
struct alignas(detail::event_kind_bits + 1) communicator {
  char const* name = "";              ///< equal on all its ranks, like `id`; must live as long as the program
  std::uint64_t id = 0;               ///< distinguishes groups with equal names
  std::uint32_t rank = 0;             ///< rank of this process in the group
  std::uint32_t size = 0;             ///< number of ranks; 0: unknown
  std::uint64_t collectives{};        ///< number of `collective` objects so far, without messages
  detail::message_counts sent{};      ///< messages of this rank
  detail::message_counts received{};  ///< messages to this rank

  constexpr communicator() noexcept = default;
  /// @brief Takes any integers, such as the `int` of MPI, which must not be negative.
  template <class Id = std::uint64_t, class Rank = std::uint32_t, class Size = std::uint32_t>
  constexpr communicator(char const* of_name, Id of_id = {}, Rank of_rank = {}, Size of_size = {}, std::uint64_t so_far = 0) noexcept
      : name{of_name},
        id{static_cast<std::uint64_t>(of_id)},
        rank{static_cast<std::uint32_t>(of_rank)},
        size{static_cast<std::uint32_t>(of_size)},
        collectives{so_far} {}
};

/// @brief Declares that a scope is one collective operation of an engine other than NCCL, such as MPI or Gloo:
/// `PROF_SCOPE("sum", profkit::collective{"all_reduce", group, bytes})`. For NCCL, use `nccl_collectives`.
///
/// For a message between two ranks, use `send` and `receive`. Create the object where the operation starts, and open a scope with it where
/// this rank waits for it: for a blocking operation both in one line, for a non-blocking one in two. In a scope that waits for several
/// operations, call `add_collective` for each.
///
/// The ranks of a group must create these objects in the same order, whether a session runs or not: the merged report identifies a
/// collective by its number in the group, and a message by its number between sender and receiver with a tag. The engine requires an order
/// too if several threads use one group.
struct collective {
  /// @brief Counts the collective. Costs one atomic addition. Thread-safe.
  /// @param of_function such as "all_reduce"; a string literal.
  /// @param of_group must live as long as the program.
  /// @param of_bytes size of this rank's data: for an all-gather the data that it sends, for a reduce-scatter the data that it receives. 0:
  /// unknown.
  collective(char const* of_function, communicator& of_group, std::uint64_t of_bytes = 0) noexcept
      : function{of_function},
        group{&of_group},
        bytes{of_bytes},
        sequence{__atomic_fetch_add(&of_group.collectives, std::uint64_t{1}, __ATOMIC_RELAXED)} {}

  /// @brief A message to another rank. Thread-safe; does not throw.
  /// @param group must live as long as the program.
  /// @param to rank of the receiver in the group.
  /// @param tag as in MPI; 0 if the engine has no tags.
  /// @param bytes its size; 0: unknown.
  [[nodiscard]] static collective send(communicator& group, std::uint32_t to, std::int32_t tag = 0, std::uint64_t bytes = 0) noexcept {
    return {message_side::send, group, to, tag, bytes};
  }

  /// @brief A message from another rank, as `send`.
  [[nodiscard]] static collective receive(communicator& group, std::uint32_t from, std::int32_t tag = 0, std::uint64_t bytes = 0) noexcept {
    return {message_side::receive, group, from, tag, bytes};
  }

  char const* function;                                 ///< such as "all_reduce"
  communicator* group;                                  ///< the participating ranks
  std::uint64_t bytes;                                  ///< size of this rank's data; 0: unknown
  std::uint64_t sequence;                               ///< its number, from 0
  std::uint64_t posted = detail::ticks_if_recording();  ///< when it was started, in ticks; 0: unknown
  std::uint64_t since = 0;                              ///< when the wait for it began, in ticks; 0: with its scope
  std::uint32_t partner = 0;                            ///< the other rank of a message
  std::int32_t tag = 0;                                 ///< of a message
  message_side side = message_side::none;               ///< of a message

 private:
  collective(message_side of_side, communicator& of_group, std::uint32_t of_partner, std::int32_t of_tag, std::uint64_t of_bytes) noexcept
      : function{"message"},
        group{&of_group},
        bytes{of_bytes},
        sequence{(of_side == message_side::send ? of_group.sent : of_group.received).next(of_partner, of_tag)},
        partner{of_partner},
        tag{of_tag},
        side{of_side} {}
};

namespace detail {

/// A kind of collective that a library reports, with the names that it uses. Never destroyed, because logs point to it.
struct alignas(event_kind_bits + 1) reported_collective {
  communicator const* group;
  char const* function;
  char const* datatype;
  char const* algorithm;
  char const* protocol;
  bool is_captured;
  message_side side = message_side::none;
};

/// The number of a message and its partner in one word, for `put_reported_collective`.
[[nodiscard]] constexpr std::uint64_t packed_message(std::uint64_t number, std::uint32_t partner) noexcept {
  return number << 32U | partner;
}

/// Declares the innermost scope of this thread as a collective.
inline void put_collective(thread_log& log, std::uint32_t flags, collective const& done) noexcept {
  open_scope_word const claimed = log.claim(8);
  if (claimed == 0) return;
  log.put(claimed, reinterpret_cast<std::uint64_t>(done.group) + static_cast<std::uint64_t>(event_kind::scope_collective), ticks(flags),
          reinterpret_cast<std::uint64_t>(done.function), done.bytes << 2U | static_cast<std::uint64_t>(done.side), done.sequence,
          done.posted, done.since, std::uint64_t{done.partner} << 32U | static_cast<std::uint32_t>(done.tag));
}

/// Records a collective that a library has enqueued on this thread. If a call that launched a kernel returned immediately before, it is the
/// launch of this collective, and of further collectives that follow immediately.
/// @param sequence its number; for a message `packed_message`.
inline void put_reported_collective(reported_collective const& what, std::uint64_t sequence, std::uint64_t bytes) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return;
  thread_log* const log = log_of_this_thread();
  if (auto const claimed = log != nullptr ? log->claim(4) : 0) {
    log->put(claimed, reinterpret_cast<std::uint64_t>(&what) + static_cast<std::uint64_t>(event_kind::reported_collective), ticks(flags),
             sequence, bytes);
  }
}

}  // namespace detail

/// @brief Declares that the innermost scope on this thread waits for an operation, in addition to others: several requests of one
/// `MPI_Waitall`. Does nothing without a session or outside scopes. May be called on any thread; does not lock, allocate or throw.
inline void add_collective(collective const& done) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::thread_log* const log = detail::this_thread_log();
  if (log != nullptr) detail::put_collective(*log, flags, done);
}

}  // namespace PROFKIT_NAMESPACE
