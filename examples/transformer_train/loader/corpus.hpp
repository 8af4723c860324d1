// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace trainer {

/// A text in UTF-8 as windows of characters, and its vocabulary: a token for each character, the most frequent first; token 0 stands for
/// those that do not fit `trainer::vocabulary`. Windows are decoded when they are asked for. Any number of threads may read.
class corpus {
 public:
  /// @param ctx tokens of a window; a window and its targets take ctx + 1 characters, the last of which the next window begins with.
  /// @param path empty: a made-up text, to try the loader with.
  /// @throws input_error if the file cannot be read.
  corpus(std::string const& path, std::int64_t ctx);

  [[nodiscard]] std::size_t characters() const noexcept { return characters_; }
  [[nodiscard]] std::size_t windows() const noexcept { return starts_.size(); }
  /// Of the bytes (FNV-1a), to tell texts apart.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

  /// The tokens of a window: ctx + 1.
  [[nodiscard]] std::vector<std::int64_t> decode(std::size_t window) const;

 private:
  std::size_t ctx_;
  std::vector<unsigned char> bytes_;
  std::uint64_t fingerprint_;
  std::size_t characters_ = 0;
  std::vector<std::size_t> starts_;  ///< of the windows, in bytes
  std::unordered_map<char32_t, std::int64_t> tokens_;
};

}  // namespace trainer
