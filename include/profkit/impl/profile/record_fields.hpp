// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The version of a file format: a newer `addition` adds members at the end of records and lists at the end of the profile, and readers of
/// the same `number` skip them. Everything else requires a new `number`.
struct format_version {
  std::uint16_t number = 0;
  std::uint16_t addition = 0;

  /// Its four bytes in files, as a number.
  [[nodiscard]] constexpr std::uint32_t in_file() const noexcept { return std::uint32_t{addition} << 16U | number; }
  [[nodiscard]] static constexpr format_version from_file(std::uint32_t bytes) noexcept {
    return {static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(bytes >> 16U)};
  }
  [[nodiscard]] std::string text() const { return std::to_string(number) + "." + std::to_string(addition); }
};

inline constexpr format_version profile_format{16, 1};  ///< of profiles and journals
inline constexpr format_version summary_format{4, 0};

/// The format of the state of an analysis, which a journal of several files contains. Only this format can be read. Increase it if a member
/// changes.
inline constexpr std::uint32_t figures_format = 4;

/// @return the version in a file.
/// @throws profkit::error if this version of profkit does not read it.
inline format_version check_format(std::uint32_t in_file, format_version const& own) {
  format_version const found = format_version::from_file(in_file);
  if (found.number == own.number) return found;
  throw error{"it has format " + found.text() + ", and profkit " + version + " reads formats " + std::to_string(own.number) + ".x" +
              (found.number > own.number ? ". Use a newer version of profkit" : "")};
}

/// What a report says about a file whose version of the format is newer; nothing about others.
inline std::string newer_format_words(format_version const& found, format_version const& own) {
  if (found.addition <= own.addition) return {};
  return "a newer profkit wrote the file, with format " + found.text() + "; profkit " + version + " reads format " + own.text() +
         " and leaves out what was added";
}

/// Adds the collector "format" to those in a file if a newer version of profkit wrote it.
inline void add_format_words(format_version const& found, format_version const& own, own_vector<collector_record>& collectors) {
  std::string words = newer_format_words(found, own);
  if (!words.empty()) collectors.push_back({"format", "newer", std::move(words)});
}

/// Describes a member of a struct: its name in files, and a pointer to it.
template <class Struct, class Member>
struct field {
  char const* name;
  Member Struct::*member;
  /// Used if the members of this member appear in the same object: selects and orders them. "count=measured,mean_ms" selects the members
  /// described as "count", under the name "measured", and "mean_ms". Empty: all members.
  char const* shown = "";
};
template <class Struct, class Member>
field(char const*, Member Struct::*) -> field<Struct, Member>;
template <class Struct, class Member>
field(char const*, Member Struct::*, char const*) -> field<Struct, Member>;

/// Selects a description: `describe(described_type<T>{})` returns the `field_list` of `T`.
template <class T>
struct described_type {};

/// Fails to compile unless `T` has exactly `Count` members, because a structured binding must name all of them.
template <std::size_t Count, class T>
constexpr void require_member_count(T const& value) {
  static_assert(Count >= 2 && (Count <= 26 || Count == 39), "extend the list below");
  // clang-format off
  if constexpr (Count == 2) { auto const& [a, b] = value; static_cast<void>(a); }
  if constexpr (Count == 3) { auto const& [a, b, c] = value; static_cast<void>(a); }
  if constexpr (Count == 4) { auto const& [a, b, c, d] = value; static_cast<void>(a); }
  if constexpr (Count == 5) { auto const& [a, b, c, d, e] = value; static_cast<void>(a); }
  if constexpr (Count == 6) { auto const& [a, b, c, d, e, f] = value; static_cast<void>(a); }
  if constexpr (Count == 7) { auto const& [a, b, c, d, e, f, g] = value; static_cast<void>(a); }
  if constexpr (Count == 8) { auto const& [a, b, c, d, e, f, g, h] = value; static_cast<void>(a); }
  if constexpr (Count == 9) { auto const& [a, b, c, d, e, f, g, h, i] = value; static_cast<void>(a); }
  if constexpr (Count == 10) { auto const& [a, b, c, d, e, f, g, h, i, j] = value; static_cast<void>(a); }
  if constexpr (Count == 11) { auto const& [a, b, c, d, e, f, g, h, i, j, k] = value; static_cast<void>(a); }
  if constexpr (Count == 12) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l] = value; static_cast<void>(a); }
  if constexpr (Count == 13) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value; static_cast<void>(a); }
  if constexpr (Count == 14) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value; static_cast<void>(a); }
  if constexpr (Count == 15) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value; static_cast<void>(a); }
  if constexpr (Count == 16) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value; static_cast<void>(a); }
  if constexpr (Count == 17) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = value; static_cast<void>(a); }
  if constexpr (Count == 18) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = value; static_cast<void>(a); }
  if constexpr (Count == 19) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value; static_cast<void>(a); }
  if constexpr (Count == 20) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = value; static_cast<void>(a); }
  if constexpr (Count == 21) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = value; static_cast<void>(a); }
  if constexpr (Count == 22) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = value; static_cast<void>(a); }
  if constexpr (Count == 23) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = value; static_cast<void>(a); }
  if constexpr (Count == 24) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = value; static_cast<void>(a); }
  if constexpr (Count == 25) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y] = value; static_cast<void>(a); }
  if constexpr (Count == 26) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z] = value; static_cast<void>(a); }
  if constexpr (Count == 39) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E, F, G, H, aa, bb, cc, dd, ee] = value; static_cast<void>(a); }
  // clang-format on
}

template <class Tuple, class Visit, std::size_t... Positions>
constexpr void for_each_element(Tuple& elements, Visit const& visit, std::index_sequence<Positions...>) {
  (visit(std::get<Positions>(elements)), ...);
}

/// Visits the elements of a tuple in their order. Compiles faster than `std::apply`, which computes whether the call may throw.
template <class Tuple, class Visit>
constexpr void for_each_element(Tuple&& elements, Visit const& visit) {
  for_each_element(elements, visit, std::make_index_sequence<std::tuple_size_v<std::decay_t<Tuple>>>{});
}

/// The pointer to the member of an entry of a table: the entry itself, or its member `member`.
template <class Struct, class Member>
constexpr auto member_of(Member Struct::*entry) {
  return entry;
}
template <class Entry>
constexpr auto member_of(Entry const& entry) {
  return entry.member;
}

/// Matches any field, but worse than `is_same_member`. So the compiler does not create a function for each pair of fields with different
/// types.
struct any_field {
  template <class Field>
  constexpr any_field(Field const&) {}  // NOLINT(google-explicit-constructor): a conversion is its purpose
};
constexpr std::size_t is_same_member(any_field, any_field) { return 0; }
template <class Field>
constexpr std::size_t is_same_member(Field const& first, Field const& second) {
  return first.member == second.member ? 1 : 0;
}

template <std::size_t Position, class Field>
struct listed_field {
  Field value;
};

template <std::size_t Position, class Field>
constexpr Field const& field_at(listed_field<Position, Field> const& field) {
  return field.value;
}

template <class Positions, class... Fields>
struct numbered_fields;
template <std::size_t... Positions, class... Fields>
struct numbered_fields<std::index_sequence<Positions...>, Fields...> : listed_field<Positions, Fields>... {
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    (visit(field_at<Positions>(*this)), ...);
  }
  /// Passes the described members of an object to an archive.
  template <class Archive, class T>
  constexpr void pass(Archive& archive, T& object) const {
    (archive(object.*field_at<Positions>(*this).member), ...);
  }
  template <class Field>
  [[nodiscard]] constexpr std::size_t count(Field const& wanted) const {
    return (is_same_member(wanted, field_at<Positions>(*this)) + ...);
  }
  /// Whether each field describes another member.
  [[nodiscard]] constexpr bool are_different() const { return (count(field_at<Positions>(*this)) + ...) == sizeof...(Fields); }
};

/// The fields of a struct. Compiles in a fraction of the time and memory of `std::tuple`.
template <class... Fields>
struct field_list : numbered_fields<std::index_sequence_for<Fields...>, Fields...> {
  static constexpr std::size_t size = sizeof...(Fields);
  constexpr explicit field_list(Fields const&... fields) : numbered_fields<std::index_sequence_for<Fields...>, Fields...>{{fields}...} {}
};

template <class T, class = void>
inline constexpr bool is_described = false;
template <class T>
inline constexpr bool is_described<T, std::void_t<decltype(describe(described_type<T>{}))>> = true;

/// The description of a struct.
template <class T>
inline constexpr auto described_fields = describe(described_type<T>{});

/// Whether there is a table of the members: `members_of(described_type<T>{})` calls a function with all of them.
template <class T, class = void>
inline constexpr bool is_record = false;
template <class T>
inline constexpr bool is_record<T, std::void_t<decltype(members_of(described_type<T>{}))>> = true;

template <class T>
inline constexpr bool has_no_repeated_member = described_fields<T>.are_different();

/// Passes the members of a described struct to an archive, in the order of the description. Fails to compile if the description omits or
/// repeats a member.
template <class Archive, class T, std::enable_if_t<is_described<T> && !is_record<T>, int> = 0>
void fields(Archive& archive, T& value) {
  using described = std::remove_const_t<T>;
  static_assert(has_no_repeated_member<described>, "a member is described twice");
  static_cast<void>(&require_member_count<decltype(described_fields<described>)::size, T>);
  described_fields<described>.pass(archive, value);
}

/// Passes the members of a record to an archive, in the order of its table. Fails to compile if the table omits a member.
template <class Archive, class T, std::enable_if_t<is_record<T>, int> = 0>
void fields(Archive& archive, T& value) {
  members_of(described_type<T>{})([&](auto const&... entries) {
    static_cast<void>(&require_member_count<sizeof...(entries), T>);
    (archive(value.*member_of(entries)), ...);
  });
}

/// A member that is a position in a table of the profile.
template <class Struct, class Position, class Entry>
struct position {
  Position Struct::*member;
  own_vector<Entry> profile::*table;
  bool may_be_none = false;  ///< it may also be `path_record::no_parent`
};
template <class Struct, class Position, class Entry>
position(Position Struct::*, own_vector<Entry> profile::*) -> position<Struct, Position, Entry>;
template <class Struct, class Position, class Entry>
position(Position Struct::*, own_vector<Entry> profile::*, bool) -> position<Struct, Position, Entry>;

/// A member that is 1 + the position in a table of the profile, or 0.
template <class Struct, class Number, class Entry>
struct table_number {
  Number Struct::*member;
  own_vector<Entry> profile::*table;
};
template <class Struct, class Number, class Entry>
table_number(Number Struct::*, own_vector<Entry> profile::*) -> table_number<Struct, Number, Entry>;

/// A member that must be a finite number from 0.
template <class Struct, class Number>
struct amount {
  Number Struct::*member;
};
template <class Struct, class Number>
amount(Number Struct::*) -> amount<Struct, Number>;

/// A list of a profile whose records are validated.
template <class Record>
struct record_list {
  own_vector<Record> profile::*member;
  char const* what;  ///< a record in error messages
};
template <class Record>
record_list(own_vector<Record> profile::*, char const*) -> record_list<Record>;

// The members of each record, in file order. Saving, loading, validation, the journal, and copies of a growing profile use these tables. A
// member at the end of a table increases `format_version::addition`, except in records that others contain in the middle (`interval`,
// `work`, and others of fixed size). Any other change requires a new `format_version::number`.

constexpr auto members_of(described_type<interval>) {
  return [](auto const& visit) { visit(&interval::begin, &interval::end); };
}
constexpr auto members_of(described_type<host_speed_record>) {
  return [](auto const& visit) { visit(&host_speed_record::before, &host_speed_record::after, &host_speed_record::waiting); };
}
constexpr auto members_of(described_type<host_use_record>) {
  using r = host_use_record;
  return [](auto const& visit) {
    visit(&r::elapsed, &r::user, &r::system, &r::minor_faults, &r::major_faults, &r::voluntary_switches, &r::involuntary_switches,
          &r::processors);
  };
}
constexpr auto members_of(described_type<rank_record>) {
  return [](auto const& visit) {
    visit(&rank_record::rank, &rank_record::size, &rank_record::local_rank, &rank_record::restart, &rank_record::launcher);
  };
}
constexpr auto members_of(described_type<environment_record>) {
  using r = environment_record;
  return [](auto const& visit) {
    visit(&r::host, &r::gpu, &r::driver, &r::cuda, &r::command, &r::process_id, &r::host_speed, &r::rank, &r::boot_id, &r::clock_offset_ns,
          &r::host_use);
  };
}
constexpr auto members_of(described_type<path_record>) {
  using r = path_record;
  return [](auto const& visit) { visit(&r::parent, &r::name, &r::index, &r::file, &r::line, &r::adopted_from, &r::role, &r::is_step); };
}
constexpr auto members_of(described_type<thread_record>) {
  return [](auto const& visit) {
    visit(&thread_record::system_id, &thread_record::name, position{&thread_record::default_path, &profile::paths, true});
  };
}
constexpr auto members_of(described_type<scope_record>) {
  using r = scope_record;
  return [](auto const& visit) { visit(&r::time, position{&r::path, &profile::paths}, position{&r::thread, &profile::threads}); };
}
constexpr auto members_of(described_type<step_record>) {
  using r = step_record;
  return [](auto const& visit) {
    visit(&r::time, &r::index, &r::warmup, &r::items, amount{&r::model_flops}, &r::has_kernels, &r::is_excluded);
  };
}
constexpr auto members_of(described_type<work>) {
  return [](auto const& visit) { visit(amount{&work::flops}, amount{&work::bytes}, &work::precision, amount{&work::backward}); };
}
constexpr auto members_of(described_type<work_record>) {
  return [](auto const& visit) { visit(&work_record::begin, position{&work_record::path, &profile::paths}, &work_record::work); };
}
constexpr auto members_of(described_type<communicator_record>) {
  return [](auto const& visit) {
    visit(&communicator_record::id, &communicator_record::name, &communicator_record::rank, &communicator_record::size);
  };
}
constexpr auto members_of(described_type<collective_record>) {
  using r = collective_record;
  return [](auto const& visit) {
    visit(&r::time, &r::sequence, &r::bytes, &r::correlation, position{&r::communicator, &profile::communicators},
          position{&r::function, &profile::collective_words}, position{&r::datatype, &profile::collective_words},
          position{&r::algorithm, &profile::collective_words}, position{&r::protocol, &profile::collective_words},
          position{&r::path, &profile::paths, true}, position{&r::thread, &profile::threads}, &r::is_captured, &r::side, &r::partner,
          &r::tag, &r::posted);
  };
}
constexpr auto members_of(described_type<function_record>) {
  using r = function_record;
  return [](auto const& visit) { visit(&r::name, &r::module, &r::caller, &r::file, &r::line); };
}
constexpr auto members_of(described_type<sample_record>) {
  using r = sample_record;
  return [](auto const& visit) {
    visit(&r::time, position{&r::path, &profile::paths, true}, position{&r::function, &profile::functions},
          position{&r::thread, &profile::threads}, &r::weight);
  };
}
constexpr auto members_of(described_type<sampled_time_record>) {
  using r = sampled_time_record;
  return [](auto const& visit) { visit(&r::samples, &r::user, &r::system); };
}
constexpr auto members_of(described_type<sampling_record>) {
  using r = sampling_record;
  return [](auto const& visit) {
    visit(&r::mechanism, &r::interval, &r::lost, &r::threads, &r::threads_without, &r::why_without, &r::why_no_lines, &r::time);
  };
}
constexpr auto members_of(described_type<allocator_record>) {
  return [](auto const& visit) { visit(&allocator_record::name, &allocator_record::bytes_at_start, &allocator_record::is_polled); };
}
constexpr auto members_of(described_type<allocation_record>) {
  using r = allocation_record;
  return [](auto const& visit) {
    visit(&r::time, &r::address, &r::bytes, position{&r::thread, &profile::threads}, position{&r::allocator, &profile::allocators},
          &r::kind);
  };
}
constexpr auto members_of(described_type<device_clock_record>) {
  using r = device_clock_record;
  return
      [](auto const& visit) { visit(&r::time, &r::step, &r::device, &r::sm_mhz, &r::max_sm_mhz, &r::reasons, &r::milliwatt, &r::celsius); };
}
constexpr auto members_of(described_type<device_utilization_record>) {
  using r = device_utilization_record;
  return [](auto const& visit) { visit(&r::time, &r::step, &r::device, &r::values); };
}
constexpr auto members_of(described_type<page_event_record>) {
  using r = page_event_record;
  return [](auto const& visit) { visit(&r::time, &r::amount, position{&r::function, &profile::functions, true}, &r::device, &r::kind); };
}
constexpr auto members_of(described_type<energy_meter_record>) {
  return [](auto const& visit) { visit(&energy_meter_record::name, &energy_meter_record::device); };
}
constexpr auto members_of(described_type<energy_record>) {
  using r = energy_record;
  return [](auto const& visit) {
    visit(&r::time, &r::duration, &r::step, &r::steps, &r::items, &r::microjoules, &r::resolution,
          position{&r::meter, &profile::energy_meters}, position{&r::path, &profile::paths, true});
  };
}
constexpr auto members_of(described_type<measured_roof_record>) {
  using r = measured_roof_record;
  return [](auto const& visit) { visit(&r::precision, &r::flops_per_second, &r::bytes_per_second, &r::how); };
}
constexpr auto members_of(described_type<gpu_scope_record>) {
  using r = gpu_scope_record;
  return [](auto const& visit) { visit(position{&r::path, &profile::paths}, &r::begin, &r::device, &r::duration); };
}
constexpr auto members_of(described_type<gpu_step_record>) {
  return [](auto const& visit) { visit(&gpu_step_record::step, &gpu_step_record::device, &gpu_step_record::duration); };
}
constexpr auto members_of(described_type<gpu_name_record>) {
  return [](auto const& visit) { visit(&gpu_name_record::name, &gpu_name_record::mangled, &gpu_name_record::direction); };
}
constexpr auto members_of(described_type<gpu_operation_record>) {
  using r = gpu_operation_record;
  return [](auto const& visit) {
    visit(&r::time, &r::correlation, &r::bytes, position{&r::name, &profile::gpu_names}, &r::device, &r::stream, &r::grid, &r::block,
          &r::kind, &r::graph_node, table_number{&r::shape, &profile::launch_shapes});
  };
}
constexpr auto members_of(described_type<launch_shape_record>) {
  using r = launch_shape_record;
  return [](auto const& visit) {
    visit(&r::device, &r::multiprocessors, &r::max_warps, &r::threads, &r::registers, &r::static_shared_bytes, &r::dynamic_shared_bytes,
          &r::local_bytes, &r::cluster_blocks, &r::blocks_per_multiprocessor, &r::limits);
  };
}
constexpr auto members_of(described_type<graph_node_record>) {
  return [](auto const& visit) { visit(&graph_node_record::node, position{&graph_node_record::path, &profile::paths, true}); };
}
constexpr auto members_of(described_type<replayed_scope_record>) {
  using r = replayed_scope_record;
  return [](auto const& visit) {
    visit(position{&r::launched_in, &profile::paths}, position{&r::captured_in, &profile::paths}, position{&r::path, &profile::paths});
  };
}
constexpr auto members_of(described_type<api_call_record>) {
  using r = api_call_record;
  return [](auto const& visit) {
    visit(&r::time, &r::correlation, position{&r::name, &profile::api_names}, position{&r::thread, &profile::threads});
  };
}
constexpr auto members_of(described_type<counter_record>) {
  using r = counter_record;
  return [](auto const& visit) {
    visit(&r::time, &r::value, position{&r::counter, &profile::counter_names}, position{&r::thread, &profile::threads});
  };
}
constexpr auto members_of(described_type<memory_record>) {
  using r = memory_record;
  return [](auto const& visit) {
    visit(&r::source, &r::quantity, &r::step, &r::current_bytes, &r::peak_bytes, &r::peak_note, &r::capacity_bytes);
  };
}
constexpr auto members_of(described_type<collector_record>) {
  return [](auto const& visit) {
    visit(&collector_record::name, &collector_record::status, &collector_record::reason, &collector_record::kind);
  };
}
constexpr auto members_of(described_type<wrong_end_record>) {
  return [](auto const& visit) { visit(&wrong_end_record::what, &wrong_end_record::count); };
}
constexpr auto members_of(described_type<snapshot_record>) {
  using r = snapshot_record;
  return [](auto const& visit) { visit(&r::is_step_open, &r::is_behind, &r::missing_operations, &r::untimed_steps); };
}
constexpr auto members_of(described_type<quality_record>) {
  using r = quality_record;
  return [](auto const& visit) {
    visit(&r::dropped_events, &r::open_scopes, &r::abandoned_steps, &r::unread_gpu_times, &r::untimed_gpu_scopes, &r::dropped_operations,
          &r::invalid_operations, &r::clock_changes, &r::cost_of_1000_scopes, &r::bookkeeping, &r::clock, &r::discarded_records,
          &r::collapsed_scopes, &r::clock_change, &r::uncertain_operations, &r::events_without_memory, &r::events_without_log,
          &r::interrupting_events, &r::misnested_scopes, &r::unmatched_ends, &r::wrong_ends, &r::not_recorded, &r::snapshot,
          &r::untraced_records);
  };
}
constexpr auto members_of(described_type<stop_record>) {
  return [](auto const& visit) { visit(&stop_record::wanted, &stop_record::reached, &stop_record::is_of_gpu, &stop_record::max_steps); };
}
constexpr auto members_of(described_type<profile>) {
  using r = profile;
  return [](auto const& visit) {
    visit(&r::environment, &r::item_name, &r::time, &r::paths, record_list{&r::threads, "a thread"}, record_list{&r::scopes, "a scope"},
          record_list{&r::steps, "a step"}, record_list{&r::gpu_scopes, "a GPU scope"},
          record_list{&r::gpu_steps, "the GPU time of a step"}, &r::gpu_names, record_list{&r::gpu_operations, "a GPU operation"},
          record_list{&r::graph_nodes, "a node of a graph"}, &r::api_names, record_list{&r::api_calls, "an API call"},
          &r::has_all_api_calls, &r::counter_names, record_list{&r::counters, "a counter"}, &r::memory, &r::allocators,
          record_list{&r::allocations, "an allocation"}, record_list{&r::work, "work"}, &r::precision,
          record_list{&r::device_clocks, "a reading of clocks"}, record_list{&r::measured_roofs, "a measured roof"}, &r::collectors,
          &r::quality, &r::stop, &r::communicators, &r::collective_words, record_list{&r::collectives, "a collective"},
          record_list{&r::device_utilization, "a window of utilization"}, &r::functions, record_list{&r::samples, "a sample"}, &r::sampling,
          &r::launch_shapes, &r::energy_meters, record_list{&r::energy, "energy"},
          record_list{&r::page_events, "an event of unified memory"}, record_list{&r::replayed_scopes, "a scope of a replayed graph"});
  };
}

template <class Record>
constexpr std::size_t count_members() {
  std::size_t result = 0;
  members_of(described_type<Record>{})([&](auto const&... entries) { result = sizeof...(entries); });
  return result;
}

inline constexpr std::size_t profile_members = count_members<profile>();

/// Calls a function with each member of a profile and the same member of another one, in file order.
template <class First, class Second, class Visit>
void for_each_member(First& first, Second& second, Visit const& visit) {
  members_of(described_type<profile>{})(
      [&](auto const&... entries) { (visit(first.*member_of(entries), second.*member_of(entries)), ...); });
}

template <class Record, class... Records>
inline constexpr bool is_one_of = (std::is_same_v<Record, Records> || ...);

/// Whether the record budget bounds the number of records.
template <class Record>
inline constexpr bool counts_towards_budget =
    is_one_of<Record, scope_record, gpu_scope_record, gpu_operation_record, api_call_record, counter_record, allocation_record, work_record,
              collective_record, sample_record, page_event_record>;

template <class Member>
inline constexpr bool is_in_budget = false;
template <class Record>
inline constexpr bool is_in_budget<own_vector<Record>> = counts_towards_budget<Record>;

/// Calls a function with each list of a profile whose records count towards the record budget.
template <class Profile, class Visit>
void for_each_list_in_budget(Profile& profile, Visit const& visit) {
  for_each_member(profile, profile, [&](auto& member, auto const&) {
    if constexpr (is_in_budget<std::decay_t<decltype(member)>>) visit(member);
  });
}

/// The number of records that count towards the record budget.
[[nodiscard]] inline std::uint64_t count_records(profile const& profile) noexcept {
  std::uint64_t result = 0;
  for_each_list_in_budget(profile, [&](auto const& list) { result += list.size(); });
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
