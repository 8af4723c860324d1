// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../options.hpp"
#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../collect/built_in_collectors.hpp"
#include "../collect/host_probe.hpp"
#include "../profile/journal_output.hpp"
#include "../record/recorder.hpp"
#include "../record/recording_start.hpp"
#include "console.hpp"
#include "rank_options.hpp"
#include "session_ending.hpp"
#include "session_exit.hpp"
#include "session_factory.hpp"
#include "session_impl.hpp"

namespace profkit::detail {

inline void session_impl::start() {
  if (options_.log_slots_per_thread < 16) {
    throw error{"profkit::options::log_slots_per_thread is " + std::to_string(options_.log_slots_per_thread) + "; it must be at least 16"};
  }
  if (!options_.journal.empty() && options_.journal_bytes < std::uint64_t{1} << 20U) {
    throw error{"profkit::options::journal_bytes is " + std::to_string(options_.journal_bytes) + "; it must be at least 1048576"};
  }
  std::unique_ptr<collector> sampler;  // created here, because the constructor rejects an invalid rate
  if (options_.samples_per_second != 0.0) sampler = sample_host({options_.samples_per_second});
  void const* nobody = nullptr;
  if (!__atomic_compare_exchange_n(&recorder.owner, &nobody, static_cast<void const*>(this), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    throw error{"a profkit::session runs already; there can be one per process at a time. End it, or call its report(), first"};
  }
  try {
    start_recording_and_thread(std::move(sampler));
  } catch (...) {
    undo_start();
    throw;
  }
}

/// @param sampler null without host samples.
inline void session_impl::start_recording_and_thread(std::unique_ptr<collector> sampler) {
  if (!options_.journal.empty()) make_journal();
  profile_builder& content = recording_.content();
  content.bound_records(options_.max_records);
  content.collect_rest(max_kept_steps());
  if (options_.wanted_interval) recording_.pass_gpu_steps();
  clock_flag_ = start_recording(options_.log_slots_per_thread, content);
  content.environment() = describe_host();
  content.environment().rank = rank_.rank;
  if (!rank_.wrong.empty()) warn(rank_.wrong + " are not a rank and a number of ranks. This process counts as a run of its own");
  recording_.start(clock_flag_, journal_ ? &*journal_ : nullptr, options_.drain_share, options_.keep);
  states_.move(session_state::running);
  __atomic_fetch_or(&recorder.flags, recording | clock_flag_, __ATOMIC_RELEASE);
  if (journal_) static_cast<void>(recording_.round());  // writes the head of the file
  owner_.start([this] { return round(); });
  if (owner_.failure().empty() && options_.report_on_signals) session_signals::install();
  if (sampler != nullptr) take(std::move(sampler));
  if (options_.gpu_utilization) take(measure_utilization({}));
  live_reports_.start(options_, [this] { return snapshot(); });
  session_exit::watch(*this);
}

/// Leaves the process as before `start`, so that it can create another session.
inline void session_impl::undo_start() noexcept {
  __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
  stop_polling();
  live_reports_.stop();
  static_cast<void>(live_reports_.join());
  owner_.end();
  static_cast<void>(owner_.join());
  recording_.collectors().for_each([&](collector& each) { owner_.calls().call(each, [](collector& started) { started.stop(); }); });
  if (options_.report_on_signals) session_signals::remove();
  __atomic_store_n(&recorder.owner, static_cast<void const*>(nullptr), __ATOMIC_RELEASE);
}

/// Creates the journal. If it cannot be created, the session continues without it.
inline void session_impl::make_journal() {
  try {
    journal_.emplace(options_.journal, options_.journal_bytes);
  } catch (error const& failure) {
    if (options_.journal != options_of_rank(options::from_env(), rank_.rank).journal) throw;
    std::string const reason = failure.what();
    recording_.has_no_journal(reason);
    warn(reason + ". The session continues without it");
  }
}

/// With `steps=auto`, all steps are kept, because the stop rule needs their GPU times.
inline std::uint64_t session_impl::max_kept_steps() const noexcept {
  constexpr std::uint64_t usual = std::uint64_t{1} << 16U;
  return options_.wanted_interval ? std::max(usual, options_.max_wanted_steps()) : usual;
}

[[gnu::used]] inline std::unique_ptr<session_core> make_session(options wanted) {
  return std::make_unique<session_impl>(std::move(wanted));
}

}  // namespace profkit::detail
