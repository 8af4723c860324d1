// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/error.hpp>
#include <profkit/impl/profile/file_access.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/impl/profile/journal_output.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../ranks/matched_collectives.hpp"
#include "process_view.hpp"
#include "standing.hpp"

namespace profkit_program {

/// One process of a job: its journal, and what the system says about it.
struct rank_standing {
  std::filesystem::path journal;
  standing at;
  process_view process;
  profkit::timestamp now{};  ///< the present moment on the clock of its session: see `set_now`

  [[nodiscard]] bool has_rank() const { return at.environment.rank && at.environment.rank->size > 1; }
  /// "rank 3"; "process 4711" outside of jobs.
  [[nodiscard]] std::string name() const {
    if (has_rank()) return "rank " + std::to_string(at.environment.rank->rank);
    return "process " + std::to_string(at.environment.process_id);
  }
  /// How long ago something was.
  [[nodiscard]] std::chrono::nanoseconds since(profkit::timestamp moment) const {
    return std::max(now - moment, std::chrono::nanoseconds{0});
  }
  /// Whether the process was stopped before it could write what was open: only its last step is known.
  [[nodiscard]] bool is_stopped_after_step() const {
    return process.state == process_state::stopped && !at.is_complete && at.last_step && at.threads.empty();
  }
  /// For how long the open step has run, or a stopped process has ended no step; n/a without either.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> step_age() const {
    std::optional<profkit::timestamp> const begin = is_stopped_after_step() ? at.last_step->time.end : at.step_begin();
    return begin && !at.is_complete ? std::optional{since(*begin)} : std::nullopt;
  }
  /// Whether the open step takes more than ten times its usual time, and more than a minimum.
  [[nodiscard]] bool is_stuck(std::chrono::nanoseconds min_age = std::chrono::seconds{10}) const {
    std::optional<std::chrono::nanoseconds> const age = step_age();
    return age && at.usual && *age > min_age && *age / 10 > *at.usual;
  }
  /// The index of the open step.
  [[nodiscard]] std::uint64_t step() const { return at.last_step ? at.last_step->index + 1 : 0; }
};

/// Sets `now` of all ranks of a job: the present moment on the machines where one of the ranks lives, else the last sign of life of the
/// job.
///
/// Sessions of one machine share CLOCK_MONOTONIC. Clocks of other machines are compared by the ends of common collectives, which all ranks
/// leave together, else by the calendar.
class job_clock {
 public:
  static void set_now(std::vector<rank_standing>& ranks) {
    if (ranks.empty()) return;
    std::vector<std::chrono::nanoseconds> ahead;  // of the clock of the first rank
    ahead.reserve(ranks.size());
    for (rank_standing const& each : ranks) ahead.push_back(difference(each.at, ranks.front().at));
    profkit::timestamp now = profkit::timestamp::min();  // on the clock of the first rank
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      profkit::timestamp own = ranks[i].at.time.end;
      bool const lives = ranks[i].process.state == process_state::running || ranks[i].process.state == process_state::stopped;
      if (lives && ranks[i].at.environment.clock_offset_ns)
        own = std::max(
            own, profkit::timestamp{detail::now_of(CLOCK_MONOTONIC) + std::chrono::nanoseconds{*ranks[i].at.environment.clock_offset_ns}});
      now = std::max(now, own - ahead[i]);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].now = now + ahead[i];
  }

 private:
  /// By how much the clock of a session is ahead of another one.
  [[nodiscard]] static std::chrono::nanoseconds difference(standing const& own, standing const& other) {
    profkit::environment_record const& a = own.environment;
    profkit::environment_record const& b = other.environment;
    if (a.boot_id == b.boot_id && a.clock_offset_ns && b.clock_offset_ns)
      return std::chrono::nanoseconds{*a.clock_offset_ns} - std::chrono::nanoseconds{*b.clock_offset_ns};
    std::vector<std::chrono::nanoseconds> all;
    for (auto const& [key, end] : own.ends) {
      auto const same = other.ends.find(key);
      if (same != other.ends.end() && profkit::detail::is_left_together(key.first.second)) all.push_back(end - same->second);
    }
    if (all.empty()) return std::chrono::nanoseconds{0};
    return median_of(std::move(all));
  }
};

/// A rank without an ended step is judged by the usual time of the other ranks.
inline void set_missing_usual(std::vector<rank_standing>& ranks) {
  std::vector<std::chrono::nanoseconds> known;
  for (rank_standing const& each : ranks) {
    if (each.at.usual) known.push_back(*each.at.usual);
  }
  if (known.empty()) return;
  std::chrono::nanoseconds const usual = median_of(std::move(known));
  for (rank_standing& each : ranks) {
    if (!each.at.usual) each.at.usual = usual;
  }
}

namespace detail {

/// Reads the frames of one file. @return whether it has a frame.
inline bool read_frames(std::filesystem::path const& path, profkit::detail::journal_file& file, profkit::profile& tables,
                        standing_recorder& into) {
  std::ifstream opened = profkit::detail::open_to_read(path);
  if (!opened) throw profkit::error{"it cannot be opened"};
  std::uint64_t const size = profkit::detail::size_of(opened);
  if (!file.read_beginning(opened, size)) return false;
  profkit::timestamp open_time{};
  while (!file.is_complete() && file.read_frame(opened, size, tables)) {
    into.add(tables, {});
    if (file.open() && file.open()->time != open_time) {
      into.set_open(tables, *file.open());
      open_time = file.open()->time;
    }
    profkit::detail::for_each_list_in_budget(tables, [](auto& list) { list.clear(); });
    tables.steps.clear(), tables.gpu_steps.clear(), tables.memory.clear();
    tables.device_clocks.clear(), tables.device_utilization.clear();
  }
  if (file.has_read()) file.check_tables(tables);
  return file.has_read();
}

}  // namespace detail

/// Reads where a process stood when it last wrote its journal. Reads the file once, and keeps no records.
/// @throws profkit::error that names the file if it cannot be read, is no journal, is damaged, or has no session yet.
inline standing read_standing(std::filesystem::path const& path) {
  try {
    profkit::profile tables;
    standing_recorder recorder;
    profkit::detail::journal_file file;
    bool const has_session = detail::read_frames(path, file, tables, recorder);
    if (!has_session) throw profkit::error{"it has no session yet: the journal is empty or cut off at its beginning"};
    if (file.number() == 0) return recorder.result(tables, file.is_complete());
    // The last steps and collectives may be in the file before.
    std::filesystem::path const earlier = profkit::detail::earlier_journal(path.string());
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(earlier, ignored)) return recorder.result(tables, file.is_complete());
    profkit::profile tables_before;
    standing_recorder both;
    profkit::detail::journal_file before;
    bool const is_before = detail::read_frames(earlier, before, tables_before, both) && before.number() + 1 == file.number() &&
                           tables_before.environment.process_id == tables.environment.process_id &&
                           tables_before.time.begin == tables.time.begin;
    if (!is_before) return recorder.result(tables, file.is_complete());
    profkit::profile again;
    profkit::detail::journal_file repeated;
    static_cast<void>(detail::read_frames(path, repeated, again, both));
    return both.result(again, repeated.is_complete());
  } catch (profkit::error const& failure) {
    throw profkit::error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit_program
