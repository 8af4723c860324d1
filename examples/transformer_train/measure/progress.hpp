// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace trainer {

/// Prints a line on stderr every few seconds; prints nothing in short runs.
class progress {
 public:
  /// The number of steps of an endless run.
  static constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

  /// @param limit when the run ends, however many steps are left.
  progress(std::uint64_t steps, std::chrono::duration<double> limit) : steps_{steps}, limit_{limit} {}

  /// Whether the limit is reached.
  [[nodiscard]] bool is_time_up() const { return clock::now() - begin_ >= limit_; }

  [[nodiscard]] bool is_due() const { return clock::now() - last_line_ >= between_lines; }

  /// @param losses losses of the completed steps; the host may be some steps ahead.
  void print(std::vector<float> const& losses) {
    last_line_ = clock::now();
    if (losses.empty()) return;
    auto const done = static_cast<double>(losses.size());
    double const elapsed = std::chrono::duration<double>{last_line_ - begin_}.count();
    if (steps_ == endless) {
      fmt::print(stderr, "step {}: loss {:.4f}, {:.0f} s elapsed\n", losses.size(), losses.back(), elapsed);
      return;
    }
    double const left = std::min(elapsed / done * (static_cast<double>(steps_) - done), limit_.count() - elapsed);
    fmt::print(stderr, "step {}/{}: loss {:.4f}, {:.0f} s elapsed, about {:.0f} s left\n", losses.size(), steps_, losses.back(), elapsed,
               left);
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds between_lines{5};

  std::uint64_t steps_;
  std::chrono::duration<double> limit_;
  clock::time_point begin_ = clock::now();
  clock::time_point last_line_ = begin_;
};

}  // namespace trainer
