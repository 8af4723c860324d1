// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

namespace profkit {

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
    begin_nvtx(flags, where, nullptr);
    if ((flags & detail::recording) == 0) return;
    detail::thread_log* const log = detail::log_of_this_thread();
    if (__builtin_expect(log == nullptr || !log->reserve(2), 0)) return;
    log->put(detail::ticks(flags), detail::tagged(where, detail::event_kind::enter));
    opened(log);
  }

  void begin(std::uint32_t flags, site& where, detail::event_kind kind, std::uint64_t payload, std::int64_t const* index) noexcept {
    begin_nvtx(flags, where, index);
    if ((flags & detail::recording) == 0) return;
    detail::thread_log* const log = detail::log_of_this_thread();
    if (__builtin_expect(log == nullptr || !log->reserve(3), 0)) return;
    log->put(detail::ticks(flags), detail::tagged(where, kind), payload);
    opened(log);
  }

  void begin_nvtx(std::uint32_t flags, site& where, std::int64_t const* index) noexcept {
    flags_ = flags & ~detail::recording;
    if ((flags & detail::nvtx_attached) != 0) detail::recorder.nvtx_push(where, index);
  }

  void opened(detail::thread_log* log) noexcept {
    ++log->open;
    log_ = log;
  }

  void end() noexcept { end_at(log_ != nullptr ? detail::ticks(flags_) : 0); }

  void end_at(std::uint64_t now) noexcept {
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
