// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>

#include "../../options.hpp"
#include "../../step.hpp"
#include "../../time.hpp"
#include "../analyze/verdict/step_verdict.hpp"
#include "../collect/collector_list.hpp"
#include "../collect/host_probe.hpp"
#include "../drain/log_drain.hpp"
#include "../profile/numbers.hpp"
#include "../record/recorder.hpp"
#include "session_owner.hpp"
#include "session_recording.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Limits how far the host runs ahead of the device with `steps=auto`. Without a limit, the host could finish hundreds of steps before the
/// first GPU step time is known. Does not synchronise the device, which stays busy with queued work.
class run_ahead_limiter {
 public:
  static constexpr std::uint64_t max_steps = 32;  ///< maximum number of steps by which the host may be ahead

  explicit run_ahead_limiter(std::chrono::nanoseconds max_wait = std::chrono::seconds{5}) noexcept : max_wait_{max_wait} {}

  /// Waits until the GPU time of a step at most `max_steps` before this one is known. If no time arrives for `max_wait`, as under stream
  /// capture, the limiter stops limiting.
  /// @param drain adds new GPU times to `so_far`.
  template <class Drain>
  void limit(std::uint64_t step, profile const& so_far, Drain&& drain) {
    auto const last = [&] { return so_far.gpu_steps.empty() ? 0 : so_far.gpu_steps.back().step; };
    auto const begin = std::chrono::steady_clock::now();
    while (is_limited_ && last() + max_steps < step) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      std::uint64_t const before = last();
      drain();
      is_limited_ = last() != before || std::chrono::steady_clock::now() - begin < max_wait_;
    }
  }

 private:
  std::chrono::nanoseconds max_wait_;
  bool is_limited_ = true;
};

/// What a session does on the step thread between steps. Nothing here is shared with the owner, which uses it only after `close`.
class step_side {
 public:
  /// Maximum time that the session uses on the step thread after a step for GPU scopes.
  static constexpr std::chrono::microseconds max_time_between_steps{50};

  /// @param content borrowed.
  step_side(options const& wanted, session_recording& content) : recording_{content} {
    if (wanted.wanted_interval) rule_.emplace(*wanted.wanted_interval, wanted.warmup_steps, wanted.max_steps);
  }

  /// To be called before a step begins, before `begin`.
  void prepare(bool is_warmup) {
    if (!is_warmup) calls_.own_work([&] { begin_measured_steps(); });
    recording_.logs().begin_step();
  }

  /// Calls the collectors before a step.
  void begin(step_record const& step) {
    collectors_of_step_ = recording_.collectors().size();
    for_each_collector([&](collector& each) { each.prepare_step(step); });
    for_each_collector([&](collector& each) { each.before_step(step); });
  }

  /// Calls the collectors after a step, and passes the step to the owner.
  void end(raw_step const& done) {
    step_record const step{{}, done.index, done.warmup, done.items, done.model_flops, done.has_kernels, done.is_excluded};
    for_each_collector([&](collector& each) { each.after_step(step); });
    if (done.is_abandoned) recording_.counters().abandoned_steps.fetch_add(1, std::memory_order_relaxed);
    calls_.own_work([&] { read_gpu_scopes(); });
    recording_.logs().end_step(done);
    if (rule_ && !done.warmup) decide(done);
  }

  /// With `steps=auto`: whether enough steps are measured. May be called on any thread.
  [[nodiscard]] bool has_enough() const noexcept { return has_enough_.load(std::memory_order_relaxed); }

  // The following functions are for the owner at the end of the session.

  /// No collector is called on the step thread after this; a call that runs continues.
  void close() noexcept {
    calls_.close();
    calls_.wait_for_own_work();
    if (measure_loop_) recorder.nvtx_end(*measure_loop_);
    measure_loop_.reset();
    recording_.end_host_use();
    host_probe_.end(host_speed_);
    recording_.set_host_speed(host_speed_);
  }

  [[nodiscard]] called_collector const& calls() const noexcept { return calls_; }

  /// The result of the stop rule; n/a without `steps=auto`.
  [[nodiscard]] std::optional<stop_record> stop() const { return rule_ ? std::optional{rule_->result()} : std::nullopt; }

 private:
  /// Runs before each measured step. Probes the host, and begins the NVTX process range `measure_loop` if a tool listens. A tool that
  /// starts recording at this range may need time.
  void begin_measured_steps() {
    if (host_probe_.begin(host_speed_)) {
      try {
        recording_.host_starts().push({host_speed_, read_host_use()});
      } catch (std::exception const&) {  // no memory: it is in the last report only
      }
    }
    if (measure_loop_ || (__atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE) & nvtx_attached) == 0) return;
    static site where{"measure_loop", __FILE__, __LINE__};
    measure_loop_ = recorder.nvtx_start(where);
  }

  template <class Call>
  void for_each_collector(Call const& call) {
    recording_.collectors().for_each(collectors_of_step_, [&](collector& each) { calls_.call(each, call); });
  }

  /// Asks CUDA about finished GPU scopes, at most every 10 ms: only threads that use CUDA may do this.
  void read_gpu_scopes() {
    side_log* const first = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE);
    auto const now = std::chrono::steady_clock::now();
    if (first == nullptr || now - last_read_ < log_drain::min_interval) return;
    last_read_ = now;
    constexpr std::chrono::nanoseconds limit = max_time_between_steps;
    for (side_log* side = first; side != nullptr; side = side->next) side->poll(limit.count());
  }

  /// With `steps=auto`. May wait for the GPU time of an earlier step.
  void decide(raw_step const& done) {
    bool const has_gpu = recording_.collectors().time_steps();
    if (has_gpu) {
      read_step_times();
      run_ahead_limiter_.limit(done.index, step_times_, [&] { read_step_times(); });
    }
    milliseconds const tick = milliseconds{recording_.logs().duration(1'000'000'000)} / 1e9;
    calls_.own_work([&] {
      usual_arithmetic const arithmetic;
      if (done.is_abandoned || done.is_excluded) return rule_->leave_out(done.index);
      rule_->add(static_cast<double>(done.end_ticks - done.begin_ticks));
      has_enough_.store(rule_->look(step_times_, has_gpu, tick), std::memory_order_relaxed);
    });
  }

  /// Reads the GPU times that are known now; the owner passes them on in its next round.
  void read_step_times() {
    for_each_collector([](collector& each) {
      if (each.times_steps()) each.read_step_times();
    });
    session_owner::wake();
    recording_.gpu_steps().take_all([&](gpu_step_record const& each) { step_times_.gpu_steps.push_back(each); });
  }

  session_recording& recording_;
  called_collector calls_;
  std::size_t collectors_of_step_ = 0;  ///< a collector added during a step is called from the next step on
  host_probe host_probe_;
  std::optional<host_speed_record> host_speed_;
  std::optional<std::uint64_t> measure_loop_;  ///< the open range
  std::chrono::steady_clock::time_point last_read_ = std::chrono::steady_clock::now();
  std::optional<stop_rule> rule_;
  run_ahead_limiter run_ahead_limiter_;
  profile step_times_;  ///< contains only `profile::gpu_steps`
  std::atomic<bool> has_enough_{false};
};

}  // namespace PROFKIT_NAMESPACE::detail
