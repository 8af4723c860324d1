// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "config.hpp"
#include "training/batch_feed.hpp"
#include "training/text.hpp"

namespace trainer {

/// The input of a step; both [batch, ctx] int64, on the device. A target is the token after its token.
struct batch {
  at::Tensor tokens;
  at::Tensor targets;
};

/// Creates batches: random windows of a text, or random tokens, determined by the seed. Each of N ranks draws the batches of all ranks and
/// keeps its part, so that together they have the batch of one process with N times the batch size.
class batch_source {
 public:
  batch_source(run_config const& config, std::optional<text> data, c10::Device device)
      : batch_{config.batch}, ctx_{config.ctx}, ranks_{config.ranks}, data_{std::move(data)}, device_{device}, random_{config.seed} {
    if (config.graph) place_ = at::empty({2, batch_, ctx_}, at::TensorOptions{device_}.dtype(at::kLong));
  }

  /// With `run_config::graph` the batch is always in the memory that the graph reads, and overwrites the previous one. Does not
  /// synchronise: the copy to the device is queued from pinned memory, which the allocator keeps until the copy is done.
  [[nodiscard]] batch next() {
    if (data_) {
      std::span<unsigned char const> const bytes = data_->training();
      std::uniform_int_distribution<std::size_t> start{0, bytes.size() - window()};
      return of_step(own_part(
          1, [&] { return start(random_); },
          [&](std::int64_t) { return [from = bytes.subspan(start(random_))](std::size_t i) { return from[i]; }; }));
    }
    std::uniform_int_distribution<std::int64_t> token{0, vocabulary - 1};
    auto const draw = [&] { return token(random_); };
    return of_step(own_part(static_cast<std::int64_t>(window()), draw, [&](std::int64_t) { return [&](std::size_t) { return draw(); }; }));
  }

  /// Copies a batch of a feed in the same way.
  [[nodiscard]] batch next(batch_feed& feed) const {
    at::Tensor const both = on_host(batch_);
    std::span<std::int64_t> const all{both.mutable_data_ptr<std::int64_t>(), static_cast<std::size_t>(both.numel())};
    feed.next(all.first(all.size() / 2), all.last(all.size() / 2));
    return of_step(both);
  }

  [[nodiscard]] bool has_held_out() const noexcept { return data_.has_value(); }

  /// Windows `first` to `first + count - 1` of `windows` windows, evenly spaced over the held-out text.
  [[nodiscard]] batch held_out(std::int64_t first, std::int64_t count, std::int64_t windows) const {
    std::span<unsigned char const> const bytes = data_.value().held_out();
    return on_device(make(count, [&](std::int64_t row) {
      std::size_t const start = (bytes.size() - window()) * static_cast<std::size_t>(first + row) / static_cast<std::size_t>(windows);
      return [from = bytes.subspan(start)](std::size_t i) { return from[i]; };
    }));
  }

 private:
  [[nodiscard]] std::size_t window() const noexcept { return static_cast<std::size_t>(ctx_) + 1; }

  /// This rank's rows of the batch of all ranks, on the host.
  /// @param draws how often a row calls `draw`.
  template <class Draw, class RowAt>
  [[nodiscard]] at::Tensor own_part(std::int64_t draws, Draw&& draw, RowAt&& row_at) const {
    auto const skip = [&](std::int64_t ranks) {
      for (std::int64_t i = ranks * batch_ * draws; i > 0; --i) static_cast<void>(draw());
    };
    skip(ranks_.rank);
    at::Tensor both = make(batch_, row_at);
    skip(static_cast<std::int64_t>(ranks_.size) - 1 - ranks_.rank);
    return both;
  }

  /// Tokens and targets on the host.
  /// @param row_at returns for each row a function that returns its tokens, called with 0 to ctx.
  template <class RowAt>
  [[nodiscard]] at::Tensor make(std::int64_t rows, RowAt&& row_at) const {
    at::Tensor const both = on_host(rows);
    std::int64_t* tokens = both.mutable_data_ptr<std::int64_t>();
    std::int64_t* targets = tokens + rows * ctx_;
    for (std::int64_t row = 0; row < rows; ++row) {
      auto token_at = row_at(row);
      std::int64_t current = token_at(0);
      for (std::size_t i = 1; i < window(); ++i) {
        *tokens++ = current;
        current = token_at(i);
        *targets++ = current;
      }
    }
    return both;
  }

  /// Memory for tokens and targets. It is pinned for a GPU, so that a copy does not block the host.
  [[nodiscard]] at::Tensor on_host(std::int64_t rows) const {
    return at::empty({2, rows, ctx_}, at::TensorOptions{}.dtype(at::kLong).pinned_memory(device_.is_cuda()));
  }

  [[nodiscard]] batch on_device(at::Tensor const& both) const { return halves(both.to(device_, /*non_blocking=*/true)); }

  [[nodiscard]] batch of_step(at::Tensor const& both) const {
    if (!place_.defined()) return on_device(both);
    place_.copy_(both, /*non_blocking=*/true);
    return halves(place_);
  }

  [[nodiscard]] static batch halves(at::Tensor const& both) { return {both.select(0, 0), both.select(0, 1)}; }

  std::int64_t batch_;
  std::int64_t ctx_;
  rank_layout ranks_;
  std::optional<text> data_;
  c10::Device device_;
  std::mt19937_64 random_;
  at::Tensor place_;  ///< where the batches of all steps are written; undefined: each batch has new memory
};

}  // namespace trainer
