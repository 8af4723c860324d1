// SPDX-License-Identifier: Apache-2.0
//
// A program to be sampled, without a session.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/drain/log_drain.hpp>
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/options.hpp>
#include <string>
#include <thread>
#include <utility>

namespace sampled {

inline std::atomic<std::uint64_t> sink{0};

inline double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Iterations of a busy function per millisecond, from the last measurement.
inline std::atomic<double> speed{100'000.0};

// Three functions that use a given processor time. Their loops are not inlined into each other. They rarely read the clock of processor
// time, because reading it lets the kernel end the thread's time slice. Ticks, which drive timers of processor time, would then only meet
// other threads.
#define BUSY_FUNCTION(name, factor)                                                              \
  __attribute__((noinline)) inline void name(double ms) {                                        \
    std::uint64_t value = (factor);                                                              \
    double now = cpu_ms();                                                                       \
    for (double const until = now + ms; now < until;) {                                          \
      double const count = (until - now) * speed.load(std::memory_order_relaxed) * 0.9 + 1000.0; \
      for (auto i = static_cast<std::uint64_t>(count); i > 0; --i) value = value * (factor) + 1; \
      double const before = std::exchange(now, cpu_ms());                                        \
      if (now > before) speed.store(count / (now - before), std::memory_order_relaxed);          \
    }                                                                                            \
    sink.fetch_add(value, std::memory_order_relaxed);                                            \
  }
BUSY_FUNCTION(busy_half, 6364136223846793005U)
BUSY_FUNCTION(busy_third, 2862933555777941757U)
BUSY_FUNCTION(busy_fifth, 3202034522624059733U)
#undef BUSY_FUNCTION

/// Records and samples this program until `stop`.
class program {
 public:
  /// @param pause time between two drains.
  explicit program(bool uses_perf_events = true, std::chrono::milliseconds pause = std::chrono::milliseconds{20})
      : collector_{profkit::host_samples{profkit::host_sample_options{1000.0, uses_perf_events}}.made} {
    collector_->use_clock(logs_.calendar());
    collector_->start(made_);
    logs_.use_samples(collector_->samples());
    std::string const how = made().sampling ? made().sampling->mechanism : "";
    if (!collector_->status().works) reason_ = collector_->status().reason;
    if (how.find("because of") != std::string::npos) reason_ = how;
    __atomic_fetch_or(&profkit::detail::recorder.flags, profkit::detail::recording | clock_flag_, __ATOMIC_RELEASE);
    thread_ = std::thread{[this, pause] {
      while (!is_over_) {
        if (!is_paused_) drain(false);
        ++rounds_;
        std::this_thread::sleep_for(pause);
      }
    }};
  }
  ~program() {
    stop();
    profkit::detail::skip_logs();
  }

  void stop() {
    if (is_over_.exchange(true)) return;
    thread_.join();
    __atomic_fetch_and(&profkit::detail::recorder.flags, ~(profkit::detail::recording | profkit::detail::use_monotonic_clock),
                       __ATOMIC_RELEASE);
    drain(true);
    collector_->stop();
  }

  /// Waits until the samples of all threads that have a scope now are being taken.
  void wait_for_samples() const { wait_for_rounds(2); }

  void wait_for_rounds(int count) const {
    for (int const begin = rounds_; rounds_ - begin < count;) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }

  void pause(bool is_paused) { is_paused_ = is_paused; }

  /// The reason why this machine cannot run the test; empty if it can.
  [[nodiscard]] std::string const& reason() const { return reason_; }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }

  /// The processor time of the samples by scope and function, in milliseconds.
  [[nodiscard]] std::map<std::string, std::map<std::string, double>> times() const {
    std::map<std::string, std::map<std::string, double>> result;
    for (profkit::sample_record const& each : made().samples) {
      std::string const scope = each.path == profkit::path_record::no_parent ? "" : made().paths[each.path].name;
      result[scope][made().functions[each.function].name] += static_cast<double>(each.weight) * 1e-6;
    }
    return result;
  }

 private:
  void drain(bool last) {
    logs_.drain(
        last, [] { return true; }, [] {});
  }

  profkit::profile_builder made_;
  std::uint32_t clock_flag_ = profkit::detail::start_recording(profkit::options{}.log_slots_per_thread, made_);
  profkit::detail::log_drain logs_{made_, clock_flag_};
  std::unique_ptr<profkit::collector> collector_;
  std::string reason_;
  std::atomic<int> rounds_{0};
  std::atomic<bool> is_over_{false};
  std::atomic<bool> is_paused_{false};
  std::thread thread_;
};

}  // namespace sampled

#ifdef RUNS_IN_EMULATOR
#define SKIP_IN_EMULATOR() SKIP("the emulator has no timers for the processor time of other threads")
#else
#define SKIP_IN_EMULATOR() static_cast<void>(0)
#endif

#define SKIP_IF_REFUSED(program) \
  if (!(program).reason().empty()) SKIP((program).reason())
