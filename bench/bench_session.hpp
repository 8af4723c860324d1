// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace bench {

/// A session of profkit, from its construction to `end()` or its end, compiled once for all programs that measure scopes: these include
/// `scope.hpp` alone, as the measured files of a program do.
class recording {
 public:
  /// @param log_bytes address space of a thread's log, a power of two; 0: as profkit has it.
  /// @param records bound of the records in the profile; 0: as profkit has it.
  explicit recording(std::uint64_t log_bytes = 0, std::uint64_t records = 0);
  ~recording();
  recording(recording const&) = delete;
  recording& operator=(recording const&) = delete;

  /// An empty step.
  void step();

  struct result {
    std::uint64_t scopes;   ///< in the profile, steps left out
    std::uint64_t dropped;  ///< events that found no room
    std::uint64_t unkept;   ///< records past the bound of the profile
  };
  /// Stops and drains. Once.
  [[nodiscard]] result end();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Scopes are recorded as in a session, and nobody drains them but `forget_recorded`: for what has to be the same in each run.
class undrained {
 public:
  /// @param log_bytes as of `recording`.
  explicit undrained(std::uint64_t log_bytes = 0);
  ~undrained();
  undrained(undrained const&) = delete;
  undrained& operator=(undrained const&) = delete;
};

/// Bytes that this thread's log holds from its beginning on. What two of them differ by was written in between, if the log was not
/// continued at its beginning.
[[nodiscard]] std::uint64_t log_position();

/// Takes what all threads have recorded as read, as a session that drains the logs does. Only while there is no session.
void forget_recorded();

}  // namespace bench
