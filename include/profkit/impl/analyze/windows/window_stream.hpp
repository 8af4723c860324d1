// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../../time.hpp"
#include "../../profile/archive_reader.hpp"
#include "../../profile/archive_writer.hpp"
#include "../../profile/journal_format.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile_follower.hpp"
#include "../analysis.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../time/measured_time.hpp"
#include "../window.hpp"
#include "kept_records.hpp"
#include "live_memory.hpp"
#include "state.hpp"
#include "window_border.hpp"

namespace profkit::detail {

/// Computes the figures of a running session window by window, and forgets the records of each window after adding it.
class window_stream {
 public:
  explicit window_stream(analyze_options with = {}, window_waits waits = {}) : sums_{std::move(with)}, waits_{waits} {}

  /// Sets the steps whose records are kept. To be called before the first window.
  void keep(kept_steps const& which) { kept_ = kept_parts{which}; }

  /// The kept records.
  [[nodiscard]] kept_parts& kept() noexcept { return kept_; }

  /// Whether enough was recorded since the last time to take records and to look for a border.
  [[nodiscard]] bool is_due(profile_builder const& from) const noexcept {
    return from.records() - taken_ >= std::max({records_at_a_time, count_records(waiting_), count_tables(from.so_far())});
  }

  /// Takes the records since the last call.
  void take(profile_builder& from) {
    follower_.copy_new(from.so_far(), waiting_);
    from.take_rest(waiting_);
    taken_ = from.records();
  }

  /// The records that are not added yet, with the tables of the session.
  [[nodiscard]] profile& waiting() noexcept { return waiting_; }
  [[nodiscard]] profile const& waiting() const noexcept { return waiting_; }

  /// Adds complete windows. If there is no memory for a window, its records and later ones are lost, because its figures may contain some
  /// of them: see `lost`.
  void add_complete(arrival const& until) {
    has_steps_ = until.has_steps;
    move_late_records(until.has_steps);
    std::size_t const scopes = waiting_.scopes.size();
    waiting_.scopes.insert(waiting_.scopes.end(), until.open_scopes.begin(), until.open_scopes.end());
    struct remove_open_scopes {
      own_vector<scope_record>& list;
      std::size_t size;
      ~remove_open_scopes() {
        if (list.size() > size) list.resize(size);
      }
    } const at_end{waiting_.scopes, scopes};  // also if there is no memory
    attribution const launched = attribution_of_waiting();
    window_waits const waits = waits_.with_waiting(count_waiting());
    if (auto const border = window_border{waiting_, launched, until, from_, waits}.find()) {
      if (until.has_steps) pass_over(until.open_scopes, *border);
      try {
        add(launched, *border, until.has_steps);
        waiting_.scopes.resize(scopes);
        window_context{waiting_, launched, *border, until.has_steps, until.open_scopes}.keep_in(waiting_);
      } catch (std::exception const&) {
        waiting_.scopes.resize(std::min(scopes, waiting_.scopes.size()));
        lose_waiting();
        if (from_ < *border) ++windows_;
        from_ = *border;
        throw;
      }
      know_waiting();
    }
  }

  /// The number of records that were lost because there was no memory.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

  /// Adds everything. To be called after the end of recording.
  void add_rest(bool has_steps) {
    move_late_records(has_steps);
    add(attribution_of_waiting(), timestamp::max(), has_steps);
    waiting_ = {};
  }

  /// The head of the next journal file, without `number` and `forgotten`.
  [[nodiscard]] journal_head head() const {
    journal_head result;
    result.waiting = waiting_;
    string_output output{result.figures};
    archive_writer archive{output};
    write_state(archive, *this);
    archive.flush();
    return result;
  }

  /// Continues from the state of the stream that created a head, without its kept records.
  /// @param figures `journal_head::figures`.
  /// @param waiting `journal_head::waiting` and all later records; validated by the caller.
  /// @throws profkit::error if another version of profkit wrote the figures, or if they are damaged.
  void resume(own_string const& figures, profile waiting) {
    read_state(figures, *this);
    memory_.check(waiting);
    check_periods(open_gpu_periods_);
    check_read(from_ == timestamp::min() || from_ >= timestamp{} - std::chrono::hours{1}, "a window ends before 1970");
    check_read(sums_.until() <= from_, "a window ends after the last one");
    check_read(!steps_thread_ || *steps_thread_ < waiting.threads.size(), "steps without thread");
    waiting_ = std::move(waiting);
  }

  /// Whether the added windows have a step.
  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  /// The figures of all added windows.
  [[nodiscard]] analysis const& sums() const noexcept { return sums_; }

  /// The end of the last added window; `timestamp::min()` before the first.
  [[nodiscard]] timestamp until() const noexcept { return from_; }

  /// The number of added windows.
  [[nodiscard]] std::uint64_t windows() const noexcept { return windows_; }

  auto members() {
    return listed(known_scopes_, known_calls_, known_collectives_, unfinished_, sums_, memory_, has_steps_, from_, windows_, steps_thread_,
                  ends_, open_gpu_periods_);
  }

 private:
  void lose_waiting() noexcept {
    lost_ += count_records(waiting_);
    auto const clear = [](auto&... lists) { (lists.clear(), ...); };
    clear(waiting_.scopes, waiting_.gpu_scopes, waiting_.gpu_operations, waiting_.api_calls, waiting_.counters, waiting_.allocations,
          waiting_.work, waiting_.collectives, waiting_.samples);
    know_waiting();
  }

  void know_waiting() noexcept {
    known_scopes_ = waiting_.scopes.size();
    known_calls_ = waiting_.api_calls.size();
    known_collectives_ = waiting_.collectives.size();
  }

  [[nodiscard]] std::size_t count_waiting() const noexcept {
    return waiting_.scopes.size() + waiting_.gpu_operations.size() + waiting_.api_calls.size();
  }

  /// The number of table entries of a session. Adding a window takes time proportional to it.
  [[nodiscard]] static std::uint64_t count_tables(profile const& session) noexcept {
    return session.paths.size() + session.threads.size() + session.gpu_names.size() + session.graph_nodes.size() +
           session.api_names.size() + session.counter_names.size() + session.allocators.size() + session.communicators.size() +
           session.collective_words.size() + session.functions.size();
  }

  /// A few milliseconds of work.
  static constexpr std::uint64_t records_at_a_time = std::uint64_t{1} << 16U;

  /// Empty if no figure needs it.
  [[nodiscard]] attribution attribution_of_waiting() const { return needs_attribution(waiting_) ? attribute(waiting_) : attribution{}; }

  /// Moves late records whose window was already added, and scopes for which the stream no longer waits. Without steps they count in any
  /// window. With steps, scopes and collectives count in the next measured step.
  void move_late_records(bool has_steps) {
    if (has_steps) {
      move_late_scopes();
      return;
    }
    for (gpu_scope_record& each : waiting_.gpu_scopes) each.begin = std::max(each.begin, from_);
    for (work_record& each : waiting_.work) each.begin = std::max(each.begin, from_);
    for (counter_record& each : waiting_.counters) each.time = std::max(each.time, from_);
    for (sample_record& each : waiting_.samples) each.time = std::max(each.time, from_);
    for (std::size_t i = known_scopes_; i < waiting_.scopes.size(); ++i) move(waiting_.scopes[i].time);
    for (std::size_t i = known_calls_; i < waiting_.api_calls.size(); ++i) move(waiting_.api_calls[i].time);
    for (std::size_t i = known_collectives_; i < waiting_.collectives.size(); ++i) move(waiting_.collectives[i].time);
  }

  void move_late_scopes() {
    auto const is_next = [&](step_record const& each) { return each.time.begin >= from_ && each.is_measured(); };
    auto const next = std::find_if(waiting_.steps.begin(), waiting_.steps.end(), is_next);
    if (next == waiting_.steps.end()) return;
    auto const is_late = [&](scope_record const& each) {
      return each.time.end < from_ || unfinished_.erase({each.thread, each.time.begin}) > 0;
    };
    for (std::size_t i = known_scopes_; i < waiting_.scopes.size(); ++i) {
      interval& time = waiting_.scopes[i].time;
      if (time.begin < from_ && is_late(waiting_.scopes[i])) time = {next->time.begin, next->time.begin + time.duration()};
    }
    for (std::size_t i = known_collectives_; i < waiting_.collectives.size(); ++i) {
      interval& time = waiting_.collectives[i].time;
      if (time.begin < from_) time = {next->time.begin, next->time.begin + time.duration()};
    }
  }

  /// Stops waiting for open scopes that began in an added measured step.
  void pass_over(own_vector<scope_record> const& open, timestamp border) {
    measured_time const measured{waiting_};
    for (scope_record const& each : open) {
      if (each.time.begin >= from_ && each.time.begin < border && measured.contains(each.time.begin))
        unfinished_.insert({each.thread, each.time.begin});
    }
  }

  /// Moves an interval after the last window, with the same duration.
  void move(interval& time) const {
    if (time.end < from_) time = {time.begin + (from_ - time.end), from_};
  }

  void add(attribution const& launched, timestamp border, bool has_steps) {
    window_frame frame;
    frame.own = {from_, border};
    frame.has_steps = has_steps;
    if (has_steps && has_kernels(waiting_)) {
      find_steps_thread();
      frame.steps_thread = steps_thread_;
      find_gpu_steps(launched, frame);
    }
    frame.memory = memory_.before(waiting_, frame.own);
    sums_.add(waiting_, frame, &launched);
    memory_.pass(waiting_, frame.own, frame.memory);
    kept_.take(waiting_, launched, frame.own);
    from_ = border;
    ++windows_;
  }

  void find_steps_thread() {
    if (steps_thread_) return;
    steps_thread_ = thread_of_steps(waiting_, measured_time::with_kernels(waiting_));
  }

  void find_gpu_steps(attribution const& launched, window_frame& frame) {
    gpu_step_periods found = gpu_step_period_finder{waiting_, launched}.find(from_, ends_);
    auto const is_later = [&](gpu_step_period const& each) { return waiting_.steps[each.step].time.begin >= frame.own.end; };
    for (auto* const list : {&found.warmup, &found.measured}) {
      list->erase(std::remove_if(list->begin(), list->end(), is_later), list->end());
    }
    if (!found.warmup.empty()) ends_.warmup = found.warmup.back().time.end;
    if (!found.measured.empty()) ends_.measured = found.measured.back().time.end;
    own_vector<gpu_step_period> measured = open_gpu_periods_;
    measured.insert(measured.end(), found.measured.begin(), found.measured.end());
    frame.gpu_wall = parts_in(measured, frame.own);
    auto const is_over = [&](gpu_step_period const& each) { return each.time.end <= frame.own.end; };
    measured.erase(std::remove_if(measured.begin(), measured.end(), is_over), measured.end());
    open_gpu_periods_ = std::move(measured);
    frame.gpu_steps = std::move(found);
  }

  profile_follower follower_;
  std::uint64_t taken_ = 0;  ///< number of taken records, as `profile_builder::records` counts
  profile waiting_;
  std::uint64_t known_scopes_ = 0;  ///< number of scopes in `waiting_` when the last window was added
  std::uint64_t known_calls_ = 0;
  std::uint64_t known_collectives_ = 0;
  std::set<std::pair<std::uint32_t, timestamp>> unfinished_;  ///< thread and beginning of scopes for which the stream no longer waits
  analysis sums_;
  live_memory memory_;
  kept_parts kept_;
  window_waits waits_;
  bool has_steps_ = false;
  timestamp from_ = timestamp::min();  ///< end of the last window
  std::uint64_t windows_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<std::uint32_t> steps_thread_;
  gpu_step_period_ends ends_;                     ///< ends of the latest GPU periods
  own_vector<gpu_step_period> open_gpu_periods_;  ///< GPU periods of added steps that end after the last window
};

}  // namespace profkit::detail
