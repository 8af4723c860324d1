// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profkit.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../support/child_processes.hpp"

// The calls of a session that a thread can make beside another one, for session_calls.cpp.

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr int exit_code = 7;

inline std::uint64_t scopes_named(profkit::profile const& profile, char const* name) {
  return static_cast<std::uint64_t>(
      std::count_if(profile.scopes.begin(), profile.scopes.end(), [&](auto const& each) { return profile.paths[each.path].name == name; }));
}

/// What must be the same in all reports of an ended session.
struct final_figures {
  explicit final_figures(profkit::report const& from)
      : steps{from.profile().steps.size()},
        scopes{from.profile().scopes.size()},
        end{from.profile().time.end},
        collectors{from.profile().collectors.size()} {}

  bool operator==(final_figures const& other) const {
    return steps == other.steps && scopes == other.scopes && end == other.end && collectors == other.collectors;
  }

  std::size_t steps;
  std::size_t scopes;
  profkit::timestamp end;
  std::size_t collectors;
};

/// A session and what the threads have done with it.
struct tested {
  explicit tested(profkit::options const& options) : session{new profkit::session{options}} {}

  profkit::session* session;
  bool can_end = false;  ///< one of the threads calls report(), or the process may end
  std::atomic<int> arrived{0};
  std::atomic<int> satisfied{0};  ///< threads that have made their least number of calls
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> scopes{0};
  std::atomic<std::uint64_t> counters{0};
  std::atomic<std::uint64_t> collectors{0};
  std::mutex mutex;
  std::vector<final_figures> reports;  ///< guarded by `mutex`

  void note(profkit::report const& from) {
    std::lock_guard<std::mutex> const lock{mutex};
    reports.emplace_back(from);
  }
};

class counted final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "counted"; }
  void before_step(profkit::step_record const&) override { ++calls_; }
  void after_step(profkit::step_record const&) override { ++calls_; }
  void drain(profkit::profile_builder&, bool) override { ++drains_; }

 private:
  std::uint64_t calls_ = 0;
  std::uint64_t drains_ = 0;
};

/// A burst of scopes is being recorded.
inline std::atomic<bool> is_bursting{false};

/// Makes the calls of a session that drain take long, so that others meet them. Does not return during a burst.
class slow final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "slow"; }
  void drain(profkit::profile_builder&, bool) override {
    std::this_thread::sleep_for(milliseconds{30});
    for (int i = 0; i < 300 && is_bursting; ++i) std::this_thread::sleep_for(milliseconds{1});
  }
};

inline void work(tested& all) {
  PROF_SCOPE("work");
  ++all.scopes;
}

/// Calls a function that a session may refuse. @return why it refused it; empty if it did not.
template <class Call>
inline std::string refusal_of(Call&& call) {
  try {
    call();
    return {};
  } catch (profkit::error const& refusal) {
    require(std::string{refusal.what()}.size() > 10, "a refusal without a sentence");
    return refusal.what();
  }
}

inline void require_step_refusal(std::string const& refusal) {
  require(refusal.empty() || has(refusal, "a profkit::step is open already"), "a step was refused: " + refusal);
}

inline void make_step(tested& all) {
  std::string const refusal = refusal_of([&] {
    {
      profkit::step const step{*all.session};
      work(all);
    }
    ++all.steps;
  });
  require_step_refusal(refusal);
}

inline void make_loop(tested& all) {
  int left = 5;
  std::string const refusal = refusal_of([&] {
    for (auto at = all.session->begin(); at != all.session->end() && left > 0; ++at, --left) {
      {
        profkit::step const step = *at;
        work(all);
      }
      ++all.steps;
    }
  });
  require_step_refusal(refusal);
}

inline void iterate(tested& all) {
  auto at = all.session->begin();
  for (int i = 0; i < 10 && at != all.session->end(); ++i) ++at;
}

inline void collect(tested& all) {
  all.session->collect(counted{});
  ++all.collectors;
  std::this_thread::sleep_for(microseconds{200});
}

inline void report(tested& all) {
  std::string const refusal = refusal_of([&] { all.note(all.session->report()); });
  require(refusal.empty() || has(refusal, "step"), "report() was refused: " + refusal);
}

inline void snapshot(tested& all) {
  std::uint64_t const before = all.steps;
  profkit::report const so_far = all.session->snapshot();
  auto const& missing = so_far.profile().quality.snapshot;
  if (!missing) return all.note(so_far);
  require(all.can_end || missing->is_behind || so_far.profile().steps.size() >= before, "a snapshot misses steps");
}

inline void ask(tested& all) { require(all.session->wants_step(), "it wants no step"); }

inline void make_scopes(tested& all) {
  for (int i = 0; i < 100; ++i) work(all);
  PROF_COUNTER("counter", 1);
  ++all.counters;
  std::this_thread::sleep_for(microseconds{50});
}

inline void start_thread(tested& all) {
  std::thread{[&all] { make_scopes(all); }}.join();
}

/// Constructs another session, which is possible when the first one has ended.
inline void construct(tested& all) {
  profkit::options options;
  options.warmup_steps = 0;
  std::string const refusal = refusal_of([&] {
    profkit::session other{options};
    require(all.can_end, "a second session began while the first ran");
    { profkit::step const step{other}; }
    static_cast<void>(other.report());
  });
  require(refusal.empty() || has(refusal, "one per process"), "a session was refused: " + refusal);
}

/// Whether a report says that the session belongs to the parent. It may be the last report of a session that ended before the fork.
inline bool is_right_in_child(profkit::report const& found, tested const& all) {
  profkit::quality_record const& quality = found.profile().quality;
  return has(quality.not_recorded, "belongs to process") || (all.can_end && quality.not_recorded.empty() && !quality.snapshot);
}

/// Returns what is wrong in the child of a fork.
inline char const* use_in_child(tested& all) {
  profkit::session& session = *all.session;
  if (!is_right_in_child(session.snapshot(), all)) return "snapshot() in the child of a fork\n";
  static_cast<void>(refusal_of([&] {
    profkit::step const step{session};
    PROF_SCOPE("in a child");
  }));
  session.collect(counted{});
  static_cast<void>(session.wants_step());
  if (!is_right_in_child(session.report(), all)) return "report() in the child of a fork\n";
  return nullptr;
}

inline void fork_child(tested& all) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    char const* const wrong = use_in_child(all);
    if (wrong != nullptr) std::fputs(wrong, stderr);
    ::_exit(wrong == nullptr ? 0 : 1);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) != child && errno == EINTR) continue;
  require(status == 0, "the child of a fork ends with status " + std::to_string(status) + (status == SIGALRM ? ": it hangs" : ""));
}

/// The calls come from the session itself, by its options.
inline void wait_for_reports(tested& all) {
  work(all);
  std::this_thread::sleep_for(milliseconds{3});
}

struct call {
  char const* name;
  void (*make)(tested&);
  int least;  ///< a thread makes at least this many
  int most;   ///< it ends after this many, even if the other thread has not made its least number
};

inline constexpr call calls[] = {
    {"step", make_step, 30, 2000},     {"loop", make_loop, 10, 400},     {"iterate", iterate, 100, 100'000},
    {"collect", collect, 5, 100},      {"report", report, 2, 50},        {"snapshot", snapshot, 2, 100},
    {"wants_step", ask, 100, 100'000}, {"scopes", make_scopes, 10, 500}, {"thread", start_thread, 3, 100},
    {"construct", construct, 5, 500},  {"fork", fork_child, 1, 5},       {"every", wait_for_reports, 5, 100},
};

inline void make_timed(call const& which, tested& all) {
  auto const begin = std::chrono::steady_clock::now();
  which.make(all);
  auto const taken = std::chrono::steady_clock::now() - begin;
  require(taken < seconds{11} * sanitizer_factor, std::string{which.name} + " took " + std::to_string(taken / seconds{1}) + " s");
}
