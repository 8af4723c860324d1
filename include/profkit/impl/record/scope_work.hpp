// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../../work.hpp"
#include "recorder.hpp"

// What a program declares about a scope: its work, and that it is a collective operation.

namespace profkit {

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

/// @brief A group of ranks that communicate, for `collective`. Lives as long as the program.
struct alignas(detail::event_kind_bits + 1) communicator {
  char const* name = "";        ///< equal on all its ranks, like `id`; must live as long as the program
  std::uint64_t id = 0;         ///< distinguishes groups with equal names
  std::uint32_t rank = 0;       ///< rank of this process in the group
  std::uint32_t size = 0;       ///< number of ranks; 0: unknown
  std::uint64_t collectives{};  ///< number of `collective` objects so far

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
/// The ranks of a group must create these objects in the same order, whether a session runs or not: the merged report identifies a
/// collective by function and number. The engine requires an order too if several threads use one group.
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

  char const* function;    ///< such as "all_reduce"
  communicator* group;     ///< the participating ranks
  std::uint64_t bytes;     ///< size of this rank's data; 0: unknown
  std::uint64_t sequence;  ///< number of the collective in its group, from 0
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
};

/// Declares the scope that has just begun on this thread as a collective.
inline void put_collective(thread_log& log, std::uint32_t flags, collective const& done) noexcept {
  open_scope_word const claimed = log.claim(5);
  if (claimed == 0) return;
  log.put(claimed, reinterpret_cast<std::uint64_t>(done.group) + static_cast<std::uint64_t>(event_kind::scope_collective), ticks(flags),
          reinterpret_cast<std::uint64_t>(done.function), done.bytes, done.sequence);
}

/// Records a collective that a library has enqueued on this thread. If a call that launched a kernel returned immediately before, it is the
/// launch of this collective, and of further collectives that follow immediately.
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

}  // namespace profkit
