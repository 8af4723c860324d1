// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../profile/error.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/calendar_clock.hpp"
#include "../record/recorder.hpp"
#include "../record/thread_log.hpp"
#include "../record/ticks.hpp"
#include "code_sample.hpp"
#include "collector.hpp"
#include "cpu_timer_ring.hpp"
#include "function_names.hpp"
#include "host_sample_options.hpp"
#include "perf_ring.hpp"
#include "sample_source.hpp"

namespace profkit::detail {

/// What `host_samples` does. A template, so that units that do not use it do not compile it.
template <class Unused>
class host_sampling final : public collector, private sample_source {
 public:
  /// @throws profkit::error if the rate is not from 1 to 10,000.
  explicit host_sampling(host_sample_options const& wanted) {
    if (!(wanted.per_second >= 1.0 && wanted.per_second <= 10'000.0)) {
      throw error{"profkit::host_sample_options::per_second is " + std::to_string(wanted.per_second) + "; it must be from 1 to 10000"};
    }
    how_.mechanism = "perf_event_open, task clock";
    how_.interval = std::chrono::nanoseconds{static_cast<std::int64_t>(1e9 / wanted.per_second)};
    if (!wanted.use_perf_events) use_timers("requested");
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "host samples"; }

  void use_clock(calendar_clock& clock) override { clock_ = &clock; }

  void start(profile_builder& into) override {
    is_running_ = true;
    read(into);
  }

  [[nodiscard]] sample_source* samples() noexcept override { return this; }

  void stop() override {
    is_running_ = false;
    threads_.clear();
  }

 private:
  /// A thread, by its log.
  struct sampled_thread {
    std::uint32_t generation = 0;  ///< of the log: number of threads that have owned it
    perf_ring ring{};              ///< at most one of these two is open
    cpu_timer_ring timer{};
    std::uint64_t period_ns = 0;     ///< between samples
    std::uint64_t since_period = 0;  ///< number of samples since the period was set
    waiting_samples waiting{};
  };

  void read(profile_builder& into) override {
    if (!is_running_) return;
    read_.clear();
    for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
      read(*log);
    }
    std::vector<std::uint64_t> addresses;
    for (auto const& [thread, sample] : read_) {
      addresses.push_back(sample.leaf);
      addresses.insert(addresses.end(), sample.callers.begin(), sample.callers.end());
    }
    if (!addresses.empty()) names_.learn(std::move(addresses));
    for (auto const& [thread, sample] : read_) {
      std::uint32_t const function = names_.function_of(sample.leaf, sample.callers, into);
      constexpr std::uint64_t most = ~std::uint32_t{0};
      thread->waiting.add(
          {clock_->at_monotonic(sample.monotonic_ns), function, static_cast<std::uint32_t>(std::min(most, sample.weight_ns))});
    }
    read_.clear();
    into.set(&profile::sampling, how_);
    if (how_.threads > 0 || how_.threads_without == 0) return;
    fail(how_.why_without);
    stop();
  }

  [[nodiscard]] waiting_samples* samples_of(thread_log const& log) override {
    auto const known = threads_.find(&log);
    return known == threads_.end() ? nullptr : &known->second->waiting;
  }

  void read(thread_log const& log) {
    std::uint32_t const generation = __atomic_load_n(&log.generation, __ATOMIC_ACQUIRE);
    std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);
    auto known = threads_.find(&log);
    if (known != threads_.end() && known->second->generation == generation) {
      sampled_thread& thread = *known->second;
      if (thread.ring.is_open()) read(thread, thread.ring);
      if (thread.timer.is_open()) read(thread, thread.timer);
      if (state != log_owned && state != log_left) close(thread);
      return;
    }
    if (generation == 0 || state != log_owned) return;
    if (known == threads_.end()) known = threads_.emplace(&log, std::make_unique<sampled_thread>()).first;
    begin(*known->second, log, generation);
  }

  void begin(sampled_thread& thread, thread_log const& log, std::uint32_t generation) {
    close(thread);
    thread.generation = generation;
    thread.since_period = 0;
    thread.period_ns = next_period();
    int failure = uses_timers_ ? 0 : thread.ring.open(log.thread_system_id, thread.period_ns, bytes_of_ring());
    bool const is_refused = failure == EACCES || failure == EPERM || failure == ENOSYS;
    if (is_refused && how_.threads == 0 && !uses_timers_) use_timers("because of " + reason_of(failure));
    if (uses_timers_) {
      thread.period_ns = next_period();
      failure = thread.timer.open(log.thread_system_id, thread.period_ns);
    }
    if (failure == 0) {
      ++how_.threads;
    } else if (failure != ESRCH) {  // ESRCH: it has ended
      ++how_.threads_without;
      if (how_.why_without.empty()) how_.why_without = reason_of(failure);
    }
  }

  static void close(sampled_thread& thread) noexcept {
    thread.ring.close();
    thread.timer.close();
  }

  void use_timers(std::string const& why) {
    uses_timers_ = true;
    how_.mechanism = "timers of processor time with signals, " + why;
    how_.interval = std::max<std::chrono::nanoseconds>(how_.interval, std::chrono::milliseconds{10});
  }

  void read(sampled_thread& thread, cpu_timer_ring& ring) {
    std::vector<code_sample> samples;
    std::uint64_t const lost_before = ring.lost();
    ring.read(samples);
    how_.lost += ring.lost() - lost_before;
    for (code_sample& each : samples) read_.emplace_back(&thread, std::move(each));
  }

  void read(sampled_thread& thread, perf_ring& ring) {
    std::vector<code_sample> samples;
    std::uint64_t const lost_before = ring.lost();
    ring.read(samples);
    how_.lost += ring.lost() - lost_before;
    if (samples.empty()) return;
    thread.since_period += samples.size();
    std::uint64_t weight = thread.period_ns;
    if (thread.since_period >= samples_per_period) {
      // The kernel forgets the time since the last sample, half a period on average: these samples stand for it.
      weight += thread.period_ns / 2 / samples.size();
      thread.period_ns = next_period();
      ring.set_period(thread.period_ns);
      thread.since_period = 0;
    }
    for (code_sample& each : samples) {
      each.weight_ns = weight;
      read_.emplace_back(&thread, std::move(each));
    }
  }

  /// Random, so that no loop of the program stays in step with the samples.
  [[nodiscard]] std::uint64_t next_period() {
    auto const mean = static_cast<std::uint64_t>(how_.interval.count());
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    return mean - mean / 4 + (random_ >> 33U) % (mean / 2 + 1);
  }

  /// For 150 ms, because the session's thread reads at least every 100 ms.
  [[nodiscard]] std::size_t bytes_of_ring() const noexcept {
    constexpr std::size_t bytes_of_sample = 208;
    constexpr std::size_t smallest = std::size_t{32} << 10U;
    auto const samples = static_cast<std::size_t>(std::chrono::nanoseconds{std::chrono::milliseconds{150}} / how_.interval);
    std::size_t result = smallest;
    while (result < samples * bytes_of_sample) result *= 2;
    return result;
  }

  static std::string reason_of(int failure) {
    std::string what = "perf_event_open: " + std::generic_category().message(failure);
    switch (failure) {
      case EACCES:
      case EPERM:
        return what +
               ". Samples need kernel.perf_event_paranoid of at most 2, a container that permits perf_event_open, and for each thread 36 "
               "KiB of kernel.perf_event_mlock_kb";
      case ENOSYS:
        return what + ". The kernel or the container does not provide it";
      case EMFILE:
      case ENFILE:
        return what + ". Samples need a file descriptor for each thread";
      default:
        return what;
    }
  }

  static constexpr std::uint64_t samples_per_period = 16;

  calendar_clock const* clock_ = nullptr;
  bool is_running_ = false;
  bool uses_timers_ = false;  ///< otherwise rings of `perf_event_open`
  sampling_record how_;
  std::uint64_t random_ = static_cast<std::uint64_t>(monotonic_ns());  ///< for the periods, not for secrets
  function_names names_;
  std::unordered_map<thread_log const*, std::unique_ptr<sampled_thread>> threads_;
  /// Samples of a round, until their functions are known.
  std::vector<std::pair<sampled_thread*, code_sample>> read_;
};

}  // namespace profkit::detail
