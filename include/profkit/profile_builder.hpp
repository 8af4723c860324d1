// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The writer of the profile of a running session. Collectors add their records to it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "impl/profile/library_abi.hpp"
#include "impl/profile/own_memory.hpp"
#include "profile.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Whether a member of a profile is a list that only grows. All other members are replaced as a whole.
template <class Member>
inline constexpr bool is_growing = false;
template <class Record>
inline constexpr bool is_growing<own_vector<Record>> = !std::is_same_v<Record, collector_record>;

/// Each allocator has figures for each path, so the table bounds the number of allocators.
inline constexpr std::size_t max_allocators = 64;
/// The name of all allocators beyond the bound.
inline constexpr char const* other_allocators = "other allocators (beyond the first 64)";

/// The allocator of managed memory of CUDA.
inline constexpr char const* managed_allocator = "cuda managed";

/// The tables by which a builder finds known entries.
struct builder_tables;

struct builder_tables_deleter {
  void operator()(builder_tables* tables) const noexcept;
};

using owned_builder_tables = std::unique_ptr<builder_tables, builder_tables_deleter>;

PROFKIT_TAGGED_FUNCTION owned_builder_tables make_builder_tables();

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

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
  /// @brief A builder of an empty profile.
  profile_builder() = default;
  profile_builder(profile_builder const&) = delete;
  profile_builder& operator=(profile_builder const&) = delete;
  /// @brief Also destroys the profile, unless it was taken.
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
  void take_rest(profile& to);

  /// @brief The number of added records, within the budget and beyond it.
  [[nodiscard]] std::uint64_t records() const noexcept { return max_records_ - records_left_ + made_.quality.untraced_records; }

  /// @brief The profile so far.
  [[nodiscard]] profile const& so_far() const noexcept { return made_; }

  /// @brief Returns the profile. Nothing may be added afterwards.
  [[nodiscard]] profile take() noexcept;

  // Tables.

  /// @brief Position in `profile::paths`. Entries are equal if all members except `file` and `line` are equal.
  /// @throws profkit::error if the entry refers to a path that is not in the table.
  std::uint32_t position_of(path_record path);

  /// @brief Like `position_of`, but returns nothing if the path is new and the table of paths is full: see `detail::path_table`.
  std::optional<std::uint32_t> position_if_room(path_record path);

  /// @brief Appends an entry to `profile::threads`, even if one with the same system number exists.
  /// @param thread the entry.
  /// @return its position.
  /// @throws profkit::error if its path is not in the profile.
  std::uint32_t add(thread_record thread);

  /// @brief Position of the first entry of `profile::threads` with this system number; nothing if there is none.
  [[nodiscard]] std::optional<std::uint32_t> find_thread(std::uint64_t system_id) const;

  /// @brief Position in `profile::gpu_names`. Entries are equal if their mangled names are equal, or without mangled names their names.
  std::uint32_t position_of(gpu_name_record name);

  /// @brief Position in `profile::api_names`.
  std::uint32_t position_of_api_name(std::string_view name);

  /// @brief Position in `profile::counter_names`.
  std::uint32_t position_of_counter(std::string_view name);

  /// @brief Position in `profile::collective_words`.
  std::uint32_t position_of_collective_word(std::string_view word);

  /// @brief Position in `profile::communicators`. Entries are equal if id, name and rank are equal; the first entry stays unchanged.
  std::uint32_t position_of(communicator_record communicator);

  /// @brief Position in `profile::functions`. Entries are equal if name, module and caller are equal; the first entry stays unchanged.
  /// @param function the entry; it is added if it is not known.
  /// @param by_line entries with another line are other entries: see `page_event_record::function`.
  std::uint32_t position_of(function_record function, bool by_line = false);

  /// @brief Position in `profile::allocators`. Entries are equal if their names are equal; the first entry stays unchanged. Beyond
  /// `detail::max_allocators` names, all further allocators share the entry `detail::other_allocators`.
  std::uint16_t position_of(allocator_record allocator);

  /// @brief Extends a 32-bit correlation, which wraps around after 2^32 launches, to 64 bits for `api_call_record` and
  /// `gpu_operation_record`. Consecutive arguments must be less than 2^31 launches apart.
  [[nodiscard]] std::uint64_t extended_correlation(std::uint32_t correlation) noexcept;

  /// @brief The beginning of the call with this 64-bit correlation; nothing if it was not added among the last 262,144 launches.
  [[nodiscard]] std::optional<timestamp> launch_time(std::uint64_t correlation) const;

  /// @brief Remembers the scope of one of the last launches of CUDA graphs.
  /// @param correlation number of the call with 64 bits.
  /// @param path path of the innermost open scope, or `path_record::no_parent`.
  void add_graph_launch(std::uint64_t correlation, std::uint32_t path);

  /// @brief The path of `add_graph_launch`; nothing if the launch is not known, or no longer.
  [[nodiscard]] std::optional<std::uint32_t> path_of_graph_launch(std::uint64_t correlation) const;

  // Records.

  /// @brief Appends a record to its list. Records of steps (steps, their GPU times, readings of memory and clocks, windows of utilization,
  /// energy) have a limit for each list instead of the budget; measured roofs and graph nodes have none. The last record of a graph node
  /// counts.
  /// @param record of a list in `profile` that is not a table.
  /// @return whether the record was kept in the profile.
  /// @throws profkit::error if a position is outside its table, or a time or a kind is impossible; the record is then not added.
  template <class Record>
  bool add(Record const& record);

  /// @brief Like `add`, without its check: for records that are known to be right.
  template <class Record>
  bool add_unchecked(Record const& record);

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

  /// @brief Replaces a value of the profile, such as `&profile::item_name` or `&profile::collectors`, a short list.
  template <class T, class Value>
  void set(T profile::*what, Value&& value) {
    static_assert(!detail::is_growing<T>, "tables and records only grow: use position_of and add");
    made_.*what = std::forward<Value>(value);
  }

 private:
  template <class Record>
  bool add_beyond_budget(Record const& record, detail::own_vector<Record> profile::*list);

  profile made_;
  profile rest_;  ///< records beyond the budget
  bool collects_rest_ = false;
  std::uint64_t max_of_steps_ = ~std::uint64_t{0};
  std::uint64_t max_records_ = ~std::uint64_t{0};
  std::uint64_t records_left_ = ~std::uint64_t{0};
  detail::owned_builder_tables tables_ = detail::make_builder_tables();
};

}  // namespace PROFKIT_NAMESPACE
