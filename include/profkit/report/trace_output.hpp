// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "../profile/atomic_file.hpp"

namespace profkit::detail {

/// A trace on its way into a file, piece by piece: it may be larger than what one wants in memory. Without a file, all of it is kept.
class trace_output {
 public:
  trace_output() = default;
  /// @throws profkit::error that names the file if it cannot be made.
  explicit trace_output(std::filesystem::path const& path) : file_{path} { text_.reserve(piece_bytes + piece_bytes / 4); }

  /// What comes next is appended here.
  [[nodiscard]] std::string& text() noexcept { return text_; }

  /// Call it now and then: writes what has come, if it is enough for a piece.
  void pass_on() {
    if (file_ && text_.size() >= piece_bytes) write();
  }

  /// @throws profkit::error that names the file if any of it could not be written; nothing of it is left then.
  void close() {
    write();
    file_->finish();
  }

  /// All of it, without a file.
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  void write() {
    file_->write(text_);
    text_.clear();
  }

  std::optional<atomic_file> file_;
  std::string text_;
};

}  // namespace profkit::detail
