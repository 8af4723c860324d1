// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "../../profile.hpp"

namespace profkit::detail {

/// Limits how far the host runs ahead of the device with `steps=auto`. Without a limit, the host could finish hundreds of steps before the
/// first GPU step time is known. Does not synchronise the device, which stays busy with queued work.
class run_ahead_limiter {
 public:
  static constexpr std::uint64_t max_steps = 32;  ///< maximum number of steps by which the host may be ahead

  explicit run_ahead_limiter(std::chrono::nanoseconds max_wait = std::chrono::seconds{5}) noexcept : max_wait_{max_wait} {}

  /// Waits until the GPU time of a step at most `max_steps` before this one is known. If no time arrives for `max_wait`, as under stream
  /// capture, the limiter stops limiting.
  /// @param drain adds new GPU times to `so_far`.
  template <class Drain>
  void limit(std::uint64_t step, profile const& so_far, Drain&& drain) {
    auto const last = [&] { return so_far.gpu_steps.empty() ? 0 : so_far.gpu_steps.back().step; };
    auto const begin = std::chrono::steady_clock::now();
    while (is_limited_ && last() + max_steps < step) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      std::uint64_t const before = last();
      drain();
      is_limited_ = last() != before || std::chrono::steady_clock::now() - begin < max_wait_;
    }
  }

 private:
  std::chrono::nanoseconds max_wait_;
  bool is_limited_ = true;
};

}  // namespace profkit::detail
