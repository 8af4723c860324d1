// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "add_work.hpp"
#include "library_pin.hpp"
#include "recorder.hpp"

namespace profkit {

namespace detail {

struct no_work {};

/// What a macro's arguments behind the name say.
[[nodiscard]] constexpr no_work work_of(char const*) noexcept { return {}; }
[[nodiscard]] constexpr work const& work_of(char const*, work const& done) noexcept { return done; }

}  // namespace detail

/// A host range on one thread, from construction to destruction. Use it through `PROF_SCOPE` and `PROF_SCOPE_INDEXED`.
///
/// With a session running it is recorded; with a tool attached to NVTX it is also a range in the domain `profkit`; otherwise it
/// costs one load and a branch. Never throws, synchronises nothing, and after a thread's first scope neither allocates nor locks.
/// Inlined whatever the compiler thinks of its size: where it is off, a call would take twice as long.
/// Stack only: it must end on the thread that began it, in reverse order. One that does not (`longjmp`, a coroutine) does no harm beyond
/// wrong figures, and is counted. In a signal handler a scope that interrupts the recorder on its own thread is dropped and counted.
class scope {
 public:
  /// @param where the place in the source; lives as long as the program.
  [[nodiscard, gnu::always_inline]] explicit scope(site& where) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where);
  }

  /// @param where the place in the source.
  /// @param index shown behind the name, as in `layer_3`; kept as a number.
  [[nodiscard, gnu::always_inline]] scope(site& where, std::int64_t index) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where, detail::event_kind::enter_indexed, static_cast<std::uint64_t>(index));
  }

  /// @param where the place in the source.
  /// @param done what the scope has to do.
  [[nodiscard, gnu::always_inline]] scope(site& where, work const& done) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where);
    if (is_recorded()) detail::put_work(*detail::this_thread_log(), flags, done);
  }

  /// What `PROF_SCOPE` without work makes.
  [[nodiscard, gnu::always_inline]] scope(site& where, detail::no_work) noexcept : scope{where} {}

  __attribute__((always_inline)) ~scope() {
    if (__builtin_expect(open_ != 0, 0)) end(open_);
  }

  scope(scope const&) = delete;
  scope& operator=(scope const&) = delete;
  static void* operator new(decltype(sizeof(int))) = delete;
  static void* operator new[](decltype(sizeof(int))) = delete;

 protected:
  scope() noexcept = default;

  /// It has begun already.
  void begun(detail::open_scope_word open) noexcept { open_ = open; }

  /// @param flags of the recorder.
  /// @param where the place in the source.
  __attribute__((always_inline)) void begin(std::uint32_t flags, site& where) noexcept {
    if (__builtin_expect(flags == detail::recording, 0)) {
      detail::thread_log* const log = detail::this_thread().log;
      if (__builtin_expect(log != nullptr, 1)) {
        open_ = log->enter(detail::tagged(where, detail::event_kind::enter));
        if (__builtin_expect(open_ != 0, 1)) return;
      }
    }
    if (__builtin_expect(flags != 0, 0)) open_ = detail::enter_slow_path(where, detail::event_kind::enter, 0);
  }

  /// @param flags of the recorder.
  /// @param where the place in the source.
  /// @param kind one that has a payload.
  /// @param payload such as the index.
  __attribute__((always_inline)) void begin(std::uint32_t flags, site& where, detail::event_kind kind, std::uint64_t payload) noexcept {
    if (__builtin_expect(flags == detail::recording, 0)) {
      detail::thread_log* const log = detail::this_thread().log;
      if (__builtin_expect(log != nullptr, 1)) {
        open_ = log->enter(detail::tagged(where, kind), payload);
        if (__builtin_expect(open_ != 0, 1)) return;
      }
    }
    if (__builtin_expect(flags != 0, 0)) open_ = detail::enter_slow_path(where, kind, payload);
  }

  /// By value and always inlined, so that a scope need not be in memory for the way of an exception.
  __attribute__((always_inline)) static void end(detail::open_scope_word open) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags == detail::recording, 1)) {
      // Of this thread, which need not be that of the scope: the log of another thread must not be touched.
      detail::thread_log* const log = detail::this_thread().log;
      if (__builtin_expect(log != nullptr && log->close(open), 1)) return;
    }
    detail::leave_slow_path(open, 0);
  }

  /// For whoever ends it instead of the destructor.
  [[nodiscard]] detail::open_scope_word release() noexcept {
    detail::open_scope_word const open = open_;
    open_ = 0;
    return open;
  }

  /// Whether a session records it.
  [[nodiscard]] bool is_recorded() const noexcept { return (open_ & ~detail::flags_for_end) != 0; }

 private:
  detail::open_scope_word open_ = 0;
};

/// Samples a number at this moment. Use it through `PROF_COUNTER`. Same rules as a scope.
inline void sample_counter(site& where, double value) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
  if (__builtin_expect((flags & detail::recording) == 0, 1)) return;
  detail::thread_log* const log = detail::log_of_this_thread();
  if (log == nullptr) return;
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  if (auto const claimed = log->claim(3)) {
    log->put(claimed, detail::tagged(where, detail::event_kind::counter), detail::ticks(flags), bits);
  }
}

}  // namespace profkit
