// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <new>

#include "thread_log.hpp"

// The memory of logs, from the system without malloc.

namespace PROFKIT_NAMESPACE::detail {

/// Restores `errno` at the end of a block, because scopes must not change it.
class errno_keeper {
 public:
  errno_keeper() noexcept = default;
  ~errno_keeper() { errno = kept_; }
  errno_keeper(errno_keeper const&) = delete;
  errno_keeper& operator=(errno_keeper const&) = delete;

 private:
  int kept_ = errno;
};

/// The number of slots whose memory a log keeps after reading, because a page fault costs as much as dozens of scopes.
inline constexpr std::uint64_t kept_slots = std::uint64_t{1} << 21U;

inline constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 16U;
inline constexpr std::uint64_t small_page = 4096;
inline constexpr std::uint64_t large_page = std::uint64_t{2} << 20U;

/// A log grows by mappings that double from the first of these sizes to the last. So there are few mappings and little unused address
/// space. (With `mlockall(MCL_FUTURE)`, address space takes memory.)
inline constexpr std::uint64_t first_mapping_bytes = 4 * chunk_bytes;
inline constexpr std::uint64_t last_mapping_bytes = 8 * large_page;

/// @return null if the system has no memory, or the process has reached a limit.
[[nodiscard]] inline unsigned char* map_memory(std::uint64_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

inline constexpr std::uint64_t logs_per_mapping = 4;

/// Lets one thread wait and other threads wake it. Uses a futex, which has no file descriptor that the program could close, and whose clock
/// is monotonic.
class waker {
 public:
  /// Wakes the waiting thread. May be called on any thread and in a signal handler. If no thread waits, the next wait returns at once.
  void wake() noexcept {
    __atomic_store_n(&is_woken_, 1U, __ATOMIC_RELEASE);
    ::syscall(SYS_futex, &is_woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// Waits until `wake` is called, or until the time has passed.
  void wait(std::chrono::nanoseconds longest) noexcept {
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    timespec timeout{};
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (longest - seconds).count();
    if (__atomic_load_n(&is_woken_, __ATOMIC_ACQUIRE) == 0) ::syscall(SYS_futex, &is_woken_, FUTEX_WAIT_PRIVATE, 0U, &timeout, nullptr, 0);
    __atomic_store_n(&is_woken_, 0U, __ATOMIC_RELAXED);
  }

 private:
  std::uint32_t is_woken_ = 0;
};

/// Wakes the session's thread, which reads the logs. It outlives sessions, because signal handlers and other threads may use it meanwhile.
inline waker reader_of_logs;

/// A log of this size wakes its reader when it grows, at about 1 MiB, so that a burst after a quiet time does not wait for the reader's
/// next round.
inline constexpr std::uint64_t slots_that_wake = std::uint64_t{1} << 16U;

/// The rest of the newest mapping of logs: the address of its end, plus the number of logs that fit before it.
inline std::uintptr_t unused_logs = 0;
static_assert(logs_per_mapping < small_page);

/// Memory of one log, usually without a system call. @return null if the system has no memory.
[[nodiscard]] inline unsigned char* map_log() noexcept {
  std::uintptr_t rest = __atomic_load_n(&unused_logs, __ATOMIC_ACQUIRE);
  while (rest % small_page != 0) {
    std::uintptr_t const number = rest % small_page;
    if (__atomic_compare_exchange_n(&unused_logs, &rest, rest - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return reinterpret_cast<unsigned char*>(rest - number - number * chunk_bytes);
  }
  unsigned char* const memory = map_memory(logs_per_mapping * chunk_bytes);
  if (memory == nullptr) return map_memory(chunk_bytes);
  unsigned char* const others = memory + chunk_bytes;
  std::uintptr_t const now = reinterpret_cast<std::uintptr_t>(memory + logs_per_mapping * chunk_bytes) + logs_per_mapping - 1;
  bool const is_kept = __atomic_compare_exchange_n(&unused_logs, &rest, now, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  if (!is_kept) ::munmap(others, (logs_per_mapping - 1) * chunk_bytes);  // another thread mapped at the same time
  return memory;
}

/// Number of slots of a chunk: 64 KiB with its header, but at most half of the maximum of the log.
[[nodiscard]] inline std::uint64_t slots_of_chunk(thread_log const& log) noexcept {
  std::uint64_t const half = log.slot_bound / 2 & ~std::uint64_t{1};
  constexpr std::uint64_t usual = chunk_bytes / sizeof(std::uint64_t) - chunk_header_slots;
  return half < usual ? half : usual;
}

/// Maps memory for at least one more chunk. If the system refuses, tries smaller sizes, each half of the previous one.
[[nodiscard]] inline bool grow_log(thread_log& log, std::uint64_t wanted_bytes) noexcept {
  std::uint64_t const needed = (chunk_header_slots + slots_of_chunk(log)) * sizeof(std::uint64_t);
  for (std::uint64_t bytes = wanted_bytes > needed ? wanted_bytes : needed;; bytes = bytes / 2 > needed ? bytes / 2 : needed) {
    unsigned char* const memory = map_memory(bytes);
    if (memory == nullptr && bytes > needed) continue;
    if (memory == nullptr) return false;
    // Large pages cause fewer page faults in a burst of scopes.
    if (bytes >= 2 * large_page) ::madvise(memory, bytes, MADV_HUGEPAGE);
    log.unused = memory;
    log.unused_end = memory + bytes;
    return true;
  }
}

/// Maps another chunk of a log. @return null, with the loss counted, if the log has reached its bound or the system has no memory.
inline log_chunk* map_chunk(thread_log& log) noexcept {
  std::uint64_t const slot_count = slots_of_chunk(log);
  std::uint64_t const bytes = (chunk_header_slots + slot_count) * sizeof(std::uint64_t);
  if (log.mapped_slots + slot_count > log.slot_bound) {
    lost_events::count(log.lost.full);
    return nullptr;
  }
  if (static_cast<std::uint64_t>(log.unused_end - log.unused) < bytes) {
    errno_keeper const keeper;
    std::uint64_t const left = (log.slot_bound - log.mapped_slots) / slot_count * bytes;
    std::uint64_t wanted = log.mapped_slots * sizeof(std::uint64_t);  // doubles the total
    wanted = wanted < first_mapping_bytes ? first_mapping_bytes : wanted > last_mapping_bytes ? last_mapping_bytes : wanted;
    wanted = wanted / chunk_bytes * chunk_bytes;
    if (!grow_log(log, wanted < left ? wanted : left)) {
      lost_events::count(log.lost.no_memory);
      return nullptr;
    }
    if (log.mapped_slots >= slots_that_wake) reader_of_logs.wake();
  }
  auto* const chunk = new (log.unused) log_chunk;
  log.unused += bytes;
  chunk->slot_count = static_cast<std::uint32_t>(slot_count);
  chunk->gives_memory_back = log.mapped_slots >= kept_slots ? 1 : 0;
  log.mapped_slots += slot_count;
  return chunk;
}

}  // namespace PROFKIT_NAMESPACE::detail
