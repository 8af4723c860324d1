// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../profile/archive_reader.hpp"
#include "../../profile/archive_writer.hpp"
#include "../../profile/journal_format.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../time/measured_time.hpp"
#include "../window.hpp"
#include "kept_records.hpp"
#include "live_memory.hpp"
#include "state.hpp"
#include "window_border.hpp"
#include "window_stream.hpp"

// Adding windows to a stream, and its state.

namespace profkit::detail {

/// What a stream knows of the windows before the next one.
struct window_parts {
  live_memory memory;
  kept_parts kept;
  gpu_step_period_ends ends;                     ///< ends of the latest GPU periods
  own_vector<gpu_step_period> open_gpu_periods;  ///< GPU periods of added steps that end after the last window
};

inline auto window_stream::members() {
  return listed(known_scopes_, known_calls_, known_collectives_, unfinished_, sums_, parts_->memory, has_steps_, from_, windows_,
                steps_thread_, parts_->ends, parts_->open_gpu_periods);
}

[[gnu::used]] inline window_parts* new_copy(window_parts const* from) {
  return from == nullptr ? new window_parts : new window_parts{*from};
}
[[gnu::used]] inline void destroy(window_parts* value) noexcept { delete value; }

[[gnu::used]] inline void window_stream::keep(kept_steps const& which) { parts_->kept = kept_parts{which}; }

[[gnu::used]] inline bool window_stream::keeps_all() const noexcept { return parts_->kept.is_all(); }

[[gnu::used]] inline std::uint64_t window_stream::move_kept_to(profile& to) { return parts_->kept.move_to(to); }

[[gnu::used]] inline void window_stream::take(profile_builder& from) {
  follower_.copy_new(from.so_far(), waiting_);
  from.take_rest(waiting_);
  taken_ = from.records();
}

[[gnu::used]] inline void window_stream::add_complete(arrival const& until) {
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

[[gnu::used]] inline void window_stream::add_rest(bool has_steps) {
  move_late_records(has_steps);
  add(attribution_of_waiting(), timestamp::max(), has_steps);
  waiting_ = {};
}

[[gnu::used]] inline journal_head window_stream::head() const {
  journal_head result;
  result.waiting = waiting_;
  string_output output{result.figures};
  archive_writer archive{output};
  write_state(archive, *this);
  archive.flush();
  return result;
}

[[gnu::used]] inline void window_stream::resume(own_string const& figures, profile waiting) {
  read_state(figures, *this);
  parts_->memory.check(waiting);
  check_periods(parts_->open_gpu_periods);
  check_read(from_ == timestamp::min() || from_ >= timestamp{} - std::chrono::hours{1}, "a window ends before 1970");
  check_read(sums_.until() <= from_, "a window ends after the last one");
  check_read(!steps_thread_ || *steps_thread_ < waiting.threads.size(), "steps without thread");
  waiting_ = std::move(waiting);
}

inline void window_stream::lose_waiting() noexcept {
  lost_ += count_records(waiting_);
  for_each_list_in_budget(waiting_, [](auto& list) { list.clear(); });
  know_waiting();
}

inline attribution window_stream::attribution_of_waiting() const {
  return needs_attribution(waiting_) ? attribute(waiting_) : attribution{};
}

inline void window_stream::move_late_records(bool has_steps) {
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

inline void window_stream::move_late_scopes() {
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

inline void window_stream::pass_over(own_vector<scope_record> const& open, timestamp border) {
  measured_time const measured{waiting_};
  for (scope_record const& each : open) {
    if (each.time.begin >= from_ && each.time.begin < border && measured.contains(each.time.begin))
      unfinished_.insert({each.thread, each.time.begin});
  }
}

inline void window_stream::add(attribution const& launched, timestamp border, bool has_steps) {
  window_frame frame;
  frame.own = {from_, border};
  frame.has_steps = has_steps;
  if (has_steps && has_kernels(waiting_)) {
    find_steps_thread();
    frame.steps_thread = steps_thread_;
    find_gpu_steps(launched, frame);
  }
  frame.memory = parts_->memory.before(waiting_, frame.own);
  sums_.add(waiting_, frame, &launched);
  parts_->memory.pass(waiting_, frame.own, frame.memory);
  parts_->kept.take(waiting_, launched, frame.own);
  from_ = border;
  ++windows_;
}

inline void window_stream::find_steps_thread() {
  if (steps_thread_) return;
  steps_thread_ = thread_of_steps(waiting_, measured_time::with_kernels(waiting_));
}

inline void window_stream::find_gpu_steps(attribution const& launched, window_frame& frame) {
  gpu_step_periods found = gpu_step_period_finder{waiting_, launched}.find(from_, parts_->ends);
  auto const is_later = [&](gpu_step_period const& each) { return waiting_.steps[each.step].time.begin >= frame.own.end; };
  for (auto* const list : {&found.warmup, &found.measured}) {
    list->erase(std::remove_if(list->begin(), list->end(), is_later), list->end());
  }
  if (!found.warmup.empty()) parts_->ends.warmup = found.warmup.back().time.end;
  if (!found.measured.empty()) parts_->ends.measured = found.measured.back().time.end;
  own_vector<gpu_step_period> measured = parts_->open_gpu_periods;
  measured.insert(measured.end(), found.measured.begin(), found.measured.end());
  frame.gpu_wall = parts_in(measured, frame.own);
  auto const is_over = [&](gpu_step_period const& each) { return each.time.end <= frame.own.end; };
  measured.erase(std::remove_if(measured.begin(), measured.end(), is_over), measured.end());
  parts_->open_gpu_periods = std::move(measured);
  frame.gpu_steps = std::move(found);
}

}  // namespace profkit::detail
