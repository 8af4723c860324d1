// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace profkit::detail {

/// Reads the name of a thread of this process from `/proc`. Does not allocate.
/// @param system_id of the thread.
/// @param name at most 15 characters.
/// @return false if it cannot be read: no `/proc`, or no such thread.
inline bool read_thread_name(std::uint64_t system_id, std::array<char, 16>& name) noexcept {
  char path[64];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/self/task/%llu/comm", static_cast<unsigned long long>(system_id)));
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ::ssize_t const length = ::read(file, name.data(), name.size());
  ::close(file);
  if (length <= 0) return false;
  name[static_cast<std::size_t>(length) - 1] = '\0';  // instead of the line feed
  return true;
}

}  // namespace profkit::detail
