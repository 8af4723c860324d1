// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "library_pin.hpp"
#include "recorder.hpp"
#include "scope_work.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

struct no_work {};

/// The declared work or collective among the arguments of `PROF_SCOPE`.
[[nodiscard]] constexpr no_work work_of(char const*) noexcept { return {}; }
[[nodiscard]] constexpr work const& work_of(char const*, work const& done) noexcept { return done; }
[[nodiscard]] constexpr collective const& work_of(char const*, collective const& done) noexcept { return done; }

}  // namespace detail

/// @brief A host range on one thread, from construction to destruction. Use it through `PROF_SCOPE` and `PROF_SCOPE_INDEXED`.
///
/// A running session records it. If a tool listens to NVTX, it is also a range in the domain `profkit`. Otherwise it costs one load and a
/// branch. Never throws, never synchronises the device, and neither allocates nor locks after the first scope of a thread.
///
/// For automatic variables only: a scope must end on its thread, in reverse order of construction. A scope that ends differently
/// (`longjmp`, a coroutine) makes figures wrong and is counted; it has no other effect. A scope in a signal handler that interrupts the
/// recorder on the same thread is dropped and counted.
///
/// Always inlined: without a session, a function call would double its cost.
class scope {
 public:
  /// @brief Begins the scope.
  /// @param where the source location and name; must live as long as the program.
  [[nodiscard, gnu::always_inline]] explicit scope(site& where) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where);
  }

  /// @brief Begins a scope with an index.
  /// @param where the source location and name.
  /// @param index shown after the name, as in `layer_3`; stored as a number.
  [[nodiscard, gnu::always_inline]] scope(site& where, std::int64_t index) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where, detail::event_kind::enter_indexed, static_cast<std::uint64_t>(index));
  }

  /// @brief Begins a scope with declared work.
  /// @param where the source location and name.
  /// @param done floating-point operations and bytes of the scope.
  [[nodiscard, gnu::always_inline]] scope(site& where, work const& done) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where);
    if (is_recorded()) detail::put_work(*detail::this_thread_log(), flags, done);
  }

  /// @brief Begins a scope that is a collective operation.
  /// @param where the source location and name.
  /// @param done the operation.
  [[nodiscard, gnu::always_inline]] scope(site& where, collective const& done) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    begin(flags, where);
    if (is_recorded()) detail::put_collective(*detail::this_thread_log(), flags, done);
  }

  /// @brief The constructor that `PROF_SCOPE` uses without declared work.
  [[nodiscard, gnu::always_inline]] scope(site& where, detail::no_work) noexcept : scope{where} {}

  /// @brief Ends the scope. Must run on the thread that began it. Costs one branch if no session ran when the scope began.
  __attribute__((always_inline)) ~scope() {
    if (__builtin_expect(open_ != 0, 0)) end(open_);
  }

  scope(scope const&) = delete;
  scope& operator=(scope const&) = delete;
  static void* operator new(decltype(sizeof(int))) = delete;
  static void* operator new[](decltype(sizeof(int))) = delete;

 protected:
  scope() noexcept = default;

  /// @brief Takes the word of a scope that has begun.
  void begun(detail::open_scope_word open) noexcept { open_ = open; }

  /// @brief Begins the scope.
  /// @param flags flags of the recorder.
  /// @param where the source location and name.
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

  /// @brief Begins a scope of a kind with a payload.
  /// @param flags flags of the recorder.
  /// @param where the source location and name.
  /// @param kind kind of the event.
  /// @param payload payload of the event, such as the index.
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

  /// @brief Ends the scope. By value and always inlined, so that exception handling does not force the scope into memory.
  __attribute__((always_inline)) static void end(detail::open_scope_word open) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_ACQUIRE);
    if (__builtin_expect(flags == detail::recording, 1)) {
      // The log of this thread. The scope may be in the log of another thread, which must not be written.
      detail::thread_log* const log = detail::this_thread().log;
      if (__builtin_expect(log != nullptr && log->close(open), 1)) return;
    }
    detail::leave_slow_path(open, 0);
  }

  /// @brief Hands the word to a caller that ends the scope instead of the destructor.
  [[nodiscard]] detail::open_scope_word release() noexcept {
    detail::open_scope_word const open = open_;
    open_ = 0;
    return open;
  }

  /// @brief Whether a session records this scope.
  [[nodiscard]] bool is_recorded() const noexcept { return (open_ & ~detail::flags_for_end) != 0; }

 private:
  detail::open_scope_word open_ = 0;
};

/// @brief Samples a number at this moment. Use it through `PROF_COUNTER`. Threads, errors and cost: see `scope`.
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

/// @brief Samples a number of any other type, which is converted to `double`.
template <class Number>
void sample_counter(site& where, Number const& value) noexcept {
  sample_counter(where, static_cast<double>(value));
}

}  // namespace PROFKIT_NAMESPACE
