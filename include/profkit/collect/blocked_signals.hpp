// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace profkit::detail {

/// Whether a thread blocks a signal now. Source: `SigBlk` in `/proc/self/task/THREAD/status`.
/// @param thread `gettid` of a thread of this process.
/// @return false if unknown, as for a thread that has ended.
inline bool blocks_signal(std::uint64_t thread, int signal) {
  std::string const path = "/proc/self/task/" + std::to_string(thread) + "/status";
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string text(4096, '\0');
  ::ssize_t const length = ::read(file, &text[0], text.size());
  ::close(file);
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  std::size_t const at = text.find("\nSigBlk:");
  if (at == std::string::npos) return false;
  std::uint64_t const blocked = std::strtoull(text.c_str() + at + sizeof "\nSigBlk:" - 1, nullptr, 16);
  return (blocked >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

}  // namespace profkit::detail
