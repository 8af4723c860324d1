// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>

#include "file_access.hpp"

namespace profkit::detail {

/// Whether stdout and stderr were open when this code was loaded. If one of them was closed, a file of the program gets its number.
class streams_at_start {
 public:
  streams_at_start() noexcept {
    struct ::stat file {};
    for (std::size_t i = 0; i < is_open_.size(); ++i) is_open_[i] = ::fstat(static_cast<int>(i), &file) == 0;
  }

  /// Whether a descriptor is a stream on which people read messages: it was open at the start. The program may have replaced it since, for
  /// example by a log. Otherwise a file that has its number now belongs to the program.
  [[nodiscard]] bool may_print(int descriptor) const noexcept {
    auto const i = static_cast<std::size_t>(descriptor);
    struct ::stat now {};
    if (::fstat(descriptor, &now) != 0) return false;
    return i >= is_open_.size() || is_open_[i];
  }

 private:
  std::array<bool, 3> is_open_{};
};

/// Made before the static objects of the program, whose constructors may open files.
__attribute__((init_priority(101))) inline streams_at_start const standard_streams;

/// Writes what the program has printed, but the C library has not written yet.
/// @return 0, or the reason as in `errno`; the text stays in the buffer.
inline int flush_stdout(int descriptor, std::chrono::steady_clock::time_point deadline) noexcept {
  while (::ftrylockfile(stdout) != 0) {  // another thread may be waiting for the reader of a pipe
    if (std::chrono::steady_clock::now() >= deadline) return ETIMEDOUT;
    ::usleep(1000);
  }
  int failure = ::__fpending(stdout) > 0 ? wait_for_output(descriptor, deadline) : 0;
  if (failure == 0 && std::fflush(stdout) != 0) failure = errno;
  ::funlockfile(stdout);
  return failure;
}

}  // namespace profkit::detail
