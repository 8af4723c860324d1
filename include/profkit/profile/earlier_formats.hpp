// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "check_records.hpp"
#include "copy_direction.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Fills what a profile of an earlier format says by names alone: which path is the session's step, what a collector collects, where a copy
/// goes.
inline void complete(profile& of, std::uint32_t format) {
  if (format >= 8) return;
  auto const step = std::find_if(of.paths.begin(), of.paths.end(), [](path_record const& each) {
    return each.parent == path_record::no_parent && each.name == "step" && !each.index && each.adopted_from == path_record::no_parent;
  });
  if (step != of.paths.end()) step->is_step = true;
  for (collector_record& each : of.collectors) {
    if (each.name == "kernels") each.kind = collector_kind::kernels;
    if (each.name == "gpu clocks") each.kind = collector_kind::gpu_clocks;
    if (each.name == "journal") each.kind = collector_kind::journal;
  }
  for (gpu_name_record& each : of.gpu_names) each.direction = direction_of_copy(each.name);
}

/// What every profile goes through that was read from a file.
/// @throws profkit::error if it is damaged.
inline void complete_and_check(profile& read, std::uint32_t format) {
  complete(read, format);
  check_records(read);
}

}  // namespace profkit::detail
