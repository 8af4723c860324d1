// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace profkit::detail {

/// The states of a session.
enum class session_state : std::uint8_t {
  created,   ///< records nothing yet, or profkit is off
  running,   ///< records
  ending,    ///< the session's thread drains the rest and makes the report
  ended,     ///< the report is made, or cannot be made; also in the child of a `fork`
  abandoned  ///< this process is the child of a `fork`, and the session had not ended before it
};

/// Whether a session may go from one state to another.
[[nodiscard]] constexpr bool may_follow(session_state from, session_state to) noexcept {
  constexpr bool table[5][5] = {
      // to: created, running, ending, ended, abandoned     from:
      {false, true, false, true, true},     // created
      {false, false, true, true, true},     // running; directly to `ended` if its thread does not answer
      {false, false, false, true, true},    // ending
      {false, false, false, false, false},  // ended
      {false, false, false, false, false}   // abandoned
  };
  return table[static_cast<int>(from)][static_cast<int>(to)];
}

/// The state of one session. May be used on any thread.
class session_states {
 public:
  [[nodiscard]] session_state now() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is(session_state which) const noexcept { return now() == which; }

  /// @return false, with nothing changed, if the present state does not permit it.
  bool move(session_state to) noexcept {
    session_state from = now();
    while (may_follow(from, to)) {
      if (state_.compare_exchange_weak(from, to)) return true;
    }
    return false;
  }

 private:
  std::atomic<session_state> state_{session_state::created};
};

}  // namespace profkit::detail
