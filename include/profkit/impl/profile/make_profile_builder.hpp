// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <ios>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../../save_load.hpp"
#include "archive_reader.hpp"
#include "archive_writer.hpp"
#include "atomic_file.hpp"
#include "file_access.hpp"
#include "journal_format.hpp"
#include "journal_reader.hpp"
#include "own_containers.hpp"
#include "own_memory.hpp"
#include "path_table.hpp"
#include "profile_follower.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace PROFKIT_NAMESPACE::detail {

inline void write_profile(profile const& profile, byte_output& to) {
  to.write(profile_magic);
  archive_writer archive{to};
  archive(profile_format.in_file());
  archive(profile);
  archive.flush();
}

/// Adds the collector "journal" with the state of a session that did not end.
inline void describe_recovery(journal_content& what) {
  if (what.is_complete) return;
  own_vector<collector_record>& collectors = what.content.collectors;
  auto at =
      std::find_if(collectors.begin(), collectors.end(), [](collector_record const& each) { return each.kind == collector_kind::journal; });
  if (at == collectors.end()) at = collectors.insert(collectors.end(), collector_record{});
  std::string const ms = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(what.content.time.duration()).count());
  std::string const left_out =
      what.bytes_left_out == 0 ? "" : "; the " + std::to_string(what.bytes_left_out) + " bytes behind that are not whole";
  *at = {"journal", "recovered", "the session did not end; this is what it recorded in its first " + ms + " ms" + left_out,
         collector_kind::journal};
}

inline profile load_profile(std::string const& path) {
  std::ifstream file = readable_file(path);
  std::uint64_t const size = size_of(file);
  if (!reads_magic(file, profile_magic)) throw error{path + " is not a profkit profile"};
  try {
    archive_reader archive{file, size - profile_magic.size()};
    std::uint32_t format = 0;
    archive(format);
    format_version const found = check_format(format, profile_format);
    archive.set_format(found, profile_format);
    profile result;
    archive(result);
    archive.skip_the_rest();
    validate(result);
    add_format_words(found, profile_format, result.collectors);
    return result;
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline void save(profile const& profile, std::string const& path) {
  detail::atomic_file file{path};
  detail::write_profile(profile, file);
  file.finish();
}

[[gnu::used]] inline bool is_journal_file(std::string const& path) {
  return detail::begins_with(path, detail::journal_magic.substr(0, detail::profile_magic.size()));
}

[[gnu::used]] inline journal_content load_journal(std::string const& path) {
  journal_content result;
  journal_reader reader{path};
  journal_progress const found = reader.read(result.content);
  if (!found.has_begun) {
    error const why{"it is not a profkit journal"};
    throw error{path + ": " + why.what()};
  }
  result.is_complete = found.is_complete;
  result.bytes_left_out = found.bytes_left_out;
  detail::describe_recovery(result);
  detail::add_format_words(reader.format(), detail::profile_format, result.content.collectors);
  return result;
}

[[gnu::used]] inline profile load(std::string const& path) {
  return is_journal_file(path) ? load_journal(path).content : detail::load_profile(path);
}

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

/// Extends the 32-bit correlations of CUPTI to 64 bits, so that they are unique in a session, and knows when recent launches began.
class launch_numbers {
 public:
  /// Consecutive arguments must be less than 2^31 launches apart.
  [[nodiscard]] std::uint64_t extend(std::uint32_t correlation) noexcept {
    if (newest_ == 0) newest_ = (std::uint64_t{1} << 32U) | correlation;
    auto const distance = static_cast<std::int32_t>(correlation - static_cast<std::uint32_t>(newest_));
    auto const extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(newest_) + distance);
    newest_ = std::max(newest_, extended);
    return extended;
  }

  /// Remembers a call. Of several calls with one correlation, the earliest counts. Without memory, the call is unknown.
  void add(api_call_record const& call) noexcept {
    std::unique_ptr<block>& in = blocks_[call.correlation / launches_per_block % blocks_.size()];
    if (in == nullptr) in.reset(new (std::nothrow) block{});
    if (in == nullptr) return;
    launch& known = (*in)[call.correlation % launches_per_block];
    if (known.correlation != call.correlation || call.time.begin < known.begin) known = {call.correlation, call.time.begin};
  }

  /// @return the beginning of the call with this extended correlation; nothing if it was not added, or at least `known_launches` launches
  /// ago.
  [[nodiscard]] std::optional<timestamp> begin_of(std::uint64_t correlation) const noexcept {
    std::unique_ptr<block> const& in = blocks_[correlation / launches_per_block % blocks_.size()];
    if (in == nullptr || (*in)[correlation % launches_per_block].correlation != correlation) return std::nullopt;
    return (*in)[correlation % launches_per_block].begin;
  }

  /// Some times as many as the records that CUPTI holds back: 20,000 in a buffer.
  static constexpr std::size_t known_launches = std::size_t{1} << 18U;

 private:
  static constexpr std::size_t launches_per_block = std::size_t{1} << 11U;  ///< blocks of 32 KiB

  struct launch {
    std::uint64_t correlation = 0;
    timestamp begin{};
  };
  using block = std::array<launch, launches_per_block>;

  std::uint64_t newest_ = 0;
  std::array<std::unique_ptr<block>, known_launches / launches_per_block> blocks_{};
};

struct builder_tables {
  path_table paths;
  own_hash_map<std::uint64_t, std::uint32_t> threads;  ///< by system number: the first entry
  name_positions gpu_names;
  name_positions api_names;
  name_positions counter_names;
  name_positions allocators;
  name_positions collective_words;
  name_positions communicators;
  name_positions functions;
  launch_numbers launches;
  own_hash_map<std::uint64_t, std::uint32_t> graph_launches;  ///< by correlation: the path of the innermost scope
  record_check check;
};

/// @return the position of a text in a list, to which it is appended if it is new.
inline std::uint32_t position_of(std::string_view name, name_positions& table, own_vector<std::string>& names) {
  return table.find_or_add(std::string{name}, names, [&] { return std::string{name}; });
}

/// Makes room in a list of 1 MiB for all records that it may still receive, up to 32 MiB. Longer lists grow fourfold. Unwritten memory
/// takes address space but no pages, while copying a list needs the pages of both lists. If there is not enough address space, a list
/// grows like any vector.
template <class Record>
__attribute__((noinline)) void make_room(own_vector<Record>& list, std::uint64_t records_left) {
  constexpr std::size_t many = (std::size_t{1} << 20U) / sizeof(Record);
  constexpr std::size_t usual = 32 * many;
  std::size_t const capacity = list.capacity();
  if (capacity < many) return;
  try {
    list.reserve(capacity < usual ? capacity + std::min(records_left, std::uint64_t{usual - capacity}) : 4 * capacity);
  } catch (std::exception const&) {
  }
}

/// Whether there is a record for each step, so that each list has a limit.
template <class Record>
inline constexpr bool is_of_steps =
    is_one_of<Record, step_record, gpu_step_record, memory_record, device_clock_record, device_utilization_record, energy_record>;

template <class Record, class Entry>
constexpr void find_list(Entry const& entry, own_vector<Record> profile::*& list) {
  if constexpr (std::is_same_v<decltype(member_of(entry)), own_vector<Record> profile::*>) list = member_of(entry);
}

/// The list of a profile with these records.
template <class Record>
constexpr auto list_of() {
  own_vector<Record> profile::*result = nullptr;
  members_of(described_type<profile>{})([&](auto const&... entries) { (find_list<Record>(entries, result), ...); });
  return result;
}

/// @throws profkit::error if a record cannot be added.
template <class Record>
__attribute__((noinline)) void check_added(Record const& record, builder_tables& tables, profile const& in) {
  try {
    tables.check.one(record, in);
  } catch (error const& failure) {
    std::string const said = failure.what();
    throw error{"cannot add a record: " + said.substr(said.find(':') + 2)};
  }
}

// Not of the class: clang++ does not emit all forms of a constructor that is `used`.
[[gnu::used]] inline owned_builder_tables make_builder_tables() { return owned_builder_tables{new builder_tables}; }

[[gnu::used]] inline void builder_tables_deleter::operator()(builder_tables* tables) const noexcept { delete tables; }

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline void profile_builder::take_rest(profile& to) { detail::move_entries(rest_, to); }

[[gnu::used]] inline profile profile_builder::take() noexcept { return std::move(made_); }

[[gnu::used]] inline std::uint32_t profile_builder::position_of(path_record path) {
  for (std::uint32_t const other : {path.parent, path.adopted_from}) {
    if (other != path_record::no_parent && other >= made_.paths.size())
      throw error{"cannot add the path \"" + path.name + "\": it refers to a path that is not in the profile"};
  }
  // A file with such a path could not be read. The session adds the path of its own steps.
  if (path.is_step && (path.parent != path_record::no_parent || path.adopted_from != path_record::no_parent || path.name != "step"))
    throw error{"cannot add the path \"" + path.name + "\": only the session adds the path of steps"};
  if (!tables_->paths.fits_files(path)) {
    std::string const name = path.name.substr(0, 100);
    throw error{"cannot add the path \"" + name + "\": it has more than 1024 names, or all paths take 256 MiB as text"};
  }
  return tables_->paths.find_or_add(std::move(path), made_.paths);
}

[[gnu::used]] inline std::optional<std::uint32_t> profile_builder::position_if_room(path_record path) {
  return tables_->paths.find_or_add_if_room(std::move(path), made_.paths);
}

[[gnu::used]] inline std::uint32_t profile_builder::add(thread_record thread) {
  detail::check_added(thread, *tables_, made_);
  auto const position = static_cast<std::uint32_t>(made_.threads.size());
  detail::make_room_for_one(made_.threads);
  tables_->threads.try_emplace(thread.system_id, position);
  made_.threads.push_back(std::move(thread));
  return position;
}

[[gnu::used]] inline std::optional<std::uint32_t> profile_builder::find_thread(std::uint64_t system_id) const {
  auto const known = tables_->threads.find(system_id);
  return known == tables_->threads.end() ? std::nullopt : std::optional{known->second};
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of(gpu_name_record name) {
  std::string key = name.mangled.empty() ? name.name : name.mangled;
  return tables_->gpu_names.find_or_add(std::move(key), made_.gpu_names, [&] { return std::move(name); });
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of_api_name(std::string_view name) {
  return detail::position_of(name, tables_->api_names, made_.api_names);
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of_counter(std::string_view name) {
  return detail::position_of(name, tables_->counter_names, made_.counter_names);
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of_collective_word(std::string_view word) {
  return detail::position_of(word, tables_->collective_words, made_.collective_words);
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of(communicator_record communicator) {
  if (!detail::is_possible(communicator)) communicator.size = 0;  // unknown: a file would be damaged
  std::string key = std::to_string(communicator.id) + ' ' + std::to_string(communicator.rank) + ' ' + communicator.name;
  return tables_->communicators.find_or_add(std::move(key), made_.communicators, [&] { return std::move(communicator); });
}

[[gnu::used]] inline std::uint32_t profile_builder::position_of(function_record function, bool by_line) {
  std::string key = function.name + '\n' + function.module + '\n' + function.caller;
  if (by_line) key += '\n' + function.file + ':' + std::to_string(function.line);
  return tables_->functions.find_or_add(std::move(key), made_.functions, [&] { return std::move(function); });
}

[[gnu::used]] inline std::uint16_t profile_builder::position_of(allocator_record allocator) {
  // A session polls few allocators, so more are only named by collectors that will not be polled.
  std::size_t const max_size = allocator.is_polled ? 2 * detail::max_allocators : detail::max_allocators;
  if (made_.allocators.size() >= max_size && !tables_->allocators.knows(allocator.name)) allocator = {detail::other_allocators, 0, false};
  std::string key = allocator.name;
  return static_cast<std::uint16_t>(
      tables_->allocators.find_or_add(std::move(key), made_.allocators, [&] { return std::move(allocator); }));
}

[[gnu::used]] inline std::uint64_t profile_builder::extended_correlation(std::uint32_t correlation) noexcept {
  return tables_->launches.extend(correlation);
}

[[gnu::used]] inline std::optional<timestamp> profile_builder::launch_time(std::uint64_t correlation) const {
  return tables_->launches.begin_of(correlation);
}

[[gnu::used]] inline void profile_builder::add_graph_launch(std::uint64_t correlation, std::uint32_t path) {
  constexpr std::size_t max_known = 4096;
  if (tables_->graph_launches.size() >= max_known) tables_->graph_launches.clear();
  tables_->graph_launches[correlation] = path;
}

[[gnu::used]] inline std::optional<std::uint32_t> profile_builder::path_of_graph_launch(std::uint64_t correlation) const {
  auto const known = tables_->graph_launches.find(correlation);
  return known == tables_->graph_launches.end() ? std::nullopt : std::optional{known->second};
}

template <class Record>
bool profile_builder::add(Record const& record) {
  detail::check_added(record, *tables_, made_);
  return add_unchecked(record);
}

template <class Record>
[[gnu::always_inline]] inline bool profile_builder::add_unchecked(Record const& record) {
  constexpr auto list = detail::list_of<Record>();
  detail::own_vector<Record>& to = made_.*list;
  if constexpr (std::is_same_v<Record, api_call_record>) tables_->launches.add(record);
  if constexpr (detail::counts_towards_budget<Record>) {
    if (__builtin_expect(records_left_ == 0, 0)) return add_beyond_budget(record, list);
    if (__builtin_expect(to.size() == to.capacity(), 0)) detail::make_room(to, records_left_);
    to.push_back(record);
    --records_left_;
    return true;
  }
  if (detail::is_of_steps<Record> && to.size() >= max_of_steps_) return add_beyond_budget(record, list);
  to.push_back(record);
  return true;
}

template <class Record>
[[gnu::noinline]] bool profile_builder::add_beyond_budget(Record const& record, detail::own_vector<Record> profile::*list) {
  if (!collects_rest_) {
    ++made_.quality.discarded_records;
    return false;
  }
  (rest_.*list).push_back(record);
  ++made_.quality.untraced_records;
  return false;
}

// Programs and collectors that are compiled elsewhere use these.
/// @cond Doxygen takes instantiations for declarations.
template bool profile_builder::add(scope_record const&);
template bool profile_builder::add(step_record const&);
template bool profile_builder::add(gpu_scope_record const&);
template bool profile_builder::add(gpu_step_record const&);
template bool profile_builder::add(gpu_operation_record const&);
template bool profile_builder::add(graph_node_record const&);
template bool profile_builder::add(replayed_scope_record const&);
template bool profile_builder::add(launch_shape_record const&);
template bool profile_builder::add(api_call_record const&);
template bool profile_builder::add(counter_record const&);
template bool profile_builder::add(memory_record const&);
template bool profile_builder::add(allocation_record const&);
template bool profile_builder::add(work_record const&);
template bool profile_builder::add(device_clock_record const&);
template bool profile_builder::add(device_utilization_record const&);
template bool profile_builder::add(measured_roof_record const&);
template bool profile_builder::add(energy_meter_record const&);
template bool profile_builder::add(energy_record const&);
template bool profile_builder::add(page_event_record const&);
template bool profile_builder::add(collective_record const&);
template bool profile_builder::add(sample_record const&);
/// @endcond

}  // namespace PROFKIT_NAMESPACE
