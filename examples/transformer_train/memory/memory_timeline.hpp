// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <profkit/profile/profile.hpp>
#include <profkit/profile/time.hpp>
#include <string>
#include <vector>

namespace trainer {

/// What an allocator held from this moment on.
struct memory_sample {
  profkit::timestamp time;
  std::uint64_t allocated_bytes = 0;  ///< by tensors
  std::uint64_t reserved_bytes = 0;   ///< taken from the device, for tensors now or later
};

/// An allocation that did not fit.
struct failed_allocation {
  profkit::timestamp time;
  std::uint64_t bytes = 0;
};

/// What an allocator did.
struct memory_history {
  std::vector<memory_sample> samples;        ///< one after each allocation and each release, in their order
  std::optional<failed_allocation> failure;  ///< the last one
};

struct memory_phase {
  std::string name;
  profkit::interval time;
};

/// Memory over one step, or over all that was recorded.
struct memory_timeline {
  std::string title;
  bool is_of_step = false;
  profkit::interval time;
  memory_history history;  ///< of that time; the first sample is at its beginning, if something was recorded before
  std::vector<memory_phase> phases;
};

/// Cuts the last step out of a history. Its phases are the scopes right inside the step's scope. A step that an exception left counts too:
/// when memory runs out, that is the step to look at. Without any step it is the whole history, without phases.
[[nodiscard]] memory_timeline last_step_of(profkit::profile const& profile, memory_history const& history, std::string title);

/// Draws it: bytes over host time since the beginning, the phases shaded, the peak marked. Of a long history points are left out that
/// would not be seen, never the peak. A picture of its own, in SVG 1.1.
[[nodiscard]] std::string to_svg(memory_timeline const& timeline);

}  // namespace trainer
