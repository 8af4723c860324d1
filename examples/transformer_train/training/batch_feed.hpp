// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// Gives training its batches, in place of those that it makes itself.
class batch_feed {
 public:
  batch_feed() = default;
  virtual ~batch_feed() = default;
  batch_feed(batch_feed const&) = delete;
  batch_feed& operator=(batch_feed const&) = delete;

  /// Writes the next batch, sequence after sequence. Called inside the phase `data`, on the thread that trains.
  /// @param tokens batch x ctx.
  /// @param targets of the same shape: to each token the one after it.
  virtual void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) = 0;
};

}  // namespace trainer
