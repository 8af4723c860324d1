// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "../profile/error.hpp"
#include "../profile/write_signals.hpp"

namespace profkit::detail {

/// Prints to standard output. May be called on any thread.
/// @throws profkit::error with the reason if it fails: closed, a full device, a pipe without a reader (which does not end the program).
inline void print_to_stdout(std::string_view text) {
  write_signals_blocked const no_signals;
  ::flockfile(stdout);
  errno = 0;
  bool is_printed = std::fflush(stdout) == 0;  // the program's own output stays in the buffer if it cannot be written
  if (is_printed) {
    is_printed = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    int const reason = errno;
    if (!is_printed) ::__fpurge(stdout);  // otherwise the end of the program would write it and raise the signal
    errno = reason;
  }
  int const reason = errno != 0 ? errno : EIO;
  ::funlockfile(stdout);
  if (is_printed) return;
  throw error{"cannot print the report to standard output: " + std::generic_category().message(reason), reason};
}

/// Prints a line on stderr, "profkit: <message><reason>". May be called on any thread. Does not allocate.
inline void warn(char const* message, char const* reason = "") noexcept {
  write_signals_blocked const no_signals;
  static_cast<void>(std::fprintf(stderr, "profkit: %s%s\n", message, reason));
}

inline void warn(std::string const& message) noexcept { warn(message.c_str()); }

}  // namespace profkit::detail
