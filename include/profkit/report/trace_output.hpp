// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <utility>

#include "../profile/error.hpp"

namespace profkit::detail {

/// A trace on its way into a file, piece by piece: it may be larger than what one wants in memory. Without a file, all of it is kept.
class trace_output {
 public:
  trace_output() = default;
  explicit trace_output(std::filesystem::path path) : path_{std::move(path)}, file_{path_, std::ios::binary} {
    text_.reserve(piece_bytes + piece_bytes / 4);
  }

  /// What comes next is appended here.
  [[nodiscard]] std::string& text() noexcept { return text_; }

  /// Call it now and then: writes what has come, if it is enough for a piece.
  void pass_on() {
    if (!path_.empty() && text_.size() >= piece_bytes) write();
  }

  /// @throws profkit::error that names the file if any of it could not be written.
  void close() {
    write();
    file_.close();
    if (!file_) throw error{"cannot write " + path_.string()};
  }

  /// All of it, without a file.
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  void write() {
    file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  std::filesystem::path path_;
  std::ofstream file_;
  std::string text_;
};

}  // namespace profkit::detail
