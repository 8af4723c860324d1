// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launch_numbers.hpp"
#include "name_positions.hpp"
#include "path_table.hpp"
#include "profile.hpp"
#include "profile_follower.hpp"

namespace profkit {

namespace detail {

/// Whether a member of a profile may be replaced as a whole: every member except lists that only grow.
template <class Member>
inline constexpr bool is_replaceable = true;
template <class Record>
inline constexpr bool is_replaceable<std::vector<Record>> =
    std::is_same_v<Record, graph_node_record> || std::is_same_v<Record, collector_record>;

/// The number of records that count towards the record budget.
[[nodiscard]] inline std::uint64_t count_records(profile const& profile) noexcept {
  return profile.scopes.size() + profile.gpu_scopes.size() + profile.gpu_operations.size() + profile.api_calls.size() +
         profile.counters.size() + profile.allocations.size() + profile.work.size() + profile.collectives.size() + profile.samples.size();
}

}  // namespace detail

/// @brief The only writer of the profile of a running session. The session drains the logs into it and passes it to its collectors.
///
/// * Tables (paths, threads, names, allocators): `position_of` returns the position of an entry and appends it if it is new. Positions stay
///   valid, because tables only grow.
/// * Records refer to positions. `add` appends a record. Records are never changed or removed.
/// * The record budget bounds the records that grow with time: scopes, GPU scopes, GPU operations, API calls, counters, allocations,
///   work, collectives and samples. Records beyond it wait for `take_rest` after a call of `collect_rest`; otherwise they are dropped and
///   counted in `quality_record::discarded_records`.
/// * `count` and `set` change single values of a profile.
///
/// Not thread-safe: a session lets one thread use it at a time.
class profile_builder {
 public:
  profile_builder() = default;
  profile_builder(profile_builder const&) = delete;
  profile_builder& operator=(profile_builder const&) = delete;
  ~profile_builder() = default;

  /// @brief Sets the record budget. To be called before the first record is added. Without a call there is no limit.
  /// @param max_records maximum number of records in the profile.
  void bound_records(std::uint64_t max_records) noexcept { max_records_ = records_left_ = max_records; }

  /// @brief Keeps further records beyond the budget for `take_rest`, and records of steps beyond a limit of their own.
  /// @param max_of_steps maximum number of records in each list of step records.
  void collect_rest(std::uint64_t max_of_steps) noexcept {
    collects_rest_ = true;
    max_of_steps_ = max_of_steps;
  }

  /// @brief Treats all further records as beyond the budget.
  void keep_no_more() noexcept {
    max_records_ -= std::exchange(records_left_, 0);
    max_of_steps_ = 0;
  }

  /// @brief The records beyond the budget since the last `take_rest`.
  [[nodiscard]] profile const& rest() const noexcept { return rest_; }

  /// @brief Moves the records beyond the budget to the ends of the lists of another profile.
  /// @param to the other profile.
  void take_rest(profile& to) { detail::profile_append::move(rest_, to); }

  /// @brief The number of added records, within the budget and beyond it.
  [[nodiscard]] std::uint64_t records() const noexcept { return max_records_ - records_left_ + made_.quality.untraced_records; }

  /// @brief The profile so far.
  [[nodiscard]] profile const& so_far() const noexcept { return made_; }

  /// @brief Returns the profile. Nothing may be added afterwards.
  [[nodiscard]] profile take() noexcept { return std::move(made_); }

  // Tables.

  /// @brief Position in `profile::paths`. Entries are equal if all members except `file` and `line` are equal.
  std::uint32_t position_of(path_record path) { return paths_.find_or_add(std::move(path), made_.paths); }

  /// @brief Like `position_of`, but returns nothing if the path is new and the table of paths is full: see `detail::path_table`.
  std::optional<std::uint32_t> position_if_room(path_record path) { return paths_.find_or_add_if_room(std::move(path), made_.paths); }

  /// @brief Appends an entry to `profile::threads`, even if one with the same system number exists.
  /// @param thread the entry.
  /// @return its position.
  std::uint32_t add(thread_record thread) {
    auto const position = static_cast<std::uint32_t>(made_.threads.size());
    threads_.try_emplace(thread.system_id, position);
    made_.threads.push_back(std::move(thread));
    return position;
  }

  /// @brief Position of the first entry of `profile::threads` with this system number; nothing if there is none.
  [[nodiscard]] std::optional<std::uint32_t> find_thread(std::uint64_t system_id) const {
    auto const known = threads_.find(system_id);
    return known == threads_.end() ? std::nullopt : std::optional{known->second};
  }

  /// @brief Position in `profile::gpu_names`. Entries are equal if their mangled names are equal, or without mangled names their names.
  std::uint32_t position_of(gpu_name_record name) {
    auto const [position, is_new] = gpu_names_.find_or_add(name.mangled.empty() ? name.name : name.mangled, made_.gpu_names.size());
    if (is_new) made_.gpu_names.push_back(std::move(name));
    return position;
  }

  /// @brief Position in `profile::api_names`.
  std::uint32_t position_of_api_name(std::string_view name) { return position_of(name, api_names_, made_.api_names); }

  /// @brief Position in `profile::counter_names`.
  std::uint32_t position_of_counter(std::string_view name) { return position_of(name, counter_names_, made_.counter_names); }

  /// @brief Position in `profile::collective_words`.
  std::uint32_t position_of_collective_word(std::string_view word) { return position_of(word, collective_words_, made_.collective_words); }

  /// @brief Position in `profile::communicators`. Entries are equal if id, name and rank are equal; the first entry stays unchanged.
  std::uint32_t position_of(communicator_record communicator) {
    std::string const key = std::to_string(communicator.id) + ' ' + std::to_string(communicator.rank) + ' ' + communicator.name;
    auto const [position, is_new] = communicators_.find_or_add(key, made_.communicators.size());
    if (is_new) made_.communicators.push_back(std::move(communicator));
    return position;
  }

  /// @brief Position in `profile::functions`. Entries are equal if name, module and caller are equal; the first entry stays unchanged.
  std::uint32_t position_of(function_record function) {
    std::string const key = function.name + '\n' + function.module + '\n' + function.caller;
    auto const [position, is_new] = functions_.find_or_add(key, made_.functions.size());
    if (is_new) made_.functions.push_back(std::move(function));
    return position;
  }

  /// @brief Position in `profile::allocators`. Entries are equal if their names are equal; the first entry stays unchanged.
  std::uint16_t position_of(allocator_record allocator) {
    auto const [position, is_new] = allocators_.find_or_add(allocator.name, made_.allocators.size());
    if (is_new) made_.allocators.push_back(std::move(allocator));
    return static_cast<std::uint16_t>(position);
  }

  /// @brief Extends a 32-bit correlation, which wraps around after 2^32 launches, to 64 bits for `api_call_record` and
  /// `gpu_operation_record`. Consecutive arguments must be less than 2^31 launches apart.
  [[nodiscard]] std::uint64_t extended_correlation(std::uint32_t correlation) noexcept { return launches_.extend(correlation); }

  /// @brief The beginning of the call with this 64-bit correlation; nothing if it was not added. The first call indexes all API calls.
  [[nodiscard]] std::optional<timestamp> launch_time(std::uint64_t correlation) { return launches_.begin_of(correlation, made_.api_calls); }

  // Records within the budget. @return whether the record was kept in the profile.

  bool add(scope_record const& scope) { return add_within_budget(scope, &profile::scopes); }          ///< a scope
  bool add(gpu_scope_record const& scope) { return add_within_budget(scope, &profile::gpu_scopes); }  ///< GPU time of a scope
  bool add(gpu_operation_record const& operation) { return add_within_budget(operation, &profile::gpu_operations); }  ///< a GPU operation
  bool add(api_call_record const& call) { return add_within_budget(call, &profile::api_calls); }                      ///< an API call
  bool add(counter_record const& sample) { return add_within_budget(sample, &profile::counters); }  ///< a sample of a counter
  bool add(allocation_record const& change) {
    return add_within_budget(change, &profile::allocations);
  }                                                                                      ///< an allocation, a release or a reading
  bool add(work_record const& work) { return add_within_budget(work, &profile::work); }  ///< work of a scope

  bool add(collective_record const& collective) { return add_within_budget(collective, &profile::collectives); }  ///< a collective

  bool add(sample_record const& sample) { return add_within_budget(sample, &profile::samples); }  ///< a host sample

  // Records of steps. Each list has its own limit.

  void add(step_record const& step) { add_of_step(step, &profile::steps); }                        ///< a step
  void add(gpu_step_record const& step) { add_of_step(step, &profile::gpu_steps); }                ///< GPU time of a step
  void add(memory_record reading) { add_of_step(std::move(reading), &profile::memory); }           ///< a reading of a memory source
  void add(device_clock_record const& reading) { add_of_step(reading, &profile::device_clocks); }  ///< a reading of a device's clocks
  void add(device_utilization_record const& window) { add_of_step(window, &profile::device_utilization); }  ///< the utilization of a device

  void add(measured_roof_record roof) { made_.measured_roofs.push_back(std::move(roof)); }  ///< measured rates of a device

  // Single values.

  /// @brief The machine and the program. A collector fills members that are still empty.
  [[nodiscard]] environment_record& environment() noexcept { return made_.environment; }

  /// @brief Adds to a counter of `profile::quality`, such as `&quality_record::dropped_operations`.
  void count(std::uint64_t quality_record::*what, std::uint64_t many = 1) noexcept { made_.quality.*what += many; }

  /// @brief Replaces a value of `profile::quality`.
  template <class T, class Value>
  void set(T quality_record::*what, Value&& value) {
    made_.quality.*what = std::forward<Value>(value);
  }

  /// @brief Replaces a value of the profile, such as `&profile::item_name`, or one of the two short lists that are replaced as a whole:
  /// `&profile::collectors` and `&profile::graph_nodes`.
  template <class T, class Value>
  void set(T profile::*what, Value&& value) {
    static_assert(detail::is_replaceable<T>, "tables and records only grow: use position_of and add");
    made_.*what = std::forward<Value>(value);
  }

 private:
  template <class Record>
  bool add_within_budget(Record const& record, std::vector<Record> profile::*list) {
    if (__builtin_expect(records_left_ == 0, 0)) {
      add_beyond_budget(record, list);
      return false;
    }
    std::vector<Record>& to = made_.*list;
    if (__builtin_expect(to.size() == to.capacity(), 0)) make_room(to);
    to.push_back(record);
    --records_left_;
    return true;
  }

  template <class Record>
  void add_of_step(Record record, std::vector<Record> profile::*list) {
    if ((made_.*list).size() < max_of_steps_) {
      (made_.*list).push_back(std::move(record));
    } else {
      add_beyond_budget(std::move(record), list);
    }
  }

  template <class Record>
  void add_beyond_budget(Record record, std::vector<Record> profile::*list) {
    if (!collects_rest_) {
      ++made_.quality.discarded_records;
      return;
    }
    (rest_.*list).push_back(std::move(record));
    ++made_.quality.untraced_records;
  }

  /// Long lists grow fourfold. Unwritten memory takes address space but no pages, while copying a list needs the pages of both lists. If
  /// there is not enough address space, a list grows like any vector.
  template <class Record>
  __attribute__((noinline)) static void make_room(std::vector<Record>& list) {
    constexpr std::size_t many = (std::size_t{1} << 20U) / sizeof(Record);
    if (list.capacity() < many) return;
    try {
      list.reserve(4 * list.capacity());
    } catch (std::exception const&) {
    }
  }

  static std::uint32_t position_of(std::string_view name, detail::name_positions& table, std::vector<std::string>& names) {
    auto const [position, is_new] = table.find_or_add(std::string{name}, names.size());
    if (is_new) names.emplace_back(name);
    return position;
  }

  profile made_;
  profile rest_;  ///< records beyond the budget
  bool collects_rest_ = false;
  std::uint64_t max_of_steps_ = ~std::uint64_t{0};
  std::uint64_t max_records_ = ~std::uint64_t{0};
  std::uint64_t records_left_ = ~std::uint64_t{0};
  detail::path_table paths_;
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;  ///< by system number: the first entry
  detail::name_positions gpu_names_;
  detail::name_positions api_names_;
  detail::name_positions counter_names_;
  detail::name_positions allocators_;
  detail::name_positions collective_words_;
  detail::name_positions communicators_;
  detail::name_positions functions_;
  detail::launch_numbers launches_;
};

}  // namespace profkit
