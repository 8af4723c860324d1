// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio_ext.h>
#include <sys/stat.h>
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

namespace PROFKIT_NAMESPACE::detail {

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

/// Prints to standard output, or to another descriptor. May be called on any thread.
/// @throws profkit::error with the reason if it fails: closed, a full device, a pipe without a reader (which does not end the program) or
/// whose reader does not read.
inline void print_report(int stream, std::string_view text) {
  constexpr std::chrono::seconds max_wait{7};  // with a message on stderr, the end of a session waits at most 8 s
  auto const deadline = std::chrono::steady_clock::now() + max_wait;
  bool const is_stdout = stream == STDOUT_FILENO;
  int const descriptor = is_stdout ? ::fileno(stdout) : stream;
  int failure = EBADF;
  if (descriptor >= 0 && standard_streams.may_print(descriptor)) {
    write_signals_blocked const no_signals;
    failure = is_stdout ? flush_stdout(descriptor, deadline) : 0;
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (failure == 0) failure = write_to_shared(descriptor, text, left);
  }
  if (failure == 0) return;
  std::string const reason = std::generic_category().message(failure);
  if (!is_stdout) throw error{"cannot print the report to standard error: " + reason, failure};
  throw error{"cannot print the report to standard output: " + reason, failure};
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

}  // namespace PROFKIT_NAMESPACE::detail
