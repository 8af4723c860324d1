// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "../analyze/summary.hpp"
#include "../collect/collector_list.hpp"
#include "../drain/drain_pace.hpp"
#include "../drain/log_drain.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/profile_builder.hpp"
#include "../profile/sliced_copy.hpp"
#include "console.hpp"
#include "gpu_time_reader.hpp"
#include "guarded_profile.hpp"
#include "journal_feed.hpp"
#include "missing_work.hpp"
#include "own_collectors.hpp"
#include "recorded_so_far.hpp"
#include "session_counters.hpp"
#include "session_journal.hpp"
#include "session_thread.hpp"
#include "snapshot_rounds.hpp"
#include "window_stream.hpp"

namespace profkit::detail {

/// The recording of a running session: its profile, and the logs and collectors that fill it. Two threads use it:
///
/// * The session's thread drains logs and collectors into the profile, and writes the journal.
/// * The step thread calls the collectors around each step, and then reads GPU times (`gpu_time_reader`).
///
/// The content lock guards the profile and the read positions of the logs; the session's thread offers it every 4,096 events of a drain.
/// The call lock is held during each session call, and by the session's thread only when a signal ends the program.
class session_recording {
 public:
  using call_lock = std::unique_lock<std::recursive_mutex>;

  /// Sets the steps whose records are kept. To be called before `start`.
  void keep(kept_steps const& which) { windows_.keep(which); }

  /// Starts reading the logs. The profile and the collectors must exist already.
  /// @param clock_flag 0 or `use_monotonic_clock`.
  /// @param journal borrowed; null without a journal.
  /// @param max_share maximum share of one core for draining.
  void start(std::uint32_t clock_flag, session_journal* journal, double max_share) {
    logs_.emplace(content_, clock_flag);
    journal_.start(journal);
    pace_ = drain_pace{max_share, journal != nullptr};
  }

  [[nodiscard]] std::recursive_mutex& call_mutex() noexcept { return call_mutex_; }

  // The following functions are for the step thread, with the call lock.

  /// To be called before the readings of the collectors.
  void expect_step() { logs_->begin_step(); }

  void begin_step(step_record const& step) noexcept {
    collectors_.for_each([&](collector& each) { each.prepare_step(step); });
    collectors_.for_each([&](collector& each) { each.before_step(step); });
  }

  void end_step(raw_step const& done) {
    step_record const step{{}, done.index, done.warmup, done.items, done.model_flops, done.has_kernels, done.is_excluded};
    collectors_.for_each([&](collector& each) { each.after_step(step); });
    if (done.is_abandoned) counters_.abandon_step();
    logs_->end_step(done);
  }

  /// The values that the next `round` copies to profile and journal.
  [[nodiscard]] session_counters& counters() noexcept { return counters_; }

  /// Converts ticks to a duration.
  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const { return logs_->duration(ticks); }

  [[nodiscard]] gpu_time_reader& gpu_times() noexcept { return gpu_times_; }

  /// Replaces the session's thread if it could not be started: does its work for about a millisecond.
  void drain_without_thread() {
    if (!gpu_times_.is_due()) return;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
    static_cast<void>(round([deadline] { return std::chrono::steady_clock::now() > deadline; }));
    gpu_times_.read_scopes();
  }

  /// The clock of the session. To be called with the content lock.
  [[nodiscard]] calendar_clock& calendar() noexcept { return logs_->calendar(); }

  /// Adds a collector.
  /// @param start called with the collector and the profile.
  template <class Start>
  void take(std::unique_ptr<collector> taken, Start&& start) {
    auto const content = shared_.hold();
    start(collectors_.add(std::move(taken)), content_);
  }

  /// Charges the samples of a collector to scopes. To be called with the content lock.
  /// @return false if another collector already provides samples.
  [[nodiscard]] bool use_samples(sample_source& from) {
    if (std::exchange(is_sampled_, true)) return false;
    logs_->use_samples(from);
    return true;
  }

  /// Keeps a collector without starting it, in the child of a `fork`.
  collector& keep(std::unique_ptr<collector> taken) { return collectors_.add(std::move(taken)); }

  [[nodiscard]] bool times_steps() const noexcept { return collectors_.time_steps(); }

  /// The figures of the session, after `finish` and `describe_collectors`; n/a if the profile has all records.
  [[nodiscard]] std::optional<summary> figures() {
    std::lock_guard<std::mutex> const lock{windows_mutex_};
    if (!has_figures_of_more()) return std::nullopt;
    windows_.take(content_);
    windows_.add_rest(logs_->has_steps());
    return windows_.sums().finish();
  }

  /// Returns the profile, after `figures`.
  [[nodiscard]] profile take_profile() {
    profile result = content_.take();
    result.quality.untraced_records -= windows_.kept().move_to(result);
    return result;
  }

  /// The profile. To be used before the first `round` and after `finish`.
  [[nodiscard]] profile_builder& content() noexcept { return content_; }

  /// The description of the session's thread and journal for the report.
  [[nodiscard]] own_collectors& own() noexcept { return own_; }

  /// Fills `profile::collectors`. To be called while no thread drains.
  void describe_collectors() {
    own_vector<collector_record> outcomes = collectors_.describe();
    own_.describe(journal_.journal(), outcomes);
    content_.set(&profile::collectors, std::move(outcomes));
  }

  /// Copies the recording of the running session. May be called on any thread except the session's own, one at a time. Other threads wait
  /// for at most one slice of the copy.
  /// @param has_thread whether the session's thread continues its rounds.
  template <class HasThread>
  [[nodiscard]] recorded_so_far snapshot(HasThread&& has_thread) {
    snapshot_record missing;
    missing.is_behind = !rounds_.wait_for_all([&] {
      if (own_.is_thread_there()) {
        session_thread::wake();
      } else if (call_lock const calls{call_mutex_, std::try_to_lock}; calls.owns_lock()) {
        static_cast<void>(round([] { return false; }));
      }
      return has_thread();
    });
    std::unique_lock<std::mutex> windows{windows_mutex_};
    auto content = shared_.hold();
    describe();
    std::optional<window_stream> figures;
    if (has_figures_of_more()) {
      take_windows();
      figures = windows_;
    }
    windows.unlock();
    bool const times_steps = collectors_.time_steps();
    missing.is_step_open = logs_->has_unfinished_step();
    sliced_copy copy{content_.so_far()};
    copy.head().quality.open_scopes += logs_->open_scopes();
    while (copy.copy_slice(content_.so_far())) shared_.make_way(content);
    content.unlock();
    profile result = copy.take();
    count_missing_work(result, times_steps, missing);
    result.quality.snapshot = missing;
    if (!figures) return {std::move(result), std::nullopt};
    figures->waiting().quality = result.quality;
    figures->add_rest(logs_->has_steps());
    result.quality.untraced_records -= figures->kept().move_to(result);
    return {std::move(result), figures->sums().finish()};
  }

  /// Ends the recording after the session's thread has ended: drains the rest, which may wait for a GPU, and stops the collectors.
  void finish(std::optional<stop_record> const& stop) {
    auto content = shared_.hold();
    keep_only_chosen_steps();
    static_cast<void>(logs_->drain(
        true, [] { return true; }, [&] { add_windows(content); }));
    describe();
    journal_.append(0);  // the program may be killed while a collector waits
    journal_.write();
    gpu_times_.read_scopes_at_end();
    collectors_.drain(content_, true, false);
    collectors_.for_each([](collector& each) { each.stop(); });
    content_.set(&profile::stop, stop);
    describe();
    journal_.append_last();
    journal_.write();
    describe();  // includes whether the last frame was written
    journal_.close();
  }

  // The following functions are for the session's thread, or for the step thread if there is none.

  /// Drains logs and collectors, and writes the journal.
  /// @param is_interrupted called every 4,096 events; if true, the next round drains the rest.
  /// @return the pause before the next round.
  template <class Interrupted>
  std::chrono::nanoseconds round(Interrupted&& is_interrupted) noexcept {
    auto const begin = std::chrono::steady_clock::now();
    std::chrono::nanoseconds const period = begin - std::exchange(last_round_, begin);
    std::chrono::nanoseconds const busy_before{clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    std::uint64_t slots = 0;
    std::lock_guard<std::mutex> const windows{windows_mutex_};
    try {
      auto content = shared_.hold();
      keep_only_chosen_steps();
      bool is_whole = logs_->is_due();
      auto const goes_on = [&] {
        shared_.make_way(content);
        is_whole = is_whole && !is_interrupted();
        return is_whole;
      };
      bool const is_for_snapshot = rounds_.are_wanted();
      if (is_whole) slots = logs_->drain(false, goes_on, [&] { add_windows(content); });
      collectors_.drain(content_, false, journal_.has_journal() || is_for_snapshot || std::exchange(are_operations_wanted_, false));
      append_to_journal();
      if (is_for_snapshot && is_whole) rounds_.count_one();
    } catch (std::exception const& failure) {  // no memory: the next round continues where this one stopped
      if (!std::exchange(has_told_failure_, true)) {
        warn("recorded data cannot be read: ", failure.what());
      }
    }
    journal_.write();
    auto const taken = std::chrono::steady_clock::now() - begin;
    std::chrono::nanoseconds const busy = std::chrono::nanoseconds{clock_ns(CLOCK_THREAD_CPUTIME_ID)} - busy_before;
    return rounds_.are_wanted() ? drain_pace::soon_after(taken) : pace_.wait_after({taken, busy, slots, period});
  }

 private:
  /// With `keep=last:N` and `keep=slowest:K`: after the first step begins, the profile keeps only records of kept steps.
  void keep_only_chosen_steps() noexcept {
    if (!windows_.kept().is_all() && logs_->has_steps()) content_.keep_no_more();
  }

  /// Whether the figures cover more records than the profile, or are mostly computed already.
  [[nodiscard]] bool has_figures_of_more() const noexcept {
    return windows_.windows() > 0 || content_.so_far().quality.untraced_records > 0;
  }

  /// Takes windows; the journal receives records first, because the profile does not keep all of them.
  void take_windows() {
    append_to_journal();
    windows_.take(content_);
    journal_.forget_rest();
  }

  /// Adds complete windows if enough was recorded.
  /// @param content unlocked while windows are added, which takes milliseconds.
  void add_windows(guarded_profile::lock& content) {
    if (!windows_.is_due(content_) && !journal_.is_full()) return;
    std::optional<arrival> until = logs_->arrived();
    if (!until) return;
    describe();
    until->times_steps = collectors_.time_steps();
    until->unread_gpu_scope = gpu_time_reader::oldest_unread_scope();
    are_operations_wanted_ = true;
    take_windows();
    std::uint64_t const records = content_.records();
    content.unlock();
    journal_.write();
    windows_.add_complete(*until);
    if (journal_.is_full()) journal_.begin_next_file(windows_.head(), records);
    content = shared_.hold();
  }

  void append_to_journal() {
    if (!journal_.has_journal()) return;
    describe();
    journal_.append(logs_->open_scopes());
  }

  void describe() {
    counters_.describe(*logs_, content_);
    describe_collectors();
  }

  std::recursive_mutex call_mutex_;  ///< recursive, because a collector may call the session, for example to add another collector
  guarded_profile shared_;
  profile_builder& content_{shared_.content()};
  std::optional<log_drain> logs_;
  drain_pace pace_;
  std::chrono::steady_clock::time_point last_round_ = std::chrono::steady_clock::now();
  collector_list collectors_;
  gpu_time_reader gpu_times_{shared_, collectors_};
  journal_feed journal_{content_};
  own_collectors own_;
  session_counters counters_;
  snapshot_rounds rounds_;
  std::mutex windows_mutex_;  ///< lock order: before the content lock
  window_stream windows_;
  bool is_sampled_ = false;             ///< a collector takes samples
  bool are_operations_wanted_ = false;  ///< the next window needs records that collectors hold back
  bool has_told_failure_ = false;
};

}  // namespace profkit::detail
