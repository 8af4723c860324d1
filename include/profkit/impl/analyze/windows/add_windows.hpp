// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../../time.hpp"
#include "../../profile/archive_reader.hpp"
#include "../../profile/archive_writer.hpp"
#include "../../profile/journal_format.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/validate.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../memory/scope_memory.hpp"
#include "../time/measured_time.hpp"
#include "../window.hpp"
#include "kept_records.hpp"
#include "state.hpp"
#include "window_border.hpp"
#include "window_stream.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The state of the allocators at the end of a window, with which the next window begins.
class live_memory {
 public:
  /// Returns the state at the beginning of a window that begins at the end of the previous one.
  /// @param profile the records of the window.
  [[nodiscard]] memory_before before(profile const& profile, interval const& own) const {
    memory_before result;
    result.bytes = bytes_;
    if (live_.empty()) return result;
    std::map<scope_key, std::uint32_t> open;  // positions
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      if (profile.scopes[i].time.begin < own.begin && own.begin <= profile.scopes[i].time.end) open[key_of(profile.scopes[i])] = i;
    }
    own_vector<block> changed;
    for (allocation_record const& each : profile.allocations) {
      if (own.begin <= each.time && each.time < own.end) changed.emplace_back(each.allocator, each.address);
    }
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (block const& each : changed) {
      auto const at = live_.find(each);
      if (at == live_.end()) continue;
      live_piece const& piece = at->second;
      auto const scope = piece.is_in_scope ? open.find(piece.scope) : open.end();
      result.live.push_back(
          {piece.record, piece.path, scope == open.end() ? live_allocation::none : scope->second, piece.is_in_measured_step});
    }
    return result;
  }

  /// Advances to the end of the window.
  /// @param at_begin the result of `before`.
  void pass(profile const& profile, interval const& own, memory_before const& at_begin) {
    for (std::size_t i = bytes_.size(); i < profile.allocators.size(); ++i) bytes_.push_back(profile.allocators[i].bytes_at_start);
    if (profile.allocations.empty() && live_.empty()) return;
    own_vector<std::uint32_t> parent_of;
    own_vector<std::uint32_t> const scope_of = innermost_scopes(
        profile, thread_lanes{profile}, profile.allocations, [](std::uint32_t) { return true; },
        [&](std::uint32_t each) { return profile.allocations[each].time; }, parent_of);
    auto const still_open = [&](std::uint32_t scope) {
      while (scope != no_scope && profile.scopes[scope].time.end < own.end) scope = parent_of[scope];
      return scope;
    };
    leave_closed_scopes(profile, own, still_open);
    measured_time const measured = with_readings_at_ends(measured_time::of_window(profile, all_time, true));
    own_vector<allocator_changes> const changes = memory_change_finder{profile, own, at_begin}.changes();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      for (memory_change const& change : changes[i].in_order) {
        bytes_[i] += change.difference();
        if (change.origin == memory_change::unknown) continue;
        allocation_record const& record = change.origin < profile.allocations.size()
                                              ? profile.allocations[change.origin]
                                              : at_begin.live[change.origin - profile.allocations.size()].record;
        if (record.kind != allocation_kind::allocated) continue;
        if (change.is_release) {
          remove({record.allocator, record.address});
        } else {
          add(record, profile, scope_of[change.origin], still_open(scope_of[change.origin]), measured.contains(record.time));
        }
      }
    }
  }

  /// The live allocations, and a reading of each allocator's other bytes in use.
  [[nodiscard]] own_vector<allocation_record> allocations(timestamp time_of_readings) const {
    own_vector<allocation_record> result;
    own_vector<std::uint64_t> others = bytes_;
    for (auto const& [where, piece] : live_) {
      result.push_back(piece.record);
      others[piece.record.allocator] -= piece.record.bytes;
    }
    for (std::size_t i = 0; i < others.size(); ++i)
      result.push_back({time_of_readings, 0, others[i], 0, static_cast<std::uint16_t>(i), allocation_kind::usage});
    return result;
  }

  /// @throws profkit::error if the object was read from a file and has positions outside these tables.
  void check(profile const& tables) const {
    bool is_right = bytes_.size() <= tables.allocators.size();
    for (auto const& [where, piece] : live_) {
      bool const has_path = piece.path == live_allocation::none || piece.path < tables.paths.size();
      is_right = is_right && piece.record.allocator < bytes_.size() && has_path;
    }
    check_read(is_right, "memory without allocator or path");
  }

 private:
  using scope_key = std::tuple<std::uint32_t, timestamp, std::uint32_t>;  ///< thread, beginning, path
  using block = std::pair<std::uint16_t, std::uint64_t>;                  ///< allocator, address

  struct live_piece {
    allocation_record record;
    std::uint32_t path;
    bool is_in_scope;  ///< whether an open scope contains the allocation
    scope_key scope;   ///< the innermost of these scopes
    bool is_in_measured_step;

    auto members() { return listed(record, path, is_in_scope, scope, is_in_measured_step); }
  };

  template <class Archive>
  friend void fields(Archive& archive, live_memory& value) {
    archive(value.bytes_), archive(value.live_);
    if constexpr (Archive::is_reader) {
      value.in_scope_.clear();
      for (auto const& [where, piece] : value.live_) {
        if (piece.is_in_scope) value.in_scope_[piece.scope].insert(where);
      }
    }
  }

  static scope_key key_of(scope_record const& scope) { return {scope.thread, scope.time.begin, scope.path}; }

  void add(allocation_record const& record, profile const& profile, std::uint32_t innermost, std::uint32_t open, bool is_in_measured_step) {
    std::uint32_t const path = innermost == no_scope ? live_allocation::none : profile.scopes[innermost].path;
    live_piece made{record, path, open != no_scope, {}, is_in_measured_step};
    if (made.is_in_scope) made.scope = key_of(profile.scopes[open]);
    block const where{record.allocator, record.address};
    remove(where);
    live_.emplace(where, made);
    if (made.is_in_scope) in_scope_[made.scope].insert(where);
  }

  void remove(block const& where) {
    auto const at = live_.find(where);
    if (at == live_.end()) return;
    if (at->second.is_in_scope) {
      auto const scope = in_scope_.find(at->second.scope);
      if (scope != in_scope_.end()) scope->second.erase(where);  // none if there was no memory for it
      if (scope != in_scope_.end() && scope->second.empty()) in_scope_.erase(scope);
    }
    live_.erase(at);
  }

  template <class StillOpen>
  void leave_closed_scopes(profile const& profile, interval const& own, StillOpen const& still_open) {
    std::map<scope_key, std::uint32_t> closed;  // positions
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      interval const& time = profile.scopes[i].time;
      if (time.begin < own.begin && own.begin <= time.end && time.end < own.end) closed[key_of(profile.scopes[i])] = i;
    }
    for (auto const& [scope, position] : closed) {
      auto const left = in_scope_.find(scope);
      if (left == in_scope_.end()) continue;
      std::set<block> const blocks = std::move(left->second);
      in_scope_.erase(left);
      std::uint32_t const around = still_open(position);
      for (block const& where : blocks) {
        live_piece& piece = live_.find(where)->second;
        piece.is_in_scope = around != no_scope;
        if (piece.is_in_scope) piece.scope = key_of(profile.scopes[around]);
      }
      if (around == no_scope) continue;
      std::set<block>& to = in_scope_[key_of(profile.scopes[around])];
      to.insert(blocks.begin(), blocks.end());
    }
  }

  own_vector<std::uint64_t> bytes_;  ///< usage by allocator
  std::map<block, live_piece> live_;
  std::map<scope_key, std::set<block>> in_scope_;  ///< the live blocks by `live_piece::scope`
};

// Adding windows to a stream, and its state.

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
  looked_at_ = taken_;
  left_waiting_ = count_records(waiting_);
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
    left_waiting_ = count_records(waiting_);
  }
}

[[gnu::used]] inline void window_stream::add_rest(bool has_steps) {
  move_late_records(has_steps);
  add(attribution_of_waiting(), timestamp::max(), has_steps);
  waiting_ = {};
}

[[gnu::used]] inline own_vector<allocation_record> window_stream::live_allocations() const {
  live_memory now = parts_->memory;
  interval const rest{from_, timestamp::max()};
  now.pass(waiting_, rest, now.before(waiting_, rest));
  return now.allocations(waiting_.time.begin);
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
  for (energy_record& each : waiting_.energy) each.time = std::max(each.time, from_);  // it counts in any window
  for (page_event_record& each : waiting_.page_events) move(each.time);
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

}  // namespace PROFKIT_NAMESPACE::detail
