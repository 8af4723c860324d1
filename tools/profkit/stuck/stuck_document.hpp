// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rank_standing.hpp"
#include "stuck_words.hpp"

// The answer of `profkit stuck` as a document, and as JSON.

namespace profkit_program {

inline char const* state_name(rank_standing const& rank) {
  if (rank.at.is_complete) return "ended";
  switch (rank.process.state) {
    case process_state::running:
      return "running";
    case process_state::stopped:
      return "stopped (SIGSTOP)";
    case process_state::gone:
      return "process is gone";
    case process_state::unknown:
      break;
  }
  return "not visible here";
}

/// The thread with this number, as the system sees it; null if it is not known.
inline system_thread const* system_view_of(rank_standing const& rank, std::uint64_t thread) {
  auto const& all = rank.process.threads;
  auto const found = std::find_if(all.begin(), all.end(), [&](system_thread const& each) { return each.id == thread; });
  return found == all.end() ? nullptr : &*found;
}

/// "sleeps in futex (futex_wait_queue)", "runs".
inline std::string system_words(system_thread const& thread) {
  std::string text = thread.state == 'R'                          ? "runs"
                     : thread.state == 'S'                        ? "sleeps"
                     : thread.state == 'D'                        ? "waits for a device"
                     : thread.state == 'T' || thread.state == 't' ? "stopped"
                                                                  : std::string{"state "} + thread.state;
  if (!thread.system_call.empty()) text += " in " + thread.system_call;
  if (!thread.waits_in.empty()) text += " (" + thread.waits_in + ")";
  return text;
}

namespace detail {

using profkit::detail::column_kind;
using profkit::detail::data_table;
using profkit::detail::row;
using profkit::detail::section;

/// Ranks that are listed as text, the stuck ones first; JSON has all.
inline constexpr std::size_t max_listed_ranks = 64;

inline section ranks_section(std::vector<rank_standing const*> const& ranks) {
  section made{"ranks", ranks.size() == 1 ? "Process" : "Ranks"};
  data_table table{"ranks"};
  table.add_columns(
      {{"rank"}, {"process"}, {"host"}, {"state"}, {"last step"}, {"open step"}, {"for"}, {"usual"}, {"last collective"}, {"entered"}});
  for (rank_standing const* const each : ranks) {
    standing const& at = each->at;
    row& cells = table.add_row();
    cells.text(each->has_rank() ? std::to_string(at.environment.rank->rank) : std::string{"-"});
    cells.text(std::to_string(at.environment.process_id)).text(at.environment.host).text(state_name(*each));
    cells.text_if(at.last_step.has_value(), at.last_step ? std::to_string(at.last_step->index) : "", "no step has ended");
    auto const age = each->step_age();
    cells.text(age ? std::to_string(each->step()) : std::string{"-"}).text(age ? age_words(*age) : std::string{"-"});
    cells.text_if(at.usual.has_value(), at.usual ? profkit::detail::time_words(profkit::milliseconds{*at.usual}) : "", "no step has ended");
    if (at.collectives.empty()) {
      cells.text("-").text("-");
    } else {
      entered_collective const& last = at.collectives.front();
      cells.text(collective_words(last)).text(age_words(each->since(last.begin)) + (last.is_open ? " ago, not finished" : " ago"));
    }
  }
  table.drop_unknown_columns();
  made.add(std::move(table));
  return made;
}

inline section threads_section(std::vector<rank_standing const*> const& ranks) {
  section made{"threads", "Open scopes"};
  data_table table{"threads"};
  table.add_columns({{"scope or driver call"}, {"since"}, {"system"}});
  for (rank_standing const* const each : ranks) {
    for (open_thread const& thread : each->at.threads) {
      std::string name = (ranks.size() > 1 ? each->name() + ", " : std::string{}) + "thread " + std::to_string(thread.system_id);
      if (!thread.name.empty()) name += " (" + thread.name + ")";
      system_thread const* const seen = system_view_of(*each, thread.system_id);
      table.add_row().text(name).blank().text(seen == nullptr ? std::string{} : system_words(*seen));
      for (open_scope const& open : thread.open)
        table.add_row(1).text(open.call.empty() ? open.path : open.call).text(age_words(each->since(open.begin))).blank();
    }
  }
  if (table.rows.empty()) {
    made.add_note("No scope or driver call has been open for a second.");
  } else {
    made.add(std::move(table));
  }
  return made;
}

inline std::string seconds_json(std::chrono::nanoseconds age) { return fmt::format("{:.3f}", std::chrono::duration<double>{age}.count()); }

}  // namespace detail

/// The document that `profkit stuck` prints.
inline profkit::detail::document stuck_document(std::vector<rank_standing> const& ranks) {
  profkit::detail::document made;
  made.version = fmt::format("profkit {}", profkit::version);
  rank_standing const& first = ranks.front();
  auto const& program = first.at.environment.command;
  made.title = program.empty() ? "program" : program.front().substr(program.front().rfind('/') + 1);
  made.subtitle = "\xc2\xb7 " + (ranks.size() == 1 ? first.name() : profkit::detail::counted(ranks.size(), "rank", "ranks")) +
                  " \xc2\xb7 last sign of life " + age_words(first.since(first.at.time.end)) + " ago";
  std::string const sentence = stuck_sentence(ranks);
  made.headline =
      sentence.empty() ? "No step takes more than ten times its usual time and more than 10 s: " + job_sentence(ranks) : sentence;
  std::vector<rank_standing const*> listed;
  for (rank_standing const& each : ranks) listed.push_back(&each);
  std::stable_sort(listed.begin(), listed.end(), [](rank_standing const* a, rank_standing const* b) {
    return position_of(*a).is != rank_position::kind::collective && position_of(*b).is == rank_position::kind::collective;
  });
  std::size_t const left_out = listed.size() - std::min(listed.size(), detail::max_listed_ranks);
  listed.resize(listed.size() - left_out);
  made.sections.push_back(detail::ranks_section(listed));
  if (left_out > 0) made.sections.back().add_note(fmt::format("{} more ranks are in --json.", left_out));
  made.sections.push_back(detail::threads_section(listed));
  return made;
}

/// The same as JSON: names end in their unit; unknown values are null.
inline profkit::detail::own_string stuck_json(std::vector<rank_standing> const& ranks) {
  using profkit::detail::json_list;
  using profkit::detail::json_object;
  using profkit::detail::json_value;
  auto const age = [](std::optional<std::chrono::nanoseconds> const& value) -> profkit::detail::own_string {
    return value ? profkit::detail::own_string{detail::seconds_json(*value)} : profkit::detail::own_string{"null"};
  };
  json_object made{0};
  made.add("schema", json_value("profkit-stuck-1"));
  std::string const sentence = stuck_sentence(ranks);
  made.add("is_stuck", json_value(!sentence.empty()));
  made.add("sentence", json_value(sentence.empty() ? job_sentence(ranks) : sentence));
  json_list waits{1};
  for (collective_wait const& each : find_waits(ranks)) {
    json_object wait{2};
    wait.add("function", json_value(each.what.function));
    wait.add("sequence", json_value(each.what.sequence));
    wait.add("group", json_value(each.what.group));
    wait.add("scope", json_value(each.what.path));
    wait.add("since_s", age(each.since));
    for (auto const* const list : {&each.waiting, &each.missing}) {
      json_list numbers{3};
      for (std::uint32_t const number : *list) numbers.add(json_value(number));
      wait.add(list == &each.waiting ? "waiting_ranks" : "missing_ranks", std::move(numbers).take());
    }
    wait.add("ranks_without_journal", json_value(each.without_journal));
    waits.add(wait.text());
  }
  made.add("collective_waits", std::move(waits).take());
  json_list rows{1};
  for (rank_standing const& each : ranks) {
    standing const& at = each.at;
    json_object rank{2};
    rank.add("rank", each.has_rank() ? json_value(at.environment.rank->rank) : json_value(std::nullopt));
    rank.add("process", json_value(at.environment.process_id));
    rank.add("host", json_value(at.environment.host));
    rank.add("journal", json_value(each.journal.string()));
    rank.add("state", json_value(std::string{state_name(each)}));
    rank.add("position", json_value(position_of(each).one));
    rank.add("is_stuck", json_value(each.is_stuck()));
    rank.add("last_sign_of_life_s", age(each.since(at.time.end)));
    rank.add("last_step", at.last_step ? json_value(at.last_step->index) : json_value(std::nullopt));
    rank.add("step", each.step_age() ? json_value(each.step()) : json_value(std::nullopt));
    rank.add("step_s", age(each.step_age()));
    rank.add("usual_step_s", age(at.usual));
    json_list collectives{3};
    for (entered_collective const& one : at.collectives) {
      json_object collective{4};
      collective.add("function", json_value(one.function));
      collective.add("sequence", json_value(one.sequence));
      collective.add("group", json_value(one.group));
      collective.add("scope", json_value(one.path));
      collective.add("since_s", age(each.since(one.begin)));
      collective.add("is_finished", json_value(!one.is_open));
      collectives.add(collective.text());
    }
    rank.add("last_collectives", std::move(collectives).take());
    json_list threads{3};
    auto const add_thread = [&](std::uint64_t id, std::string const& name, open_thread const* open) {
      system_thread const* const seen = system_view_of(each, id);
      json_object thread{4};
      thread.add("id", json_value(id));
      thread.add("name", json_value(name));
      thread.add("state", seen == nullptr ? json_value(std::nullopt) : json_value(std::string(1, seen->state)));
      thread.add("kernel_function", seen == nullptr || seen->waits_in.empty() ? json_value(std::nullopt) : json_value(seen->waits_in));
      thread.add("system_call", seen == nullptr || seen->system_call.empty() ? json_value(std::nullopt) : json_value(seen->system_call));
      json_list scopes{5};
      for (std::size_t i = 0; open != nullptr && i < open->open.size(); ++i) {
        json_object scope{6};
        scope.add("scope", json_value(open->open[i].path));
        scope.add("call", open->open[i].call.empty() ? json_value(std::nullopt) : json_value(open->open[i].call));
        scope.add("since_s", age(each.since(open->open[i].begin)));
        scopes.add(scope.text());
      }
      thread.add("open", std::move(scopes).take());
      threads.add(thread.text());
    };
    for (open_thread const& one : at.threads) add_thread(one.system_id, one.name, &one);
    for (system_thread const& one : each.process.threads) {
      bool const is_listed =
          std::any_of(at.threads.begin(), at.threads.end(), [&](open_thread const& known) { return known.system_id == one.id; });
      if (!is_listed) add_thread(one.id, one.name, nullptr);
    }
    rank.add("threads", std::move(threads).take());
    rows.add(rank.text());
  }
  made.add("ranks", std::move(rows).take());
  return made.text() + "\n";
}

}  // namespace profkit_program
