// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "../profile/atomic_file.hpp"
#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// Writes a trace to a file in pieces, because it may be large. Without a file it keeps the whole text.
class trace_output {
 public:
  trace_output() = default;
  /// @throws profkit::error that names the file if it cannot be created.
  explicit trace_output(std::filesystem::path const& path) : file_{path} { text_.reserve(piece_bytes + piece_bytes / 4); }

  /// The buffer to append to.
  [[nodiscard]] own_string& text() noexcept { return text_; }

  /// Writes the buffer if it is large enough for a piece. To be called regularly.
  void pass_on() {
    if (file_ && text_.size() >= piece_bytes) write();
  }

  /// Completes the file.
  /// @throws profkit::error that names the file if a write failed; no file is left then.
  void close() {
    write();
    file_->finish();
  }

  /// The whole text, if there is no file.
  [[nodiscard]] own_string take() && { return std::move(text_); }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

  void write() {
    file_->write(text_);
    text_.clear();
  }

  std::optional<atomic_file> file_;
  own_string text_;
};

}  // namespace profkit::detail
