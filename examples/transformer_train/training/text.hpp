// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace trainer {

/// The content of the file of `--data`.
/// @throws input_error if it cannot be read.
[[nodiscard]] inline std::vector<unsigned char> read_data(std::string const& path) {
  if (std::filesystem::is_directory(path)) throw input_error{"--data " + path + ": is a directory; use a text file"};
  std::ifstream file{path, std::ios::binary};
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>{file}, {}};
  if (!file) throw input_error{"--data " + path + ": cannot be read; use a readable text file"};
  return bytes;
}

/// The bytes of a file as tokens: the first nine tenths for training, the rest held out.
class text {
 public:
  /// @param ctx tokens per window; a window with its targets has ctx + 1 bytes.
  /// @throws input_error if the file cannot be read, or if a part of it is shorter than a window.
  text(std::string const& path, std::int64_t ctx) : bytes_{read_data(path)} {
    training_size_ = bytes_.size() - bytes_.size() / 10;
    auto const window = static_cast<std::size_t>(ctx) + 1;
    if (held_out().size() < window) {
      throw input_error{"--data " + path + ": " + std::to_string(bytes_.size()) + " bytes are too few for --ctx " + std::to_string(ctx) +
                        "; its last tenth, which is held out, needs " + std::to_string(window) + ", so the file " +
                        std::to_string(10 * window)};
    }
  }

  [[nodiscard]] std::span<unsigned char const> training() const noexcept { return std::span{bytes_}.first(training_size_); }
  [[nodiscard]] std::span<unsigned char const> held_out() const noexcept { return std::span{bytes_}.subspan(training_size_); }

 private:
  std::vector<unsigned char> bytes_;
  std::size_t training_size_ = 0;
};

}  // namespace trainer
