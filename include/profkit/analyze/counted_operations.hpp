// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
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

/// Positions of the operations in the order in which they started.
inline std::vector<std::uint32_t> operations_by_begin(std::vector<gpu_operation_record> const& operations) {
  auto const begins_before = [](gpu_operation_record const& a, gpu_operation_record const& b) { return a.time.begin < b.time.begin; };
  if (std::is_sorted(operations.begin(), operations.end(), begins_before)) {
    std::vector<std::uint32_t> result(operations.size());
    std::iota(result.begin(), result.end(), 0U);
    return result;
  }
  std::vector<std::uint64_t> begins;
  begins.reserve(operations.size());
  for (gpu_operation_record const& each : operations) {
    // With the sign bit the other way round, the order is that of signed numbers.
    begins.push_back(static_cast<std::uint64_t>(each.time.begin.time_since_epoch().count()) ^ (std::uint64_t{1} << 63U));
  }
  return bucket_order{begins}.positions();
}

/// The operations that were launched in the measured time.
class counted_operations {
 public:
  /// @param by_begin all operations, in the order in which they started.
  counted_operations(profile const& of, attribution const& launched, measured_time const& when, std::vector<std::uint32_t> const& by_begin)
      : steps_(when.size()) {
    measured_time_cursor in{when};
    order_.reserve(by_begin.size());
    for (std::uint32_t const each : by_begin) {
      std::optional<std::size_t> const step = in.step_of(launch_moment(of, launched, each));
      if (!step) continue;
      order_.push_back(each);
      steps_[*step].add(of.gpu_operations[each].time);
    }
  }

  /// Positions in `profile::gpu_operations`, in the order in which they started.
  [[nodiscard]] std::vector<std::uint32_t> const& order() const noexcept { return order_; }

  /// By measured step.
  [[nodiscard]] std::vector<operation_span> const& steps() const noexcept { return steps_; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<operation_span> steps_;
};

}  // namespace profkit::detail
