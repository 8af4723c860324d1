// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>

#include "../../error.hpp"
#include "own_memory.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The size of an open file in bytes; 0 if it has none. Moves the read position to the beginning.
inline std::uint64_t size_of(std::istream& file) {
  file.seekg(0, std::ios::end);
  std::streamoff const end = file.tellg();
  file.seekg(0);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

/// Whether a path names something else than a file. A pipe may never have a writer, and a device may never end.
[[nodiscard]] inline bool is_no_file(std::filesystem::path const& path) noexcept {
  std::error_code failure;
  std::filesystem::file_status const found = std::filesystem::status(path, failure);
  return std::filesystem::exists(found) && !std::filesystem::is_regular_file(found);
}

/// Opens a file to read it; fails for anything else.
[[nodiscard]] inline std::ifstream open_to_read(std::filesystem::path const& path) {
  std::ifstream file;
  is_no_file(path) ? file.setstate(std::ios::failbit) : file.open(path, std::ios::binary);
  return file;
}

/// As `open_to_read`. @throws profkit::error that names the file.
[[nodiscard]] inline std::ifstream readable_file(std::filesystem::path const& path) {
  std::ifstream file = open_to_read(path);
  if (!file && is_no_file(path)) throw error{"cannot open " + path.string() + ": it is not a regular file"};
  if (!file) throw error{"cannot open " + path.string()};
  return file;
}

/// Reads as many bytes as `magic` has.
/// @param magic at most 16 bytes.
/// @return whether they are equal to `magic`.
inline bool reads_magic(std::istream& file, std::string_view magic) {
  std::array<char, 16> bytes{};
  return file.read(bytes.data(), static_cast<std::streamsize>(magic.size())) && std::string_view{bytes.data(), magic.size()} == magic;
}

/// Whether a file begins with `magic`; false also if it cannot be read.
inline bool begins_with(std::filesystem::path const& path, std::string_view magic) {
  std::ifstream file = open_to_read(path);
  return reads_magic(file, magic);
}

/// Reads bytes in memory, which must outlive this, as a file without positions.
class memory_stream : private std::streambuf, public std::istream {
 public:
  explicit memory_stream(std::string_view bytes) : std::istream{this} {
    char* const begin = const_cast<char*>(bytes.data());  // `setg` takes no constant bytes; they are only read
    setg(begin, begin, begin + bytes.size());
  }
};

/// Makes writes on this thread fail with `errno` instead of ending the program by a signal: SIGPIPE (the reader of a pipe is gone) and
/// SIGXFSZ (the file would exceed `ulimit -f`). Blocks both signals during its lifetime and discards the ones that writes raised.
class write_signals_blocked {
 public:
  write_signals_blocked() noexcept {
    sigset_t pending{};
    sigset_t blocked{};
    ::sigpending(&pending);
    ::sigemptyset(&blocked);
    for (std::size_t i = 0; i < held_signals.size(); ++i) {
      was_pending_[i] = ::sigismember(&pending, held_signals[i]) == 1;
      ::sigaddset(&blocked, held_signals[i]);
    }
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }

  write_signals_blocked(write_signals_blocked const&) = delete;
  write_signals_blocked& operator=(write_signals_blocked const&) = delete;

  /// Preserves `errno`.
  ~write_signals_blocked() {
    int const error = errno;
    for (std::size_t i = 0; i < held_signals.size(); ++i) {
      if (!was_pending_[i]) discard(held_signals[i]);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  static constexpr std::array held_signals{SIGPIPE, SIGXFSZ};

  static void discard(int signal) noexcept {
    sigset_t one{};
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    timespec const now{};
    while (::sigtimedwait(&one, nullptr, &now) == signal || errno == EINTR) {
    }
  }

  sigset_t before_{};
  std::array<bool, held_signals.size()> was_pending_{};
};

// Access to files that may be anything: no function waits for a pipe, a terminal or a file system longer than its caller permits.

/// The longest time that one file waits for the reader of a pipe, or for a terminal.
inline constexpr std::chrono::milliseconds max_file_wait{4000};

/// An absolute path, which stays valid if the program changes its directory. An empty path stays empty. If the current directory was
/// removed, the result is a place where nothing can be created.
[[nodiscard]] inline std::string absolute_path(std::string const& path) {
  if (path.empty() || path.front() == '/') return path;
  std::error_code failure;
  std::filesystem::path const current = std::filesystem::current_path(failure);
  return (failure ? std::filesystem::path{"/proc/self/cwd (deleted)"} : current) / path;
}

/// A path as messages show it: relative to the current directory if it is inside.
[[nodiscard]] inline std::string shown_path(std::string const& path) {
  std::error_code failure;
  std::string folder = std::filesystem::current_path(failure).string();
  if (failure || folder.empty()) return path;
  if (folder.back() != '/') folder += '/';
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 ? path.substr(folder.size()) : path;
}

/// Follows the symbolic links that a path names, also to a file that does not exist.
[[nodiscard]] inline std::filesystem::path target_of_links(std::filesystem::path path) {
  constexpr int max_links = 40;  // as in Linux
  std::error_code failure;
  for (int i = 0; i < max_links && std::filesystem::is_symlink(path, failure); ++i) {
    std::filesystem::path const target = std::filesystem::read_symlink(path, failure);
    if (failure) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

[[nodiscard]] inline bool is_same_file(struct ::stat const& a, struct ::stat const& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Whether a descriptor still is the file that was opened. Some programs close all unknown descriptors, so the number may refer to another.
[[nodiscard]] inline bool is_still(int descriptor, struct ::stat const& opened) noexcept {
  struct ::stat now {};
  return descriptor >= 0 && ::fstat(descriptor, &now) == 0 && is_same_file(now, opened);
}

/// Replaces a new descriptor by one above that of stderr, because a closed standard stream must not become this file.
/// @return -1 with `errno` if there is none, or if `opened` is -1.
[[nodiscard]] inline int above_standard_streams(int opened) noexcept {
  if (opened < 0 || opened > STDERR_FILENO) return opened;
  int const higher = ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int const reason = errno;
  ::close(opened);
  errno = reason;
  return higher;
}

/// Opens a file without waiting for it.
/// @return a descriptor above that of stderr; -1 with `errno`.
[[nodiscard]] inline int open_file(char const* path, int flags, ::mode_t mode = 0666) noexcept {
  return above_standard_streams(::open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode));
}

/// A descriptor that is closed at the end of its scope.
struct own_descriptor {
  explicit own_descriptor(int opened) noexcept : number{opened} {
    if (number < 0 || ::fstat(number, &opened_file) != 0) opened_file = {};
  }
  own_descriptor(own_descriptor const&) = delete;
  own_descriptor& operator=(own_descriptor const&) = delete;
  ~own_descriptor() {
    if (is_own()) ::close(number);
  }

  [[nodiscard]] bool is_own() const noexcept { return is_still(number, opened_file); }

  int number;
  struct ::stat opened_file {};
};

/// Bytes of a regular file; empty for anything else, which is not opened.
/// @param max_bytes from the beginning; negative: from the end.
[[nodiscard]] inline own_string part_of_file(std::filesystem::path const& path, ::off_t max_bytes) {
  own_string content;
  struct ::stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return content;
  own_descriptor const file{open_file(path.c_str(), O_RDONLY | O_NOFOLLOW)};
  if (file.number < 0) return content;
  if (max_bytes < 0) static_cast<void>(::lseek(file.number, std::max<::off_t>(0, found.st_size + max_bytes), SEEK_SET));
  content.resize(static_cast<std::size_t>(max_bytes < 0 ? -max_bytes : max_bytes));
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < content.size();) {
    count = ::read(file.number, content.data() + size, content.size() - size);
    if (count > 0) size += static_cast<std::size_t>(count);
  }
  content.resize(size);
  return content;
}

/// How bytes are written without waiting.
enum class output_kind {
  unblocked,  ///< a regular file, or opened with O_NONBLOCK
  blocking,   ///< few bytes at a time, when `poll` says that they are accepted
  socket      ///< with MSG_DONTWAIT
};

/// Waits until a descriptor accepts bytes.
/// @return 0, or the reason as in `errno`.
[[nodiscard]] inline int wait_for_output(int descriptor, std::chrono::steady_clock::time_point deadline) noexcept {
  for (;;) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ::pollfd ready{descriptor, POLLOUT, 0};
    int const found = ::poll(&ready, 1, static_cast<int>(std::max(left, std::chrono::milliseconds{0}).count()));
    if (found > 0) return 0;
    if (found < 0 && errno != EINTR) return errno;
    if (left <= std::chrono::milliseconds{0}) return ETIMEDOUT;
  }
}

/// Writes all bytes.
/// @param limit longest time to wait for the reader of a pipe or a socket, or for a terminal.
/// @return 0, or the reason as in `errno`.
[[nodiscard]] inline int write_all(int descriptor, std::string_view bytes, std::chrono::milliseconds limit = max_file_wait,
                                   output_kind kind = output_kind::unblocked) noexcept {
  constexpr std::size_t sure = 512;  // POSIX: a pipe that is ready accepts at least this much
  auto const deadline = std::chrono::steady_clock::now() + limit;
  bool must_wait = kind == output_kind::blocking;
  write_signals_blocked const no_signals;
  while (!bytes.empty()) {
    int const failure = must_wait ? wait_for_output(descriptor, deadline) : 0;
    if (failure != 0) return failure;
    std::size_t const size = kind == output_kind::blocking ? std::min(bytes.size(), sure) : bytes.size();
    ssize_t const written = kind == output_kind::socket ? ::send(descriptor, bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                                        : ::write(descriptor, bytes.data(), size);
    if (written == 0) return EIO;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    must_wait = kind == output_kind::blocking || (written < 0 && errno == EAGAIN);
  }
  return 0;
}

/// Writes all bytes to a descriptor that other processes share, such as stderr. Does not change its flags.
/// @param limit longest time to wait for the reader of a pipe or a socket, or for a terminal.
/// @return 0, or the reason as in `errno`.
[[nodiscard]] inline int write_to_shared(int descriptor, std::string_view bytes, std::chrono::milliseconds limit) noexcept {
  struct ::stat found {};
  if (::fstat(descriptor, &found) != 0) return errno;
  if (S_ISREG(found.st_mode)) return write_all(descriptor, bytes, limit);
  if (S_ISSOCK(found.st_mode)) return write_all(descriptor, bytes, limit, output_kind::socket);
  // A filter of system calls may end a program that opens a file. Then another writer to a full pipe may make this one wait.
  if (::prctl(PR_GET_SECCOMP) > 0) return write_all(descriptor, bytes, limit, output_kind::blocking);
  char name[32];
  static_cast<void>(std::snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor));
  own_descriptor const own{open_file(name, O_WRONLY)};  // the same pipe or terminal, with flags of its own
  return own.number < 0 ? write_all(descriptor, bytes, limit, output_kind::blocking) : write_all(own.number, bytes, limit);
}

}  // namespace PROFKIT_NAMESPACE::detail
