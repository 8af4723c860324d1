// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../../work.hpp"
#include "../collect/scope_node_paths.hpp"
#include "../profile/make_profile_builder.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../record/clock.hpp"
#include "../record/log_event.hpp"
#include "../record/scope_node.hpp"
#include "../record/scope_work.hpp"
#include "../record/thread_log.hpp"
#include "../record/thread_registry.hpp"
#include "open_ranges.hpp"

namespace PROFKIT_NAMESPACE::detail {

// The layout of events in a log: see `event_kind`. `event` points to the first slot.

/// Whether the slot ends a scope or a call.
[[nodiscard]] inline bool is_leave(std::uint64_t what) noexcept { return (what & leave_mark) != 0; }

/// The kind of an event, unless `is_leave` is true.
[[nodiscard]] inline event_kind kind_of(std::uint64_t what) noexcept { return static_cast<event_kind>(what & event_kind_bits); }

[[nodiscard]] inline bool is_continued(std::uint64_t what) noexcept { return !is_leave(what) && kind_of(what) == event_kind::continued; }

/// Whether the event is a memory event.
[[nodiscard]] inline bool is_memory(std::uint64_t what) noexcept {
  if (is_leave(what)) return false;
  event_kind const kind = kind_of(what);
  return kind == event_kind::allocated || kind == event_kind::released || kind == event_kind::usage;
}

/// The time of an event, in ticks; not for `continued`.
[[nodiscard]] inline std::uint64_t ticks_of(std::uint64_t const* event) noexcept {
  return is_leave(*event) ? *event & ~leave_mark : event[1];
}

[[nodiscard]] inline site const& site_of(std::uint64_t what) noexcept { return *reinterpret_cast<site const*>(what & ~event_kind_bits); }

/// The object to which the first slot of a collective points.
template <class T>
[[nodiscard]] T const* pointer_in(std::uint64_t what) noexcept {
  return reinterpret_cast<T const*>(what & ~event_kind_bits);
}

/// The number of slots of an event; not for `continued`.
[[nodiscard]] inline std::uint64_t slots_of(std::uint64_t what) noexcept {
  if (is_leave(what)) return 1;
  static constexpr std::uint8_t sizes[event_kind_bits + 1] = {0, 2, 3, 3, 2, 3, 3, 3, 3, 4, 4, 4, 4, 8, 4};  // in the order of `event_kind`
  return sizes[what & event_kind_bits];
}

/// Follows a `continued`: returns the first event of the next chunk, and gives the finished chunk back to the writer.
[[nodiscard]] inline std::uint64_t const* first_event_of_next_chunk(std::uint64_t what, thread_log& log) noexcept {
  return continue_in_chunk(log, *reinterpret_cast<log_chunk*>(what));
}

/// The value of a `counter`.
[[nodiscard]] inline double value_of(std::uint64_t const* event) noexcept {
  double value = 0.0;
  std::memcpy(&value, &event[2], sizeof value);
  return value;
}

/// The values of a `work` event, as written by `packed` and `put_work`.
[[nodiscard]] inline profkit::work work_of(std::uint64_t const* event) noexcept {
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

/// The times of the steps' own scopes, as read from the logs, until `take`. A step has the times of its scope, so the two agree
/// independently of the clocks. All functions take logarithmic time if steps are read in the order in which they ran.
class step_scopes {
 public:
  /// A step's scope begins. @param ticks identifies the step: `raw_step::begin_ticks`.
  void begin(std::uint64_t ticks, timestamp time) {
    if (times_.size() == max_times) times_.pop_front();
    times_.insert(at(ticks), {ticks, {time, time}});  // at the end, except if steps run on several threads, which are read in turn
  }

  /// A step's scope ends. @param time time of the scope.
  void end(interval const& time) {
    auto const found = std::find_if(times_.rbegin(), times_.rend(), [&](entry const& each) { return each.time.begin <= time.begin; });
    if (found != times_.rend() && found->time.begin == time.begin) found->time.end = time.end;
  }

  /// The time of a step's scope. The interval is empty if the end of the scope is unknown. Returns nothing if the scope was not recorded.
  /// Must be called for steps in the order in which they ran. Removes the times of earlier steps.
  [[nodiscard]] std::optional<interval> take(std::uint64_t ticks) {
    times_.erase(times_.begin(), at(ticks));
    if (times_.empty() || times_.front().ticks != ticks) return std::nullopt;
    return times_.front().time;
  }

 private:
  /// Limits the list if steps are never taken, such as steps of a session that no longer records while another session does. More steps
  /// than a slice of the logs can have (`log_reader::slots_of_slice`).
  static constexpr std::size_t max_times = 131'072;

  struct entry {
    std::uint64_t ticks;
    interval time;
  };

  /// The first entry that is not earlier. The usual places are tried first.
  [[nodiscard]] own_deque<entry>::iterator at(std::uint64_t ticks) {
    if (times_.empty() || times_.back().ticks < ticks) return times_.end();
    if (ticks <= times_.front().ticks) return times_.begin();
    return std::lower_bound(times_.begin(), times_.end(), ticks,
                            [](entry const& each, std::uint64_t wanted) { return each.ticks < wanted; });
  }

  own_deque<entry> times_;  ///< by `ticks`
};

/// The open scopes of a thread that are collectives.
class scope_collectives {
 public:
  [[nodiscard]] bool empty() const noexcept { return open_.empty(); }

  /// @param depth number of open scopes and calls, including the scope.
  /// @param record record of the collective, without its end.
  void begin(std::size_t depth, collective_record const& record) { open_.push_back({depth, record}); }

  /// Adds the collectives of all open scopes to a list.
  void append_to(own_vector<collective_record>& list) const {
    for (open_collective const& each : open_) {
      list.push_back(each.record);
      list.back().time.end = list.back().time.begin;
    }
  }

  /// Adds the collectives of the ending scope at a depth.
  void end(std::size_t depth, timestamp time, profile_builder& into) {
    for (; !open_.empty() && open_.back().depth >= depth; open_.pop_back()) {
      collective_record& record = open_.back().record;
      record.time.end = time;
      into.add_unchecked(record);
    }
  }

 private:
  struct open_collective {
    std::size_t depth;
    collective_record record;
  };

  own_vector<open_collective> open_;
};

/// Remembers table positions by site, so that names are not compared for each event.
class recent_sites {
 public:
  /// @param find returns the position of a site that is not known.
  template <class Find>
  std::uint32_t position_of(site const& where, Find&& find) {
    auto& [last, position] = recent_[reinterpret_cast<std::uintptr_t>(&where) / sizeof(site) % recent_.size()];
    if (last == &where) return position;
    auto const known = all_.find(&where);
    position = known != all_.end() ? known->second : all_[&where] = find();
    last = &where;
    return position;
  }

 private:
  std::array<std::pair<site const*, std::uint32_t>, 64> recent_{};
  own_hash_map<site const*, std::uint32_t> all_;
};

/// The last API call of a thread that returned. It is used to find the launch of a collective.
///
/// A library that launches the kernel of a collective reports the collective immediately afterwards, so the report is the next event of the
/// log. Compares positions in the log, because clocks can be coarse.
struct last_call {
  site const* where = nullptr;
  std::uint64_t correlation = 0;
  std::uint64_t const* next = nullptr;  ///< the event after the call, or after the collectives that follow it

  /// The correlation of the call, if it launched a kernel immediately before an event; otherwise 0.
  [[nodiscard]] std::uint64_t launch_before(std::uint64_t const* event) const noexcept {
    constexpr char const* launch = "cuLaunchKernel";
    return next == event && std::strncmp(where->name, launch, std::strlen(launch)) == 0 ? correlation : 0;
  }

  /// To be called after a collective, and where the log continues in another chunk, because the writer may reuse positions in earlier
  /// chunks.
  void continue_at(std::uint64_t const* before, std::uint64_t const* after) noexcept { next = next == before ? after : nullptr; }
};

struct thread_reading {
  std::uint32_t generation = 0;         ///< generation of the log: number of threads that have owned it
  std::optional<std::uint32_t> thread;  ///< position in `profile::threads`, from the first event on
  timestamp earliest{};                 ///< the earliest possible time of the next event
  last_call call;
  scope_collectives collectives;
  open_ranges open;
};

/// Converts events of logs to records. If there is no memory for an event, another call converts it: nothing is added twice.
class event_records {
 public:
  explicit event_records(profile_builder& into) : into_{into} {}

  /// Converts the next event of a thread that has a position; a scope and its end together if nothing lies between them. Frequent kinds
  /// come first, because they dominate draining.
  /// @param end the end of the log; `event` to convert one event only.
  /// @param newest later events are not converted.
  /// @return the number of slots of the converted events.
  [[gnu::always_inline]] std::uint64_t take(std::uint64_t const* event, std::uint64_t const* end, std::uint64_t newest, thread_reading& at,
                                            clock_line const& clock) {
    std::uint64_t const what = *event;
    if (is_leave(what)) {
      what == leave_at_unknown_time ? leave_jumped_over(at) : leave(at, time_of(ticks_of(event), at, clock), event + 1);
      return 1;
    }
    if (kind_of(what) == event_kind::enter) {
      timestamp const begin = time_of(event[1], at, clock);
      if (end != event && ends_next(event + 2, end, newest)) {
        std::uint32_t const path = paths_.path_of(at.open.path(), site_of(what), std::nullopt, into_);
        interval const when{begin, std::max(clock.convert(ticks_of(event + 2)), begin)};
        if (__builtin_expect(path != path_record::no_parent, 1)) into_.add_unchecked(scope_record{when, path, *at.thread});
        at.earliest = when.end;
        return 3;
      }
      open(at, site_of(what), std::nullopt, begin);
      return 2;
    }
    if (kind_of(what) == event_kind::begin_call) {
      at.open.push_call(time_of(event[1], at, clock), site_of(what), static_cast<std::uint32_t>(event[2]));
      return 3;
    }
    take_other(event, at, is_memory(what) ? time_of_memory(event[1], at, clock) : time_of(event[1], at, clock), clock);
    return slots_of(what);
  }

  [[nodiscard]] std::optional<interval> take_step(std::uint64_t begin_ticks) { return steps_.take(begin_ticks); }

  /// Ends the innermost scope or call, which was left without its destructor, at the time of the previous event.
  __attribute__((noinline)) void leave_jumped_over(thread_reading& at) {
    bool const is_scope = !at.open.empty() && at.open.back().call == nullptr;
    leave(at, at.earliest, nullptr);
    if (is_scope) into_.count(&quality_record::misnested_scopes);
  }

 private:
  /// Whether the next event ends the innermost scope.
  [[gnu::always_inline]] static bool ends_next(std::uint64_t const* next, std::uint64_t const* end, std::uint64_t newest) noexcept {
    return next != end && is_leave(*next) && *next != leave_at_unknown_time && ticks_of(next) <= newest;
  }

  /// The time of the next event of a thread.
  [[gnu::always_inline]] static timestamp time_of(std::uint64_t ticks, thread_reading& at, clock_line const& clock) noexcept {
    return at.earliest = std::max(clock.convert(ticks), at.earliest);
  }

  /// The time of a memory event. It is made unique within the thread, because its order relative to scopes determines its scope.
  static timestamp time_of_memory(std::uint64_t ticks, thread_reading& at, clock_line const& clock) noexcept {
    constexpr std::chrono::nanoseconds apart{1};
    timestamp const time = std::max(clock.convert(ticks), at.earliest + apart);
    at.earliest = time + apart;
    return time;
  }

  __attribute__((noinline)) void take_other(std::uint64_t const* event, thread_reading& at, timestamp time, clock_line const& clock) {
    switch (kind_of(*event)) {
      case event_kind::enter_indexed:
        open(at, site_of(*event), static_cast<std::int64_t>(event[2]), time);
        return;
      case event_kind::enter_step:
        open_step(event, at, time);
        return;
      case event_kind::enter_noted:
        open(at, site_of(*event), std::nullopt, time);
        resolve(*reinterpret_cast<scope_note*>(event[2]), at.open.back());
        return;
      case event_kind::enter_adopted:
        at.open.push_scope(time, nodes_.path_of(*reinterpret_cast<scope_node const*>(event[2]), into_));
        return;
      case event_kind::default_scope:
        take_default_scope(*reinterpret_cast<scope_node const*>(event[2]), at);
        return;
      case event_kind::counter:
        into_.add_unchecked(counter_record{time, value_of(event), position_of_counter(site_of(*event)), *at.thread});
        return;
      case event_kind::allocated:
        take_allocation(allocation_kind::allocated, event, at, time);
        return;
      case event_kind::released:
        take_allocation(allocation_kind::released, event, at, time);
        return;
      case event_kind::usage:
        take_allocation(allocation_kind::usage, event, at, time);
        return;
      case event_kind::work:
        take_work(event, at);
        return;
      case event_kind::scope_collective:
        take_scope_collective(event, at, clock);
        return;
      case event_kind::reported_collective:
        take_reported_collective(event, at, time);
        return;
      case event_kind::enter:  // handled in `take`, like `begin_call`
      case event_kind::begin_call:
      case event_kind::continued:  // not an event
        return;
    }
  }

  [[gnu::always_inline]] void open(thread_reading& at, site const& where, std::optional<std::int64_t> index, timestamp time) {
    std::uint32_t const around = at.open.path();
    std::uint32_t const path = paths_.path_of(around, where, index, into_);
    bool const has_path = path != path_record::no_parent;
    at.open.push_scope(time, has_path ? path : around, has_path ? scope_kind::ordinary : scope_kind::collapsed);
  }

  void open_step(std::uint64_t const* event, thread_reading& at, timestamp time) {
    at.open.make_room();
    std::uint32_t const path = into_.position_of(path_of_step(site_of(*event)));
    steps_.begin(event[1], time);
    at.open.push_scope(time, path, scope_kind::step);
  }

  /// Ends the innermost scope or call. If there is none, its beginning belongs to an earlier session.
  /// @param next the slot after the event; null if unknown.
  [[gnu::always_inline]] void leave(thread_reading& at, timestamp time, std::uint64_t const* next) {
    if (at.open.empty()) return;
    open_range const& done = at.open.back();
    interval const when{done.begin, time};
    if (__builtin_expect(!at.collectives.empty(), 0)) at.collectives.end(at.open.depth(), time, into_);
    if (done.call != nullptr) {
      at.call = {done.call, into_.extended_correlation(done.correlation), next};
      into_.add_unchecked(api_call_record{when, at.call.correlation, position_of_call(*done.call), *at.thread});
      if (launches_graph(*done.call)) leave_graph_launch(at, done.path);
    } else if (__builtin_expect(done.kind == scope_kind::ordinary, 1)) {
      into_.add_unchecked(scope_record{when, done.path, *at.thread});
    } else if (done.kind == scope_kind::step) {
      leave_step({when, done.path, *at.thread});
    }
    at.open.pop();
  }

  [[nodiscard]] static bool launches_graph(site const& call) noexcept {
    constexpr std::string_view launch = "cuGraphLaunch";
    return std::strncmp(call.name, launch.data(), launch.size()) == 0;
  }

  __attribute__((noinline)) void leave_graph_launch(thread_reading const& at, std::uint32_t path) {
    into_.add_graph_launch(at.call.correlation, path != path_record::no_parent ? path : into_.so_far().threads[*at.thread].default_path);
  }

  __attribute__((noinline)) void leave_step(scope_record const& done) {
    into_.add_unchecked(done);
    steps_.end(done.time);
  }

  static void resolve(scope_note& note, open_range const& scope) noexcept {
    note.path = scope.has_path() ? scope.path : path_record::no_parent;
    note.begin_ns = scope.begin.time_since_epoch().count();
    note.newer = nullptr;
    (note.list->oldest == nullptr ? note.list->oldest : note.list->newest->newer) = &note;
    note.list->newest = &note;
  }

  void take_default_scope(scope_node const& node, thread_reading& at) {
    auto const& threads = into_.so_far().threads;
    thread_record changed = threads[*at.thread];
    std::uint32_t const path = nodes_.path_of(node, into_);
    if (changed.default_path == path) return;
    changed.default_path = path;
    auto const is_entry = [&](thread_record const& each) {
      return each.system_id == changed.system_id && each.default_path == path && each.name == changed.name;
    };
    auto const known = std::find_if(threads.begin(), threads.end(), is_entry);
    at.thread = known != threads.end() ? static_cast<std::uint32_t>(known - threads.begin()) : into_.add(std::move(changed));
  }

  void take_allocation(allocation_kind kind, std::uint64_t const* event, thread_reading const& at, timestamp time) {
    site const& source = site_of(*event);
    std::uint32_t const allocator = allocators_.position_of(source, [&] {
      return into_.position_of(allocator_record{source.name, 0, kind == allocation_kind::usage});
    });
    into_.add_unchecked(allocation_record{time, event[2], event[3], *at.thread, static_cast<std::uint16_t>(allocator), kind});
  }

  /// Adds work to the innermost scope.
  void take_work(std::uint64_t const* event, thread_reading const& at) {
    if (at.open.path() == path_record::no_parent) return;
    into_.add_unchecked(work_record{at.open.innermost_scope().begin, at.open.path(), work_of(event)});
  }

  /// See `put_collective`.
  void take_scope_collective(std::uint64_t const* event, thread_reading& at, clock_line const& clock) {
    if (at.open.empty()) return;
    communicator const& group = *pointer_in<communicator>(*event);
    collective_record record = record_of(group, reinterpret_cast<char const*>(event[2]));
    timestamp const begin = at.open.back().begin;
    auto const moment = [&](std::uint64_t ticks) { return ticks == 0 ? begin : std::min(begin, clock.convert(ticks)); };
    record.bytes = event[3] >> 2U;
    record.side = static_cast<message_side>(event[3] & 3U);
    record.sequence = event[4];
    record.time.begin = moment(event[6]);
    record.posted = std::min(record.time.begin, moment(event[5]));
    record.partner = static_cast<std::uint32_t>(event[7] >> 32U);
    record.tag = static_cast<std::int32_t>(event[7] & 0xffffffffU);
    record.path = at.open.path();
    record.thread = *at.thread;
    at.collectives.begin(at.open.depth(), record);
  }

  void take_reported_collective(std::uint64_t const* event, thread_reading& at, timestamp time) {
    reported_collective const& what = *pointer_in<reported_collective>(*event);
    collective_record record = record_of(*what.group, what.function);
    record.time = {time, time};
    record.sequence = event[2];
    record.bytes = event[3];
    record.datatype = into_.position_of_collective_word(what.datatype);
    record.algorithm = into_.position_of_collective_word(what.algorithm);
    record.protocol = into_.position_of_collective_word(what.protocol);
    if (!what.is_captured) record.correlation = at.call.launch_before(event);
    if (what.side != message_side::none) {
      constexpr std::uint64_t uncounted = 0xffffffffU;
      record.sequence = event[2] >> 32U == uncounted ? message_counts::unknown : event[2] >> 32U;
      record.partner = static_cast<std::uint32_t>(event[2] & 0xffffffffU);
      if (record.correlation != 0) record.side = what.side;  // without a kernel, its time is unknown
    }
    record.path = at.open.path();
    if (record.path == path_record::no_parent) record.path = into_.so_far().threads[*at.thread].default_path;
    record.thread = *at.thread;
    record.is_captured = what.is_captured;
    into_.add_unchecked(record);
    at.call.continue_at(event, event + slots_of(*event));
  }

  collective_record record_of(communicator const& group, char const* function) {
    collective_record record;
    record.communicator = into_.position_of(communicator_record{group.id, group.name, group.rank, group.size});
    record.function = into_.position_of_collective_word(function);
    record.datatype = record.algorithm = record.protocol = into_.position_of_collective_word("");
    return record;
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
  step_scopes steps_;
  recent_sites calls_;
  recent_sites counters_;
  recent_sites allocators_;
};

}  // namespace PROFKIT_NAMESPACE::detail
