// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>
#include <string>
#include <vector>

namespace trainer {

/// The memory of an allocator from this time on.
struct memory_sample {
  profkit::timestamp time;
  std::uint64_t allocated_bytes = 0;  ///< by tensors
  std::uint64_t reserved_bytes = 0;   ///< reserved from the device, for present and later tensors
};

/// An allocation that did not fit.
struct failed_allocation {
  profkit::timestamp time;
  std::uint64_t bytes = 0;
};

/// The recorded history of an allocator.
struct memory_history {
  std::vector<memory_sample> samples;        ///< one after each allocation and each release, in order
  std::optional<failed_allocation> failure;  ///< the last one
};

struct memory_phase {
  std::string name;
  profkit::interval time;
};

/// Memory over one step, or over the whole recording.
struct memory_timeline {
  std::string title;
  bool is_of_step = false;
  profkit::interval time;
  memory_history history;  ///< within `time`; the first sample is at its beginning, if an earlier one exists
  std::vector<memory_phase> phases;
};

/// Cuts the last step out of a history. Its phases are the direct children of the step's scope. An abandoned step counts too: if memory
/// runs out, that is the step of interest. Without any step, returns the whole history without phases.
[[nodiscard]] memory_timeline last_step_of(profkit::profile const& profile, memory_history const& history, std::string title);

/// Draws bytes over host time, with shaded phases and a mark at the peak. Omits points of a long history that would not be visible, but
/// never the peak. Returns a self-contained SVG 1.1 document.
[[nodiscard]] std::string to_svg(memory_timeline const& timeline);

}  // namespace trainer
