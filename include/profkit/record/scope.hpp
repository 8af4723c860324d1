// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "add_work.hpp"
#include "recorder.hpp"

namespace profkit {

namespace detail {

/// @param now when the scope ended; 0: it is about to begin.
__attribute__((noinline, cold)) inline void tell_listeners(std::uint32_t flags, std::uint64_t now) noexcept {
  if ((flags & has_listener) != 0) {
    auto const function = __atomic_load_n(&recorder.before_change, __ATOMIC_ACQUIRE);
    if (function != nullptr) function();
  }
  if ((flags & polls_memory) != 0) recorder.poll_memory(now);
}

struct no_work {};

/// What a macro's arguments behind the name say.
[[nodiscard]] constexpr no_work work_of(char const*) noexcept { return {}; }
[[nodiscard]] constexpr work const& work_of(char const*, work const& done) noexcept { return done; }

}  // namespace detail

/// A host range on one thread, from construction to destruction. Use it through `PROF_SCOPE` and `PROF_SCOPE_INDEXED`.
///
/// With a session running it is recorded; with a tool attached to NVTX it is also a range in the domain `profkit`; otherwise it
/// costs one load and a branch. Never throws, synchronises nothing, and after a thread's first scope neither allocates nor locks.
/// Stack only: it must end on the thread that began it, in reverse order.
class scope {
 public:
  explicit scope(site& where) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags != 0, 0)) begin(flags, where);
  }

  /// @param index shown behind the name, as in `layer_3`; kept as a number.
  scope(site& where, std::int64_t index) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags != 0, 0)) begin(flags, where, detail::event_kind::enter_indexed, static_cast<std::uint64_t>(index), &index);
  }

  /// @param done what the scope has to do.
  scope(site& where, work const& done) noexcept {
    std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
    if (__builtin_expect(flags != 0, 0)) begin(flags, where, done);
  }

  scope(site& where, detail::no_work) noexcept : scope{where} {}

  ~scope() {
    if (__builtin_expect(log_ != nullptr || flags_ != 0, 0)) end();
  }

  scope(scope const&) = delete;
  scope& operator=(scope const&) = delete;
  static void* operator new(decltype(sizeof(int))) = delete;
  static void* operator new[](decltype(sizeof(int))) = delete;

 protected:
  scope() noexcept = default;

  void begin(std::uint32_t flags, site& where) noexcept {
    announce(flags, where, nullptr);
    if ((flags & detail::recording) == 0) return;
    detail::thread_log* const log = detail::log_of_this_thread();
    if (__builtin_expect(log == nullptr || !log->reserve(2), 0)) return;
    std::uint64_t const what = detail::tagged(where, detail::event_kind::enter);
    log->put(detail::ticks(flags), what);
    opened(log, what);
  }

  void begin(std::uint32_t flags, site& where, work const& done) noexcept {
    begin(flags, where);
    if (log_ != nullptr) detail::put_work(*log_, flags, done);
  }

  void begin(std::uint32_t flags, site& where, detail::event_kind kind, std::uint64_t payload, std::int64_t const* index) noexcept {
    announce(flags, where, index);
    if ((flags & detail::recording) == 0) return;
    detail::thread_log* const log = detail::log_of_this_thread();
    if (__builtin_expect(log == nullptr || !log->reserve(3), 0)) return;
    std::uint64_t const what = detail::tagged(where, kind);
    log->put(detail::ticks(flags), what, payload);
    opened(log, what, payload);
  }

  void announce(std::uint32_t flags, site& where, std::int64_t const* index) noexcept {
    listen(flags, 0);
    flags_ = flags & ~detail::recording;
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push(where, index);
  }

  void announce(std::uint32_t flags, detail::scope_node& where) noexcept {
    listen(flags, 0);
    flags_ = flags & ~detail::recording;
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push_node(where);
  }

  void opened(detail::thread_log* log, std::uint64_t what, std::uint64_t payload = 0) noexcept {
    log->opened(what, payload);
    log_ = log;
  }

  void end() noexcept { end_at(log_ != nullptr ? detail::ticks(flags_) : 0); }

  void end_at(std::uint64_t now) noexcept {
    listen(__atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED), now);
    if (log_ != nullptr) {
      --log_->open;
      log_->put(now, 0);
    }
    if ((flags_ & detail::nvtx_attached) != 0) detail::recorder.nvtx_pop();
    log_ = nullptr;
    flags_ = 0;
  }

  [[nodiscard]] bool is_recorded() const noexcept { return log_ != nullptr; }

 private:
  static void listen(std::uint32_t flags, std::uint64_t now) noexcept {
    if (__builtin_expect((flags & (detail::has_listener | detail::polls_memory)) != 0, 0)) detail::tell_listeners(flags, now);
  }

  detail::thread_log* log_ = nullptr;  ///< set if the beginning was recorded
  std::uint32_t flags_ = 0;            ///< as they were at the beginning
};

/// Samples a number at this moment. Use it through `PROF_COUNTER`. Same rules as a scope.
inline void sample_counter(site& where, double value) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if (__builtin_expect((flags & detail::recording) == 0, 1)) return;
  detail::thread_log* const log = detail::log_of_this_thread();
  if (log == nullptr || !log->reserve(2)) return;
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  log->put(detail::ticks(flags), detail::tagged(where, detail::event_kind::counter), bits);
}

}  // namespace profkit
