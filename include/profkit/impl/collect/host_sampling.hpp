// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../profile_builder.hpp"
#include "../profile/own_containers.hpp"
#include "../record/clock.hpp"
#include "../record/recorder.hpp"
#include "../record/thread_log.hpp"
#include "../record/ticks.hpp"
#include "built_in_collectors.hpp"
#include "cpu_timer_ring.hpp"
#include "function_names.hpp"
#include "host_probe.hpp"
#include "perf_ring.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A sampled thread, identified by its log.
struct sampled_thread {
  enum class kind : std::uint8_t { not_counted, sampled, refused };

  std::uint32_t generation = 0;  ///< generation of the log: number of threads that have owned it
  perf_ring ring{};              ///< at most one of `ring` and `timer` is open
  cpu_timer_ring timer{};
  std::uint64_t period_ns = 0;     ///< processor time between samples
  std::uint64_t since_period = 0;  ///< number of samples since the period was set
  bool waits_for_stack = false;    ///< the thread must set its signal stack first
  bool blocks_signals = false;     ///< the thread blocked the signal of the timers at the last check
  kind counted = kind::not_counted;
  waiting_samples waiting{};
};

/// Whether a thread blocks a signal now. Source: `SigBlk` in `/proc/self/task/THREAD/status`.
/// @param thread `gettid` of a thread of this process.
/// @return false if unknown, as for a thread that has ended.
inline bool blocks_signal(std::uint64_t thread, int signal) {
  std::string const path = "/proc/self/task/" + std::to_string(thread) + "/status";
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string text(4096, '\0');
  ::ssize_t const length = ::read(file, &text[0], text.size());
  ::close(file);
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  std::size_t const at = text.find("\nSigBlk:");
  if (at == std::string::npos) return false;
  std::uint64_t const blocked = std::strtoull(text.c_str() + at + sizeof "\nSigBlk:" - 1, nullptr, 16);
  return (blocked >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

/// The implementation of `host_samples`.
class host_sampling final : public collector, private sample_source {
 public:
  /// @throws profkit::error if the rate is not from 1 to 10,000.
  explicit host_sampling(host_sample_options const& wanted) {
    if (!(wanted.per_second >= 1.0 && wanted.per_second <= 10'000.0)) {
      throw error{"profkit::host_sample_options::per_second is " + std::to_string(wanted.per_second) + "; it must be from 1 to 10000"};
    }
    how_.mechanism = "perf_event_open, task clock";
    how_.interval = std::chrono::nanoseconds{static_cast<std::int64_t>(1e9 / wanted.per_second)};
    how_.why_no_lines = names_.why_no_lines();
    if (!wanted.use_perf_events) use_timers("requested");
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "host samples"; }

  void use_clock(calendar_clock& clock) override { clock_ = &clock; }

  void start(profile_builder& into) override {
    is_running_ = true;
    at_start_ = read_host_use();
    if (uses_timers_) prepare_threads();
    read(into);
  }

  [[nodiscard]] sample_source* samples() noexcept override { return this; }

  void stop() override {
    is_running_ = false;
    threads_.clear();
    if (uses_timers_) prepare_no_threads();
  }

 private:
  void read(profile_builder& into) override {
    if (!is_running_) return;
    read_.clear();
    names_.begin_round();
    ++round_;
    if (uses_timers_ && !cpu_timer_ring::has_signal()) close_timers();
    std::uint64_t waiting = 0;
    for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
      if (read(*log)) ++waiting;
    }
    if (uses_timers_) ask_to_prepare(is_round_to_ask(waiting));
    own_vector<std::uint64_t> addresses;
    for (auto const& [thread, sample] : read_) {
      addresses.push_back(sample.leaf);
      addresses.insert(addresses.end(), sample.callers.begin(), sample.callers.end());
    }
    if (!addresses.empty()) names_.learn(std::move(addresses));
    for (auto const& [thread, sample] : read_) {
      std::uint32_t const function = names_.function_of(sample.leaf, sample.callers, into);
      constexpr std::uint64_t most = ~std::uint32_t{0};
      how_.time.samples += std::chrono::nanoseconds{sample.weight_ns};
      thread->waiting.add(
          {clock_->at_monotonic(sample.monotonic_ns), function, static_cast<std::uint32_t>(std::min(most, sample.weight_ns))});
    }
    read_.clear();
    host_use_record const used = use_between(at_start_, read_host_use());
    how_.time.user = used.user;
    how_.time.system = used.system;
    sampling_record now = how_;
    now.threads_without += waiting;
    if (waiting > 0 && now.why_without.empty()) now.why_without = why_waiting;
    into.set(&profile::sampling, now);
    if (how_.threads > 0 || !is_refused_) return;
    fail(how_.why_without);
    stop();
  }

  [[nodiscard]] waiting_samples* samples_of(thread_log const& log) override {
    auto const known = threads_.find(&log);
    return known == threads_.end() ? nullptr : &known->second->waiting;
  }

  /// @return whether the thread has to set its signal stack before it can be sampled.
  bool read(thread_log const& log) {
    // In this order: only this thread frees logs, so the generation is that of the owner if the log has one.
    std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);
    std::uint32_t const generation = __atomic_load_n(&log.generation, __ATOMIC_ACQUIRE);
    auto known = threads_.find(&log);
    if (known != threads_.end() && known->second->generation == generation) {
      sampled_thread& thread = *known->second;
      if (thread.ring.is_open()) read(thread, thread.ring);
      if (thread.timer.is_open()) read(thread, thread.timer);
      if (state != log_owned && state != log_left) close(thread);
      bool const is_again = thread.blocks_signals && round_ % rounds_between_retries == 0;
      if (state == log_owned && (thread.waits_for_stack || is_again)) open_timer(thread, log);
      return state == log_owned && thread.waits_for_stack;
    }
    if (known != threads_.end()) close(*known->second);  // the log belongs to another thread, which may have ended too
    if (state != log_owned) return false;
    if (known == threads_.end()) known = threads_.emplace(&log, std::make_unique<sampled_thread>()).first;
    begin(*known->second, log, generation);
    return known->second->waits_for_stack;
  }

  void begin(sampled_thread& thread, thread_log const& log, std::uint32_t generation) {
    thread.generation = generation;
    thread.since_period = 0;
    thread.period_ns = next_period();
    thread.waits_for_stack = thread.blocks_signals = false;
    thread.counted = sampled_thread::kind::not_counted;
    int failure = uses_timers_ ? 0 : thread.ring.open(log.thread_system_id, thread.period_ns, bytes_of_ring());
    bool const is_refused = failure == EACCES || failure == EPERM || failure == ENOSYS;
    if (is_refused && how_.threads == 0 && !uses_timers_) use_timers("because of " + perf_ring::reason_of(failure));
    if (uses_timers_) return open_timer(thread, log);
    count(thread, failure, failure == 0 ? std::string{} : perf_ring::reason_of(failure));
  }

  void open_timer(sampled_thread& thread, thread_log const& log) {
    thread.waits_for_stack = !signal_stack::has(log.thread_system_id);
    if (thread.waits_for_stack) return;
    int const signal = cpu_timer_ring::take_signal();
    if (signal == 0) return count(thread, ENOSYS, "the program handles all real-time signals");
    thread.blocks_signals = blocks_signal(log.thread_system_id, signal);
    if (thread.blocks_signals) {
      return count(thread, EPERM, "a thread blocks signal " + std::to_string(signal) + ", which the timers send");
    }
    thread.period_ns = next_period();
    int const failure = thread.timer.open(log.thread_system_id, thread.period_ns);
    count(thread, failure, "timer_create: " + std::generic_category().message(failure));
  }

  /// Counts a thread as sampled or as not sampled, and corrects its previous count.
  void count(sampled_thread& thread, int failure, std::string const& why) {
    if (failure == ESRCH) return;  // the thread has ended
    using kind = sampled_thread::kind;
    if (thread.counted == kind::sampled) --how_.threads;
    if (thread.counted == kind::refused) --how_.threads_without;
    thread.counted = failure == 0 ? kind::sampled : kind::refused;
    ++(failure == 0 ? how_.threads : how_.threads_without);
    if (how_.threads_without == 0) how_.why_without.clear();
    if (failure != 0 && how_.why_without.empty()) how_.why_without = why;
    if (failure != 0 && !thread.blocks_signals) is_refused_ = true;
  }

  /// Whether threads are asked in this round to set their signal stacks at their next scope, which makes that scope slower. Threads without
  /// scopes, such as those of an idle pool, may wait forever. So after some rounds, threads are asked less often.
  bool is_round_to_ask(std::uint64_t waiting) {
    if (waiting > waited_before_) began_to_ask_ = round_;
    waited_before_ = waiting;
    return waiting > 0 && (round_ - began_to_ask_ < rounds_between_retries || round_ % rounds_between_retries == 0);
  }

  /// Closes all timers, because the program has taken the signal. The next round opens timers with another signal.
  void close_timers() {
    for (auto& [log, thread] : threads_) {
      if (!thread->timer.is_open()) continue;
      read(*thread, thread->timer);
      thread->timer.close();
      thread->waits_for_stack = true;
    }
  }

  static void close(sampled_thread& thread) noexcept {
    thread.ring.close();
    thread.timer.close();
  }

  void use_timers(std::string const& why) {
    uses_timers_ = true;
    how_.mechanism = "timers that count processor time and send signals, " + why;
    how_.interval = std::max<std::chrono::nanoseconds>(how_.interval, std::chrono::milliseconds{10});
    if (is_running_) prepare_threads();
  }

  /// Lets each thread set its signal stack, at its first scope or at its next one.
  static void prepare_threads() {
    signal_stack::prepare();
    __atomic_store_n(&prepare_thread, &signal_stack::use, __ATOMIC_RELEASE);
    if (this_thread_log() != nullptr) signal_stack::use();
  }

  static void prepare_no_threads() {
    ask_to_prepare(false);
    __atomic_store_n(&prepare_thread, static_cast<void (*)() noexcept>(nullptr), __ATOMIC_RELEASE);
  }

  static void ask_to_prepare(bool wanted) {
    if (wanted) __atomic_fetch_or(&recorder.flags, prepares_threads, __ATOMIC_RELEASE);
    if (!wanted) __atomic_fetch_and(&recorder.flags, ~prepares_threads, __ATOMIC_RELEASE);
  }

  void read(sampled_thread& thread, cpu_timer_ring& ring) {
    own_vector<code_sample> samples = take_samples(thread, ring);
    if (thread.since_period >= samples_per_period) begin_period(thread, ring);
    for (code_sample& each : samples) read_.emplace_back(&thread, std::move(each));
  }

  void read(sampled_thread& thread, perf_ring& ring) {
    own_vector<code_sample> samples = take_samples(thread, ring);
    if (samples.empty()) return;
    std::uint64_t weight = thread.period_ns;
    if (thread.since_period >= samples_per_period) {
      // The kernel forgets the time since the last sample, half a period on average. These samples represent that time.
      weight += thread.period_ns / 2 / samples.size();
      begin_period(thread, ring);
    }
    for (code_sample& each : samples) {
      each.weight_ns = weight;
      read_.emplace_back(&thread, std::move(each));
    }
  }

  template <class Ring>
  own_vector<code_sample> take_samples(sampled_thread& thread, Ring& ring) {
    own_vector<code_sample> samples;
    std::uint64_t const lost_before = ring.lost();
    ring.read(samples);
    how_.lost += ring.lost() - lost_before;
    thread.since_period += samples.size();
    return samples;
  }

  template <class Ring>
  void begin_period(sampled_thread& thread, Ring& ring) {
    thread.period_ns = next_period();
    ring.set_period(thread.period_ns);
    thread.since_period = 0;
  }

  /// Random, so that no loop of the program stays in step with the samples. The rate is uniform from 0.5 to 1.5 times the wanted rate. Then
  /// the shares in a loop as long as the mean period vary as much as with independent samples. With half this range, they vary 1.4 times as
  /// much.
  [[nodiscard]] std::uint64_t next_period() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // the constants of Knuth's MMIX
    double const rate = 0.5 + static_cast<double>(random_ >> 32U) / 4294967296.0;
    return static_cast<std::uint64_t>(static_cast<double>(how_.interval.count()) / rate);
  }

  /// Sufficient for 150 ms, because the session's thread reads at least every 100 ms.
  [[nodiscard]] std::size_t bytes_of_ring() const noexcept {
    constexpr std::size_t bytes_of_sample = 208;
    constexpr std::size_t smallest = std::size_t{32} << 10U;
    auto const samples = static_cast<std::size_t>(std::chrono::nanoseconds{std::chrono::milliseconds{150}} / how_.interval);
    std::size_t result = smallest;
    while (result < samples * bytes_of_sample) result *= 2;
    return result;
  }

  static constexpr std::uint64_t samples_per_period = 16;
  static constexpr std::uint64_t rounds_between_retries = 16;  ///< rounds between attempts to sample threads that are not sampled yet
  static constexpr char const* why_waiting =
      "a thread with scopes from before sampling is sampled from its next scope on, where it sets its signal stack";

  calendar_clock const* clock_ = nullptr;
  bool is_running_ = false;
  bool uses_timers_ = false;  ///< false: rings of `perf_event_open`
  bool is_refused_ = false;   ///< the system refused to sample a thread
  std::uint64_t round_ = 0;
  std::uint64_t waited_before_ = 0;  ///< number of threads that waited for their stack in the previous round
  std::uint64_t began_to_ask_ = 0;   ///< round in which threads were first asked to set their stacks
  sampling_record how_;
  host_use_record at_start_;
  std::uint64_t random_ = static_cast<std::uint64_t>(monotonic_ns());  ///< random state for the periods; not for secrets
  function_names names_;
  own_hash_map<thread_log const*, std::unique_ptr<sampled_thread>> threads_;
  /// Samples of a round, until their functions are known.
  own_vector<std::pair<sampled_thread*, code_sample>> read_;
};

}  // namespace PROFKIT_NAMESPACE::detail
