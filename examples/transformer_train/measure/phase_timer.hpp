// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/time.hpp>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "measure/time_mark.hpp"

namespace trainer {

struct timed_phase {
  std::string_view name;
  std::uint64_t count = 0;
  profkit::milliseconds mean{};
  std::optional<profkit::milliseconds> standard_deviation;  ///< sample standard deviation (n - 1)
};

/// Times forward, backward and optimizer of each step with its own events, also without profkit. A phase ends where the next one begins.
class phase_timer {
 public:
  /// Creates the events of all steps in advance.
  /// @param steps number of steps; the first 10,000 are timed.
  phase_timer(compute_device const& device, run_mode mode, std::uint64_t steps) {
    names_ = {"forward", "backward", "optimizer"};
    names_.resize(mode == run_mode::train ? 3 : mode == run_mode::forward_backward ? 2 : 1);
    std::uint64_t const marks = std::min<std::uint64_t>(steps, 10'000) * marks_per_step();
    marks_.reserve(marks);
    while (marks_.size() < marks) marks_.emplace_back(device);
  }

  /// Call it before the forward pass of a step and after each of its phases. Does not wait for the device.
  void mark() {
    if (marked_ < marks_.size()) marks_[marked_++].record();
  }

  /// The times in the order of the phases. Waits until the device reaches the last event.
  [[nodiscard]] std::vector<timed_phase> times() const {
    std::vector<timed_phase> result;
    for (std::size_t phase = 0; phase < names_.size(); ++phase) {
      std::vector<double> samples;
      for (std::size_t i = phase; i + 1 < marked_; i += marks_per_step()) {
        if (auto const time = between(marks_[i], marks_[i + 1])) samples.push_back(time->count());
      }
      if (!samples.empty()) result.push_back(summary_of(names_[phase], samples));
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t marks_per_step() const noexcept { return names_.size() + 1; }

  [[nodiscard]] static timed_phase summary_of(std::string_view name, std::vector<double> const& samples) {
    auto const count = static_cast<double>(samples.size());
    double mean = 0.0;
    for (double const sample : samples) mean += sample / count;
    double squares = 0.0;
    for (double const sample : samples) squares += (sample - mean) * (sample - mean);
    timed_phase result{name, samples.size(), profkit::milliseconds{mean}, std::nullopt};
    if (samples.size() > 1) result.standard_deviation = profkit::milliseconds{std::sqrt(squares / (count - 1.0))};
    return result;
  }

  std::vector<std::string_view> names_;
  std::vector<time_mark> marks_;
  std::size_t marked_ = 0;
};

}  // namespace trainer
