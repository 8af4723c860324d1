// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>
#include <profkit/summary.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include "step_series.hpp"

namespace profkit_program {

/// What is known about a watched session.
enum class watch_state : std::uint8_t {
  waiting,     ///< no journal yet
  reading,     ///< what was written before is being read
  running,     ///< the journal grows, or has grown lately
  silent,      ///< the journal has not grown for some seconds
  gone,        ///< the process does not exist any more, and its session did not end
  ended,       ///< the session ended
  unreadable,  ///< `watch_view::problem` says why
};

/// One watched journal as the screen shows it. Addresses are borrowed.
struct watch_view {
  std::string name;    ///< "rank 3 (node17)" in a run of several ranks, else the name of the file
  std::string path{};  ///< as given, or as found in a folder that was given
  watch_state state = watch_state::waiting;
  std::string problem{};
  double share_read = 1.0;         ///< of the file
  std::chrono::seconds silence{};  ///< since the journal last grew
  profkit::environment_record environment{};
  std::chrono::nanoseconds recorded{};        ///< from the beginning of the session
  step_series const* steps = nullptr;         ///< the latest; null: none
  profkit::summary const* figures = nullptr;  ///< null: none yet
};

}  // namespace profkit_program
