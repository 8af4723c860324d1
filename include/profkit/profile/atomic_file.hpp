// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "byte_output.hpp"
#include "error.hpp"
#include "write_signals.hpp"

namespace profkit::detail {

/// Replaces a file atomically: writes to a temporary file in the same directory and renames it in `finish`. Until then, and on any failure,
/// the previous file stays unchanged. Data is not synced to the disk.
///
/// A symbolic link stays a link and a file keeps its permissions. A pipe or device is written directly.
class atomic_file final : public byte_output {
 public:
  /// @throws profkit::error that names the file and says why it cannot be created.
  explicit atomic_file(std::filesystem::path path) : path_{std::move(path)}, place_{path_} {
    std::error_code failure;
    if (std::filesystem::is_symlink(path_, failure)) {
      std::filesystem::path const behind = std::filesystem::canonical(path_, failure);
      if (!failure) place_ = behind;
    }
    std::filesystem::file_status const there = std::filesystem::status(place_, failure);
    bool const is_there = std::filesystem::exists(there);
    if (is_there) permissions_ = there.permissions();
    if (!is_there || std::filesystem::is_regular_file(there)) temporary_ = place_.parent_path() / temporary_name();
    file_ = std::fopen((temporary_.empty() ? place_ : temporary_).c_str(), temporary_.empty() ? "wbe" : "wbxe");
    if (file_ == nullptr) {
      failure_ = errno;
      temporary_.clear();
      complain();
    }
  }

  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;

  ~atomic_file() { give_up(); }

  /// Writes bytes. Failures are kept and thrown by `finish`.
  void write(std::string_view bytes) override {
    write_signals_blocked const no_signals;
    if (failure_ == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) failure_ = reason();
  }

  /// Renames the temporary file. To be called once, at the end.
  /// @throws profkit::error that names the file and says why it cannot be written; the temporary file is removed.
  void finish() {
    write_signals_blocked const no_signals;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && failure_ == 0) failure_ = reason();
    if (failure_ == 0 && !temporary_.empty()) {
      std::error_code failure;
      if (permissions_ != std::filesystem::perms::unknown) std::filesystem::permissions(temporary_, permissions_, failure);
      std::filesystem::rename(temporary_, place_, failure);
      failure_ = failure.value();
    }
    if (failure_ == 0) {
      temporary_.clear();
      return;
    }
    give_up();
    complain();
  }

 private:
  /// A unique name. It is short, because the name of the file itself may have the maximum length.
  static std::string temporary_name() {
    static std::atomic<unsigned> made{0};
    auto const now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
    char name[64];
    static_cast<void>(std::snprintf(name, sizeof name, ".profkit-%llx-%x.tmp", static_cast<unsigned long long>(now), made++));
    return name;
  }

  static int reason() noexcept { return errno != 0 ? errno : EIO; }

  void give_up() noexcept {
    write_signals_blocked const no_signals;
    if (file_ != nullptr) static_cast<void>(std::fclose(std::exchange(file_, nullptr)));
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
    temporary_.clear();
  }

  [[noreturn]] void complain() const {
    throw error{"cannot write " + path_.string() + ": " + std::generic_category().message(failure_), failure_};
  }

  std::filesystem::path path_;                                            ///< as passed by the caller
  std::filesystem::path place_;                                           ///< the final path, with links resolved
  std::filesystem::path temporary_;                                       ///< empty if the file is written directly
  std::filesystem::perms permissions_ = std::filesystem::perms::unknown;  ///< permissions of the previous file
  std::FILE* file_ = nullptr;
  int failure_ = 0;  ///< `errno` of the first failure
};

/// Replaces a file with this content.
/// @throws profkit::error that names the file and the reason.
inline void write_file(std::filesystem::path const& path, std::string_view content) {
  atomic_file file{path};
  file.write(content);
  file.finish();
}

}  // namespace profkit::detail
