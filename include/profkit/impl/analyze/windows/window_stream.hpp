// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../../time.hpp"
#include "../../profile/journal_format.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile_follower.hpp"
#include "../analysis.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// How long a window waits for late data.
struct window_waits {
  /// A thread may be preempted between reading the time of an event and writing it.
  std::chrono::nanoseconds for_threads = std::chrono::milliseconds{20};
  /// Operations without a known launching call, such as those of a CUDA graph, have arrived this long after their beginning.
  std::chrono::nanoseconds for_graphs = std::chrono::milliseconds{50};
  /// A launching call has no operation if the operation of a call this much later has arrived.
  std::chrono::nanoseconds for_operations = std::chrono::seconds{5};
  std::chrono::nanoseconds for_work = std::chrono::seconds{60};
  /// Maximum wait for the end of a scope.
  std::chrono::nanoseconds for_scopes = std::chrono::seconds{60};
  /// Replaces `for_threads` if no figure depends on the order of events on different threads. A late record then counts in the next window.
  std::chrono::nanoseconds for_threads_in_any_order = std::chrono::milliseconds{1};

  /// Shorter waits if many records are waiting.
  [[nodiscard]] window_waits with_waiting(std::size_t records) const noexcept {
    constexpr std::size_t few = std::size_t{1} << 17U;
    window_waits result = *this;
    if (records > few) result.for_scopes /= 60;
    if (records > 2 * few) result.for_scopes = {};
    if (records > 4 * few) result.for_work /= 10;
    if (records > 16 * few) result.for_work /= 6;
    return result;
  }
};

struct window_parts;
window_parts* new_copy(window_parts const* from);
void destroy(window_parts* value) noexcept;

/// Computes the figures of a running session window by window, and forgets the records of each window after adding it.
class window_stream {
 public:
  explicit window_stream(analyze_options with = {}, window_waits waits = {}) : sums_{std::move(with)}, waits_{waits} {}

  /// Sets the steps whose records are kept. To be called before the first window.
  void keep(kept_steps const& which);

  /// Whether the records of all steps are kept.
  [[nodiscard]] bool keeps_all() const noexcept;

  /// Moves the records of the kept steps to the ends of the lists of a profile, in step order.
  /// @return the number of moved records, not counting the step records.
  std::uint64_t move_kept_to(profile& to);

  /// Whether enough was recorded since the last search for a border to search again.
  [[nodiscard]] bool is_due(profile_builder const& from) const noexcept {
    return from.records() - looked_at_ >= std::max({records_at_a_time, left_waiting_, count_tables(from.so_far())});
  }

  /// Whether as many records as of a window were recorded since the last `take`.
  [[nodiscard]] bool has_many_new(profile_builder const& from) const noexcept { return from.records() - taken_ >= records_at_a_time; }

  /// Takes the records since the last call.
  void take(profile_builder& from);

  /// The records that are not added yet, with the tables of the session.
  [[nodiscard]] profile& waiting() noexcept { return waiting_; }
  [[nodiscard]] profile const& waiting() const noexcept { return waiting_; }

  /// Adds complete windows. If there is no memory for a window, its records and later ones are lost, because its figures may contain some
  /// of them: see `lost`.
  void add_complete(arrival const& until);

  /// The live allocations of all records that were taken, and a reading of each allocator's other bytes in use.
  [[nodiscard]] own_vector<allocation_record> live_allocations() const;

  /// The number of records that were lost because there was no memory.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

  /// Adds everything. To be called after the end of recording.
  void add_rest(bool has_steps);

  /// The head of the next journal file, without `number` and `forgotten`.
  [[nodiscard]] journal_head head() const;

  /// Continues from the state of the stream that created a head, without its kept records.
  /// @param figures `journal_head::figures`.
  /// @param waiting `journal_head::waiting` and all later records; validated by the caller.
  /// @throws profkit::error if another version of profkit wrote the figures, or if they are damaged.
  void resume(own_string const& figures, profile waiting);

  /// Whether the added windows have a step.
  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  /// The figures of all added windows.
  [[nodiscard]] analysis const& sums() const noexcept { return sums_; }

  /// The end of the last added window; `timestamp::min()` before the first.
  [[nodiscard]] timestamp until() const noexcept { return from_; }

  /// The number of added windows.
  [[nodiscard]] std::uint64_t windows() const noexcept { return windows_; }

  auto members();

 private:
  void lose_waiting() noexcept;

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
           session.collective_words.size() + session.functions.size() + session.launch_shapes.size();
  }

  /// A few milliseconds of work.
  static constexpr std::uint64_t records_at_a_time = std::uint64_t{1} << 14U;

  /// Empty if no figure needs it.
  [[nodiscard]] attribution attribution_of_waiting() const;

  /// Moves late records whose window was already added, and scopes for which the stream no longer waits. Without steps they count in any
  /// window. With steps, scopes and collectives count in the next measured step.
  void move_late_records(bool has_steps);

  void move_late_scopes();

  /// Stops waiting for open scopes that began in an added measured step.
  void pass_over(own_vector<scope_record> const& open, timestamp border);

  /// Moves an interval after the last window, with the same duration.
  void move(interval& time) const {
    if (time.end < from_) time = {time.begin + (from_ - time.end), from_};
  }

  void add(attribution const& launched, timestamp border, bool has_steps);

  void find_steps_thread();

  void find_gpu_steps(attribution const& launched, window_frame& frame);

  profile_follower follower_;
  std::uint64_t taken_ = 0;  ///< number of taken records, as `profile_builder::records` counts
  profile waiting_;
  std::uint64_t looked_at_ = 0;     ///< `taken_` when `add_complete` searched a border
  std::uint64_t left_waiting_ = 0;  ///< number of records in `waiting_` after it
  std::uint64_t known_scopes_ = 0;  ///< number of scopes in `waiting_` when the last window was added
  std::uint64_t known_calls_ = 0;
  std::uint64_t known_collectives_ = 0;
  std::set<std::pair<std::uint32_t, timestamp>> unfinished_;  ///< thread and beginning of scopes for which the stream no longer waits
  analysis sums_;
  boxed<window_parts> parts_;
  window_waits waits_;
  bool has_steps_ = false;
  timestamp from_ = timestamp::min();  ///< end of the last window
  std::uint64_t windows_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<std::uint32_t> steps_thread_;
};

}  // namespace PROFKIT_NAMESPACE::detail
