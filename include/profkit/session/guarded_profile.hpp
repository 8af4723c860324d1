// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "../profile/profile_builder.hpp"

namespace profkit::detail {

/// Tries to lock for a limited time.
/// @return the lock, which is empty if another thread held the mutex all the time.
template <class Mutex>
std::unique_lock<Mutex> lock_within(Mutex& mutex, std::chrono::nanoseconds timeout) {
  std::unique_lock<Mutex> lock{mutex, std::try_to_lock};
  if (lock.owns_lock()) return lock;
  auto const deadline = std::chrono::steady_clock::now() + timeout;
  bool const is_short = timeout < std::chrono::milliseconds{1};
  while (!lock.try_lock() && std::chrono::steady_clock::now() < deadline) {
    if (!is_short) std::this_thread::sleep_for(std::chrono::microseconds{100});  // otherwise even a yield may take milliseconds
  }
  return lock;
}

/// The profile of a running session and its lock, the content lock. A thread that holds the lock for a long time must call `make_way` from
/// time to time.
class guarded_profile {
 public:
  using lock = std::unique_lock<std::recursive_mutex>;

  /// The profile. Requires the lock if other threads can use the profile.
  [[nodiscard]] profile_builder& content() noexcept { return content_; }

  /// Waits for the lock.
  [[nodiscard]] lock hold() {
    lock result{mutex_, std::defer_lock};
    wait_for(result);
    return result;
  }

  /// Waits for the lock for a limited time; the result is empty if another thread held it all the time.
  [[nodiscard]] lock hold_within(std::chrono::nanoseconds timeout) {
    waiting_.fetch_add(1);
    auto result = lock_within(mutex_, timeout);
    waiting_.fetch_sub(1);
    return result;
  }

  /// Passes the lock to a waiting thread. Unlocking and locking the mutex is not enough, because the same thread usually wins.
  void make_way(lock& held) {
    if (waiting_.load() == 0) return;
    held.unlock();
    auto const deadline = std::chrono::steady_clock::now() + max_gap;
    while (waiting_.load() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    wait_for(held);
  }

 private:
  static constexpr std::chrono::microseconds max_gap{1000};

  void wait_for(lock& held) {
    waiting_.fetch_add(1);
    held.lock();
    waiting_.fetch_sub(1);
  }

  std::recursive_mutex mutex_;  ///< lock order: after the call lock. A thread with this lock only tries to take the call lock.
  std::atomic<int> waiting_{0};
  profile_builder content_;
};

}  // namespace profkit::detail
