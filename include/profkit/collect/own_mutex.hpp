// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace profkit::detail {

/// A mutex as a member of a movable class. A move does not transfer it: the new object has its own, unlocked mutex.
class own_mutex : public std::mutex {
 public:
  own_mutex() noexcept = default;
  own_mutex(own_mutex const&) = delete;
  own_mutex(own_mutex&&) noexcept : own_mutex{} {}
  own_mutex& operator=(own_mutex const&) = delete;
  own_mutex& operator=(own_mutex&&) noexcept { return *this; }
  ~own_mutex() = default;
};

}  // namespace profkit::detail
