// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/impl/report/numbers.hpp>
#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../screen_line.hpp"
#include "rank_standing.hpp"

// Where the ranks of a job stand, in one sentence.

namespace profkit_program {

/// A path without the step: "step/forward" -> "forward"; empty for the step itself.
inline std::string inside_step(std::string const& path) {
  std::size_t const slash = path.find('/');
  if (path.substr(0, slash) != "step") return path;
  return slash == std::string::npos ? std::string{} : path.substr(slash + 1);
}

/// "all_reduce 812/backward"; "receive from 3/exchange" for a message.
inline std::string collective_words(entered_collective const& what) {
  std::string text = what.function + " ";
  if (what.side == profkit::message_side::none) {
    text += std::to_string(what.sequence);
  } else {
    text += (what.side == profkit::message_side::send ? "to " : "from ") + std::to_string(what.partner);
  }
  std::string const scope = inside_step(what.path);
  return scope.empty() ? text : text + "/" + scope;
}

/// Where a rank stands: words that follow "rank 3 " and "ranks 3 and 4 ", and since when.
struct rank_position {
  enum class kind : std::uint8_t { collective, call, scope, none, gone, ended } is = kind::none;
  std::string one;   ///< "waits in all_reduce 812/backward"
  std::string many;  ///< "wait in all_reduce 812/backward"
  std::optional<std::chrono::nanoseconds> since{};
  std::optional<entered_collective> collective{};  ///< in which it waits
};

/// The thread that stands for a process: the one with the step; without a step, the first with an open scope.
inline open_thread const* main_thread(standing const& at) { return at.threads.empty() ? nullptr : &at.threads.front(); }

inline rank_position position_of(rank_standing const& rank) {
  using kind = rank_position::kind;
  rank_position result;
  auto const set = [&](kind is, std::string const& one, std::string const& many, std::optional<profkit::timestamp> begin) {
    result.is = is;
    result.one = one;
    result.many = many;
    if (begin) result.since = rank.since(*begin);
  };
  if (rank.at.is_complete) {
    set(kind::ended, "has ended", "have ended", rank.at.time.end);
    return result;
  }
  open_thread const* const thread = main_thread(rank.at);
  auto const open = std::find_if(rank.at.collectives.begin(), rank.at.collectives.end(), [&](entered_collective const& each) {
    return each.is_open && (thread == nullptr || each.thread == thread->system_id || !each.is_host);
  });
  if (open != rank.at.collectives.end()) {
    std::string const where = "in " + collective_words(*open);
    set(kind::collective, "waits " + where, "wait " + where, open->begin);
    result.collective = *open;
  } else if (thread != nullptr && !thread->open.empty() && !thread->open.back().call.empty()) {
    open_scope const& call = thread->open.back();
    std::string const scope = inside_step(call.path);
    std::string const where = "in " + call.call + (scope.empty() ? "" : ", called in " + scope);
    set(kind::call, "waits " + where, "wait " + where, call.begin);
  } else if (thread != nullptr && !thread->open.empty()) {
    std::string const scope = inside_step(thread->open.back().path);
    std::size_t const slash = scope.rfind('/');
    std::string const last = slash == std::string::npos ? scope : scope.substr(slash + 1);
    if (last.rfind("MPI_", 0) == 0) {  // `profkit::mpi` opens a scope for each call
      std::string const where = "in " + last + (slash == std::string::npos ? "" : ", called in " + scope.substr(0, slash));
      set(kind::call, "waits " + where, "wait " + where, thread->open.back().begin);
    } else {
      std::string const where = scope.empty() ? "in the step, outside its scopes" : "in " + scope;
      set(kind::scope, "is " + where, "are " + where, thread->open.back().begin);
    }
  } else {
    std::string const where = rank.at.last_step ? "between steps" : "before its first step";
    set(kind::none, "is " + where, "are " + where, rank.at.last_step ? std::optional{rank.at.last_step->time.end} : std::nullopt);
  }
  if (rank.process.state == process_state::gone) {
    set(kind::gone,
        "is gone (it last " + (result.one.rfind("is ", 0) == 0 ? "was " + result.one.substr(3) : "waited " + result.one.substr(6)) + ")",
        "are gone", std::nullopt);
    result.since.reset();
  } else if (rank.is_stopped_after_step()) {
    result.one = fmt::format("is stopped (SIGSTOP) after step {}", rank.at.last_step->index);
    result.many = fmt::format("are stopped (SIGSTOP) after step {}", rank.at.last_step->index);
  } else if (rank.process.state == process_state::stopped) {
    result.one = "is stopped (SIGSTOP); it " + result.one;
    result.many = "are stopped (SIGSTOP); they " + result.many;
  }
  return result;
}

/// "ranks 0 to 6", "rank 7", "ranks 0, 2 and 5 to 7".
inline std::string ranks_words(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(fmt::format("{} to {}", numbers[i], numbers[end - 1]));
    } else {
      for (std::size_t k = i; k < end; ++k) parts.push_back(std::to_string(numbers[k]));
    }
    i = end;
  }
  constexpr std::size_t max_parts = 8;
  std::size_t const shown = std::min(parts.size(), max_parts);
  std::string text = numbers.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return parts.size() > shown ? text + ", ..." : text;
}

/// A collective in which ranks wait, and those of its group that have not entered it.
struct collective_wait {
  entered_collective what;
  std::vector<std::uint32_t> waiting;
  std::vector<std::uint32_t> missing;  ///< with a journal
  std::uint32_t without_journal = 0;   ///< ranks of the group whose journal was not given
  std::chrono::nanoseconds since{};    ///< since the last of the waiting ranks entered it
};

/// The collectives in which ranks wait, by number of waiting ranks.
inline std::vector<collective_wait> find_waits(std::vector<rank_standing> const& ranks) {
  using key = std::pair<std::pair<std::uint64_t, std::string>, std::uint64_t>;
  std::map<key, collective_wait> found;
  for (rank_standing const& rank : ranks) {
    rank_position const position = position_of(rank);
    if (!rank.has_rank() || !position.collective || position.collective->side != profkit::message_side::none) continue;
    entered_collective const& what = *position.collective;
    collective_wait& wait = found[{{what.communicator, what.function}, what.sequence}];
    std::chrono::nanoseconds const since = rank.since(what.begin);
    wait.since = wait.waiting.empty() ? since : std::min(wait.since, since);
    wait.what = what;
    wait.waiting.push_back(rank.at.environment.rank->rank);
  }
  std::vector<collective_wait> result;
  for (auto& [name, wait] : found) {
    entered_collective const& what = wait.what;
    std::uint32_t arrived = 0;
    bool const is_of_all = what.size == 0 || what.size >= ranks.size();
    for (rank_standing const& rank : ranks) {
      if (!rank.has_rank()) continue;
      bool is_member = is_of_all;
      bool has_arrived = false;
      for (entered_collective const& each : rank.at.collectives) {
        if (each.communicator != what.communicator || each.side != profkit::message_side::none) continue;
        is_member = true;
        has_arrived = has_arrived || (each.sequence >= what.sequence && (what.is_host || each.function == what.function));
      }
      if (is_member && has_arrived) ++arrived;
      if (is_member && !has_arrived) wait.missing.push_back(rank.at.environment.rank->rank);
    }
    auto const known = arrived + static_cast<std::uint32_t>(wait.missing.size());
    if (what.size > known) wait.without_journal = what.size - known;
    result.push_back(std::move(wait));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](collective_wait const& a, collective_wait const& b) { return a.waiting.size() > b.waiting.size(); });
  return result;
}

/// "ranks 0 to 6 wait in all_reduce 812/backward since 94 s; rank 7 is in data". Ranks at the same place are named together; those that
/// wait for others come first.
inline std::string job_sentence(std::vector<rank_standing> const& ranks) {
  struct group {
    rank_position at;
    std::vector<std::uint32_t> numbers;
    std::vector<std::string> names;
  };
  std::vector<group> groups;
  for (rank_standing const& rank : ranks) {
    rank_position position = position_of(rank);
    auto found = std::find_if(groups.begin(), groups.end(), [&](group const& each) { return each.at.one == position.one; });
    if (found == groups.end()) found = groups.insert(groups.end(), {position, {}, {}});
    if (position.since && found->at.since) found->at.since = std::min(*found->at.since, *position.since);
    if (rank.has_rank()) {
      found->numbers.push_back(rank.at.environment.rank->rank);
    } else {
      found->names.push_back(rank.name());
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](group const& a, group const& b) {
    bool const waits_a = a.at.is == rank_position::kind::collective;
    bool const waits_b = b.at.is == rank_position::kind::collective;
    if (waits_a != waits_b) return waits_a;
    return a.numbers.size() + a.names.size() > b.numbers.size() + b.names.size();
  });
  std::string text;
  constexpr std::size_t max_groups = 5;
  for (std::size_t i = 0; i < std::min(groups.size(), max_groups); ++i) {
    group const& each = groups[i];
    std::size_t const count = each.numbers.size() + each.names.size();
    std::string who = each.numbers.empty() ? std::string{} : ranks_words(each.numbers);
    for (std::string const& name : each.names) who += (who.empty() ? "" : ", ") + name;
    if (!text.empty()) text += "; ";
    text += who + " " + (count == 1 ? each.at.one : each.at.many);
    // A rank that the others wait for needs no time: theirs says how long it is late.
    bool const is_first = i == 0 && each.at.is != rank_position::kind::ended;
    if (each.at.since && (is_first || each.at.is == rank_position::kind::collective)) text += " since " + age_words(*each.at.since);
  }
  if (groups.size() > max_groups) text += fmt::format("; and {} more places", groups.size() - max_groups);
  for (collective_wait const& each : find_waits(ranks)) {
    if (each.without_journal > 0)
      text += fmt::format("; {} of the {} ranks of {} {} no journal here", each.without_journal, each.what.size,
                          each.what.group.empty() ? each.what.function : each.what.group, each.without_journal == 1 ? "has" : "have");
    break;
  }
  return text;
}

/// "step 34 takes 94 s, 1,536 times its usual 61.3 ms"; "no step is open".
inline std::string step_words(rank_standing const& rank) {
  std::optional<std::chrono::nanoseconds> const age = rank.step_age();
  if (!age) return "no step is open";
  std::string text = fmt::format("step {} takes {}", rank.step(), age_words(*age));
  if (!rank.at.usual) return text + "; its usual time is n/a, because no step has ended";
  std::string const usual = profkit::detail::time_words(profkit::milliseconds{*rank.at.usual});
  double const times = static_cast<double>(age->count()) / static_cast<double>(std::max<std::int64_t>(rank.at.usual->count(), 1));
  if (times < 10.0) return text + "; the usual time is " + usual;
  return text + ", " + profkit::detail::count_words(static_cast<std::uint64_t>(times)) + " times its usual " + usual;
}

/// The rank whose step takes longest in relation to its usual time; null if none is stuck.
inline rank_standing const* worst_rank(std::vector<rank_standing> const& ranks,
                                       std::chrono::nanoseconds min_age = std::chrono::seconds{10}) {
  rank_standing const* result = nullptr;
  for (rank_standing const& each : ranks) {
    if (each.is_stuck(min_age) && (result == nullptr || *each.step_age() > *result->step_age())) result = &each;
  }
  return result;
}

/// What to say first. @return empty if nothing is stuck.
inline std::string stuck_sentence(std::vector<rank_standing> const& ranks, std::chrono::nanoseconds min_age = std::chrono::seconds{10}) {
  rank_standing const* const worst = worst_rank(ranks, min_age);
  if (worst == nullptr) return {};
  return step_words(*worst) + ": " + job_sentence(ranks);
}

}  // namespace profkit_program
