// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "../drain/log_drain.hpp"
#include "../profile/profile_builder.hpp"

namespace profkit::detail {

/// Single values of a running session, which the step thread sets and the session's thread copies to the profile. Thread-safe.
class session_counters {
 public:
  void abandon_step() noexcept { abandoned_steps_.fetch_add(1, std::memory_order_relaxed); }

  void add_bookkeeping(std::uint64_t ticks) noexcept { bookkeeping_ticks_.fetch_add(ticks, std::memory_order_relaxed); }

  void set_host_speed(std::optional<host_speed_record> const& measured) {
    std::lock_guard<std::mutex> const lock{mutex_};
    host_speed_ = measured;
  }

  /// Copies these values, and the values of the clock, to the profile. To be called with the content lock.
  void describe(log_drain& logs, profile_builder& into) {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      into.environment().host_speed = host_speed_;
    }
    into.environment().clock_offset_ns = logs.calendar().offset_ns();
    into.set(&profile::time, logs.time());
    into.set(&quality_record::clock_changes, logs.calendar().changes());
    into.set(&quality_record::clock_change, logs.calendar().change());
    into.set(&quality_record::bookkeeping, logs.clock().duration(bookkeeping_ticks_.load(std::memory_order_relaxed)));
    into.set(&quality_record::abandoned_steps, abandoned_steps_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t> bookkeeping_ticks_{0};
  std::atomic<std::uint64_t> abandoned_steps_{0};
  std::mutex mutex_;
  std::optional<host_speed_record> host_speed_;  ///< guarded by `mutex_`
};

}  // namespace profkit::detail
