// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../profile/finite.hpp"
#include "../profile/profile.hpp"
#include "../record/clock.hpp"
#include "../record/path_finder.hpp"
#include "../record/record_room.hpp"
#include "../record/recorder.hpp"
#include "../record/scope_node.hpp"
#include "../record/thread_registry.hpp"
#include "wrong_end_text.hpp"

namespace profkit::detail {

/// Turns the logs of all threads into records. Only one may be in use at a time, as each log has one reader.
class log_reader {
 public:
  /// From here on: what earlier sessions left is skipped.
  log_reader() {
    recorder.wrong_ends.clear();
    for_each_log([](thread_log& log) {
      std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);
      std::uint64_t const* const end = __atomic_load_n(&log.next_slot, __ATOMIC_ACQUIRE);
      for (std::uint64_t const* position = log.read; position != end;) position = next_event(position, log);
      log.read = end;
      if (state == log_left) free_log(log);
    });
  }

  /// Moves events into the profile, up to the newest anchor of the clock; all of them if it is the `last` time.
  /// @param slots raised by how many were read.
  /// @param goes_on called every `events_between_pauses`; others may add to the profile meanwhile. If it returns false, and it is not the
  /// `last` time, the reader stops there.
  /// @return false if it was stopped.
  template <class Pause>
  bool drain(profile& into, clock_line const& clock, bool last, std::uint64_t& slots, Pause&& goes_on) {
    // From the oldest thread to the newest: what a thread adopts from an older one comes after it in the tree.
    std::vector<thread_log*> logs;
    for_each_log([&](thread_log& log) { logs.push_back(&log); });
    record_room room{into};
    auto const pause = [&] {
      bool const is_wanted = goes_on() || last;
      room.look_again(into);
      return is_wanted;
    };
    for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
      if (!drain(**log, into, room, clock, last, slots, pause)) return false;
    }
    count_lost_events(into.quality);
    if (last) into.quality.open_scopes += open_scopes();
    return true;
  }

  /// How many have begun and not ended, as far as it has read.
  [[nodiscard]] std::uint64_t open_scopes() const {
    std::uint64_t result = 0;
    for (auto const& [log, at] : readings_) result += open_scopes(at);
    return result;
  }

 private:
  /// A scope or an API call.
  struct open_range {
    timestamp begin;
    std::uint32_t path;             ///< of the scope; of the innermost scope around a call
    site const* call = nullptr;     ///< null: it is a scope
    std::uint64_t correlation = 0;  ///< of a call
    bool has_path = true;           ///< else `path` is that of the scope around it, and it is not kept
  };

  /// Where the reader stands in one log.
  struct reading {
    std::uint32_t generation = 0;
    std::optional<std::uint32_t> thread;  ///< position in `profile::threads`
    timestamp last{};                     ///< when the last event was
    bool was_memory = false;              ///< and what kind
    std::vector<open_range> open;
  };

  void count_lost_events(quality_record& into) const noexcept {
    lost_events lost = all_lost_events();
    lost.subtract(lost_before_);
    into.dropped_events = lost.full + lost.no_memory + lost.no_log + lost.interrupting;
    into.events_without_memory = lost.no_memory;
    into.events_without_log = lost.no_log;
    into.interrupting_events = lost.interrupting;
    into.unmatched_ends = lost.unmatched_ends;
    into.wrong_ends = known_wrong_ends();
  }

  /// Where the reader stands in a log is kept whatever happens.
  struct saved_position {
    thread_log& log;
    std::uint64_t const*& position;
    ~saved_position() { log.read = position; }
  };

  static constexpr std::uint64_t events_between_pauses = 4096;

  template <class Function>
  static void for_each_log(Function&& function) {
    for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) function(*log);
  }

  static std::uint64_t open_scopes(reading const& at) {
    return static_cast<std::uint64_t>(
        std::count_if(at.open.begin(), at.open.end(), [](open_range const& each) { return each.call == nullptr; }));
  }

  template <class Pause>
  bool drain(thread_log& log, profile& into, record_room& room, clock_line const& clock, bool last, std::uint64_t& slots, Pause&& pause) {
    std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);  // before `next_slot`: nothing follows a `log_left`
    std::uint64_t const* const end = __atomic_load_n(&log.next_slot, __ATOMIC_ACQUIRE);
    reading& at = readings_[&log];
    std::uint32_t const generation = __atomic_load_n(&log.generation, __ATOMIC_ACQUIRE);
    if (at.generation != generation) {
      into.quality.open_scopes += open_scopes(at);
      at = reading{};
      at.generation = generation;
    }
    std::uint64_t const* position = log.read;
    saved_position const save{log, position};  // also if there is no memory for a record: it is tried again
    while (position != end) {
      if (++events_ % events_between_pauses == 0 && !pause()) return false;
      if (is_continued(*position)) {
        position = next_event(position, log);
        continue;
      }
      std::uint64_t const ticks = (*position & leave_mark) != 0 ? *position & ~leave_mark : position[1];
      if (!last && ticks > clock.newest().ticks) break;
      if (!at.thread) {
        at.thread = static_cast<std::uint32_t>(into.threads.size());
        into.threads.push_back({log.thread_system_id, log.thread_name});
      }
      take(position, at, into, room, time_of(*position, ticks, at, clock));
      std::uint64_t const* const next = next_event(position, log);
      slots += static_cast<std::uint64_t>(next - position);
      position = next;
    }
    log.read = position;
    if (state != log_left || position != end) return true;
    while (log.is_broken && !at.open.empty()) leave_jumped_over(at, into, room);
    free_log(log);
    return true;
  }

  static bool is_continued(std::uint64_t what) noexcept { return (what & leave_mark) == 0 && kind_of(what) == event_kind::continued; }

  static std::uint64_t const* next_event(std::uint64_t const* event, thread_log& log) noexcept {
    if ((*event & leave_mark) != 0) return event + 1;
    switch (kind_of(*event)) {
      case event_kind::continued:
        return go_on_in_chunk(log, *reinterpret_cast<log_chunk*>(*event));
      case event_kind::enter:
      case event_kind::enter_step:
        return event + 2;
      case event_kind::enter_indexed:
      case event_kind::enter_noted:
      case event_kind::enter_adopted:
      case event_kind::begin_call:
      case event_kind::thread_rest:
      case event_kind::counter:
        return event + 3;
      case event_kind::allocated:
      case event_kind::released:
      case event_kind::level:
      case event_kind::work:
        return event + 4;
    }
    return event + 1;
  }

  static event_kind kind_of(std::uint64_t what) noexcept { return static_cast<event_kind>(what & event_kind_bits); }

  /// No event has the time of an allocation before or after it: their order says which scope the allocation is in.
  static timestamp time_of(std::uint64_t what, std::uint64_t ticks, reading& at, clock_line const& clock) noexcept {
    if (what == leave_at_unknown_time) return at.last;
    event_kind const kind = kind_of(what);
    bool const is_memory =
        (what & leave_mark) == 0 && (kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::level);
    timestamp const time = std::max(clock.convert(ticks), at.last + std::chrono::nanoseconds{is_memory || at.was_memory ? 1 : 0});
    at.last = time;
    at.was_memory = is_memory;
    return time;
  }

  void take(std::uint64_t const* event, reading& at, profile& into, record_room& room, timestamp time) {
    if ((*event & leave_mark) != 0) {
      if (*event == leave_at_unknown_time) {
        leave_jumped_over(at, into, room);
      } else {
        leave(at, into, room, time);
      }
      return;
    }
    auto const* const where = reinterpret_cast<site const*>(*event & ~event_kind_bits);
    switch (kind_of(*event)) {
      case event_kind::enter:
        open(at, where, std::nullopt, into, time);
        return;
      case event_kind::enter_step:
        at.open.push_back({time, paths_.path_of_step(where, into)});
        return;
      case event_kind::enter_indexed:
        open(at, where, static_cast<std::int64_t>(event[2]), into, time);
        return;
      case event_kind::enter_noted: {
        open(at, where, std::nullopt, into, time);
        auto& note = *reinterpret_cast<scope_note*>(event[2]);
        note.path = at.open.back().has_path ? at.open.back().path : path_record::no_parent;
        note.begin_ns = time.time_since_epoch().count();
        note.resolved = true;
        return;
      }
      case event_kind::enter_adopted:
        at.open.push_back({time, paths_.path_of(*reinterpret_cast<scope_node const*>(event[2]), into)});
        return;
      case event_kind::begin_call:
        at.open.push_back({time, parent_of(at), where, event[2]});
        return;
      case event_kind::thread_rest:
        take_rest(*reinterpret_cast<scope_node const*>(event[2]), at, into);
        return;
      case event_kind::counter: {
        if (!room.take()) return;
        double value = 0.0;
        std::memcpy(&value, &event[2], sizeof value);
        into.counters.push_back({time, value, position_of(where->name, into.counter_names), *at.thread});
        return;
      }
      case event_kind::allocated:
        take_allocation(allocation_kind::allocated, *where, event, at, into, room, time);
        return;
      case event_kind::released:
        take_allocation(allocation_kind::released, *where, event, at, into, room, time);
        return;
      case event_kind::level:
        take_allocation(allocation_kind::level, *where, event, at, into, room, time);
        return;
      case event_kind::work:
        if (std::uint32_t const path = parent_of(at); path != path_record::no_parent && room.take())
          into.work.push_back({begin_of(at), path, work_of(event)});
        return;
      case event_kind::continued:  // `drain` knows it
        return;
    }
  }

  void open(reading& at, site const* where, std::optional<std::int64_t> index, profile& into, timestamp time) {
    std::uint32_t const around = parent_of(at);
    std::uint32_t const path = paths_.path_of(around, where, index, into);
    bool const has_path = path != path_record::no_parent;
    at.open.push_back({time, has_path ? path : around, nullptr, 0, has_path});
  }

  /// The scope or call that was begun last ends; if there is none, its beginning belongs to an earlier session.
  void leave(reading& at, profile& into, record_room& room, timestamp time) {
    if (at.open.empty()) return;
    open_range const& done = at.open.back();
    interval const when{done.begin, std::max(done.begin, time)};
    if (done.has_path && room.take()) {
      if (done.call == nullptr) {
        into.scopes.push_back({when, done.path, *at.thread});
      } else {
        into.api_calls.push_back({when, done.correlation, name_of_call(*done.call, into), *at.thread});
      }
    }
    at.open.pop_back();
  }

  /// The same of one that was left without its destructor: it lasted at least until the event before.
  void leave_jumped_over(reading& at, profile& into, record_room& room) {
    if (!at.open.empty() && at.open.back().call == nullptr) ++into.quality.misnested_scopes;
    leave(at, into, room, at.last);
  }

  /// Position in `profile::api_names`.
  std::uint32_t name_of_call(site const& call, profile& into) {
    auto& [known, name] = recent_calls_[reinterpret_cast<std::uintptr_t>(&call) / sizeof(site) % recent_calls_.size()];
    if (known != &call) {
      name = position_of(call.name, into.api_names);
      known = &call;
    }
    return name;
  }

  void take_rest(scope_node const& rest, reading& at, profile& into) {
    thread_record changed = into.threads[*at.thread];
    changed.rest_path = paths_.path_of(rest, into);
    if (changed.rest_path == into.threads[*at.thread].rest_path) return;
    at.thread = static_cast<std::uint32_t>(into.threads.size());
    into.threads.push_back(std::move(changed));
  }

  static void take_allocation(allocation_kind kind, site const& source, std::uint64_t const* event, reading const& at, profile& into,
                              record_room& room, timestamp time) {
    if (!room.take()) return;
    auto const known = std::find_if(into.allocators.begin(), into.allocators.end(),
                                    [&](allocator_record const& each) { return each.name == source.name; });
    auto const allocator = static_cast<std::uint16_t>(known - into.allocators.begin());
    if (known == into.allocators.end()) into.allocators.push_back({source.name, 0, kind == allocation_kind::level});
    into.allocations.push_back({time, event[2], event[3], *at.thread, allocator, kind});
  }

  /// What `packed` and `put_work` wrote.
  static profkit::work work_of(std::uint64_t const* event) noexcept {
    profkit::work result;
    auto const backward = static_cast<std::uint32_t>(event[0] >> 32U);
    std::memcpy(&result.backward, &backward, sizeof result.backward);
    std::memcpy(&result.flops, &event[2], sizeof result.flops);
    std::memcpy(&result.bytes, &event[3], sizeof result.bytes);
    result.flops = amount_or_zero(result.flops);
    result.bytes = amount_or_zero(result.bytes);
    result.precision = static_cast<precision>((event[0] >> 8U) & 0xffU);
    return result;
  }

  /// When the innermost scope began.
  static timestamp begin_of(reading const& at) {
    return std::find_if(at.open.rbegin(), at.open.rend(), [](open_range const& each) { return each.call == nullptr; })->begin;
  }

  static std::uint32_t parent_of(reading const& at) noexcept { return at.open.empty() ? path_record::no_parent : at.open.back().path; }

  static std::uint32_t position_of(char const* name, std::vector<std::string>& names) {
    auto const known = std::find(names.begin(), names.end(), name);
    auto const position = static_cast<std::uint32_t>(known - names.begin());
    if (known == names.end()) names.emplace_back(name);
    return position;
  }

  std::unordered_map<thread_log*, reading> readings_;
  path_finder paths_;
  std::array<std::pair<site const*, std::uint32_t>, 64> recent_calls_;
  lost_events lost_before_ = all_lost_events();
  std::uint64_t events_ = 0;
};

}  // namespace profkit::detail
