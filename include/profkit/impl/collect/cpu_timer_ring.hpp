// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/thread_registry.hpp"
#include "../record/ticks.hpp"
#include "perf_ring.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// Samples one thread with a timer of its processor time, which sends a real-time signal to the thread. Replaces `perf_ring` where the
/// system refuses `perf_event_open`.
///
/// The kernel checks such timers at its tick, so the rate is at most CONFIG_HZ, and shares are less precise. The timer runs only while the
/// thread uses a processor, so it does not interrupt sleeping system calls. Time in the kernel counts for the function that made the system
/// call.
///
/// The handler stays installed, and memory is reused but never freed: a signal may arrive after its timer was deleted.
///
/// Thread safety: no two functions may run at the same time.
class cpu_timer_ring {
 public:
  cpu_timer_ring() = default;
  cpu_timer_ring(cpu_timer_ring const&) = delete;
  cpu_timer_ring& operator=(cpu_timer_ring const&) = delete;
  ~cpu_timer_ring() { close(); }

  /// Starts to sample a thread.
  /// @param thread `gettid` of a thread of this process.
  /// @param period_ns processor time between two samples.
  /// @return 0, or the error number of the failed call.
  int open(std::uint64_t thread, std::uint64_t period_ns) {
    int const number = take_signal();
    if (number == 0) return ENOSYS;
    process_ = identify_process();
    ring_ = take_memory();
    ring_->read = ring_->written.load(std::memory_order_acquire);
    ring_->free_until.store(ring_->read + slot_count, std::memory_order_relaxed);
    lost_before_ = ring_->lost.load(std::memory_order_relaxed);
    last_cpu_ns_ = 0;
    first_weight_ns_ = period_ns;
    ring_->thread.store(thread, std::memory_order_release);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event.sigev_value.sival_ptr = ring_;
    event._sigev_un._tid = static_cast<::pid_t>(thread);
    // The clock of another thread's processor time, computed as in pthread_getcpuclockid.
    auto const clock = static_cast<clockid_t>(~static_cast<std::uint32_t>(thread) << 3U | 6U);
    if (::timer_create(clock, &event, &timer_) != 0) {
      int const failure = errno;
      give_back();
      return failure == EINVAL ? ESRCH : failure;  // EINVAL: no thread has this clock
    }
    set_period(period_ns);
    return 0;
  }

  /// Sets the processor time between the next samples.
  void set_period(std::uint64_t period_ns) noexcept {
    itimerspec wanted{};
    wanted.it_interval.tv_sec = static_cast<std::time_t>(period_ns / 1'000'000'000);
    wanted.it_interval.tv_nsec = static_cast<long>(period_ns % 1'000'000'000);
    wanted.it_value = wanted.it_interval;
    ::timer_settime(timer_, 0, &wanted, nullptr);
  }

  /// Whether this class still owns the signal, which the program may have taken. If not, open timers must be opened again.
  [[nodiscard]] static bool has_signal() noexcept {
    struct sigaction now {};
    return signal_number == 0 || (::sigaction(signal_number, nullptr, &now) == 0 && is_own(now));
  }

  /// The signal of the timers; 0 if the program handles all of them.
  static int take_signal() noexcept {
    if (signal_number != 0 && has_signal()) return signal_number;
    signal_number = 0;
    for (int each = SIGRTMAX - 1; each >= SIGRTMIN && signal_number == 0; --each) {
      struct sigaction known {};
      if (::sigaction(each, nullptr, &known) != 0) continue;
      if (is_own(known)) signal_number = each;  // chosen by an earlier call
      if ((known.sa_flags & SA_SIGINFO) != 0 || known.sa_handler != SIG_DFL) continue;
      struct sigaction wanted {};
      wanted.sa_sigaction = handle;
      wanted.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
      ::sigemptyset(&wanted.sa_mask);
      if (::sigaction(each, &wanted, nullptr) == 0) signal_number = each;
    }
    return signal_number;
  }

  [[nodiscard]] bool is_open() const noexcept { return ring_ != nullptr; }

  /// Reads and removes the samples so far.
  /// @param into receives the samples, oldest first.
  void read(own_vector<code_sample>& into) {
    std::uint64_t const end = ring_->written.load(std::memory_order_acquire);
    for (; ring_->read != end; ++ring_->read) {
      slot const& from = ring_->list[ring_->read % slot_count];
      code_sample next;
      next.monotonic_ns = from.monotonic_ns;
      next.leaf = from.leaf;
      if (from.caller != 0) next.callers.push_back(from.caller - 1);
      next.weight_ns = last_cpu_ns_ == 0 ? first_weight_ns_ : static_cast<std::uint64_t>(from.cpu_ns - last_cpu_ns_);
      last_cpu_ns_ = from.cpu_ns;
      into.push_back(std::move(next));
    }
    ring_->free_until.store(ring_->read + slot_count, std::memory_order_release);
  }

  /// Number of samples that found no free slot.
  [[nodiscard]] std::uint64_t lost() const noexcept { return ring_->lost.load(std::memory_order_relaxed) - lost_before_; }

  /// Stops sampling.
  void close() noexcept {
    if (ring_ == nullptr) return;
    if (is_process(process_)) ::timer_delete(timer_);  // the child of a fork does not inherit the timer
    give_back();
  }

 private:
  static constexpr std::uint64_t slot_count = 256;

  struct slot {
    std::int64_t monotonic_ns;
    std::int64_t cpu_ns;  ///< processor time of the thread
    std::uint64_t leaf;
    std::uint64_t caller;  ///< the word at the stack pointer, which is the return address in functions without a frame
  };

  /// Written by the handler on the sampled thread.
  struct memory {
    std::atomic<std::uint64_t> thread{0};  ///< the sampled thread; 0: none
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> free_until{slot_count};
    std::atomic<std::uint64_t> lost{0};
    std::uint64_t read = 0;  ///< number of samples that the reader has read
    memory* next = nullptr;  ///< next element in the list of free rings
    slot list[slot_count] = {};
  };

  static inline memory* free_memory = nullptr;

  static memory* take_memory() {
    return free_memory == nullptr ? new memory : std::exchange(free_memory, free_memory->next);  // never deleted
  }

  void give_back() noexcept {
    ring_->thread.store(0, std::memory_order_release);
    ring_->next = std::exchange(free_memory, ring_);
    ring_ = nullptr;
  }

  static inline int signal_number = 0;  ///< 0: none

  static bool is_own(struct sigaction const& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
  }

  static void handle(int, siginfo_t* info, void* context) noexcept {
    if (info->si_code != SI_TIMER) return;
    errno_keeper const keeper;
    auto& to = *static_cast<memory*>(info->si_value.sival_ptr);
    if (to.thread.load(std::memory_order_acquire) != static_cast<std::uint64_t>(::syscall(SYS_gettid))) return;  // deleted timer
    std::uint64_t const at = to.written.load(std::memory_order_relaxed);
    if (at == to.free_until.load(std::memory_order_acquire)) {
      to.lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    slot& next = to.list[at % slot_count];
    next.monotonic_ns = monotonic_ns();
    next.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    fill(next, static_cast<ucontext_t const*>(context)->uc_mcontext);
    to.written.store(at + 1, std::memory_order_release);
  }

  /// Reads a word that may lie beyond the end of a stack. @return 0 if the address is not mapped.
  static std::uint64_t word_at(std::uint64_t address) noexcept {
    std::uint64_t result = 0;
    ::iovec const to{&result, sizeof result};
    ::iovec const from{reinterpret_cast<void*>(address), sizeof result};
    long const got = ::syscall(SYS_process_vm_readv, ::getpid(), &to, 1UL, &from, 1UL, 0UL);
    return got == static_cast<long>(sizeof result) ? result : 0;
  }

  static void fill(slot& to, mcontext_t const& interrupted) noexcept {
#if defined(__x86_64__)
    to.leaf = static_cast<std::uint64_t>(interrupted.gregs[REG_RIP]);
    to.caller = word_at(static_cast<std::uint64_t>(interrupted.gregs[REG_RSP]));
#elif defined(__aarch64__)
    to.leaf = interrupted.pc;
    to.caller = interrupted.regs[30];
#else
    static_cast<void>(interrupted);
    to.leaf = to.caller = 0;
#endif
  }

  memory* ring_ = nullptr;
  std::uint64_t process_ = 0;  ///< number of the process that opened the timer
  ::timer_t timer_{};
  std::uint64_t lost_before_ = 0;
  std::int64_t last_cpu_ns_ = 0;
  std::uint64_t first_weight_ns_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
