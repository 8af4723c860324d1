// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "../profile/profile_builder.hpp"

namespace profkit::detail {

/// @return locked, unless the mutex was held all that time.
template <class Mutex>
std::unique_lock<Mutex> lock_within(Mutex& mutex, std::chrono::nanoseconds longest) {
  std::unique_lock<Mutex> lock{mutex, std::try_to_lock};
  if (lock.owns_lock()) return lock;
  auto const deadline = std::chrono::steady_clock::now() + longest;
  bool const is_short = longest < std::chrono::milliseconds{1};
  while (!lock.try_lock() && std::chrono::steady_clock::now() < deadline) {
    if (!is_short) std::this_thread::sleep_for(std::chrono::microseconds{100});  // else even a yield may take milliseconds
  }
  return lock;
}

/// The profile of a running session, and the lock that guards it: the content lock. Who holds it for long calls `make_way` now and then.
class guarded_profile {
 public:
  using lock = std::unique_lock<std::recursive_mutex>;

  /// The profile itself; with the lock, except where nobody else can use it.
  [[nodiscard]] profile_builder& content() noexcept { return content_; }

  /// Waits for the lock.
  [[nodiscard]] lock hold() {
    lock result{mutex_, std::defer_lock};
    wait_for(result);
    return result;
  }

  /// Not locked if another thread held it all the time.
  [[nodiscard]] lock hold_within(std::chrono::nanoseconds longest) {
    waiting_.fetch_add(1);
    auto result = lock_within(mutex_, longest);
    waiting_.fetch_sub(1);
    return result;
  }

  /// Lets a thread that waits for the profile have it. A mutex alone would not: the thread that unlocks and locks at once wins.
  void make_way(lock& held) {
    if (waiting_.load() == 0) return;
    held.unlock();
    auto const deadline = std::chrono::steady_clock::now() + max_gap;
    while (waiting_.load() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    wait_for(held);
  }

 private:
  static constexpr std::chrono::microseconds max_gap{1000};

  void wait_for(lock& of) {
    waiting_.fetch_add(1);
    of.lock();
    waiting_.fetch_sub(1);
  }

  std::recursive_mutex mutex_;  ///< taken after the call lock, or that one is only tried
  std::atomic<int> waiting_{0};
  profile_builder content_;
};

}  // namespace profkit::detail
