// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "../../profile_builder.hpp"
#include "../record/thread_log.hpp"
#include "made_collector.hpp"
#include "sample_source.hpp"

namespace profkit {

/// @brief Options of `host_samples`.
struct host_sample_options {
  double per_second = 1000.0;   ///< samples per second of processor time of each thread; from 1 to 10,000
  bool use_perf_events = true;  ///< false: use timers and signals even if the system permits `perf_event_open`
};

namespace detail {

std::unique_ptr<collector> sample_host(host_sample_options const& wanted);

}  // namespace detail

/// @brief Samples the functions that the threads of the program execute, and charges each sample to the innermost open scope of its thread.
///
/// Samples each thread with a log, that is, each thread with a scope or a launch. Sampling of a thread starts at most 25 ms after its first
/// scope (100 ms if the session's thread is busy). Uses a ring of `perf_event_open` for each thread, and no signals. Time in system calls
/// and waiting time are not sampled; the report derives them.
///
/// If the system refuses `perf_event_open`, it uses timers of processor time. They send a real-time signal to the thread at most 100 times
/// per second; the report says so. Each thread then gets an alternate signal stack, unless it has one.
class host_samples final : public detail::made_collector, private detail::sample_source {
 public:
  /// @brief Creates a collector with a sampling rate.
  /// @param wanted the rate.
  /// @throws profkit::error if the rate is not from 1 to 10,000.
  explicit host_samples(host_sample_options const& wanted = {}) : made_collector{detail::sample_host(wanted)} {}

  /// @brief The source from which the session's thread reads samples: this collector.
  [[nodiscard]] detail::sample_source* samples() noexcept override { return this; }

 private:
  void read(profile_builder& into) override {
    made().samples()->read(into);
    take_status();
  }
  [[nodiscard]] detail::waiting_samples* samples_of(detail::thread_log const& log) override { return made().samples()->samples_of(log); }
};

}  // namespace profkit
