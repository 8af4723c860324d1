// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <cstdint>
#include <profkit/record/ticks.hpp>

namespace bench {

/// The compiler may assume nothing of memory across this. Costs no instruction.
inline void touch_memory() { asm volatile("" ::: "memory"); }

/// A record as the cheapest recorder there could be writes it: 24 bytes.
struct floor_record {
  std::uint64_t begin, end, what;
};

/// What a scope cannot be cheaper than: two readings of the counter, and one store of 24 bytes to a ring of the thread.
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

/// Nanoseconds of a clock since some moment.
inline double now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

}  // namespace bench
