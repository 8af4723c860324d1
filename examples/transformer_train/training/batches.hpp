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

/// What a step reads; both [batch, ctx] int64, on the device. A target is the token after its own.
struct batch {
  at::Tensor tokens;
  at::Tensor targets;
};

/// Makes batches: random windows of a text, or random tokens. The seed decides which. Each of N ranks draws the batches of all ranks and
/// keeps its part, so that together they see what one process with N times the batch sees.
class batch_source {
 public:
  batch_source(run_config const& config, std::optional<text> data, c10::Device device)
      : batch_{config.batch}, ctx_{config.ctx}, ranks_{config.ranks}, data_{std::move(data)}, device_{device}, random_{config.seed} {
    if (config.graph) place_ = at::empty({2, batch_, ctx_}, at::TensorOptions{device_}.dtype(at::kLong));
  }

  /// With `run_config::graph` always in the same place, where the graph reads; the batch before is gone then. Does not synchronise: the
  /// copy to the device is queued from pinned memory, which the allocator keeps until it is done.
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

  /// What a feed gives, on the same way.
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

  /// On the host: this rank's rows of the batch of all ranks.
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

  /// On the host: tokens and targets.
  /// @param row_at gives for a row a function that gives its next token, called with 0 to ctx.
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

  /// Room for tokens and targets, in memory from which a GPU copies without holding the host up.
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
  at::Tensor place_;  ///< where the batches of all steps are written; none: each in its own
};

}  // namespace trainer
