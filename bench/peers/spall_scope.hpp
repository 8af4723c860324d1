// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spall.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace peer_spall {

inline SpallProfile profile{};
inline std::atomic<std::uint32_t> threads{0};

/// spall requires its user to provide buffers and a clock: 1 MiB per thread, written to the file when full and at the end of the thread.
struct thread_buffer {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  std::unique_ptr<char[]> memory{new char[bytes]};
  SpallBuffer buffer{memory.get(), bytes, 0, nullptr};
  std::uint32_t number = ++threads;
  thread_buffer() { SpallBufferInit(&profile, &buffer); }
  ~thread_buffer() { SpallBufferQuit(&profile, &buffer); }
  thread_buffer(thread_buffer const&) = delete;
  thread_buffer& operator=(thread_buffer const&) = delete;
};

inline thread_local thread_buffer of_thread;

inline double now() {
#if defined(__x86_64__)
  return static_cast<double>(__builtin_ia32_rdtsc());
#else
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return static_cast<double>(ticks);
#endif
}

}  // namespace peer_spall

struct peer_scope {
  peer_scope(char const* name, long length) {
    peer_spall::thread_buffer& own = peer_spall::of_thread;
    SpallTraceBeginLenTidPid(&peer_spall::profile, &own.buffer, name, length, own.number, 0, peer_spall::now());
  }
  ~peer_scope() {
    peer_spall::thread_buffer& own = peer_spall::of_thread;
    SpallTraceEndTidPid(&peer_spall::profile, &own.buffer, own.number, 0, peer_spall::now());
  }
  peer_scope(peer_scope const&) = delete;
  peer_scope& operator=(peer_scope const&) = delete;
};

#define PEER_SCOPE(name) peer_scope const this_scope(name, static_cast<long>(sizeof(name)) - 1)
