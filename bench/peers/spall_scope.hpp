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
  SpallBuffer buffer{};
  thread_buffer() {
    buffer.data = memory.get();
    buffer.length = bytes;
    buffer.tid = ++threads;
    spall_buffer_init(&profile, &buffer);
  }
  ~thread_buffer() {
    if (profile.write != nullptr) spall_buffer_quit(&profile, &buffer);  // not after `spall_quit`, which clears the profile
  }
  thread_buffer(thread_buffer const&) = delete;
  thread_buffer& operator=(thread_buffer const&) = delete;
};

inline thread_local thread_buffer of_thread;

inline std::uint64_t now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

}  // namespace peer_spall

struct peer_scope {
  peer_scope(char const* name, std::int32_t length) {
    spall_buffer_begin(&peer_spall::profile, &peer_spall::of_thread.buffer, name, length, peer_spall::now());
  }
  ~peer_scope() { spall_buffer_end(&peer_spall::profile, &peer_spall::of_thread.buffer, peer_spall::now()); }
  peer_scope(peer_scope const&) = delete;
  peer_scope& operator=(peer_scope const&) = delete;
};

#define PEER_SCOPE(name) peer_scope const this_scope(name, static_cast<std::int32_t>(sizeof(name)) - 1)
