// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "../profile/profile.hpp"

namespace profkit::detail {

/// Keeps the host near the device where GPU step times say how many steps are wanted: a host that runs ahead would make hundreds of steps
/// before the first of them is known. Does not synchronise the device; what stays queued keeps it busy.
class gpu_lag {
 public:
  static constexpr std::uint64_t most_steps = 32;

  explicit gpu_lag(std::chrono::nanoseconds longest_wait = std::chrono::seconds{5}) noexcept : longest_wait_{longest_wait} {}

  /// Waits until the GPU time of a step at most `most_steps` before this one is known; not any more once none came for `longest_wait`, as
  /// under stream capture.
  /// @param drain brings new GPU times into `so_far`.
  template <class Drain>
  void limit(std::uint64_t step, profile const& so_far, Drain&& drain) {
    auto const last = [&] { return so_far.gpu_steps.empty() ? 0 : so_far.gpu_steps.back().step; };
    auto const begin = std::chrono::steady_clock::now();
    while (is_limited_ && last() + most_steps < step) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      std::uint64_t const before = last();
      drain();
      is_limited_ = last() != before || std::chrono::steady_clock::now() - begin < longest_wait_;
    }
  }

 private:
  std::chrono::nanoseconds longest_wait_;
  bool is_limited_ = true;
};

}  // namespace profkit::detail
