// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <profkit/impl/profile/record_fields.hpp>
#include <profkit/profile.hpp>
#include <profkit/profile_builder.hpp>
#include <type_traits>
#include <utility>

namespace profkit_program {

/// The steps of a capture, by `step_record::index`.
struct captured_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  [[nodiscard]] bool contains(std::uint64_t step) const noexcept { return first <= step && step <= last; }
};

template <class Record, class = void>
inline constexpr bool has_step = false;
template <class Record>
inline constexpr bool has_step<Record, std::void_t<decltype(std::declval<Record>().step)>> = true;

template <class List, class IsWanted>
void keep_if(List& list, IsWanted const& is_wanted) {
  list.erase(std::remove_if(list.begin(), list.end(), [&](auto const& each) { return !is_wanted(each); }), list.end());
}

/// Removes the records that do not belong to the captured steps, because the session also recorded parts of the steps around them. All
/// captured steps count, also those of the warm-up. Figures find the step of a record by its time, unless the record has the index of a
/// step. Values that cover the whole session are removed.
/// @param content the journal of the capture.
/// @param has_own_samples host samples were taken for the capture, not for the whole session.
/// @return whether there is a step.
[[nodiscard]] inline bool keep_captured_steps(profkit::profile& content, captured_range const& captured, bool has_own_samples) {
  keep_if(content.steps, [&](profkit::step_record const& each) { return captured.contains(each.index); });
  if (content.steps.empty()) return false;
  // The energy of several steps is known in all only. Their number does not include steps that are not measured.
  keep_if(content.energy, [&](profkit::energy_record const& energy) {
    auto const count = std::count_if(content.steps.begin(), content.steps.end(),
                                     [&](profkit::step_record const& each) { return each.is_measured() && each.index <= energy.step; });
    return energy.steps <= static_cast<std::uint64_t>(count);
  });
  profkit::detail::for_each_member(content, content, [&](auto& member, auto const&) {
    if constexpr (profkit::detail::is_growing<std::decay_t<decltype(member)>>) {
      if constexpr (has_step<typename std::decay_t<decltype(member)>::value_type>)
        keep_if(member, [&](auto const& each) { return captured.contains(each.step); });
    }
  });
  for (profkit::step_record& each : content.steps) each.warmup = false;
  content.time = {content.steps.front().time.begin, content.steps.back().time.end};
  keep_if(content.scopes,
          [&](profkit::scope_record const& each) { return each.time.end > content.time.begin && each.time.begin < content.time.end; });
  content.environment.host_speed.reset();
  content.environment.host_use.reset();
  if (content.sampling && !has_own_samples) content.sampling->time = {};
  return true;
}

}  // namespace profkit_program
