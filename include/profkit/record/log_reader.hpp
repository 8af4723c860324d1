// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "clock.hpp"
#include "recorder.hpp"
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
    for_each_log([&](thread_log& log) { drain(log, into, clock, last); });
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
    std::vector<open_scope> open;
    std::vector<open_call> calls;
  };

  struct path_key {
    std::uint32_t parent;
    site const* where;
    std::optional<std::int64_t> index;
    bool operator==(path_key const& other) const noexcept { return parent == other.parent && where == other.where && index == other.index; }
  };

  struct path_hash {
    std::size_t operator()(path_key const& key) const noexcept {
      std::size_t hash = std::hash<site const*>{}(key.where);
      hash = hash * 0x9e3779b97f4a7c15U + key.parent;
      return hash * 0x9e3779b97f4a7c15U + std::hash<std::optional<std::int64_t>>{}(key.index);
    }
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
      at = reading{generation, std::nullopt, {}, {}};
    }
    std::uint64_t position = log.read;
    while (position < end) {
      log_slot const& event = log.slots[position & log.mask];
      if (!last && event.ticks > clock.newest().ticks) break;
      if (!at.thread) {
        at.thread = static_cast<std::uint32_t>(into.threads.size());
        into.threads.push_back({log.thread_system_id, log.thread_name});
      }
      position += take(event, log.slots[(position + 1) & log.mask].ticks, at, into, clock.convert(event.ticks));
    }
    release_read_slots(log, position);
    __atomic_store_n(&log.read, position, __ATOMIC_RELEASE);
    if (state == log_left && position == end) __atomic_store_n(&log.state, std::uint32_t{log_free}, __ATOMIC_RELEASE);
  }

  /// @return the number of slots that the event takes.
  std::uint64_t take(log_slot const& event, std::uint64_t payload, reading& at, profile& into, timestamp time) {
    auto const* const where = reinterpret_cast<site const*>(event.what & ~std::uint64_t{7});
    switch (static_cast<event_kind>(event.what & 7U)) {
      case event_kind::leave:
        if (!at.open.empty()) {  // else its beginning belongs to an earlier session
          open_scope const& scope = at.open.back();
          into.scopes.push_back({{scope.begin, std::max(scope.begin, time)}, scope.path, *at.thread});
          at.open.pop_back();
        }
        return 1;
      case event_kind::enter:
        at.open.push_back({path_of(parent_of(at), where, std::nullopt, into), time});
        return 1;
      case event_kind::enter_step:
        at.open.push_back({path_of(path_record::no_parent, where, std::nullopt, into), time});
        return 1;
      case event_kind::enter_indexed:
        at.open.push_back({path_of(parent_of(at), where, static_cast<std::int64_t>(payload), into), time});
        return 2;
      case event_kind::enter_noted: {
        at.open.push_back({path_of(parent_of(at), where, std::nullopt, into), time});
        auto& note = *reinterpret_cast<scope_note*>(payload);
        note.path = at.open.back().path;
        note.begin_ns = time.time_since_epoch().count();
        note.resolved = true;
        return 2;
      }
      case event_kind::counter: {
        double value = 0.0;
        std::memcpy(&value, &payload, sizeof value);
        into.counters.push_back({time, value, position_of(where->name, into.counter_names), *at.thread});
        return 2;
      }
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

  static std::uint32_t parent_of(reading const& at) noexcept { return at.open.empty() ? path_record::no_parent : at.open.back().path; }

  std::uint32_t path_of(std::uint32_t parent, site const* where, std::optional<std::int64_t> index, profile& into) {
    path_key const key{parent, where, index};
    auto const known = paths_.find(key);
    // The name is compared, too: the site of an unloaded library may have given its address to another.
    if (known != paths_.end() && into.paths[known->second].name == where->name) return known->second;
    std::uint32_t path = 0;
    while (path < into.paths.size() && !is_same(into.paths[path], parent, where->name, index)) ++path;
    if (path == into.paths.size()) into.paths.push_back({parent, where->name, index, where->file, where->line});
    paths_[key] = path;
    return path;
  }

  static bool is_same(path_record const& path, std::uint32_t parent, char const* name, std::optional<std::int64_t> index) {
    return path.parent == parent && path.index == index && path.name == name;
  }

  static std::uint32_t position_of(char const* name, std::vector<std::string>& names) {
    auto const known = std::find(names.begin(), names.end(), name);
    auto const position = static_cast<std::uint32_t>(known - names.begin());
    if (known == names.end()) names.emplace_back(name);
    return position;
  }

  std::unordered_map<thread_log*, reading> readings_;
  std::unordered_map<path_key, std::uint32_t, path_hash> paths_;
  std::uint64_t unlogged_before_ = 0;
};

}  // namespace profkit::detail
