// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace profkit::detail {

/// A mutex as a member of a movable class. A move does not transfer it: the new object has its own, unlocked mutex. Not a `std::mutex`,
/// because `<mutex>` takes long to compile, and each program with a session includes this header.
class own_mutex {
 public:
  own_mutex() noexcept { ::pthread_mutex_init(&mutex_, nullptr); }
  own_mutex(own_mutex const&) = delete;
  own_mutex(own_mutex&&) noexcept : own_mutex{} {}
  own_mutex& operator=(own_mutex const&) = delete;
  own_mutex& operator=(own_mutex&&) noexcept { return *this; }
  ~own_mutex() { ::pthread_mutex_destroy(&mutex_); }

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  ::pthread_mutex_t mutex_{};
};

/// Holds an `own_mutex` to the end of the block.
class own_lock {
 public:
  explicit own_lock(own_mutex& held) noexcept : held_{&held} { held.lock(); }
  own_lock(own_lock const&) = delete;
  own_lock& operator=(own_lock const&) = delete;
  ~own_lock() { held_->unlock(); }

 private:
  own_mutex* held_;
};

}  // namespace profkit::detail
