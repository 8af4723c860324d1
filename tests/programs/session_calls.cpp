// SPDX-License-Identifier: Apache-2.0
//
// Every call of a session beside every other one: on two threads, beside the end of the process, and in each state of the session. Each
// pair runs in a process of its own. For ThreadSanitizer and AddressSanitizer too.
//
// usage: profkit_session_calls threads [ROUNDS [FILTER]]   ROUNDS sessions in total, over all pairs; FILTER: part of the name of a pair
//        profkit_session_calls ends [ROUNDS [FILTER]]      the same beside exit() and signals
//        profkit_session_calls states
// PROFKIT_TEST_ROUNDS replaces the default of ROUNDS.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/child_processes.hpp"
#include "session_calls.hpp"

/// Called by ThreadSanitizer. A process that ends in the middle of calls has threads that nobody has joined yet.
extern "C" __attribute__((used)) char const* __tsan_default_options() { return "report_thread_leaks=0"; }

namespace {

/// A number that depends on a round, below a limit.
unsigned vary(unsigned round, unsigned limit) { return ((round + 1) * 2'654'435'761U >> 8U) % limit; }

/// The options of a pair of calls in a round.
profkit::options options_for(call const& first, call const& second, unsigned round) {
  profkit::options result;
  result.warmup_steps = 0;
  result.measured_steps = 1'000'000;
  if (round % 3 == 2) result.journal = "run.journal";
  if (round % 5 < 3) result.max_records = 1000;  // most records are in the figures only
  if (first.make != wait_for_reports && second.make != wait_for_reports) return result;
  result.report_every = milliseconds{1};
  if (round % 2 == 0) result.output_directory = "out";
  return result;
}

void record(tested& all, unsigned scopes) {
  for (unsigned i = 0; i < scopes; ++i) work(all);
}

/// Something to copy and to analyse, which takes time.
void record_some(tested& all, unsigned round) {
  constexpr unsigned counts[] = {0, 300'000, 1'000, 30'000};
  record(all, std::min(counts[round % 4], sanitizer_factor > 1 ? 1'000U : 300'000U));
}

/// More than the session's thread can have drained when the next call ends the session.
void record_burst(tested& all) {
  is_bursting = true;
  record(all, sanitizer_factor > 1 ? 50'000U : 200'000U);
  is_bursting = false;
}

/// The body of a thread.
void act(call const& mine, tested& all, unsigned round) {
  // The session ends in the middle of the other thread's calls.
  unsigned const delay = vary(round, mine.make == report ? 60'000 : 1000);
  for (++all.arrived; all.arrived < 2;) std::this_thread::yield();
  auto const begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < microseconds{delay}) continue;
  if (mine.make == report && vary(round, 3) < 2) record_burst(all);
  for (int i = 0; i < mine.most && (i < mine.least || all.satisfied < 2); ++i) {
    make_timed(mine, all);
    if (i + 1 == mine.least) ++all.satisfied;
  }
}

/// Both threads have ended: the report has all that they did.
void check_report(tested& all) {
  profkit::report const last = all.session->report();
  profkit::profile const& profile = last.profile();
  if (all.can_end) {
    require(profile.steps.size() <= all.steps && scopes_named(profile, "work") <= all.scopes, "there is more than was done");
  } else {
    require(profile.steps.size() == all.steps, std::to_string(profile.steps.size()) + " of " + std::to_string(all.steps) + " steps");
    std::uint64_t const untraced = profile.quality.untraced_records;
    std::uint64_t const found = profile.scopes.size() + profile.counters.size() + untraced;
    std::uint64_t const made = all.scopes + all.steps + all.counters;  // a step is a scope too
    require(found == made, std::to_string(found) + " of " + std::to_string(made) + " scopes and counters");
    require(untraced > 0 || scopes_named(profile, "work") == all.scopes, "scopes have wrong names");
    auto const added = std::count_if(profile.collectors.begin(), profile.collectors.end(),
                                     [](auto const& each) { return each.name == "counted" && each.status == "collected"; });
    require(static_cast<std::uint64_t>(added) == all.collectors, std::to_string(added) + " collectors");
  }
  require(profile.quality.dropped_events == 0 && !profile.quality.snapshot, "something was dropped");
  all.note(last);
  { profkit::step const step{*all.session}; }
  PROF_SCOPE("too late");
  all.note(all.session->report());
  all.note(all.session->snapshot());
  for (final_figures const& each : all.reports) require(each == all.reports.front(), "the reports of an ended session differ");
}

int run_on_threads(call const& first, call const& second, unsigned from, unsigned rounds) {
  for (unsigned round = from; round < from + rounds; ++round) {
    tested all{options_for(first, second, round)};
    if (round % 3 != 0) all.session->collect(slow{});
    record_some(all, round);
    all.can_end = first.make == report || second.make == report;
    call const& here = round % 2 == 0 ? first : second;
    call const& there = round % 2 == 0 ? second : first;
    std::thread other{[&] { act(there, all, round); }};
    if (round % 4 < 2) {
      act(here, all, round + 77);
    } else {
      std::thread{[&] { act(here, all, round + 77); }}.join();
    }
    other.join();
    if (round % 5 != 4 || all.can_end) {
      check_report(all);
    } else {
      record_burst(all);
    }
    delete all.session;
  }
  return 0;
}

// The end of the process, while another thread goes on with its calls.

void end_by_exit(tested&) { std::exit(exit_code); }

template <int Signal>
void end_by_signal(tested&) {
  ::kill(::getpid(), Signal);
  for (;;) ::pause();
}

void destroy(tested& all) {
  delete all.session;
  for (;;) ::pause();
}

struct end_of_process {
  char const* name;
  void (*make)(tested&);
  int signal;  ///< 0: the exit code is `exit_code`
};

constexpr end_of_process ends[] = {
    {"exit", end_by_exit, 0}, {"SIGINT", end_by_signal<SIGINT>, SIGINT}, {"SIGTERM", end_by_signal<SIGTERM>, SIGTERM}};

constexpr call destroy_call{"destructor", destroy, 1, 1};
constexpr call signal_call{"SIGTERM", end_by_signal<SIGTERM>, 1, 1};

int run_beside_end(call const& beside, end_of_process const& end, unsigned round) {
  ends_in_calls = true;
  profkit::options options = options_for(beside, beside, round);
  options.output_directory = "out";
  options.print_report = true;
  options.report_on_signals = true;
  auto& all = *new tested{options};
  all.can_end = true;
  if (round % 3 != 0) all.session->collect(slow{});
  record_some(all, round);
  for (int i = 0; i < 3; ++i) make_step(all);
  auto const go_on = [&all, &beside] {
    for (;;) make_timed(beside, all);
  };
  auto const come_to_end = [&all, &end, round] {
    constexpr unsigned delays[] = {0, 300, 3000, 20'000, 60'000};
    std::this_thread::sleep_for(microseconds{delays[round % 5] + vary(round, 300)});
    end.make(all);
  };
  if (round % 2 == 0) {
    std::thread{go_on}.detach();
    come_to_end();
  } else {
    std::thread{come_to_end}.detach();
    go_on();
  }
  return 1;
}

std::string judge_end(call const& beside, end_of_process const& end, child_outcome const& found) {
  bool const is_signal_too = beside.make == signal_call.make;
  bool const is_right =
      end.signal == 0 ? found.exits_with(exit_code) || (is_signal_too && found.dies_by(SIGTERM)) : found.dies_by(end.signal);
  if (!is_right) return found.end();
  std::string const json = text_of_file(found.directory + "/out/report.json");
  if (!json.empty() && json[json.find_last_not_of(" \n")] != '}') return "report.json is incomplete";
  // A signal after the end of the session ends the program immediately.
  if (end.signal != 0 && (beside.make == report || beside.make == destroy)) return {};
  bool const is_complete = has(json, "\"snapshot\": null") && has(found.out, "\nDATA ");
  return is_complete || has(found.err, "profkit: ") ? "" : "there is neither a whole report nor a line that says why";
}

// Each call in each state.

enum class state { off, running, in_step, ended, abandoned };

constexpr char const* state_names[] = {"off", "running", "in a step", "ended", "abandoned"};

/// The state, as the public interface shows it.
state state_of(profkit::session& session) {
  profkit::quality_record const quality = session.snapshot().profile().quality;
  if (has(quality.not_recorded, "profkit is off")) return state::off;
  if (has(quality.not_recorded, "belongs to process")) return state::abandoned;
  if (!quality.snapshot) return state::ended;
  return quality.snapshot->is_step_open ? state::in_step : state::running;
}

struct transition {
  call const& which;
  state from;
  state to;
  bool is_refused;
};

void try_transition(transition const& wanted, tested& all) {
  std::string const what = std::string{wanted.which.name} + " while " + state_names[static_cast<int>(wanted.from)];
  require(state_of(*all.session) == wanted.from, what + ": the state before it is wrong");
  std::uint64_t const steps = all.steps;
  std::size_t const reports = all.reports.size();
  make_timed(wanted.which, all);
  bool const was_step_refused = wanted.which.make == make_step && all.steps == steps;
  bool const was_report_refused = wanted.which.make == report && all.reports.size() == reports;
  require((was_step_refused || was_report_refused) == wanted.is_refused, what + (wanted.is_refused ? " is not refused" : " is refused"));
  require(state_of(*all.session) == wanted.to, what + ": the state after it is wrong");
}

int run_in_state(call const& which, state from) {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 1000;
  options.enabled = from != state::off;
  tested all{options};
  all.can_end = from != state::running && from != state::in_step;
  transition wanted{which, from, from, false};
  if (from == state::running && which.make == report) wanted.to = state::ended;
  if (from == state::in_step) {
    wanted.is_refused = which.make == make_step || which.make == report;
    profkit::step const step{*all.session};
    try_transition(wanted, all);
  } else if (from == state::abandoned) {
    ::pid_t const child = ::fork();
    if (child == 0) {
      try_transition(wanted, all);
      delete all.session;
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    require(status == 0, "the child ends with status " + std::to_string(status));
  } else {
    if (from == state::ended) report(all);
    try_transition(wanted, all);
  }
  profkit::report const last = all.session->report();
  if (from == state::running) check_report(all);
  if (from == state::ended) require(final_figures{last} == all.reports.front(), "the report of an ended session changes");
  delete all.session;
  return 0;
}

template <class Second>
using pairs_of = std::vector<std::pair<call const*, Second const*>>;

template <class Second>
std::string name_of(std::pair<call const*, Second const*> const& pair) {
  return std::string{pair.first->name} + " beside " + pair.second->name;
}

/// Keeps the pairs with this part of a name.
template <class Second>
void choose(pairs_of<Second>& pairs, std::string const& filter) {
  auto const is_other = [&](auto const& pair) { return name_of(pair).find(filter) == std::string::npos; };
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), is_other), pairs.end());
}

/// Each pair has at least one round.
std::vector<child_case> cases_on_threads(unsigned rounds, std::string const& filter) {
  pairs_of<call> pairs;
  for (call const& first : calls) {
    for (call const& second : calls) {
      if (&first <= &second) pairs.emplace_back(&first, &second);
    }
  }
  choose(pairs, filter);
  auto const count = static_cast<unsigned>(pairs.size());
  unsigned const each = count == 0 ? 0 : (rounds + count - 1) / count;
  std::vector<child_case> result;
  unsigned from = 0;
  for (auto const& pair : pairs) {
    result.push_back({name_of(pair), [pair, from, each] { return run_on_threads(*pair.first, *pair.second, from, each); }, nullptr,
                      seconds{30 + 3 * static_cast<int>(each)}});
    from += each;
  }
  return result;
}

std::vector<child_case> cases_of_ends(unsigned rounds, std::string const& filter) {
  pairs_of<end_of_process> pairs;
  for (end_of_process const& end : ends) {
    for (call const& beside : calls) pairs.emplace_back(&beside, &end);
    pairs.emplace_back(&destroy_call, &end);
  }
  pairs.emplace_back(&signal_call, &ends[0]);
  choose(pairs, filter);
  std::vector<child_case> result;
  for (unsigned repetition = 0; !pairs.empty() && (repetition == 0 || result.size() < rounds); ++repetition) {
    for (unsigned i = 0; i < pairs.size(); ++i) {
      auto const pair = pairs[i];
      // Two threads that end a session: the time between them matters most.
      unsigned const times = pair.first->make == report || pair.first->make == destroy ? 5 : 1;
      for (unsigned k = 0; k < times; ++k) {
        result.push_back({name_of(pair),
                          [pair, round = i + repetition * times + k] { return run_beside_end(*pair.first, *pair.second, round); },
                          [pair](child_outcome const& found) { return judge_end(*pair.first, *pair.second, found); }, seconds{30}});
      }
    }
  }
  return result;
}

std::vector<child_case> cases_of_states() {
  std::vector<child_case> result;
  for (call const& which : calls) {
    if (which.make == fork_child || which.make == make_loop || which.make == wait_for_reports) continue;
    // ThreadSanitizer knows no threads in the child of a fork.
    if (which.make == start_thread && sanitizer_factor > 1) continue;
    for (state const from : {state::off, state::running, state::in_step, state::ended, state::abandoned}) {
      bool const is_known = which.make != construct || from != state::abandoned;  // a child makes its own session as usual
      if (!is_known) continue;
      result.push_back({std::string{which.name} + " while " + state_names[static_cast<int>(from)],
                        [&which, from] { return run_in_state(which, from); }, nullptr, seconds{30}});
    }
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  std::string const kind = count > 1 ? arguments[1] : "";
  char const* const wanted = std::getenv("PROFKIT_TEST_ROUNDS");
  std::string const number = count > 2 ? arguments[2] : wanted != nullptr ? wanted : "1";
  auto const rounds = static_cast<unsigned>(std::strtoul(number.c_str(), nullptr, 10));
  std::string const filter = count > 3 ? arguments[3] : "";
  std::vector<child_case> cases;
  if (kind == "threads") cases = cases_on_threads(rounds, filter);
  if (kind == "ends") cases = cases_of_ends(rounds, filter);
  if (kind == "states") cases = cases_of_states();
  if (cases.empty()) return std::fputs("usage: profkit_session_calls threads|ends [ROUNDS [FILTER]] | states\n", stderr), 2;
  child_processes processes{"session-calls-" + kind};
  std::size_t const failures = processes.run(cases, std::max(2U, std::thread::hardware_concurrency() / 2));
  std::printf("%zu of %zu cases fail\n", failures, cases.size());
  return failures == 0 ? 0 : 1;
}
