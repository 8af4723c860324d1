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
#include "durations.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"
#include "summary.hpp"

namespace profkit::detail {

/// Wall time of the measured steps in which no operation of any device ran, by the innermost scope that was open meanwhile on the thread
/// of the steps.
struct gpu_idle {
  struct times {
    std::chrono::nanoseconds inclusive{};  ///< of the scopes with the path and of those inside
    std::chrono::nanoseconds self{};
  };

  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds unattributed{};    ///< no scope was open; all of it if the scopes of the steps are not in the profile
  std::vector<std::optional<times>> of_path;  ///< n/a for paths without a scope on the thread of the steps

  /// @return n/a if the scopes of the name are all on other threads.
  [[nodiscard]] std::optional<gpu_idle_summary> of_name(path_tree::name_group const& name) const {
    std::optional<times> sum;
    auto const add = [&](std::uint32_t path, std::chrono::nanoseconds times::*time) {
      if (!of_path[path]) return;
      if (!sum) sum.emplace();
      (*sum).*time += (*of_path[path]).*time;
    };
    for (std::uint32_t const path : name.outermost) add(path, &times::inclusive);
    for (std::uint32_t const path : name.paths) add(path, &times::self);
    return summary_of(sum);
  }

  [[nodiscard]] static std::optional<gpu_idle_summary> summary_of(std::optional<times> const& of) {
    if (!of) return std::nullopt;
    return gpu_idle_summary{to_ms(of->inclusive), to_ms(of->self)};
  }
};

/// The stretches of the measured steps in which nothing ran on any device. They are taken from the last to the first.
class idle_stretches {
 public:
  /// @param by_begin all operations, in the order in which they started.
  idle_stretches(profile const& of, measured_time const& when, std::vector<std::uint32_t> const& by_begin)
      : next_step_{when.steps().begin()}, last_step_{when.steps().end()} {
    timestamp busy_until = timestamp::min();
    for (std::uint32_t const each : by_begin) {
      interval const& time = of.gpu_operations[each].time;
      if (time.begin > busy_until) add({busy_until, time.begin});
      busy_until = std::max(busy_until, time.end);
    }
    add({busy_until, timestamp::max()});
  }

  [[nodiscard]] std::chrono::nanoseconds total() const noexcept { return total_; }

  /// Takes what is left from a moment on.
  std::chrono::nanoseconds take_from(timestamp moment) {
    std::chrono::nanoseconds taken{};
    for (; !left_.empty() && left_.back().end > moment; left_.pop_back()) {
      taken += left_.back().end - std::max(left_.back().begin, moment);
      if (left_.back().begin >= moment) continue;
      left_.back().end = moment;
      break;
    }
    return taken;
  }

 private:
  /// @param nothing_ran not before the one added last.
  void add(interval const& nothing_ran) {
    while (next_step_ != last_step_ && next_step_->end <= nothing_ran.begin) ++next_step_;
    for (auto step = next_step_; step != last_step_ && step->begin < nothing_ran.end; ++step) {
      left_.push_back({std::max(step->begin, nothing_ran.begin), std::min(step->end, nothing_ran.end)});
      total_ += left_.back().duration();
    }
  }

  std::vector<interval>::const_iterator next_step_;
  std::vector<interval>::const_iterator last_step_;
  std::vector<interval> left_;
  std::chrono::nanoseconds total_{};
};

/// The number of the thread that ran the steps, as the system has it: a step's own scope begins and ends with it.
/// @return n/a if the scope of no measured step is in the profile.
inline std::optional<std::uint64_t> thread_of_steps(profile const& of, measured_time const& when) {
  measured_time_cursor in{when};
  for (scope_record const& scope : of.scopes) {
    if (of.paths[scope.path].parent != path_record::no_parent) continue;
    std::optional<std::size_t> const position = in.step_of(scope.time.begin);
    if (!position) continue;
    interval const& step = when.steps()[*position];
    if (scope.time.begin == step.begin && scope.time.end == step.end) return of.threads[scope.thread].system_id;
  }
  return std::nullopt;
}

/// The scopes of a thread of the system, in the order in which they ended.
inline std::vector<std::uint32_t> scopes_of_thread(profile const& of, std::uint64_t system_id) {
  thread_lane::list result;
  for (std::uint32_t i = 0; i < of.scopes.size(); ++i) {
    if (of.threads[of.scopes[i].thread].system_id == system_id) result.add(i, of.scopes[i].time.end);
  }
  result.sort([&](std::uint32_t scope) { return of.scopes[scope].time.end; });
  return std::move(result.positions);
}

/// Takes time in proportion to the records, n log n if the scopes are out of order.
/// @param when with steps.
/// @param by_begin all operations, in the order in which they started.
inline gpu_idle find_gpu_idle(profile const& of, measured_time const& when, std::vector<std::uint32_t> const& by_begin) {
  idle_stretches idle{of, when, by_begin};
  gpu_idle result{idle.total(), {}, std::vector<std::optional<gpu_idle::times>>(of.paths.size())};
  std::vector<std::uint32_t> open;
  auto const charge_from = [&](timestamp moment) {
    std::chrono::nanoseconds const taken = idle.take_from(moment);
    (open.empty() ? result.unattributed : result.of_path[of.scopes[open.back()].path]->self) += taken;
  };
  auto const close_from = [&](timestamp moment) {
    for (; !open.empty() && of.scopes[open.back()].time.begin >= moment; open.pop_back()) charge_from(of.scopes[open.back()].time.begin);
    charge_from(moment);
  };
  // Backwards, a scope comes before those inside it, so that a stack holds the open ones.
  std::optional<std::uint64_t> const thread = thread_of_steps(of, when);
  std::vector<std::uint32_t> const scopes = thread ? scopes_of_thread(of, *thread) : std::vector<std::uint32_t>{};
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    close_from(of.scopes[*scope].time.end);
    open.push_back(*scope);
    std::optional<gpu_idle::times>& times = result.of_path[of.scopes[*scope].path];
    if (!times) times.emplace();
  }
  close_from(timestamp::min());

  for (std::size_t path = of.paths.size(); path-- > 0;) {
    if (!result.of_path[path]) continue;
    result.of_path[path]->inclusive += result.of_path[path]->self;
    if (of.paths[path].parent == path_record::no_parent) continue;
    std::optional<gpu_idle::times>& parent = result.of_path[of.paths[path].parent];
    if (!parent) parent.emplace();
    parent->inclusive += result.of_path[path]->inclusive;
  }
  return result;
}

}  // namespace profkit::detail
