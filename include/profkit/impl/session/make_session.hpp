// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../load_report.hpp"
#include "../../options.hpp"
#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../../report.hpp"
#include "../../save_load.hpp"
#include "../../summary.hpp"
#include "../analyze/time/measured_time.hpp"
#include "../analyze/windows/window_stream.hpp"
#include "../collect/built_in_collectors.hpp"
#include "../collect/host_probe.hpp"
#include "../profile/file_access.hpp"
#include "../profile/journal_output.hpp"
#include "../profile/journal_reader.hpp"
#include "../profile/own_memory.hpp"
#include "../record/recorder.hpp"
#include "../record/thread_registry.hpp"
#include "console.hpp"
#include "session_ending.hpp"
#include "session_exit.hpp"
#include "session_factory.hpp"
#include "session_impl.hpp"

// Says to `profkit run` that this module has the code of sessions: an ELF note, as in `library_pin.hpp`, without a value.
#ifndef __CUDACC__
asm(R"(
.pushsection .note.profkit, "a", %note
.balign 4
.long 8
.long 4
.long 2
.asciz "profkit"
.long 0
.popsection
)");
#endif

namespace PROFKIT_NAMESPACE::detail {

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
  if (options_.control) listen();
  owner_.start([this] { return round(); });
  if (owner_.failure().empty() && options_.report_on_signals) session_signals::install();
  if (sampler != nullptr) take(std::move(sampler));
  if (options_.gpu_utilization) take(measure_utilization({}));
  if (options_.energy) take(measure_energy("/sys/class/powercap"));
  bool const have_metrics_failed = !options_.metrics.empty() && !write_first_metrics();
  auto const tell = [this](std::string reason) {
    if (!reason.empty()) warn(reason);
    static_cast<void>(owner_.ask([this, text = std::move(reason)] { recording_.metrics_written(options_.metrics, text); }));
  };
  live_reports_.start(options_, {[this] { return snapshot(); }, [this] { return figures_so_far(); }, tell}, have_metrics_failed);
  session_exit::watch(*this);
}

/// Leaves the process as before `start`, so that it can create another session.
inline void session_impl::undo_start() noexcept {
  __atomic_fetch_and(&recorder.flags, ~(recording | use_monotonic_clock), __ATOMIC_RELEASE);
  stop_polling();
  live_reports_.stop();
  static_cast<void>(live_reports_.join());
  owner_.end();
  if (owner_.join()) control_.close();
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

/// Writes metrics without figures, so that a file that cannot be written is known at once. The session then continues.
/// @return false if it cannot.
inline bool session_impl::write_first_metrics() {
  std::string failure;
  try {
    summary nothing;
    static_cast<void>(owner_.ask([&] { nothing.environment = recording_.content().so_far().environment; }));
    write_metrics_file(options_.metrics, metrics_text::of(nothing, false));
  } catch (error const& reason) {
    failure = reason.what();
    warn(failure + ". The session continues without metrics until the file can be written");
  }
  static_cast<void>(owner_.ask([&] { recording_.metrics_written(options_.metrics, failure); }));
  return failure.empty();
}

/// Asks the owner for the sums so far, and finishes them here.
inline std::optional<summary> session_impl::figures_so_far() {
  struct answered {
    std::optional<window_stream> windows;
    bool has_steps = false;
  };
  auto const so_far = std::make_shared<answered>();
  auto const copy = [this, so_far] {
    if (!states_.is(session_state::running)) return;
    so_far->windows = recording_.copy_windows();
    so_far->has_steps = recording_.logs().has_steps();
  };
  if (owner_.ask(copy, rounds_of_snapshot) != session_owner::answer::given || !so_far->windows) return std::nullopt;
  quiet_thread const unrecorded;
  so_far->windows->add_rest(so_far->has_steps);
  return so_far->windows->sums().finish();
}

/// Starts to listen for `profkit ps` and others. If that fails, the session continues without it.
inline void session_impl::listen() {
  try {
    control_.open();
    recording_.set_control("listening", control_.path());
  } catch (error const& failure) {
    recording_.set_control("not listening", failure.what());
    warn("control: ", failure.what());
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

/// The figures of a journal whose first file was deleted; n/a for a journal with all records.
/// @param content the loaded part of the journal.
inline std::optional<summary> figures_of_journal(std::filesystem::path const& path, profile const& content) {
  std::ifstream file = open_to_read(path);
  std::uint64_t const size = size_of(file);
  journal_file newest;
  profile waiting;
  if (!newest.read_beginning(file, size)) return std::nullopt;
  while (newest.read_frame(file, size, waiting)) continue;
  if (newest.number() == 0) return std::nullopt;
  newest.check_tables(waiting);
  waiting.quality = content.quality;
  waiting.collectors = content.collectors;
  bool const had_steps = measured_time::had_steps(waiting);
  window_stream windows;
  windows.resume(newest.take_figures(), std::move(waiting));
  windows.add_rest(windows.has_steps() || had_steps);
  return windows.sums().finish();
}

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline report load_report(std::string const& path) {
  auto const content = std::make_shared<profile const>(load(path));
  if (content->quality.untraced_records == 0 || !is_journal_file(path)) return report{content};
  try {
    std::optional<summary> figures = detail::figures_of_journal(path, *content);
    if (!figures) return report{content};
    return profkit::report{content, std::make_shared<summary const>(std::move(*figures))};
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace PROFKIT_NAMESPACE
