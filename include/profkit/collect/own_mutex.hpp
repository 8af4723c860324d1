// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace profkit::detail {

/// A mutex as a member of a class that can be moved: the new object has a mutex of its own, which is free.
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
