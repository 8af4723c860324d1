// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "clock.hpp"
#include "path_finder.hpp"
#include "recorder.hpp"
#include "scope_node.hpp"
#include "thread_registry.hpp"

namespace profkit::detail {

/// Turns the logs of all threads into records. Only one may be in use at a time, as each log has one reader.
class log_reader {
 public:
  /// From here on: what earlier sessions left is skipped.
  log_reader() {
    for_each_log([](thread_log& log) {
      log.dropped_before = __atomic_load_n(&log.dropped, __ATOMIC_RELAXED);
      std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);
      __atomic_store_n(&log.read, __atomic_load_n(&log.written, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
      if (state == log_left) __atomic_store_n(&log.state, std::uint32_t{log_free}, __ATOMIC_RELEASE);
    });
    unlogged_before_ = __atomic_load_n(&recorder.unlogged, __ATOMIC_RELAXED);
  }

  /// Moves events into the profile, up to the newest anchor of the clock; all of them if it is the `last` time.
  void drain(profile& into, clock_line const& clock, bool last) {
    // From the oldest thread to the newest: what a thread adopts from an older one comes after it in the tree.
    std::vector<thread_log*> logs;
    for_each_log([&](thread_log& log) { logs.push_back(&log); });
    for (auto log = logs.rbegin(); log != logs.rend(); ++log) drain(**log, into, clock, last);
    if (!last) return;
    into.quality.dropped_events = __atomic_load_n(&recorder.unlogged, __ATOMIC_RELAXED) - unlogged_before_;
    for_each_log(
        [&](thread_log& log) { into.quality.dropped_events += __atomic_load_n(&log.dropped, __ATOMIC_RELAXED) - log.dropped_before; });
    for (auto const& [log, at] : readings_) into.quality.open_scopes += at.open.size();
  }

 private:
  struct open_scope {
    std::uint32_t path;
    timestamp begin;
  };

  struct open_call {
    site const* where;
    std::uint64_t correlation;
    timestamp begin;
  };

  /// Where the reader stands in one log.
  struct reading {
    std::uint32_t generation = 0;
    std::optional<std::uint32_t> thread;  ///< position in `profile::threads`
    timestamp last{};                     ///< when the last event was
    bool was_memory = false;              ///< and what kind
    std::vector<open_scope> open;
    std::vector<open_call> calls;
  };

  template <class Function>
  static void for_each_log(Function&& function) {
    for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) function(*log);
  }

  void drain(thread_log& log, profile& into, clock_line const& clock, bool last) {
    std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);  // before `written`: nothing follows a `log_left`
    std::uint64_t const end = __atomic_load_n(&log.written, __ATOMIC_ACQUIRE);
    reading& at = readings_[&log];
    std::uint32_t const generation = __atomic_load_n(&log.generation, __ATOMIC_ACQUIRE);
    if (at.generation != generation) {
      into.quality.open_scopes += at.open.size();
      at = reading{};
      at.generation = generation;
    }
    std::uint64_t position = log.read;
    while (position < end) {
      log_slot const& event = log.slots[position & log.mask];
      if (!last && event.ticks > clock.newest().ticks) break;
      if (!at.thread) {
        at.thread = static_cast<std::uint32_t>(into.threads.size());
        into.threads.push_back({log.thread_system_id, log.thread_name});
      }
      // The slot behind the last event is the writer's.
      log_slot const payload = position + 1 < end ? log.slots[(position + 1) & log.mask] : log_slot{};
      position += take(event, payload, at, into, time_of(event, at, clock));
    }
    release_read_slots(log, position);
    __atomic_store_n(&log.read, position, __ATOMIC_RELEASE);
    if (state == log_left && position == end) __atomic_store_n(&log.state, std::uint32_t{log_free}, __ATOMIC_RELEASE);
  }

  /// No event has the time of an allocation before or after it: their order says which scope the allocation is in.
  static timestamp time_of(log_slot const& event, reading& at, clock_line const& clock) noexcept {
    auto const kind = static_cast<event_kind>(event.what & event_kind_bits);
    bool const is_memory = kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::level;
    timestamp time = clock.convert(event.ticks);
    bool const was_clock_set_back = time + std::chrono::milliseconds{1} < at.last;  // then times jump as it did
    if (!was_clock_set_back) time = std::max(time, at.last + std::chrono::nanoseconds{is_memory || at.was_memory ? 1 : 0});
    at.last = time;
    at.was_memory = is_memory;
    return time;
  }

  /// @return the number of slots that the event takes.
  std::uint64_t take(log_slot const& event, log_slot const& payloads, reading& at, profile& into, timestamp time) {
    auto const* const where = reinterpret_cast<site const*>(event.what & ~event_kind_bits);
    std::uint64_t const payload = payloads.ticks;
    switch (static_cast<event_kind>(event.what & event_kind_bits)) {
      case event_kind::leave:
        if (!at.open.empty()) {  // else its beginning belongs to an earlier session
          open_scope const& scope = at.open.back();
          into.scopes.push_back({{scope.begin, std::max(scope.begin, time)}, scope.path, *at.thread});
          at.open.pop_back();
        }
        return 1;
      case event_kind::enter:
        at.open.push_back({paths_.path_of(parent_of(at), where, std::nullopt, into), time});
        return 1;
      case event_kind::enter_step:
        at.open.push_back({paths_.path_of(path_record::no_parent, where, std::nullopt, into), time});
        return 1;
      case event_kind::enter_indexed:
        at.open.push_back({paths_.path_of(parent_of(at), where, static_cast<std::int64_t>(payload), into), time});
        return 2;
      case event_kind::enter_noted: {
        at.open.push_back({paths_.path_of(parent_of(at), where, std::nullopt, into), time});
        auto& note = *reinterpret_cast<scope_note*>(payload);
        note.path = at.open.back().path;
        note.begin_ns = time.time_since_epoch().count();
        note.resolved = true;
        return 2;
      }
      case event_kind::enter_adopted:
        at.open.push_back({paths_.path_of(*reinterpret_cast<scope_node const*>(payload), into), time});
        return 2;
      case event_kind::thread_rest: {
        thread_record changed = into.threads[*at.thread];
        changed.rest_path = paths_.path_of(*reinterpret_cast<scope_node const*>(payload), into);
        if (changed.rest_path == into.threads[*at.thread].rest_path) return 2;
        at.thread = static_cast<std::uint32_t>(into.threads.size());
        into.threads.push_back(std::move(changed));
        return 2;
      }
      case event_kind::counter: {
        double value = 0.0;
        std::memcpy(&value, &payload, sizeof value);
        into.counters.push_back({time, value, position_of(where->name, into.counter_names), *at.thread});
        return 2;
      }
      case event_kind::allocated:
        take_allocation(allocation_kind::allocated, *where, payloads, at, into, time);
        return 2;
      case event_kind::released:
        take_allocation(allocation_kind::released, *where, payloads, at, into, time);
        return 2;
      case event_kind::level:
        take_allocation(allocation_kind::level, *where, payloads, at, into, time);
        return 2;
      case event_kind::work:
        if (!at.open.empty()) into.work.push_back({at.open.back().begin, at.open.back().path, work_of(event, payloads)});
        return 2;
      case event_kind::begin_call:
        at.calls.push_back({where, payload, time});
        return 2;
      case event_kind::end_call:
        if (!at.calls.empty()) {  // else its beginning belongs to an earlier session
          open_call const& call = at.calls.back();
          into.api_calls.push_back(
              {{call.begin, std::max(call.begin, time)}, call.correlation, position_of(call.where->name, into.api_names), *at.thread});
          at.calls.pop_back();
        }
        return 1;
    }
    return 1;
  }

  static void take_allocation(allocation_kind kind, site const& source, log_slot const& payloads, reading const& at, profile& into,
                              timestamp time) {
    auto const known = std::find_if(into.allocators.begin(), into.allocators.end(),
                                    [&](allocator_record const& each) { return each.name == source.name; });
    auto const allocator = static_cast<std::uint16_t>(known - into.allocators.begin());
    if (known == into.allocators.end()) into.allocators.push_back({source.name, 0, kind == allocation_kind::level});
    into.allocations.push_back({time, payloads.ticks, payloads.what, *at.thread, allocator, kind});
  }

  /// What `packed` and `put_work` wrote.
  static profkit::work work_of(log_slot const& event, log_slot const& payloads) noexcept {
    profkit::work result;
    auto const backward = static_cast<std::uint32_t>(event.what >> 32U);
    std::memcpy(&result.backward, &backward, sizeof result.backward);
    std::memcpy(&result.flops, &payloads.ticks, sizeof result.flops);
    std::memcpy(&result.bytes, &payloads.what, sizeof result.bytes);
    result.precision = static_cast<precision>((event.what >> 8U) & 0xffU);
    return result;
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
  std::uint64_t unlogged_before_ = 0;
};

}  // namespace profkit::detail
