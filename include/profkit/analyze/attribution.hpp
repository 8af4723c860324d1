// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"

namespace profkit {

/// Which API call launched each GPU operation, and in which scope. Positions are those of the lists in the profile.
struct attribution {
  static constexpr std::uint32_t none = 0xffffffffU;

  std::vector<std::uint32_t> launch_of;  ///< by GPU operation: the API call that launched it; `none` if it was not recorded
  std::vector<std::uint32_t> scope_of;   ///< by GPU operation: the innermost scope open at its launch; `none` outside any scope
  std::vector<std::uint32_t> parent_of;  ///< by scope: the scope around it on its thread; `none` for the roots of the tree
};

namespace detail {

/// A launching call cannot contain the beginning or the end of a scope of its thread, so any moment in it is in the same scopes. The
/// middle is the one that leaves most room for the difference between the clock of the scopes and the clock of CUPTI.
inline timestamp middle_of(interval const& call) { return call.begin + call.duration() / 2; }

/// Finds calls by their correlation. Operations come nearly in the order of their launches, so it looks close to the last one first.
class correlation_index {
 public:
  explicit correlation_index(std::vector<api_call_record> const& calls) : calls_{calls}, order_(calls.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    // The outer one of two nested calls first.
    auto const before = [&](std::uint32_t a, std::uint32_t b) {
      if (calls[a].correlation != calls[b].correlation) return calls[a].correlation < calls[b].correlation;
      return calls[a].time.begin < calls[b].time.begin;
    };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) std::sort(order_.begin(), order_.end(), before);
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t correlation) {
    // Gallop from the last position to bounds around the wanted one, then halve.
    std::size_t low = last_;
    std::size_t high = last_;
    for (std::size_t stride = 1; low > 0 && at(low - 1) >= correlation; stride *= 2) low -= std::min(low, stride);
    for (std::size_t stride = 1; high < order_.size() && at(high) < correlation; stride *= 2)
      high += std::min(order_.size() - high, stride);
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (at(middle) < correlation) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    last_ = low;
    return low < order_.size() && at(low) == correlation ? order_[low] : attribution::none;
  }

 private:
  [[nodiscard]] std::uint64_t at(std::size_t position) const { return calls_[order_[position]].correlation; }

  std::vector<api_call_record> const& calls_;
  std::vector<std::uint32_t> order_;
  std::size_t last_ = 0;
};

/// What happened on one thread of the system. Several threads of the profile may be the same one: a log is used again, and so is the
/// system's number.
struct thread_lane {
  std::vector<std::uint32_t> scopes;  ///< in the order in which they ended, as they were recorded
  std::vector<std::uint32_t> calls;   ///< those that launched something, in order of time
};

/// Walks one lane from its end to its beginning. Backwards, a scope comes before those inside it, so that a stack holds the open ones.
class lane_walk {
 public:
  lane_walk(profile const& of, attribution& result, std::vector<std::uint32_t>& scope_of_call)
      : of_{of}, result_{result}, scope_of_call_{scope_of_call} {}

  void operator()(thread_lane& lane) {
    auto const ends_before = [&](std::uint32_t a, std::uint32_t b) { return of_.scopes[a].time.end < of_.scopes[b].time.end; };
    if (!std::is_sorted(lane.scopes.begin(), lane.scopes.end(), ends_before)) {
      std::stable_sort(lane.scopes.begin(), lane.scopes.end(), ends_before);
    }
    auto const launches_before = [&](std::uint32_t a, std::uint32_t b) {
      return middle_of(of_.api_calls[a].time) < middle_of(of_.api_calls[b].time);
    };
    if (!std::is_sorted(lane.calls.begin(), lane.calls.end(), launches_before)) {
      std::sort(lane.calls.begin(), lane.calls.end(), launches_before);
    }
    open_.clear();
    std::size_t left = lane.scopes.size();
    for (std::size_t i = lane.calls.size(); i-- > 0;) {
      timestamp const moment = middle_of(of_.api_calls[lane.calls[i]].time);
      while (left > 0 && of_.scopes[lane.scopes[left - 1]].time.end >= moment) open(lane.scopes[--left]);
      while (!open_.empty() && of_.scopes[open_.back()].time.begin > moment) open_.pop_back();
      if (!open_.empty()) scope_of_call_[lane.calls[i]] = open_.back();
    }
    while (left > 0) open(lane.scopes[--left]);
  }

 private:
  void open(std::uint32_t scope) {
    scope_record const& record = of_.scopes[scope];
    while (!open_.empty() && of_.scopes[open_.back()].time.begin > record.time.begin) open_.pop_back();
    // A step begins a tree of its own inside whatever is open.
    std::uint32_t const parent_path = of_.paths[record.path].parent;
    if (parent_path != path_record::no_parent) {
      auto const parent =
          std::find_if(open_.rbegin(), open_.rend(), [&](std::uint32_t each) { return of_.scopes[each].path == parent_path; });
      if (parent != open_.rend()) result_.parent_of[scope] = *parent;
    }
    open_.push_back(scope);
  }

  profile const& of_;
  attribution& result_;
  std::vector<std::uint32_t>& scope_of_call_;
  std::vector<std::uint32_t> open_;
};

}  // namespace detail

/// Charges each GPU operation to the innermost scope that was open on the launching thread when the API call launched it.
/// Takes time in proportion to the records, n log n if they are out of order.
[[nodiscard]] inline attribution attribute(profile const& of) {
  attribution result;
  result.launch_of.assign(of.gpu_operations.size(), attribution::none);
  result.scope_of.assign(of.gpu_operations.size(), attribution::none);
  result.parent_of.assign(of.scopes.size(), attribution::none);

  detail::correlation_index index{of.api_calls};
  std::vector<bool> is_launch(of.api_calls.size());
  for (std::size_t i = 0; i < of.gpu_operations.size(); ++i) {
    std::uint32_t const launch = index.find(of.gpu_operations[i].correlation);
    result.launch_of[i] = launch;
    if (launch != attribution::none) is_launch[launch] = true;
  }

  std::vector<detail::thread_lane> lanes;
  std::vector<std::size_t> lane_of;  // by thread
  std::unordered_map<std::uint64_t, std::size_t> lane_of_system_id;
  for (thread_record const& thread : of.threads) {
    lane_of.push_back(lane_of_system_id.try_emplace(thread.system_id, lanes.size()).first->second);
    lanes.resize(lane_of_system_id.size());
  }
  for (std::size_t i = 0; i < of.scopes.size(); ++i) lanes[lane_of[of.scopes[i].thread]].scopes.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t i = 0; i < of.api_calls.size(); ++i) {
    if (is_launch[i]) lanes[lane_of[of.api_calls[i].thread]].calls.push_back(static_cast<std::uint32_t>(i));
  }

  std::vector<std::uint32_t> scope_of_call(of.api_calls.size(), attribution::none);
  detail::lane_walk walk{of, result, scope_of_call};
  for (detail::thread_lane& lane : lanes) walk(lane);
  for (std::size_t i = 0; i < result.launch_of.size(); ++i) {
    if (result.launch_of[i] != attribution::none) result.scope_of[i] = scope_of_call[result.launch_of[i]];
  }
  return result;
}

/// Whether the kernel collector worked, so that what is not in the profile did not happen.
[[nodiscard]] inline bool has_kernels(profile const& of) {
  return std::any_of(of.collectors.begin(), of.collectors.end(),
                     [](collector_record const& each) { return each.name == "kernels" && each.status == "collected"; });
}

}  // namespace profkit
