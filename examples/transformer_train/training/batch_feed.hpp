// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A source of batches that replaces the built-in one.
class batch_feed {
 public:
  batch_feed() = default;
  virtual ~batch_feed() = default;
  batch_feed(batch_feed const&) = delete;
  batch_feed& operator=(batch_feed const&) = delete;

  /// Writes the next batch, sequence after sequence. Called inside the phase `data`, on the training thread.
  /// @param tokens batch x ctx.
  /// @param targets the same shape: the token after each token.
  virtual void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) = 0;
};

}  // namespace trainer
