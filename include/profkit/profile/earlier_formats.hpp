// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "copy_direction.hpp"
#include "error.hpp"
#include "profile.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace profkit::detail {

/// @throws profkit::error if files of this format cannot be read.
inline void check_format(std::uint32_t format) {
  if (format >= oldest_profile_format && format <= profile_format) return;
  throw error{"it has format " + std::to_string(format) + ", this version reads formats " + std::to_string(oldest_profile_format) + " to " +
              std::to_string(profile_format)};
}

/// Fills members that earlier formats express only by names: the path of the steps, the kinds of collectors, the directions of copies.
inline void complete(profile& read, std::uint32_t format) {
  if (format >= 8) return;
  auto const step = std::find_if(read.paths.begin(), read.paths.end(), [](path_record const& each) {
    return each.parent == path_record::no_parent && each.name == "step" && !each.index && each.adopted_from == path_record::no_parent;
  });
  if (step != read.paths.end()) step->is_step = true;
  for (collector_record& each : read.collectors) {
    if (each.name == "kernels") each.kind = collector_kind::kernels;
    if (each.name == "gpu clocks") each.kind = collector_kind::gpu_clocks;
    if (each.name == "journal") each.kind = collector_kind::journal;
  }
  for (gpu_name_record& each : read.gpu_names) each.direction = direction_of_copy(each.name);
}

/// Completes and validates a profile that was read from a file.
/// @throws profkit::error if the profile is damaged.
inline void complete_and_check(profile& read, std::uint32_t format) {
  complete(read, format);
  validate(read);
}

}  // namespace profkit::detail
