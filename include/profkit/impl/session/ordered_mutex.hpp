// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <mutex>

namespace profkit::detail {

/// The locks of sessions, in the order in which a thread may take them. All other state belongs to one thread or is atomic.
enum class lock_order : int {
  none,
  ending,   ///< `session_exit`: the end of a session, with its outputs
  requests  ///< `session_owner`: the list of requests
};

/// A mutex with a place in the lock order. Debug builds check the order.
class ordered_mutex {
 public:
  explicit ordered_mutex(lock_order place) noexcept : place_{place} {}

  void lock() {
    assert(innermost() < place_ && "a lock of a session is taken in the wrong order");
    mutex_.lock();
    outer_ = innermost();
    innermost() = place_;
  }
  [[nodiscard]] bool try_lock() {
    if (!mutex_.try_lock()) return false;
    outer_ = innermost();
    innermost() = place_;
    return true;
  }
  void unlock() {
    innermost() = outer_;
    mutex_.unlock();
  }

  /// Whether the calling thread has a lock of a session.
  [[nodiscard]] static bool is_any_held() noexcept { return innermost() != lock_order::none; }

 private:
  static lock_order& innermost() noexcept {
    static thread_local lock_order value = lock_order::none;
    return value;
  }

  std::mutex mutex_;
  lock_order const place_;
  lock_order outer_ = lock_order::none;  ///< guarded by `mutex_`
};

using ordered_lock = std::lock_guard<ordered_mutex>;

}  // namespace profkit::detail
