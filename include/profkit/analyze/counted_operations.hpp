// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "attribution.hpp"
#include "bucket_order.hpp"
#include "measured_time.hpp"

namespace profkit::detail {

/// When an operation was launched; its own beginning where the launch was not recorded.
inline timestamp launch_moment(profile const& of, attribution const& launched, std::size_t operation) {
  std::uint32_t const launch = launched.launch_of[operation];
  return launch == attribution::none ? of.gpu_operations[operation].time.begin : middle_of(of.api_calls[launch].time);
}

/// From the first start to the last end of some operations.
struct operation_span {
  timestamp begin = timestamp::max();
  timestamp end = timestamp::min();

  /// Whether it grew.
  bool add(interval const& time) {
    if (begin <= time.begin && time.end <= end) return false;
    begin = std::min(begin, time.begin);
    end = std::max(end, time.end);
    return true;
  }

  [[nodiscard]] bool is_empty() const { return end < begin; }
  [[nodiscard]] std::chrono::nanoseconds length() const { return end - begin; }
};

/// The operations that were launched in the measured time.
class counted_operations {
 public:
  counted_operations(profile const& of, attribution const& launched, measured_time const& when) : steps_(when.size()) {
    measured_time_cursor in{when};
    order_.reserve(of.gpu_operations.size());
    for (std::size_t i = 0; i < of.gpu_operations.size(); ++i) {
      std::optional<std::size_t> const step = in.step_of(launch_moment(of, launched, i));
      if (!step) continue;
      order_.push_back(static_cast<std::uint32_t>(i));
      steps_[*step].add(of.gpu_operations[i].time);
    }
    sort(of.gpu_operations);
  }

  /// Positions in `profile::gpu_operations`, in the order in which they started.
  [[nodiscard]] std::vector<std::uint32_t> const& order() const noexcept { return order_; }

  /// By measured step.
  [[nodiscard]] std::vector<operation_span> const& steps() const noexcept { return steps_; }

 private:
  void sort(std::vector<gpu_operation_record> const& operations) {
    auto const begins_before = [&](std::uint32_t a, std::uint32_t b) { return operations[a].time.begin < operations[b].time.begin; };
    if (std::is_sorted(order_.begin(), order_.end(), begins_before)) return;
    std::vector<std::uint64_t> begins;
    begins.reserve(order_.size());
    for (std::uint32_t const each : order_) {
      // With the sign bit the other way round, the order is that of signed numbers.
      auto const ns = static_cast<std::uint64_t>(operations[each].time.begin.time_since_epoch().count());
      begins.push_back(ns ^ (std::uint64_t{1} << 63U));
    }
    bucket_order const by_begin{begins};
    std::vector<std::uint32_t> sorted(order_.size());
    std::transform(by_begin.positions().begin(), by_begin.positions().end(), sorted.begin(), [&](std::uint32_t i) { return order_[i]; });
    order_ = std::move(sorted);
  }

  std::vector<std::uint32_t> order_;
  std::vector<operation_span> steps_;
};

}  // namespace profkit::detail
