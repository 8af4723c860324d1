// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/thread_registry.hpp"
#include "../record/ticks.hpp"
#include "code_sample.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
