// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "../collect/scope_node_paths.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/clock.hpp"
#include "../record/scope_node.hpp"
#include "log_events.hpp"
#include "recent_sites.hpp"
#include "scope_paths.hpp"

namespace profkit::detail {

/// A scope or an API call that has begun.
struct open_range {
  timestamp begin;
  std::uint32_t path;             ///< of the scope; of the innermost scope around a call
  site const* call = nullptr;     ///< null: it is a scope
  std::uint64_t correlation = 0;  ///< of a call, with 32 bits
  bool has_path = true;           ///< else `path` is that of the scope around it, and it is not kept
};

/// What is known of a thread from the events that were read.
struct thread_reading {
  std::uint32_t generation = 0;         ///< of the log: how many threads have owned it
  std::optional<std::uint32_t> thread;  ///< position in `profile::threads`, from the first event on
  timestamp last{};                     ///< when the last event was
  bool was_memory = false;              ///< and whether memory came or went
  std::vector<open_range> open;         ///< from the outermost to the innermost

  [[nodiscard]] std::uint32_t parent() const noexcept { return open.empty() ? path_record::no_parent : open.back().path; }

  [[nodiscard]] std::uint64_t open_scopes() const noexcept {
    return static_cast<std::uint64_t>(std::count_if(open.begin(), open.end(), [](open_range const& each) { return each.call == nullptr; }));
  }
};

/// Turns the events of logs into records, one after the other.
class event_records {
 public:
  explicit event_records(profile_builder& into) noexcept : into_{into} {}

  /// The time of the next event of a thread. No event has the time of an allocation before or after it: their order says which scope the
  /// allocation is in.
  static timestamp time_of(std::uint64_t what, std::uint64_t ticks, thread_reading& at, clock_line const& clock) noexcept {
    if (what == leave_at_unknown_time) return at.last;
    bool const is_of_memory = is_memory(what);
    timestamp const time = std::max(clock.convert(ticks), at.last + std::chrono::nanoseconds{is_of_memory || at.was_memory ? 1 : 0});
    at.last = time;
    at.was_memory = is_of_memory;
    return time;
  }

  /// Takes the next event of a thread, which has a position.
  void take(std::uint64_t const* event, thread_reading& at, timestamp time) {
    if (is_leave(*event)) {
      *event == leave_at_unknown_time ? leave_jumped_over(at) : leave(at, time);
      return;
    }
    switch (kind_of(*event)) {
      case event_kind::enter:
        open(at, site_of(*event), std::nullopt, time);
        return;
      case event_kind::enter_step:
        at.open.push_back({time, into_.position_of(path_of_step(site_of(*event)))});
        return;
      case event_kind::enter_indexed:
        open(at, site_of(*event), static_cast<std::int64_t>(event[2]), time);
        return;
      case event_kind::enter_noted:
        open(at, site_of(*event), std::nullopt, time);
        resolve(*reinterpret_cast<scope_note*>(event[2]), at.open.back());
        return;
      case event_kind::enter_adopted:
        at.open.push_back({time, nodes_.path_of(*reinterpret_cast<scope_node const*>(event[2]), into_)});
        return;
      case event_kind::begin_call:
        at.open.push_back({time, at.parent(), &site_of(*event), event[2]});
        return;
      case event_kind::thread_rest:
        take_rest(*reinterpret_cast<scope_node const*>(event[2]), at);
        return;
      case event_kind::counter:
        into_.add(counter_record{time, value_of(event), position_of_counter(site_of(*event)), *at.thread});
        return;
      case event_kind::allocated:
        take_allocation(allocation_kind::allocated, event, at, time);
        return;
      case event_kind::released:
        take_allocation(allocation_kind::released, event, at, time);
        return;
      case event_kind::level:
        take_allocation(allocation_kind::level, event, at, time);
        return;
      case event_kind::work:
        take_work(event, at);
        return;
      case event_kind::continued:  // no event
        return;
    }
  }

  /// The innermost scope or call was left without its destructor: it lasted at least until the event before.
  void leave_jumped_over(thread_reading& at) {
    if (!at.open.empty() && at.open.back().call == nullptr) into_.count(&quality_record::misnested_scopes);
    leave(at, at.last);
  }

 private:
  void open(thread_reading& at, site const& where, std::optional<std::int64_t> index, timestamp time) {
    std::uint32_t const around = at.parent();
    std::uint32_t const path = paths_.path_of(around, where, index, into_);
    bool const has_path = path != path_record::no_parent;
    at.open.push_back({time, has_path ? path : around, nullptr, 0, has_path});
  }

  /// The scope or call that was begun last ends; if there is none, its beginning belongs to an earlier session.
  void leave(thread_reading& at, timestamp time) {
    if (at.open.empty()) return;
    open_range const& done = at.open.back();
    interval const when{done.begin, std::max(done.begin, time)};
    if (done.call != nullptr) {
      into_.add(api_call_record{when, into_.extended_correlation(static_cast<std::uint32_t>(done.correlation)),
                                position_of_call(*done.call), *at.thread});
    } else if (done.has_path) {
      into_.add(scope_record{when, done.path, *at.thread});
    }
    at.open.pop_back();
  }

  static void resolve(scope_note& note, open_range const& scope) noexcept {
    note.path = scope.has_path ? scope.path : path_record::no_parent;
    note.begin_ns = scope.begin.time_since_epoch().count();
    note.resolved = true;
  }

  void take_rest(scope_node const& rest, thread_reading& at) {
    thread_record changed = into_.so_far().threads[*at.thread];
    std::uint32_t const path = nodes_.path_of(rest, into_);
    if (changed.rest_path == path) return;
    changed.rest_path = path;
    at.thread = into_.add(std::move(changed));
  }

  void take_allocation(allocation_kind kind, std::uint64_t const* event, thread_reading const& at, timestamp time) {
    site const& source = site_of(*event);
    std::uint32_t const allocator = allocators_.position_of(source, [&] {
      return into_.position_of(allocator_record{source.name, 0, kind == allocation_kind::level});
    });
    into_.add(allocation_record{time, event[2], event[3], *at.thread, static_cast<std::uint16_t>(allocator), kind});
  }

  /// It belongs to the innermost scope.
  void take_work(std::uint64_t const* event, thread_reading const& at) {
    if (at.parent() == path_record::no_parent) return;
    auto const scope = std::find_if(at.open.rbegin(), at.open.rend(), [](open_range const& each) { return each.call == nullptr; });
    into_.add(work_record{scope->begin, at.parent(), work_of(event)});
  }

  std::uint32_t position_of_call(site const& call) {
    return calls_.position_of(call, [&] { return into_.position_of_api_name(call.name); });
  }

  std::uint32_t position_of_counter(site const& counter) {
    return counters_.position_of(counter, [&] { return into_.position_of_counter(counter.name); });
  }

  profile_builder& into_;
  scope_paths paths_;
  scope_node_paths nodes_;
  recent_sites calls_;
  recent_sites counters_;
  recent_sites allocators_;
};

}  // namespace profkit::detail
