// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace bench {

/// A session from construction to `end()`, compiled once for all programs that measure scopes. Those include `scope.hpp` alone, like the
/// files of a real program.
class recording {
 public:
  /// @param log_bytes address space of a thread's log, a power of two; 0: the default.
  /// @param records record budget of the profile; 0: the default.
  explicit recording(std::uint64_t log_bytes = 0, std::uint64_t records = 0);
  ~recording();
  recording(recording const&) = delete;
  recording& operator=(recording const&) = delete;

  /// An empty step.
  void step();

  struct result {
    std::uint64_t scopes;     ///< scopes in the profile, without steps
    std::uint64_t dropped;    ///< dropped events
    std::uint64_t discarded;  ///< records beyond the record budget
  };
  /// Stops and drains. Call it once.
  [[nodiscard]] result end();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Records scopes as in a session, drained only by `forget_recorded`, so that each run does the same work.
class undrained {
 public:
  /// @param log_bytes as for `recording`.
  explicit undrained(std::uint64_t log_bytes = 0);
  ~undrained();
  undrained(undrained const&) = delete;
  undrained& operator=(undrained const&) = delete;
};

/// Bytes in this thread's log since its beginning. The difference of two values was written between them, unless the log wrapped around.
[[nodiscard]] std::uint64_t log_position();

/// Marks the records of all threads as read, like a session that drains the logs. Call it only without a session.
void forget_recorded();

}  // namespace bench
