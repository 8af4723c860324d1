// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "own_memory.hpp"

namespace profkit {

/// @brief A source location whose scopes ended wrongly.
struct wrong_end_record {
  std::string what;         ///< such as "load (a.cpp:40) ended on another thread, inside step (b.cpp:9)"
  std::uint64_t count = 0;  ///< number of scopes
};

/// @brief The data that a snapshot of a running session lacks. `quality_record::open_scopes` counts open scopes.
struct snapshot_record {
  bool is_step_open = false;             ///< a step was open; `profile::steps` does not contain it
  bool is_behind = false;                ///< the logs were not drained in time: the last second or more may be missing
  std::uint64_t missing_operations = 0;  ///< launching calls whose operations have not arrived
  std::uint64_t untimed_steps = 0;       ///< steps whose time between CUDA events has not arrived
};

/// @brief Lost data, and the overhead of profkit.
struct quality_record {
  std::uint64_t dropped_events =
      0;  ///< scopes and counters not recorded: full log, or a cause counted in `events_...` or `interrupting_events`
  std::uint64_t discarded_records = 0;   ///< records beyond the record budget that no figure includes
  std::uint64_t collapsed_scopes = 0;    ///< scopes beyond the limits of paths, in the path without an index or inside a merged path
  std::uint64_t open_scopes = 0;         ///< scopes open at the end of the session; not in `scopes`
  std::uint64_t abandoned_steps = 0;     ///< steps exited by an exception; not in `steps`
  std::uint64_t unread_gpu_times = 0;    ///< GPU scopes that were incomplete at the end, and steps that could not be timed
  std::uint64_t untimed_gpu_scopes = 0;  ///< GPU scopes that could not be timed, such as under stream capture
  std::uint64_t dropped_operations = 0;  ///< records that CUPTI dropped because it had no buffer
  std::uint64_t invalid_operations = 0;  ///< GPU operations without a valid time; not in the profile
  std::uint64_t clock_changes = 0;       ///< number of times that the system clock was set during the session; timestamps are not affected
  std::chrono::nanoseconds cost_of_1000_scopes{};  ///< cost of 1000 scopes, measured at the start of the session
  std::chrono::nanoseconds bookkeeping{};          ///< time of collectors and draining between steps
  std::string clock;                               ///< the clock of host times
  std::chrono::nanoseconds clock_change{};         ///< total change of the system clock
  std::uint64_t uncertain_operations = 0;          ///< GPU operations that may have run before or after the system clock was set back
  std::uint64_t events_without_memory = 0;         ///< events dropped because the system provided no memory for a log
  std::uint64_t events_without_log = 0;            ///< events dropped because of too many logs, or an ending thread
  std::uint64_t interrupting_events = 0;           ///< events dropped because a signal handler interrupted the recorder
  std::uint64_t misnested_scopes = 0;              ///< scopes left without their destructors; they end at the previous known event
  std::uint64_t unmatched_ends = 0;  ///< scopes ended on another thread or after the end of an outer scope; the ends are not recorded
  detail::own_vector<wrong_end_record> wrong_ends;  ///< the first 16 source locations that caused `misnested_scopes` or `unmatched_ends`
  std::uint64_t untraced_records = 0;               ///< records beyond the record budget that figures include but the profile does not
  std::string not_recorded;                         ///< why nothing was recorded, such as "profkit is off"; otherwise empty
  std::optional<snapshot_record> snapshot;          ///< n/a for a session that has ended
};

}  // namespace profkit
