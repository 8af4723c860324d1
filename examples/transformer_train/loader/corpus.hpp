// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace trainer {

/// A UTF-8 text as windows of characters, and its vocabulary: one token per character, the most frequent first; token 0 stands for
/// characters beyond `trainer::vocabulary`. Windows are decoded on request. Thread-safe for readers.
class corpus {
 public:
  /// @param ctx number of tokens per window. A window with its targets has ctx + 1 characters; its last one is the first of the next
  ///   window.
  /// @param path the text file; empty: a generated text.
  /// @throws input_error if the file cannot be read.
  corpus(std::string const& path, std::int64_t ctx);

  [[nodiscard]] std::size_t characters() const noexcept { return characters_; }
  [[nodiscard]] std::size_t windows() const noexcept { return starts_.size(); }
  /// A hash of the bytes (FNV-1a) that identifies the text.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

  /// The tokens of a window: ctx + 1.
  [[nodiscard]] std::vector<std::int64_t> decode(std::size_t window) const;

 private:
  std::size_t ctx_;
  std::vector<unsigned char> bytes_;
  std::uint64_t fingerprint_;
  std::size_t characters_ = 0;
  std::vector<std::size_t> starts_;  ///< byte offsets of the windows
  std::unordered_map<char32_t, std::int64_t> tokens_;
};

}  // namespace trainer
