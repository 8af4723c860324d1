// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "../collect/collector_list.hpp"
#include "../drain/drain_pace.hpp"
#include "../drain/log_drain.hpp"
#include "../profile/profile_builder.hpp"
#include "../profile/sliced_copy.hpp"
#include "../record/recorder.hpp"
#include "console.hpp"
#include "guarded_profile.hpp"
#include "missing_work.hpp"
#include "own_collectors.hpp"
#include "session_journal.hpp"
#include "session_thread.hpp"
#include "snapshot_rounds.hpp"
#include "window_stream.hpp"

namespace profkit::detail {

/// A copy of the recording of a running session.
struct recorded_so_far {
  profkit::profile profile;
  std::optional<summary> figures;  ///< figures so far; n/a if the profile has all records
};

/// The recording of a running session: its profile, and the logs and collectors that fill it. Two threads use it:
///
/// * The session's thread drains logs and collectors into the profile, and writes the journal.
/// * The step thread calls the collectors around each step, and then reads GPU scopes for at most `max_time_between_steps`.
///
/// The content lock guards the profile and the read positions of the logs. The session's thread holds it while draining and offers it every
/// 4,096 events. The call lock is held during each session call, and by the session's thread only when a signal ends the program. Finished
/// steps pass between the threads through `step_queue`.
class session_recording {
 public:
  using call_lock = std::unique_lock<std::recursive_mutex>;

  /// Maximum time that the session uses on the step thread after a step, without its collectors.
  static constexpr std::chrono::microseconds max_time_between_steps{50};

  /// Sets the steps whose records are kept. To be called before `start`.
  void keep(kept_steps const& which) { windows_.keep(which); }

  /// Starts reading the logs. Profile and collectors exist before.
  /// @param clock_flag 0 or `use_monotonic_clock`.
  /// @param journal borrowed; null without a journal.
  /// @param max_share maximum share of one core for draining.
  void start(std::uint32_t clock_flag, session_journal* journal, double max_share) {
    logs_.emplace(content_, clock_flag);
    journal_ = journal;
    pace_ = drain_pace{max_share, journal != nullptr};
  }

  [[nodiscard]] std::recursive_mutex& call_mutex() noexcept { return call_mutex_; }

  // For the step thread, with the call lock.

  /// To be called before the readings of the collectors.
  void expect_step() { logs_->begin_step(); }

  void begin_step(step_record const& step) noexcept {
    collectors_.for_each([&](collector& each) { each.prepare_step(step); });
    collectors_.for_each([&](collector& each) { each.before_step(step); });
  }

  void end_step(raw_step const& done) {
    step_record const step{{}, done.index, done.warmup, done.items, done.model_flops, done.has_kernels, done.is_excluded};
    collectors_.for_each([&](collector& each) { each.after_step(step); });
    if (done.is_abandoned) abandon_step();
    logs_->end_step(done);
  }

  void abandon_step() noexcept { abandoned_steps_.fetch_add(1, std::memory_order_relaxed); }

  void add_bookkeeping(std::uint64_t ticks) noexcept { bookkeeping_ticks_.fetch_add(ticks, std::memory_order_relaxed); }

  /// Converts ticks to a duration.
  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const { return logs_->duration(ticks); }

  /// Reads finished GPU scopes, at most every 10 ms and for at most `max_time_between_steps`, because CUDA events may be queried only on
  /// threads that use CUDA. If the profile is not free within half of that time, a later step reads them.
  void drain_between_steps() {
    bool const has_side_logs = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE) != nullptr;
    if (!has_side_logs || !is_due_between_steps()) return;
    auto const content = shared_.hold_within(max_time_between_steps / 2);
    if (content.owns_lock()) drain_side_logs(max_time_between_steps / 2);
  }

  /// Replaces the session's thread if it could not be started: does its work for about a millisecond.
  void drain_without_thread() {
    if (!is_due_between_steps()) return;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
    static_cast<void>(round([deadline] { return std::chrono::steady_clock::now() > deadline; }));
    auto const content = shared_.hold();
    drain_side_logs(max_time_between_steps);
  }

  /// The GPU step times known so far, for the step thread. Without the latest ones if the profile is not free.
  [[nodiscard]] profile const& gpu_step_times() {
    auto const content = shared_.hold_within(max_time_between_steps);
    if (content.owns_lock()) read_gpu_step_times();
    return gpu_step_times_;
  }

  /// Updates the GPU step times; waits for the profile if necessary.
  void wait_for_gpu_step_times() {
    auto const content = shared_.hold();
    read_gpu_step_times();
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

  /// Keeps a collector without starting it, in the child of a `fork`.
  collector& keep(std::unique_ptr<collector> taken) { return collectors_.add(std::move(taken)); }

  /// Stores the speed of the host; the next `round` adds it to profile and journal.
  void set_host_speed(std::optional<host_speed_record> const& measured) {
    std::lock_guard<std::mutex> const lock{host_speed_mutex_};
    host_speed_ = measured;
  }

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
    std::vector<collector_record> outcomes = collectors_.describe();
    own_.describe(journal_, outcomes);
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
    if (journal_ != nullptr) {  // the program may be killed while a collector waits
      journal_->append(content_.so_far(), content_.rest(), false);
      journal_->write();
    }
    drain_side_logs(std::nullopt);
    collectors_.drain(content_, true, false);
    collectors_.for_each([](collector& each) { each.stop(); });
    content_.set(&profile::stop, stop);
    describe();
    if (journal_ == nullptr) return;
    journal_->append(content_.so_far(), content_.rest(), true);
    journal_->write();
    describe();  // including whether that was written
    journal_->close();
  }

  // For the session's thread, or for the step thread without one.

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
      collectors_.drain(content_, false, journal_ != nullptr || is_for_snapshot || std::exchange(are_operations_wanted_, false));
      if (journal_ != nullptr) append_to_journal();
      if (is_for_snapshot && is_whole) rounds_.count_one();
    } catch (std::exception const& failure) {  // no memory: the next round continues where this one stopped
      if (!std::exchange(has_told_failure_, true)) {
        warn("what was recorded cannot be read: ", failure.what());
      }
    }
    if (journal_ != nullptr) journal_->write();
    auto const taken = std::chrono::steady_clock::now() - begin;
    std::chrono::nanoseconds const busy = std::chrono::nanoseconds{clock_ns(CLOCK_THREAD_CPUTIME_ID)} - busy_before;
    return rounds_.are_wanted() ? drain_pace::soon_after(taken) : pace_.wait_after({taken, busy, slots, period});
  }

 private:
  /// With `keep=last:N` and `keep=slowest:K`: after the first step begins, the profile keeps only records of kept steps.
  void keep_only_chosen_steps() noexcept {
    if (!windows_.kept().is_all() && logs_->has_steps()) content_.keep_no_more();
  }

  /// Whether the figures cover more records than the profile, or have mostly been computed already.
  [[nodiscard]] bool has_figures_of_more() const noexcept {
    return windows_.windows() > 0 || content_.so_far().quality.untraced_records > 0;
  }

  /// Takes windows; the journal receives records first, because the profile does not keep all of them.
  void take_windows() {
    if (journal_ != nullptr) append_to_journal();
    windows_.take(content_);
    if (journal_ != nullptr) journal_->forget_rest();
  }

  /// Adds complete windows if enough was recorded.
  /// @param content unlocked while windows are added, which takes milliseconds.
  void add_windows(guarded_profile::lock& content) {
    if (!windows_.is_due(content_) && (journal_ == nullptr || !journal_->is_full())) return;
    std::optional<arrival> until = logs_->arrived();
    if (!until) return;
    describe();
    until->times_steps = collectors_.time_steps();
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      timestamp const oldest{std::chrono::nanoseconds{side->oldest_ns()}};
      until->unread_gpu_scope = std::min(until->unread_gpu_scope.value_or(oldest), oldest);
    }
    are_operations_wanted_ = true;
    take_windows();
    std::uint64_t const records = content_.records();
    content.unlock();
    if (journal_ != nullptr) journal_->write();
    windows_.add_complete(*until);
    if (journal_ != nullptr && journal_->is_full()) begin_next_journal_file(records);
    content = shared_.hold();
  }

  [[nodiscard]] bool is_due_between_steps() noexcept {
    auto const now = std::chrono::steady_clock::now();
    if (now - last_between_steps_ < log_drain::shortest_interval) return false;
    last_between_steps_ = now;
    return true;
  }

  /// To be called with the content lock.
  void read_gpu_step_times() {
    collectors_.for_each([&](collector& each) {
      if (!each.times_steps()) return;
      each.read_step_times();
      each.drain(content_, false);
    });
    std::vector<gpu_step_record> const& all = content_.so_far().gpu_steps;
    std::vector<gpu_step_record>& seen = gpu_step_times_.gpu_steps;
    seen.insert(seen.end(), all.begin() + static_cast<std::ptrdiff_t>(seen.size()), all.end());
  }

  /// @param longest nothing: read everything, because the session ends.
  void drain_side_logs(std::optional<std::chrono::nanoseconds> longest) {
    for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
      side->drain(content_, longest ? longest->count() : side_log::until_the_end);
    }
  }

  /// @param records number of records when the windows were taken.
  void begin_next_journal_file(std::uint64_t records) {
    journal_head head = windows_.head();
    std::uint64_t const waiting = count_records(head.waiting);
    head.forgotten = records - std::min(records, waiting);
    journal_->begin_next_file(head);
  }

  void append_to_journal() {
    describe();
    std::uint64_t const left_open = content_.so_far().quality.open_scopes;
    content_.count(&quality_record::open_scopes, logs_->open_scopes());  // for readers if this is the last frame
    journal_->append(content_.so_far(), content_.rest(), false);
    content_.set(&quality_record::open_scopes, left_open);
  }

  void describe() {
    describe_session();
    describe_collectors();
  }

  void describe_session() {
    {
      std::lock_guard<std::mutex> const lock{host_speed_mutex_};
      content_.environment().host_speed = host_speed_;
    }
    content_.set(&profile::time, logs_->time());
    content_.set(&quality_record::clock_changes, logs_->calendar().changes());
    content_.set(&quality_record::clock_change, logs_->calendar().change());
    content_.set(&quality_record::bookkeeping, logs_->clock().duration(bookkeeping_ticks_.load(std::memory_order_relaxed)));
    content_.set(&quality_record::abandoned_steps, abandoned_steps_.load(std::memory_order_relaxed));
  }

  std::recursive_mutex call_mutex_;  ///< recursive, because a collector may call the session, for example to add another collector
  guarded_profile shared_;
  profile_builder& content_{shared_.content()};
  profile gpu_step_times_;  ///< only GPU step times, for the step thread
  std::optional<log_drain> logs_;
  drain_pace pace_;
  std::chrono::steady_clock::time_point last_round_ = std::chrono::steady_clock::now();
  collector_list collectors_;
  session_journal* journal_ = nullptr;
  own_collectors own_;
  std::mutex host_speed_mutex_;
  std::optional<host_speed_record> host_speed_;  ///< under `host_speed_mutex_`
  std::atomic<std::uint64_t> bookkeeping_ticks_{0};
  std::atomic<std::uint64_t> abandoned_steps_{0};
  std::chrono::steady_clock::time_point last_between_steps_ = std::chrono::steady_clock::now();
  snapshot_rounds rounds_;
  std::mutex windows_mutex_;  ///< lock order: before the content lock
  window_stream windows_;
  bool are_operations_wanted_ = false;  ///< the next window needs records that collectors hold back
  bool has_told_failure_ = false;
};

}  // namespace profkit::detail
