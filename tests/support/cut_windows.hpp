// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/gpu/gpu_idle.hpp>
#include <profkit/impl/analyze/gpu/gpu_step_periods.hpp>
#include <profkit/impl/analyze/memory/scope_memory.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/analyze/window.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cut {

using profkit::interval;
using profkit::timestamp;

template <class Record, class IsWanted>
void keep(profkit::detail::own_vector<Record>& records, IsWanted const& is_wanted) {
  records.erase(std::remove_if(records.begin(), records.end(), [&](Record const& each) { return !is_wanted(each); }), records.end());
}

/// The records of the steps that begin in a stretch of time.
/// @param position_of for each step, its index in the window.
inline profkit::detail::own_vector<profkit::detail::gpu_step_period> own_periods(
    profkit::profile const& whole, profkit::detail::own_vector<profkit::detail::gpu_step_period> const& periods, interval const& own,
    profkit::detail::own_vector<std::size_t> const& position_of) {
  profkit::detail::own_vector<profkit::detail::gpu_step_period> result;
  for (profkit::detail::gpu_step_period each : periods) {
    timestamp const begin = whole.steps[each.step].time.begin;
    if (begin < own.begin || own.end <= begin) continue;
    each.step = position_of[each.step];
    result.push_back(each);
  }
  return result;
}

/// The launching calls of each thread directly before and after a stretch of time.
class neighbouring_calls {
 public:
  neighbouring_calls(profkit::profile const& profile, profkit::attribution const& launched) : profile_{profile}, lanes_{launched.lanes} {
    profkit::detail::own_vector<bool> launches(profile.api_calls.size());
    for (std::uint32_t const call : launched.launch_of) {
      if (call != profkit::attribution::none) launches[call] = true;
    }
    for (std::uint32_t call = 0; call < profile.api_calls.size(); ++call) {
      using profkit::detail::api_call_kind;
      api_call_kind const kind = profkit::detail::kind_of_api_call(profile.api_names[profile.api_calls[call].name]);
      if (kind != api_call_kind::synchronisation && (kind != api_call_kind::other || launches[call])) launching_.push_back(call);
    }
  }

  /// Marks the neighbours.
  void mark(interval const& stretch, profkit::detail::own_vector<bool>& calls) const {
    constexpr std::uint32_t none = profkit::attribution::none;
    profkit::detail::own_vector<std::uint32_t> before(lanes_.count(), none);
    profkit::detail::own_vector<std::uint32_t> after = before;
    for (std::uint32_t const call : launching_) {
      interval const& time = profile_.api_calls[call].time;
      std::uint32_t const lane = lanes_.lane_of(profile_.api_calls[call].thread);
      std::uint32_t& last = before[lane];
      std::uint32_t& next = after[lane];
      if (time.end <= stretch.begin && (last == none || profile_.api_calls[last].time.end < time.end)) last = call;
      if (time.begin >= stretch.end && (next == none || time.begin < profile_.api_calls[next].time.begin)) next = call;
    }
    for (profkit::detail::own_vector<std::uint32_t> const* const each : {&before, &after}) {
      for (std::uint32_t const call : *each) {
        if (call != none) calls[call] = true;
      }
    }
  }

 private:
  profkit::profile const& profile_;
  profkit::detail::thread_lanes const& lanes_;
  profkit::detail::own_vector<std::uint32_t> launching_;
};

/// The state of the allocators at a point in time.
class memory_at_borders {
 public:
  explicit memory_at_borders(profkit::profile const& whole) : whole_{whole}, changes_{profkit::detail::find_memory_changes(whole)} {
    scope_of_ = profkit::detail::innermost_scopes(
        whole, profkit::detail::thread_lanes{whole}, whole.allocations, [](std::uint32_t) { return true; },
        [&](std::uint32_t each) { return whole.allocations[each].time; }, parent_of_);
  }

  /// @param position_of for each scope, its index in the window; includes the scopes that are open when the stretch begins.
  [[nodiscard]] profkit::detail::memory_before before(interval const& own,
                                                      profkit::detail::own_vector<std::uint32_t> const& position_of) const {
    using profkit::detail::memory_change;
    profkit::detail::memory_before result;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      std::uint64_t bytes = whole_.allocators[i].bytes_at_start;
      for (memory_change const& change : changes_[i].in_order) {
        if (change.time < own.begin) bytes += change.difference();
        if (change.time < own.begin || own.end <= change.time || !change.is_release || change.origin == memory_change::unknown) continue;
        profkit::allocation_record const& record = whole_.allocations[change.origin];
        if (record.time < own.begin) result.live.push_back(live(change.origin, own.begin, position_of));
      }
      result.bytes.push_back(bytes);
    }
    return result;
  }

 private:
  [[nodiscard]] profkit::detail::live_allocation live(std::uint32_t allocation, timestamp border,
                                                      profkit::detail::own_vector<std::uint32_t> const& position_of) const {
    profkit::detail::live_allocation result;
    result.record = whole_.allocations[allocation];
    std::uint32_t scope = scope_of_[allocation];
    if (scope == profkit::detail::no_scope) return result;
    result.path = whole_.scopes[scope].path;
    while (scope != profkit::detail::no_scope && whole_.scopes[scope].time.end < border) scope = parent_of_[scope];
    if (scope != profkit::detail::no_scope) result.scope = position_of[scope];
    return result;
  }

  profkit::profile const& whole_;
  profkit::detail::own_vector<profkit::detail::allocator_changes> changes_;
  profkit::detail::own_vector<std::uint32_t> scope_of_;   ///< by allocation
  profkit::detail::own_vector<std::uint32_t> parent_of_;  ///< by scope
};

}  // namespace cut

/// Cuts a profile into windows. Each window has a copy of its records, and of the tables.
/// @param whole the recorded profile.
/// @param borders in ascending order, outside steps. The first and the last window are unbounded on the outside.
[[nodiscard]] inline profkit::detail::own_vector<profkit::window> cut_windows(
    profkit::profile const& whole, profkit::detail::own_vector<profkit::timestamp> const& borders) {
  using profkit::interval;
  using profkit::timestamp;
  profkit::attribution const launched = profkit::attribute(whole);
  profkit::detail::gpu_step_periods const gpu_steps = profkit::detail::gpu_step_period_finder{whole, launched}.find();
  cut::neighbouring_calls const neighbours{whole, launched};
  cut::memory_at_borders const memory{whole};
  bool const has_steps = profkit::detail::measured_time::had_steps(whole);
  std::optional<std::uint32_t> const steps_thread =
      profkit::detail::thread_of_steps(whole, profkit::detail::measured_time::with_kernels(whole));
  profkit::detail::own_vector<timestamp> launched_at;
  for (std::size_t k = 0; k < whole.gpu_operations.size(); ++k) launched_at.push_back(profkit::detail::launch_moment(whole, launched, k));
  profkit::detail::own_vector<profkit::window> result;
  for (std::size_t i = 0; i <= borders.size(); ++i) {
    interval const own{i == 0 ? timestamp::min() : borders[i - 1], i == borders.size() ? timestamp::max() : borders[i]};
    auto const is_own = [&](timestamp moment) { return own.begin <= moment && moment < own.end; };
    timestamp first_start = own.end;  // first start of its own operations
    std::optional<std::size_t> next;  // the operation that begins next after the stretch
    for (std::size_t k = 0; k < whole.gpu_operations.size(); ++k) {
      timestamp const begin = whole.gpu_operations[k].time.begin;
      if (is_own(launched_at[k])) first_start = std::min(first_start, begin);
      if (begin >= own.end && (!next || begin < whole.gpu_operations[*next].time.begin)) next = k;
    }
    profkit::detail::own_vector<bool> is_needed(whole.api_calls.size());
    neighbours.mark(own, is_needed);
    interval calls = own;  // the stretch in which the needed records were launched, including its end
    profkit::window each{whole, {own, has_steps, steps_thread, {}, {}, {}}};
    each.records.gpu_operations.clear();
    for (std::size_t k = 0; k < whole.gpu_operations.size(); ++k) {
      interval const& time = whole.gpu_operations[k].time;
      std::uint32_t const call = launched.launch_of[k];
      bool const runs_with_own = launched_at[k] < own.begin && first_start < time.end;
      bool const is_in = runs_with_own || (own.begin <= time.end && time.begin < own.end);
      bool const is_neighbour = call != profkit::attribution::none && is_needed[call];  // identifies its call as a launch
      if (!is_own(launched_at[k]) && !is_in && !is_neighbour && k != next) continue;
      each.records.gpu_operations.push_back(whole.gpu_operations[k]);
      if (is_in) calls = {std::min(calls.begin, launched_at[k]), std::max(calls.end, launched_at[k])};
      if (k == next && call != profkit::attribution::none) is_needed[call] = true;
    }
    auto const touches = [&](interval const& time) {
      return calls.begin <= time.end && (time.begin < own.end || (own.end < calls.end && time.begin <= calls.end));
    };
    profkit::detail::own_vector<std::uint32_t> scopes;
    for (std::uint32_t scope = 0; scope < whole.scopes.size(); ++scope) {
      if (touches(whole.scopes[scope].time)) scopes.push_back(scope);
    }
    // Without steps, a window may be added before all its scopes have ended.
    auto const is_open = [&](std::uint32_t scope) { return !has_steps && own.end <= whole.scopes[scope].time.end; };
    std::stable_sort(scopes.begin(), scopes.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (!is_open(a) || !is_open(b)) return !is_open(a) && is_open(b);
      return whole.scopes[a].time.begin > whole.scopes[b].time.begin;
    });
    each.records.scopes.clear();
    profkit::detail::own_vector<std::uint32_t> scope_position_of(whole.scopes.size());
    for (std::uint32_t const scope : scopes) {
      scope_position_of[scope] = static_cast<std::uint32_t>(each.records.scopes.size());
      each.records.scopes.push_back(whole.scopes[scope]);
      if (is_open(scope)) each.records.scopes.back().time.end = timestamp::max();
    }
    each.frame.memory = memory.before(own, scope_position_of);
    each.records.steps.clear();
    profkit::detail::own_vector<std::size_t> position_of;
    for (profkit::step_record const& step : whole.steps) {
      bool const is_begun_in = std::any_of(each.records.scopes.begin(), each.records.scopes.end(), [&](auto const& scope) {
        return step.time.begin <= scope.time.begin && scope.time.begin < step.time.end;
      });
      position_of.push_back(each.records.steps.size());
      if (is_begun_in || touches(profkit::detail::with_readings_at_end(step.time))) each.records.steps.push_back(step);
    }
    each.frame.gpu_steps.warmup = cut::own_periods(whole, gpu_steps.warmup, own, position_of);
    each.frame.gpu_steps.measured = cut::own_periods(whole, gpu_steps.measured, own, position_of);
    each.frame.gpu_wall = profkit::detail::parts_in(gpu_steps.measured, own);
    each.records.api_calls.clear();
    for (std::size_t call = 0; call < whole.api_calls.size(); ++call) {
      if (is_needed[call] || touches(whole.api_calls[call].time)) each.records.api_calls.push_back(whole.api_calls[call]);
    }
    cut::keep(each.records.gpu_scopes, [&](profkit::gpu_scope_record const& scope) { return is_own(scope.begin); });
    cut::keep(each.records.allocations, [&](profkit::allocation_record const& change) { return is_own(change.time); });
    cut::keep(each.records.samples, [&](profkit::sample_record const& sample) { return is_own(sample.time); });
    cut::keep(each.records.counters, [&](profkit::counter_record const& sample) { return is_own(sample.time); });
    cut::keep(each.records.collectives, [&](profkit::collective_record const& one) { return is_own(one.time.begin); });
    result.push_back(std::move(each));
  }
  return result;
}
