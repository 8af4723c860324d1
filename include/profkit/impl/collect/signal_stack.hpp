// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "../record/thread_registry.hpp"

namespace profkit::detail {

/// The alternate signal stack of a thread. For each signal the kernel writes some KiB to the stack. A coroutine may have a smaller stack,
/// and then a signal would end the program without an alternate stack.
///
/// Only the thread itself can set its alternate stack. If the program has set one, profkit keeps it.
class signal_stack {
 public:
  /// Creates the thread-local key and registers a fork handler. To be called once, before `use`.
  static void prepare() noexcept {
    watch_forks();
    static_cast<void>(key());
  }

  /// Gives the calling thread an alternate signal stack if it has none. The thread keeps it until it ends. Async-signal-safe. Makes no
  /// system call if an earlier call gave or found a stack.
  static void use() noexcept {
    errno_keeper const keeper;
    auto* own = static_cast<signal_stack*>(::pthread_getspecific(key()));
    if (own != nullptr && own->owner_ >> 32U == number_of_this_process()) return;
    ::stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0) return;
    bool const is_missing = (now.ss_flags & SS_DISABLE) != 0;
    if (!is_missing && now.ss_size < min_bytes()) return;  // the stack that the program has set is too small
    if (own == nullptr) own = take();
    if (own == nullptr) return;
    if (::pthread_setspecific(key(), own) != 0) return own->give_back();
    if (is_missing) {
      ::stack_t wanted{};
      wanted.ss_sp = own->memory_;
      wanted.ss_size = own->bytes_;
      if (::sigaltstack(&wanted, nullptr) != 0) return;
    }
    __atomic_store_n(&own->owner_, name_of(static_cast<std::uint64_t>(::syscall(SYS_gettid))), __ATOMIC_RELEASE);
  }

  /// Whether `use` has found or set an alternate signal stack on a thread. Thread-safe, lock-free.
  /// @param thread `gettid` of a thread of this process.
  [[nodiscard]] static bool has(std::uint64_t thread) noexcept {
    std::uint64_t const wanted = name_of(thread);
    for (signal_stack const* each = __atomic_load_n(&all, __ATOMIC_ACQUIRE); each != nullptr; each = each->next_) {
      if (__atomic_load_n(&each->owner_, __ATOMIC_ACQUIRE) == wanted) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{64} << 10U;  ///< also sufficient for handlers of the program
  static constexpr std::uint64_t taken = ~std::uint64_t{0};           ///< owner is not known yet, or has ended

  /// All stacks. They are reused by later threads and never freed, so `has` needs no lock.
  static inline signal_stack* all = nullptr;

  signal_stack(unsigned char* memory, std::size_t bytes) noexcept : memory_{memory}, bytes_{bytes} {}

  /// Combines the numbers of process and thread, because the child of a fork may have threads with the same numbers.
  static std::uint64_t name_of(std::uint64_t thread) noexcept { return number_of_this_process() << 32U | thread; }

  /// Minimum stack size: the bytes that the kernel writes for a signal on this processor, plus the handler.
  static std::size_t min_bytes() noexcept {
    constexpr unsigned long at_minsigstksz = 51;
    constexpr std::size_t of_handler = 2048;
    std::size_t const known = ::getauxval(at_minsigstksz);
    return (known != 0 ? known : static_cast<std::size_t>(MINSIGSTKSZ)) + of_handler;
  }

  static ::pthread_key_t key() noexcept {
    static ::pthread_key_t const made = [] {
      ::pthread_key_t result{};
      return ::pthread_key_create(&result, leave) == 0 ? result : ~::pthread_key_t{0};
    }();
    return made;
  }

  /// Releases the stack at the end of a thread.
  static void leave(void* of_thread) noexcept {
    auto* const own = static_cast<signal_stack*>(of_thread);
    ::stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == own->memory_) {
      ::stack_t none{};
      none.ss_flags = SS_DISABLE;
      if (::sigaltstack(&none, nullptr) != 0) {  // the thread ends on this stack, so it cannot be reused
        __atomic_store_n(&own->owner_, taken, __ATOMIC_RELEASE);
        return;
      }
    }
    own->give_back();
  }

  static signal_stack* take() noexcept {
    for (signal_stack* each = __atomic_load_n(&all, __ATOMIC_ACQUIRE); each != nullptr; each = each->next_) {
      std::uint64_t nobody = 0;
      if (__atomic_compare_exchange_n(&each->owner_, &nobody, taken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return each;
    }
    return make();
  }

  /// Maps a guard page, the stack above it, and this object above the stack.
  static signal_stack* make() noexcept {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t const bytes = stack_bytes + (2 * min_bytes() + page - 1) / page * page;
    unsigned char* const memory = map_memory(page + bytes + page);
    if (memory == nullptr) return nullptr;
    if (::mprotect(memory, page, PROT_NONE) != 0) {
      ::munmap(memory, page + bytes + page);
      return nullptr;
    }
    auto* const made = new (memory + page + bytes) signal_stack{memory + page, bytes};
    made->next_ = __atomic_load_n(&all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all, &made->next_, made, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) continue;
    return made;
  }

  void give_back() noexcept { __atomic_store_n(&owner_, std::uint64_t{0}, __ATOMIC_RELEASE); }

  unsigned char* memory_;
  std::size_t bytes_;
  std::uint64_t owner_ = taken;  ///< result of `name_of`; 0: free
  signal_stack* next_ = nullptr;
};

}  // namespace profkit::detail
