// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include "../../error.hpp"
#include "../profile/file_access.hpp"
#include "../profile/standard_streams.hpp"

namespace profkit::detail {

/// Prints to standard output. May be called on any thread.
/// @throws profkit::error with the reason if it fails: closed, a full device, a pipe without a reader (which does not end the program) or
/// whose reader does not read.
inline void print_to_stdout(std::string_view text) {
  constexpr std::chrono::seconds max_wait{7};  // with a message on stderr, the end of a session waits at most 8 s
  auto const deadline = std::chrono::steady_clock::now() + max_wait;
  int const descriptor = ::fileno(stdout);
  int failure = EBADF;
  if (descriptor >= 0 && standard_streams.may_print(descriptor)) {
    write_signals_blocked const no_signals;
    failure = flush_stdout(descriptor, deadline);
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (failure == 0) failure = write_to_shared(descriptor, text, left);
  }
  if (failure == 0) return;
  throw error{"cannot print the report to standard output: " + std::generic_category().message(failure), failure};
}

/// Prints a line on stderr, "profkit: <message><reason>". May be called on any thread. Does not allocate. Prints nothing if stderr was
/// closed when the program started. If nobody reads it, waits at most 1 s once.
inline void warn(char const* message, char const* reason = "") noexcept {
  static std::atomic<bool> is_stuck{false};
  if (!standard_streams.may_print(STDERR_FILENO)) return;
  std::array<char, 2048> line{};
  std::size_t used = 0;
  auto const print = [&] {
    std::chrono::milliseconds const limit{is_stuck.load() ? 0 : 1000};
    is_stuck.store(write_to_shared(STDERR_FILENO, {line.data(), used}, limit) == ETIMEDOUT);
    used = 0;
  };
  for (char const* const part : {"profkit: ", message, reason, "\n"}) {
    for (std::string_view rest = part; !rest.empty();) {
      std::size_t const size = std::min(rest.size(), line.size() - used);
      std::memcpy(line.data() + used, rest.data(), size);
      used += size;
      rest.remove_prefix(size);
      if (used == line.size()) print();
    }
  }
  print();
}

inline void warn(std::string const& message) noexcept { warn(message.c_str()); }

}  // namespace profkit::detail
