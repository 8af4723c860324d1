// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../collect/perf_ring.hpp"
#include "../profile/journal_format.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/profile_follower.hpp"
#include "../record/clock.hpp"
#include "../record/recorder.hpp"
#include "../record/thread_registry.hpp"
#include "event_records.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Such as "load (a.cpp:40)".
[[nodiscard]] inline std::string text_of(site const* where) {
  if (where == nullptr) return "a scope";
  return std::string{where->name} + " (" + where->file + ":" + std::to_string(where->line) + ")";
}

[[nodiscard]] inline std::string text_of(wrong_end const& entry) {
  std::string text = text_of(entry.where);
  switch (entry.kind) {
    case wrong_end_kind::on_another_thread:
      text += " ended on another thread than it began";
      return entry.other == nullptr ? text : text + ", inside " + text_of(entry.other);
    case wrong_end_kind::after_another:
      text += " ended after an outer scope had ended";
      return entry.other == nullptr ? text : text + ", inside " + text_of(entry.other);
    case wrong_end_kind::never:
      return text + " had not ended when " + text_of(entry.other) + " ended around it";
  }
  return text;
}

/// The wrong ends counted since the session began.
[[nodiscard]] inline own_vector<wrong_end_record> known_wrong_ends() {
  own_vector<wrong_end_record> result;
  for (wrong_end const& each : recorder.wrong_ends.entries) {
    if (__atomic_load_n(&each.state, __ATOMIC_ACQUIRE) == 2)
      result.push_back({text_of(each), __atomic_load_n(&each.count, __ATOMIC_RELAXED)});
  }
  return result;
}

/// Discards the content of all logs, and frees the logs of ended threads. Must not be called while a `log_reader` reads.
inline void skip_logs() {
  recorder.wrong_ends.clear();
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    std::uint32_t const state = __atomic_load_n(&log->state, __ATOMIC_ACQUIRE);
    std::uint64_t const* const end = __atomic_load_n(&log->next_slot, __ATOMIC_ACQUIRE);
    for (std::uint64_t const* position = log->read; position != end;) {
      position = is_continued(*position) ? first_event_of_next_chunk(*position, *log) : position + slots_of(*position);
    }
    log->read = end;
    if (state == log_left) free_log(*log);
  }
}

/// Reads the logs of all threads into records. One object at a time, because each log has one reader.
class log_reader {
 public:
  /// Starts reading here; events of earlier sessions are skipped.
  /// @param into borrowed.
  explicit log_reader(profile_builder& into) : into_{into}, records_{into} { skip_logs(); }

  /// Charges samples to the scopes that were open when they were taken, from now on.
  /// @param from borrowed; null: no more samples.
  /// @param to borrowed; receives the samples and their functions. Paths and threads are positions in the profile of the logs.
  void use_samples(sample_source* from, profile_builder* to) noexcept {
    samples_ = from;
    samples_to_ = to;
  }

  /// Reads the samples of all threads. To be called after the clock anchor was set and before `drain`, which then finds all samples before
  /// the anchor.
  void read_samples() {
    if (samples_ != nullptr) samples_->read(*samples_to_);
  }

  /// Reads the events up to a moment, at most the newest clock anchor; with `last`, all events.
  /// @param until_ticks set to an earlier moment if the logs contain more than `slots_of_slice`.
  /// @param slots increased by the number of slots read.
  /// @param goes_on called every `events_between_pauses` events; other threads may use the profile during the call. If it returns false and
  ///   `last` is not set, the reader stops.
  /// @return false if it was stopped.
  template <class Pause>
  bool drain(clock_line const& clock, std::uint64_t& until_ticks, bool last, std::uint64_t& slot_count, Pause&& goes_on) {
    // From the oldest thread to the newest, so that adopted paths precede adopting ones in the tree.
    own_vector<thread_log*> logs;
    for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) logs.push_back(log);
    auto const pause = [&] { return goes_on() || last; };
    slice_end_ = last ? ~std::uint64_t{0} : slot_count + slots_of_slice;
    for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
      if (!drain(**log, clock, until_ticks, last, slot_count, pause)) return false;
    }
    count_lost_events();
    return true;
  }

  /// See `step_scopes::take`, for the part of the logs that was read.
  [[nodiscard]] std::optional<interval> take_step(std::uint64_t begin_ticks) { return records_.take_step(begin_ticks); }

  /// The number of open scopes in the part of the logs that was read.
  [[nodiscard]] std::uint64_t open_scopes() const {
    std::uint64_t result = 0;
    for (auto const& [log, at] : readings_) result += at.open.scopes();
    return result;
  }

  /// Adds the open scopes and the beginning of the oldest open API call, for the part of the logs that was read.
  void describe_open(arrival& to) const {
    for (auto const& [log, at] : readings_) {
      thread_reading const& thread = at;
      thread.open.for_each([&](open_range const& each) {
        if (each.call != nullptr) {
          to.open_call = std::min(to.open_call.value_or(each.begin), each.begin);
        } else if (each.has_path()) {
          to.open_scopes.push_back({{each.begin, timestamp::max()}, each.path, *thread.thread});
        }
      });
    }
  }

  /// Adds what is open in the part of the logs that was read.
  void describe_open(journal_open& to) const {
    constexpr std::size_t max_of_thread = 64;
    for (auto const& [log, at] : readings_) {
      if (at.open.empty() || !at.thread) continue;
      thread_reading const& thread = at;
      std::size_t const end = std::min(to.ranges.size() + max_of_thread, journal_open::max_ranges);
      thread.open.for_each([&](open_range const& each) {
        if (to.ranges.size() < end && (each.call != nullptr || each.has_path()))
          to.ranges.push_back({each.begin, each.path, *thread.thread, each.call == nullptr ? "" : each.call->name});
      });
      thread.collectives.append_to(to.collectives);
    }
  }

 private:
  static constexpr std::uint64_t events_between_pauses = 4096;
  /// 1 MiB of logs.
  static constexpr std::uint64_t slots_of_slice = std::uint64_t{1} << 17U;

  void count_lost_events() {
    lost_events lost = all_lost_events();
    lost.subtract(lost_before_);
    into_.set(&quality_record::dropped_events, lost.full + lost.no_memory + lost.no_log + lost.interrupting);
    into_.set(&quality_record::events_without_memory, lost.no_memory);
    into_.set(&quality_record::events_without_log, lost.no_log);
    into_.set(&quality_record::interrupting_events, lost.interrupting);
    into_.set(&quality_record::unmatched_ends, lost.unmatched_ends);
    into_.set(&quality_record::wrong_ends, known_wrong_ends());
  }

  /// Stores the read position of a log, even if an exception is thrown.
  struct saved_position {
    thread_log& log;
    std::uint64_t const*& position;
    ~saved_position() { log.read = position; }
  };

  /// A log with a new owner is read as the log of a new thread.
  thread_reading& reading_of(thread_log const& log) {
    thread_reading& at = readings_[&log];
    std::uint32_t const generation = __atomic_load_n(&log.generation, __ATOMIC_ACQUIRE);
    if (at.generation != generation) {
      into_.count(&quality_record::open_scopes, at.open.scopes());
      at = thread_reading{};
      at.generation = generation;
    }
    return at;
  }

  template <class Pause>
  bool drain(thread_log& log, clock_line const& clock, std::uint64_t& until_ticks, bool last, std::uint64_t& slot_count, Pause&& pause) {
    // Read before `next_slot`, because a log in the state `log_left` gets no further events.
    std::uint32_t const state = __atomic_load_n(&log.state, __ATOMIC_ACQUIRE);
    std::uint64_t const* const end = __atomic_load_n(&log.next_slot, __ATOMIC_ACQUIRE);
    if (log.read == end && state != log_left && samples_ == nullptr) return true;  // most threads of most programs
    thread_reading& at = reading_of(log);
    std::uint64_t const newest = last ? ~leave_mark : until_ticks;
    waiting_samples* samples = samples_ == nullptr ? nullptr : samples_->samples_of(log);
    if (samples != nullptr && samples->empty()) samples = nullptr;
    std::uint64_t const* position = log.read;
    saved_position const save{log, position};  // also if there is no memory for a record; the next round tries again
    while (position != end) {
      if (++events_ % events_between_pauses == 0 && !pause()) return false;
      std::uint64_t const what = *position;
      if (is_continued(what)) {
        std::uint64_t const* const before = std::exchange(position, first_event_of_next_chunk(what, log));
        at.call.continue_at(before, position);
        continue;
      }
      if (ticks_of(position) > newest) break;
      if (slot_count >= slice_end_) {
        until_ticks = ticks_of(position) - 1;
        break;
      }
      if (!at.thread) at.thread = into_.add(thread_record{log.thread_system_id, name_of_thread(log).data()});
      if (__builtin_expect(samples != nullptr, 0)) charge(*samples, clock.convert(ticks_of(position)), log, at);
      std::uint64_t const event_slots = records_.take(position, samples == nullptr ? end : position, newest, at, clock);
      slot_count += event_slots;
      position += event_slots;
    }
    log.read = position;
    bool const is_over = state == log_left && position == end;
    if (samples != nullptr) charge(*samples, is_over || last ? timestamp::max() : clock.convert(until_ticks), log, at);
    if (!is_over) return true;
    while (log.is_broken && !at.open.empty()) records_.leave_jumped_over(at);
    free_log(log);
    return true;
  }

  /// Charges the samples before a moment to the innermost open scope.
  __attribute__((noinline)) void charge(waiting_samples& samples, timestamp until, thread_log const& log, thread_reading& at) {
    while (samples.has_before(until)) {
      if (!at.thread) at.thread = into_.add(thread_record{log.thread_system_id, name_of_thread(log).data()});
      raw_sample const& each = samples.oldest();
      samples_to_->add_unchecked(sample_record{each.time, at.open.path(), each.function, *at.thread, each.weight});
      samples.pop();
    }
  }

  profile_builder& into_;
  sample_source* samples_ = nullptr;
  profile_builder* samples_to_ = nullptr;
  event_records records_;
  own_hash_map<thread_log const*, thread_reading> readings_;
  lost_events lost_before_ = all_lost_events();
  std::uint64_t events_ = 0;
  std::uint64_t slice_end_ = 0;  ///< total number of slots at which the slice ends
};

}  // namespace PROFKIT_NAMESPACE::detail
