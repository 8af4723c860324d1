// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../../error.hpp"
#include "archive_writer.hpp"
#include "file_access.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Whether an `atomic_file` may replace a file that has its name.
enum class replacing { any_file, nothing };

/// Replaces a file atomically: writes to a temporary file in the same directory and renames it in `finish`. Until then, and on any failure,
/// the previous file stays unchanged. Data is not synced to the disk.
///
/// A symbolic link stays a link: the file that it names is replaced or created. A file keeps its permissions, and a file without write
/// permission is not replaced. A pipe, a terminal or another character device is written directly; a pipe without a reader is an error, and
/// so is a reader that does not read for 4 s. Block devices and sockets are refused.
class atomic_file final : public byte_output {
 public:
  /// @throws profkit::error that names the file and says why it cannot be created.
  explicit atomic_file(std::filesystem::path path, replacing mode = replacing::any_file)
      : path_{std::move(path)}, place_{absolute_path(path_.string())}, mode_{mode} {
    struct ::stat there {};
    bool const is_there = ::stat(place_.c_str(), &there) == 0;
    if (is_there && mode_ == replacing::nothing) complain(EEXIST);
    if (is_there && !S_ISREG(there.st_mode)) {
      open_directly(there.st_mode);
      return;
    }
    place_ = target_of_links(std::move(place_));
    struct ::stat target {};
    bool const has_target = ::lstat(place_.c_str(), &target) == 0;
    if (has_target && S_ISLNK(target.st_mode)) complain(ELOOP);
    if (is_there && !(has_target && is_same_file(there, target))) complain(ENOENT);  // such as a removed file in /proc/self/fd
    if (is_there && ::faccessat(AT_FDCWD, place_.c_str(), W_OK, AT_EACCESS) != 0) complain(errno);
    if (is_there) permissions_ = there.st_mode & 07777U;
    temporary_ = place_.parent_path() / temporary_name();
    descriptor_ = open_file(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    if (descriptor_ >= 0) return;
    temporary_.clear();
    complain(errno);
  }

  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;

  ~atomic_file() { give_up(); }

  /// Writes bytes. Failures are kept and thrown by `finish`.
  void write(std::string_view bytes) override {
    if (used_ + bytes.size() > buffer_.size()) flush();
    if (bytes.size() > buffer_.size()) {
      put(bytes);
    } else if (!bytes.empty()) {
      std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
      used_ += bytes.size();
    }
  }

  /// Renames the temporary file. To be called once, at the end.
  /// @throws profkit::error that names the file and says why it cannot be written; the temporary file is removed.
  void finish() {
    flush();
    if (failure_ == 0 && permissions_) static_cast<void>(::fchmod(descriptor_, *permissions_));
    if (::close(std::exchange(descriptor_, -1)) != 0 && failure_ == 0) failure_ = errno;
    if (failure_ == 0 && !temporary_.empty()) failure_ = publish();
    give_up();
    if (failure_ != 0) complain(failure_);
  }

 private:
  void open_directly(::mode_t type) {
    if (S_ISDIR(type)) complain(EISDIR);
    if (!S_ISFIFO(type) && !S_ISCHR(type)) complain("it is not a regular file", ENOTSUP);
    descriptor_ = open_file(place_.c_str(), O_WRONLY);
    if (descriptor_ < 0 && errno == ENXIO && S_ISFIFO(type)) complain("no process reads this pipe", ENXIO);
    if (descriptor_ < 0) complain(errno);
  }

  void put(std::string_view bytes) noexcept {
    if (failure_ == 0) failure_ = write_all(descriptor_, bytes);
  }

  void flush() noexcept { put({buffer_.data(), std::exchange(used_, 0)}); }

  /// Gives the temporary file its final name. @return 0, or the reason as in `errno`.
  [[nodiscard]] int publish() noexcept {
    if (mode_ == replacing::nothing) {
      if (::link(temporary_.c_str(), place_.c_str()) == 0) return 0;  // `give_up` removes the other name
      if (errno == EEXIST) return EEXIST;
      struct ::stat there {};  // a file system without hard links
      if (::lstat(place_.c_str(), &there) == 0) return EEXIST;
    }
    if (::rename(temporary_.c_str(), place_.c_str()) != 0) return errno;
    temporary_.clear();
    return 0;
  }

  /// A unique name. It is short, because the name of the file itself may have the maximum length.
  static std::string temporary_name() {
    static std::atomic<unsigned> made{0};
    auto const now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
    char name[64];
    static_cast<void>(std::snprintf(name, sizeof name, ".profkit-%llx-%x-%x.tmp", static_cast<unsigned long long>(now),
                                    static_cast<unsigned>(::getpid()), made++));
    return name;
  }

  void give_up() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  [[noreturn]] void complain(int reason) { complain(std::generic_category().message(reason), reason); }

  [[noreturn]] void complain(std::string const& why, int reason) const {
    throw error{"cannot write " + shown_path(path_.string()) + ": " + why, reason};
  }

  std::filesystem::path path_;             ///< as passed by the caller
  std::filesystem::path place_;            ///< the final path, with links resolved
  std::filesystem::path temporary_;        ///< empty if the file is written directly
  std::optional<::mode_t> permissions_{};  ///< permissions of the previous file
  replacing mode_;
  int descriptor_ = -1;
  int failure_ = 0;  ///< `errno` of the first failure
  std::size_t used_ = 0;
  std::array<char, 4096> buffer_{};  ///< collects small pieces
};

/// Replaces a file with this content.
/// @throws profkit::error that names the file and the reason.
inline void write_file(std::filesystem::path const& path, std::string_view content, replacing mode = replacing::any_file) {
  atomic_file file{path, mode};
  file.write(content);
  file.finish();
}

}  // namespace PROFKIT_NAMESPACE::detail
