// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <cstdint>
#include <profkit/impl/record/ticks.hpp>

namespace bench {

/// A compiler barrier for memory. Costs no instruction.
inline void touch_memory() { asm volatile("" ::: "memory"); }

/// The record of a minimal recorder: 24 bytes.
struct floor_record {
  std::uint64_t begin, end, what;
};

/// The minimum cost of a scope: two readings of the counter, and one store of 24 bytes to a per-thread ring.
class floor_recorder {
 public:
  static constexpr std::uint64_t records = 32768;  // 768 KiB

  template <class Body>
  void record(std::uint64_t what, Body const& body) {
    std::uint64_t const begin = profkit::detail::counter_ticks();
    body();
    ring_[written_++ % records] = {begin, profkit::detail::counter_ticks(), what};
  }

 private:
  floor_record ring_[records] = {};
  std::uint64_t written_ = 0;
};

/// The time of a clock in nanoseconds.
inline double now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

}  // namespace bench
