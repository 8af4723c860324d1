// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "flat_records.hpp"
#include "own_memory.hpp"
#include "path_table.hpp"
#include "record_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// @throws profkit::error with `what` unless the condition holds.
inline void check_read(bool is_right, char const* what) {
  if (!is_right) throw error{std::string{"the file is damaged: "} + what};
}

/// Adds times up to 146 years, which is half of the range of 64-bit nanoseconds. Sums in analyses and reports are parts of this sum. So
/// they cannot overflow, not even the sum of two files.
class time_sum {
 public:
  static constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max() / 2;  ///< nanoseconds

  /// @return false if the sum would overflow.
  bool add(std::chrono::nanoseconds time) noexcept {
    auto const ns = static_cast<std::uint64_t>(time.count());
    std::uint64_t const length = time.count() < 0 ? 0 - ns : ns;
    if (length > left_) return false;
    left_ -= length;
    return true;
  }

 private:
  std::uint64_t left_ = max;
};

/// @throws profkit::error with `what` unless the condition holds.
inline void check_profile(bool is_right, char const* what) {
  if (!is_right) throw error{std::string{"the profile is damaged: "} + what};
}

/// Limits the depth of scopes in a file. Recorded profiles stay below the limit.
/// @throws profkit::error if a path has more names.
inline void check_depth(std::uint64_t names) {
  if (names > path_table::max_depth_in_files)
    throw error{"scopes are nested more than " + std::to_string(path_table::max_depth_in_files) + " levels deep, which is the limit"};
}

/// Limits the depth of paths, and the length of all paths as text, which could grow with the square of the file size. Recorded profiles
/// stay below the limits.
inline void check_path_lengths(own_vector<path_record> const& paths) {
  struct path_size {
    std::uint64_t length;  ///< as text
    std::uint64_t name;    ///< length of the name with the roles of its chain of adoptions: see `name_without_place`
    std::uint64_t depth;
  };
  own_vector<path_size> sizes;
  sizes.reserve(paths.size());
  std::uint64_t sum = 0;
  for (path_record const& each : paths) {
    path_size size{each.name.size(), each.name.size(), 1};
    if (each.adopted_from != path_record::no_parent) size.name = sizes[each.adopted_from].name + each.role.size() + 3;
    if (each.parent != path_record::no_parent) {
      size.length += sizes[each.parent].length + 1;
      size.depth += sizes[each.parent].depth;
    }
    check_depth(size.depth);
    sizes.push_back(size);
    sum += size.length + (each.adopted_from == path_record::no_parent ? 0 : size.name);
    check_profile(sum <= path_table::max_text_bytes, "its paths take more than 256 MiB as text");
  }
}

/// Checks that the path of the steps is a root of the tree, and the only one.
inline void check_step_path(own_vector<path_record> const& paths) {
  std::size_t steps = 0;
  for (path_record const& each : paths) {
    if (!each.is_step) continue;
    check_profile(each.parent == path_record::no_parent, "the path of the steps lies in another");
    check_profile(++steps == 1, "the steps have several paths");
  }
}

/// Validates a table of paths.
inline void check_paths(own_vector<path_record> const& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    check_profile(paths[i].parent == path_record::no_parent || paths[i].parent < i, "a path comes before its parent");
    check_profile(paths[i].adopted_from == path_record::no_parent || paths[i].adopted_from < i,
                  "a path comes before the one that it adopted");
  }
  check_path_lengths(paths);
  check_step_path(paths);
}

// Values that cannot be: no file contains them.

[[nodiscard]] inline bool is_possible(rank_record const& rank) noexcept { return rank.rank < rank.size; }
[[nodiscard]] inline bool is_possible(communicator_record const& group) noexcept { return group.size == 0 || group.rank < group.size; }
[[nodiscard]] inline bool is_possible(sampling_record const& sampling) noexcept { return sampling.interval.count() > 0; }
[[nodiscard]] inline bool is_possible(host_speed_record const& speed) noexcept {
  bool const is_share = !speed.waiting || (*speed.waiting >= 0.0 && *speed.waiting <= 1.0);
  return speed.before.count() >= 0 && speed.after.count() >= 0 && is_share;
}

/// Validates the records of a file, at once or in parts: every position is inside its list, a path follows its parent, no record ends
/// before it begins, and differences and sums of times do not overflow.
class record_check {
 public:
  /// Validates the tables and the single values of a profile.
  /// @throws profkit::error that states what is wrong.
  void tables(profile const& profile) const {
    check_profile(is_in_order(profile.time), "the session ends before it begins");
    if (auto const& speed = profile.environment.host_speed) check_profile(is_possible(*speed), "the host's speed is impossible");
    if (auto const& rank = profile.environment.rank) check_profile(is_possible(*rank), "the rank of the process is not one of its run");
    for (communicator_record const& each : profile.communicators)
      check_profile(is_possible(each), "a rank of a communicator is not one of its ranks");
    check_paths(profile.paths);
    if (profile.sampling) check_profile(is_possible(*profile.sampling), "its samples have no interval");
    time_sum sum = sum_;
    for (auto const time : {profile.time.duration(), profile.quality.cost_of_1000_scopes, profile.quality.bookkeeping}) add(sum, time);
  }

  /// Validates records that were not validated before.
  /// @param records the records.
  /// @param in the profile with the tables that they point into.
  /// @throws profkit::error that states what is wrong.
  void records(profile const& records, profile const& in) {
    members_of(described_type<profile>{})([&](auto const&... lists) { (check_list(records, lists, in), ...); });
  }

  /// Validates a record that is in no list of the profile; `time_sum` does not bound its times.
  /// @param what the record in error messages.
  /// @throws profkit::error that states what is wrong.
  template <class Record>
  static void record(Record const& record, char const* what, profile const& in) {
    record_check{}.check_record(record, what, in);
  }

  /// Validates a record that is to be added to its list.
  /// @throws profkit::error that states what is wrong after the first colon.
  template <class Record>
  void one(Record const& record, profile const& in) {
    members_of(described_type<profile>{})([&](auto const&... lists) { (check_if_of(record, lists, in), ...); });
  }

 private:
  template <class Record, class Other>
  void check_if_of(Record const&, Other const&, profile const&) {}
  template <class Record>
  void check_if_of(Record const& value, record_list<Record> const& list, profile const& in) {
    check_record(value, list.what, in);
  }

  template <class Other>
  void check_list(profile const&, Other const&, profile const&) {}
  template <class Record>
  void check_list(profile const& records, record_list<Record> const& list, profile const& in) {
    for (Record const& each : records.*list.member) {
      check_record(each, list.what, in);
      if constexpr (std::is_same_v<Record, sample_record>) add(sum_, std::chrono::nanoseconds{each.weight});
    }
  }

  template <class Record>
  void check_record(Record const& record, char const* what, profile const& in) {
    members_of(described_type<Record>{})(
        [&](auto const&... entries) { (check_member(entries, record.*member_of(entries), what, in), ...); });
  }

  template <class Record, class Position, class Entry>
  void check_member(position<Record, Position, Entry> const& entry, Position value, char const* what, profile const& in) {
    bool const is_none = entry.may_be_none && value == path_record::no_parent;
    if (!is_none && value >= (in.*entry.table).size()) refuse(std::string{what} + " without " + name_of_entry(in.*entry.table));
  }
  template <class Record, class Number, class Entry>
  void check_member(table_number<Record, Number, Entry> const& entry, Number value, char const* what, profile const& in) {
    if (value > (in.*entry.table).size()) refuse(std::string{what} + " without " + name_of_entry(in.*entry.table));
  }
  template <class Record, class Number>
  void check_member(amount<Record, Number> const&, Number value, char const*, profile const&) {
    check_profile(value >= Number{0} && value <= std::numeric_limits<Number>::max(), "work is negative or not a number");
  }
  template <class Record, class Value>
  void check_member(Value Record::*, Value const& value, char const* what, profile const& in) {
    if constexpr (std::is_same_v<Value, interval>) {
      if (!is_in_order(value)) refuse(std::string{what} + " ends before it begins");
      add(sum_, value.duration());
    } else if constexpr (std::is_same_v<Value, timestamp>) {
      check_profile(timestamp{} <= value, "a time lies before 1970");
    } else if constexpr (std::is_same_v<Value, std::chrono::nanoseconds>) {
      add(sum_, value);
    } else if constexpr (std::is_enum_v<Value>) {
      constexpr file_enum known = file_enum_of(described_type<Value>{});
      if (static_cast<std::uint8_t>(value) > known.last) refuse(std::string{what} + " with an unknown " + known.what);
    } else if constexpr (is_record<Value>) {
      check_record(value, what, in);
    }
  }

  static char const* name_of_entry(own_vector<path_record> const&) { return "path"; }
  static char const* name_of_entry(own_vector<thread_record> const&) { return "thread"; }
  static char const* name_of_entry(own_vector<allocator_record> const&) { return "allocator"; }
  static char const* name_of_entry(own_vector<communicator_record> const&) { return "communicator"; }
  static char const* name_of_entry(own_vector<function_record> const&) { return "function"; }
  static char const* name_of_entry(own_vector<gpu_name_record> const&) { return "name"; }
  static char const* name_of_entry(own_vector<launch_shape_record> const&) { return "shape"; }
  static char const* name_of_entry(own_vector<energy_meter_record> const&) { return "meter"; }
  static char const* name_of_entry(own_vector<std::string> const&) { return "name"; }

  [[noreturn]] static void refuse(std::string const& what) { throw error{"the profile is damaged: " + what}; }

  static bool is_in_order(interval const& time) { return timestamp{} <= time.begin && time.begin <= time.end; }

  static void add(time_sum& sum, std::chrono::nanoseconds time) { check_profile(sum.add(time), "its times add up to more than 146 years"); }

  time_sum sum_;  ///< sum over the records so far
};

/// Validates a whole profile.
/// @throws profkit::error that states what is wrong.
inline void validate(profile const& profile) {
  record_check check;
  check.records(profile, profile);
  check.tables(profile);
}

}  // namespace PROFKIT_NAMESPACE::detail
