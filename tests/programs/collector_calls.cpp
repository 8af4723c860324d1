// SPDX-License-Identifier: Apache-2.0
//
// Every function that a program gives to profkit (of a collector, a memory source, a scope listener) does everything that it should not:
// it throws, blocks, allocates, opens scopes, or calls the session, the end of the program or a thread that does so. Each case runs in a
// process of its own.
//
// usage: profkit_collector_calls acts|blocks [FILTER]   FILTER: part of the name of a case, such as "snapshot in drain"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/child_processes.hpp"
#include "bad_collectors.hpp"

namespace {

profkit::options options_for(place where) {
  profkit::options result;
  result.warmup_steps = 1;
  result.measured_steps = steps - 1;
  result.memory_at_scopes = where == place::poll_at_scopes || is_of_memory(where);
  if (where == place::flush) result.journal = "run.journal";
  if (where == place::times_steps || where == place::read_step_times) {
    result.wanted_interval = 0.9;
    result.max_steps = 1000;
  }
  return result;
}

void add_bad_collector(profkit::session& session) {
  if (is_of_memory(now.where)) {
    session.collect(bad_memory{});
  } else if (now.where != place::listener) {
    session.collect(bad{});
  }
  now.is_armed = true;
}

void make_steps(profkit::session& session) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    profkit::step const step{session};
    for (std::uint64_t k = 0; k < scopes_per_step; ++k) PROF_SCOPE("work");
    std::this_thread::sleep_for(milliseconds{5});
  }
}

std::uint64_t scopes_named(profkit::profile const& profile, char const* name) {
  std::uint64_t result = 0;
  for (profkit::scope_record const& each : profile.scopes) result += profile.paths[each.path].name == name ? 1U : 0U;
  return result;
}

profkit::collector_record const* find_collector(profkit::profile const& profile, char const* name) {
  for (profkit::collector_record const& each : profile.collectors) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

/// The bad collector is described as it behaved.
void check_status(profkit::profile const& profile) {
  if (now.where == place::listener || now.where == place::destructor) return;
  profkit::collector_record const* const found = find_collector(profile, "bad collector");
  require(found != nullptr, "the bad collector is not in the report");
  std::string const said = found->status + ": " + found->reason;
  if (!may_throw(now.where)) return;
  std::string expected;
  if (now.what == deed::throw_exception) expected = "it broke on purpose, with a long reason";
  if (now.what == deed::throw_number) expected = "it threw an exception that is not a std::exception";
  if (now.what == deed::throw_no_memory) expected = std::bad_alloc{}.what();
  if (now.what == deed::snapshot || now.what == deed::report) expected = now.refusal;
  bool const fails = !expected.empty();
  if (fails) require(found->status == "not collected" && found->reason == expected, "the bad collector is " + said);
  if (!fails && now.refusal.empty()) require(found->status == "collected", "the bad collector is " + said);
}

/// A whole program whose bad function does something. The rest of the session is right.
int run_act(place where, deed what) {
  now.where = where;
  now.what = what;
  ends_in_calls = what == deed::exit;
  profkit::scope_listener const listener{listen};
  profkit::options options = options_for(where);
  options.print_report = what == deed::exit;
  {
    profkit::session session{options};
    now.session = &session;
    healthy& first = session.collect(healthy{"first"});
    add_bad_collector(session);
    healthy& last = session.collect(healthy{"last"});
    make_steps(session);
    bool const has_to_wait = where == place::drain || where == place::flush || where == place::times_steps;
    if (has_to_wait) static_cast<void>(comes_true(seconds{10}, [] { return now.has_begun.load(); }));
    profkit::report const report = session.report();
    if (now.child == 0) require_end_of_child();
    profkit::profile const& profile = report.profile();
    require(profile.steps.size() == steps, std::to_string(profile.steps.size()) + " steps");
    require(scopes_named(profile, "work") == steps * scopes_per_step, std::to_string(scopes_named(profile, "work")) + " scopes");
    require(profile.quality.dropped_events == 0 && !profile.quality.snapshot, "something was dropped");
    for (healthy const* const each : {&first, &last}) {
      require(each->before == steps && each->after == steps, "another collector was called " + std::to_string(each->before) + " times");
      profkit::collector_record const* const found = find_collector(profile, std::string{each->name()}.c_str());
      require(found != nullptr && found->status == "collected", "another collector does not work");
    }
    check_status(profile);
    bool const must_refuse = (what == deed::snapshot || what == deed::report) && is_in_session(where);
    require(!must_refuse || now.refusal.size() > 10, "it is not refused with a sentence");
    bool const must_add = what == deed::collect && is_in_session(where) && !is_at_end(where);
    auto const is_inner = [](auto const& each) { return each.name == "added inside" && each.status == "collected"; };
    auto const inner = static_cast<std::uint64_t>(std::count_if(profile.collectors.begin(), profile.collectors.end(), is_inner));
    require(!must_add || inner == added_inside, "of the collectors inside a collector, these are added: " + std::to_string(inner));
    if (what == deed::thread) require(comes_true(max_call_time, [] { return now.is_thread_done.load(); }), "the other thread hangs");
    require(session.snapshot().profile().steps.size() == steps, "the report changes");
  }
  require_end_of_child();
  require(now.has_begun, "the function was never called: this case tests nothing");
  return 0;
}

/// How a program with a blocked function ends.
enum class ending { report, exit, destructor };

constexpr std::pair<ending, char const*> endings[] = {
    {ending::report, "report()"}, {ending::exit, "exit()"}, {ending::destructor, "the destructor"}};

/// Runs a call that has to answer in time, with a result or with a sentence.
template <class Call>
void call_in_time(char const* name, Call&& call) {
  auto const begin = std::chrono::steady_clock::now();
  try {
    call();
  } catch (profkit::error const& refusal) {
    std::fprintf(stderr, "%s is refused: %s\n", name, refusal.what());
    require(std::string{refusal.what()}.size() > 10, "a refusal without a sentence");
  }
  auto const taken = std::chrono::steady_clock::now() - begin;
  require(taken < max_call_time, std::string{name} + " took " + std::to_string(taken / seconds{1}) + " s");
}

/// A program whose bad function does not return, on a thread that makes the steps or on profkit's; the main thread ends the session.
int run_blocked(place where, ending how) {
  now.where = where;
  now.what = deed::block;
  ends_in_calls = true;
  static profkit::scope_listener const listener{listen};
  profkit::options options = options_for(where);
  options.full_report = true;
  options.output_directory = "out";
  auto* const session = new profkit::session{options};
  now.session = session;
  static std::atomic<bool> is_worker_done{false};
  std::thread{[session] {
    session->collect(healthy{"first"});
    add_bad_collector(*session);
    session->collect(healthy{"last"});
    make_steps(*session);
    is_worker_done = true;
  }}.detach();
  require(comes_true(max_call_time, [] { return now.has_begun || is_worker_done; }), "the steps do not end");
  bool const blocks_owner = where == place::drain || where == place::flush || is_at_end(where);
  if (blocks_owner) require(comes_true(max_call_time, [] { return is_worker_done.load(); }), "the steps wait for a blocked collector");
  if (where == place::drain || where == place::flush) {
    require(comes_true(seconds{10}, [] { return now.has_begun.load(); }), "the function was never called: this case tests nothing");
  }
  std::this_thread::sleep_for(milliseconds{100});
  if (how == ending::destructor && comes_true(max_call_time, [] { return is_worker_done.load(); })) {
    call_in_time("the destructor", [session] { delete session; });
  } else if (how == ending::report) {
    bool is_explained = where == place::usage || where == place::listener || where == place::destructor;
    call_in_time("report()", [&] {
      profkit::report const found = session->report();
      profkit::collector_record const* const bad_one = find_collector(found.profile(), "bad collector");
      is_explained = is_explained || (bad_one != nullptr && !bad_one->reason.empty());
      require(is_explained, "the report does not say that a collector has not returned");
    });
    call_in_time("snapshot()", [&] { static_cast<void>(session->snapshot()); });
  }
  std::fputs("ends\n", stderr);
  std::exit(exit_code);
}

std::string judge_exit(child_outcome const& found) {
  if (!found.exits_with(exit_code)) return found.end();
  if (has(found.err, "no report: \n")) return "there is no report, and no reason";
  bool const is_explained = has(found.err, "profkit: ") || has(found.out, "\nDATA ");
  return is_explained ? "" : "there is neither a report nor a line that says why";
}

std::string judge_blocked(place where, child_outcome const& found) {
  if (!found.exits_with(exit_code)) return found.end();
  if (has(found.err, "no report: \n")) return "there is no report, and no reason";
  if (has(found.err, "profkit: ") || has(found.err, "is refused")) return {};
  // A collector that blocks its destructor was right until then; the others are no collectors.
  bool const was_right = where == place::usage || where == place::listener || where == place::destructor;
  bool const is_whole = has(text_of_file(found.directory + "/out/report.json"), "\"snapshot\": null") && !found.out.empty();
  if (was_right) return is_whole ? "" : "there is neither a whole report nor a line that says why";
  return has(found.out, "bad collector") ? "" : "no sentence says that a collector has not returned";
}

bool is_possible(place where, deed what) {
  if (what == deed::throw_exception || what == deed::throw_number || what == deed::throw_no_memory) return may_throw(where);
  // A session that is being destroyed must not be used by another thread, and takes no collectors.
  return (what != deed::thread && what != deed::collect) || where != place::destructor;
}

std::vector<child_case> cases_of_acts() {
  std::vector<child_case> result;
  for (auto const& [what, what_name] : deeds) {
    for (auto const& [where, where_name] : places) {
      if (!is_possible(where, what)) continue;
      child_case next{std::string{what_name} + " in " + where_name, [what = what, where = where] { return run_act(where, what); }, nullptr,
                      seconds{25}};
      if (what == deed::exit) next.judge = judge_exit;
      result.push_back(std::move(next));
    }
  }
  return result;
}

std::vector<child_case> cases_of_blocks() {
  std::vector<child_case> result;
  for (auto const& [how, how_name] : endings) {
    for (auto const& [where, where_name] : places) {
      if (where == place::destructor && how == ending::destructor) continue;  // a session waits for the destructors of its collectors
      result.push_back({std::string{"block in "} + where_name + ", ended by " + how_name,
                        [how = how, where = where] { return run_blocked(where, how); },
                        [where = where](child_outcome const& found) { return judge_blocked(where, found); }, seconds{45}});
    }
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  std::string const kind = count > 1 ? arguments[1] : "";
  std::string const filter = count > 2 ? arguments[2] : "";
  std::vector<child_case> cases;
  if (kind == "acts") cases = cases_of_acts();
  if (kind == "blocks") cases = cases_of_blocks();
  std::vector<child_case> chosen;
  for (child_case& each : cases) {
    if (each.name.find(filter) != std::string::npos) chosen.push_back(std::move(each));
  }
  if (chosen.empty()) return std::fputs("usage: profkit_collector_calls acts|blocks [FILTER]\n", stderr), 2;
  child_processes processes{"collector-calls-" + kind};
  std::size_t const failures = processes.run(chosen, kind == "blocks" ? chosen.size() : 4);  // blocked processes need no processor
  std::printf("%zu of %zu cases fail\n", failures, chosen.size());
  return failures == 0 ? 0 : 1;
}
