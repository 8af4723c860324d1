// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "../collect/collector_list.hpp"
#include "../drain/log_drain.hpp"
#include "../profile/own_memory.hpp"
#include "../record/recorder.hpp"
#include "guarded_profile.hpp"

namespace profkit::detail {

/// Reads GPU times on the step thread, because CUDA events may be queried only on threads that use CUDA. All functions must be called on
/// the step thread unless they say otherwise.
class gpu_time_reader {
 public:
  /// Maximum time that the session uses on the step thread after a step, without its collectors.
  static constexpr std::chrono::microseconds max_time_between_steps{50};

  /// @param shared borrowed.
  /// @param collectors borrowed.
  gpu_time_reader(guarded_profile& shared, collector_list& collectors) noexcept : shared_{shared}, collectors_{collectors} {}

  /// Whether to read after this step: at most every 10 ms.
  [[nodiscard]] bool is_due() noexcept {
    auto const now = std::chrono::steady_clock::now();
    if (now - last_ < log_drain::min_interval) return false;
    last_ = now;
    return true;
  }

  /// Reads finished GPU scopes, if due, for at most `max_time_between_steps`. If the profile is not free within half of that time, a later
  /// step reads them.
  void read_scopes_if_due() {
    bool const has_side_logs = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE) != nullptr;
    if (!has_side_logs || !is_due()) return;
    auto const content = shared_.hold_within(max_time_between_steps / 2);
    if (content.owns_lock()) drain_side_logs(max_time_between_steps / 2);
  }

  /// Reads finished GPU scopes; waits for the profile if necessary.
  void read_scopes() {
    auto const content = shared_.hold();
    drain_side_logs(max_time_between_steps);
  }

  /// Reads all GPU scopes when the session ends. May be called on any thread, with the content lock.
  void read_scopes_at_end() { drain_side_logs(std::nullopt); }

  /// The beginning of the oldest GPU scope that is not in the profile; nothing if there are no such GPU scopes. May be called on any
  /// thread, with the content lock.
  [[nodiscard]] static std::optional<timestamp> oldest_unread_scope() {
    std::optional<timestamp> result;
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      timestamp const oldest{std::chrono::nanoseconds{side->oldest_ns()}};
      result = std::min(result.value_or(oldest), oldest);
    }
    return result;
  }

  /// The GPU step times known so far. The latest ones are missing if the profile is not free.
  [[nodiscard]] profile const& step_times() {
    auto const content = shared_.hold_within(max_time_between_steps);
    if (content.owns_lock()) read_step_times();
    return step_times_;
  }

  /// Updates the GPU step times; waits for the profile if necessary.
  void wait_for_step_times() {
    auto const content = shared_.hold();
    read_step_times();
  }

 private:
  /// To be called with the content lock.
  void read_step_times() {
    collectors_.for_each([&](collector& each) {
      if (!each.times_steps()) return;
      each.read_step_times();
      each.drain(shared_.content(), false);
    });
    own_vector<gpu_step_record> const& all = shared_.content().so_far().gpu_steps;
    own_vector<gpu_step_record>& seen = step_times_.gpu_steps;
    seen.insert(seen.end(), all.begin() + static_cast<std::ptrdiff_t>(seen.size()), all.end());
  }

  /// @param timeout n/a: read everything, because the session ends.
  void drain_side_logs(std::optional<std::chrono::nanoseconds> timeout) {
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      side->drain(shared_.content(), timeout ? timeout->count() : side_log::until_the_end);
    }
  }

  guarded_profile& shared_;
  collector_list& collectors_;
  profile step_times_;  ///< contains only `profile::gpu_steps`
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace profkit::detail
