// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// `pthread_setcancelstate`, without <pthread.h>, which would take 5 ms more to compile in each file with scopes.
int set_cancel_state(int wanted, int* before) __asm__("pthread_setcancelstate");

/// To the end of the block, `pthread_cancel` does not end this thread; a request stays pending until the program's next cancellation point.
///
/// The library makes system calls in `noexcept` functions and destructors, which a cancelled thread cannot leave by unwinding: it would
/// abort. A thread that uses PTHREAD_CANCEL_ASYNCHRONOUS inside scopes or session calls is not supported, as in all of the C++ library.
class no_cancellation {
 public:
  no_cancellation() noexcept { static_cast<void>(set_cancel_state(disabled, &before_)); }
  ~no_cancellation() { static_cast<void>(set_cancel_state(before_, nullptr)); }
  no_cancellation(no_cancellation const&) = delete;
  no_cancellation& operator=(no_cancellation const&) = delete;

 private:
  static constexpr int disabled = 1;  ///< PTHREAD_CANCEL_DISABLE of all C libraries for Linux

  int before_ = 0;
};

/// `this_thread_state::quiet` of a thread of the library.
inline constexpr std::uintptr_t always_quiet = ~std::uintptr_t{0};

/// Lets this thread record again. In an order in which a signal handler finds either a quiet thread or one that records.
inline void end_quiet(this_thread_state& thread) noexcept {
  thread.log = thread.quiet_log;
  thread.quiet_log = nullptr;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread.quiet = 0;
}

/// Whether this thread records nothing now: see `quiet_thread`. May be called at any time.
///
/// A signal handler may have left the quiet block by `siglongjmp`. Its frame is then below the caller's, and the thread records again.
[[nodiscard]] inline bool is_quiet() noexcept {
  if (__atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) == 0) return false;
  this_thread_state& thread = this_thread();
  if (__builtin_expect(thread.quiet == 0, 1)) return false;
  if (thread.quiet == always_quiet) return true;
  constexpr std::uintptr_t max_jump = std::uintptr_t{1} << 20U;  // a frame that is further away is on another stack
  auto const frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (frame <= thread.quiet || frame - thread.quiet > max_jump) return true;
  end_quiet(thread);
  return false;
}

/// To the end of the block, this thread records nothing, calls no listener, and polls no memory. Scopes and other events inside have no
/// effect and are not counted as lost. `scope_token::current` still returns the scope that is open around the block.
///
/// For code of the library on threads of the program: around functions of the program that may open scopes (a listener, a polled
/// allocator, a tool), which would otherwise call each other without end; and around work that must not appear in the program's figures.
class quiet_thread {
 public:
  [[gnu::always_inline]] quiet_thread() noexcept : is_outermost_{begin(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))} {}
  ~quiet_thread() {
    if (is_outermost_ && this_thread().quiet != 0) end_quiet(this_thread());
  }
  quiet_thread(quiet_thread const&) = delete;
  quiet_thread& operator=(quiet_thread const&) = delete;

 private:
  static bool begin(std::uintptr_t frame) noexcept {
    place_thread_states();
    if (is_quiet()) return false;
    this_thread_state& thread = this_thread();
    thread.quiet = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.quiet_log = thread.log;
    thread.log = nullptr;
    return true;
  }

  bool is_outermost_;
};

/// Makes this thread quiet until it ends: for the library's own threads, before they do anything else.
inline void keep_this_thread_quiet() noexcept {
  place_thread_states();
  this_thread().quiet = always_quiet;
}

/// Surrounds a call of a function of the program, or of a tool, on a thread of the program: what it does is not recorded, and the thread
/// cannot be cancelled in it, because the frames around it are `noexcept`.
struct foreign_call {
  quiet_thread quiet;
  no_cancellation not_cancelled;
};

}  // namespace PROFKIT_NAMESPACE::detail
