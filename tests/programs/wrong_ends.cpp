// SPDX-License-Identifier: Apache-2.0
//
// Scopes that do not end where they should: on another thread, in another order, or never.
//   usage: wrong_ends CASE
//   moved        coroutines with open scopes resume on another thread
//   interleaved  coroutines with open scopes take turns on one thread
//   jumped       longjmp over one scope, over many, and over more than a log tracks
//   fibers       ucontext: stacks with open scopes take turns
//   kept         after all of these, the thread's own scopes are correct
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <ucontext.h>

#include <condition_variable>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/child_processes.hpp"

#if __has_include(<coroutine>) && defined(__cpp_impl_coroutine)
#include <coroutine>
#define HAS_COROUTINES 1
#else
#define HAS_COROUTINES 0
#endif

namespace {

void require_equal(std::uint64_t is, std::uint64_t wanted, char const* what) {
  require(is == wanted, std::to_string(is) + " " + what + ", not " + std::to_string(wanted));
}

profkit::options steps(std::uint64_t count) {
  profkit::options result;
  result.warmup_steps = 0;
  result.measured_steps = count;
  return result;
}

/// Checks the invariants of all cases.
/// @return the quality record.
profkit::quality_record check(profkit::report const& report, std::uint64_t opened) {
  profkit::profile const& profile = report.profile();
  profkit::quality_record const& quality = profile.quality;
  std::printf("%zu scopes recorded, %llu dropped, %llu open, %llu misnested, %llu unmatched ends\n", profile.scopes.size(),
              static_cast<unsigned long long>(quality.dropped_events), static_cast<unsigned long long>(quality.open_scopes),
              static_cast<unsigned long long>(quality.misnested_scopes), static_cast<unsigned long long>(quality.unmatched_ends));
  require_equal(profile.scopes.size() + quality.dropped_events + quality.open_scopes, opened, "scopes are accounted for");
  for (profkit::scope_record const& scope : profile.scopes) require(scope.time.begin <= scope.time.end, "a negative duration");
  for (profkit::scope_summary const& row : report.summary().scopes) {
    require(row.host_self.count() >= 0.0, row.path + " has a negative self time");
  }
  return quality;
}

/// Whether the report names the scope and what happened to it.
void require_named(profkit::quality_record const& quality, char const* where, char const* what) {
  bool found = false;
  for (profkit::wrong_end_record const& each : quality.wrong_ends) {
    found = found || (each.what.rfind(where, 0) == 0 && each.what.find("wrong_ends.cpp:") != std::string::npos &&
                      each.what.find(what) != std::string::npos && each.count > 0);
  }
  for (profkit::wrong_end_record const& each : quality.wrong_ends) std::printf("  %s\n", each.what.c_str());
  require(found, std::string{"nothing says: "} + where + "... " + what);
}

#if HAS_COROUTINES

/// A coroutine without a result. It is destroyed when it is done.
struct task {
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// Resumes coroutines on the thread that calls `run`.
class queue {
 public:
  void push(std::coroutine_handle<> waiting) {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      waiting_.push_back(waiting);
    }
    changed_.notify_one();
  }

  void close() {
    {
      std::lock_guard<std::mutex> const lock{mutex_};
      is_closed_ = true;
    }
    changed_.notify_all();
  }

  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock{mutex_};
      changed_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::coroutine_handle<> const next = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      next.resume();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::coroutine_handle<>> waiting_;
  bool is_closed_ = false;
};

struct resume_on {
  queue& where;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const { where.push(waiting); }
  void await_resume() const noexcept {}
};

task move(queue& to) {
  PROF_SCOPE("moved");
  co_await resume_on{to};
  PROF_SCOPE("on the other thread");
}

void moved() {
  constexpr std::uint64_t rounds = 2000;
  constexpr std::uint64_t threads = 3;
  profkit::session session{steps(rounds)};
  queue elsewhere;
  std::vector<std::thread> pool;
  for (std::uint64_t i = 0; i < threads; ++i) pool.emplace_back([&elsewhere] { elsewhere.run(); });
  for (profkit::step const step : session) {
    PROF_SCOPE("round");
    move(elsewhere);
  }
  elsewhere.close();
  for (std::thread& each : pool) each.join();
  profkit::quality_record const quality = check(session.report(), 4 * rounds);
  require_equal(quality.misnested_scopes, rounds, "scopes are misnested");
  require_equal(quality.unmatched_ends, rounds, "ends are unmatched");
  require_equal(quality.dropped_events + quality.open_scopes, 0, "scopes are lost");
  require_named(quality, "moved (", "ended on another thread than it began");
  require_named(quality, "moved (", "had not ended when round (");
  require_equal(session.report().profile().steps.size(), rounds, "steps");
}

task take_turns(std::vector<std::coroutine_handle<>>& waiting) {
  struct turn {
    std::vector<std::coroutine_handle<>>& list;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const { list.push_back(self); }
    void await_resume() const noexcept {}
  };
  PROF_SCOPE("first");
  co_await turn{waiting};
  PROF_SCOPE("second");
  co_await turn{waiting};
}

void interleaved() {
  constexpr std::uint64_t rounds = 500;
  profkit::session session{steps(rounds)};
  for (profkit::step const step : session) {
    std::vector<std::coroutine_handle<>> waiting;
    for (int i = 0; i < 2; ++i) take_turns(waiting);
    while (!waiting.empty()) {
      std::coroutine_handle<> const next = waiting.front();
      waiting.erase(waiting.begin());
      next.resume();
    }
  }
  profkit::quality_record const quality = check(session.report(), 5 * rounds);
  require(quality.misnested_scopes >= rounds, "scopes are misnested, and not counted");
  require_named(quality, "first (", "ended after an outer scope had ended");
  require_equal(session.report().profile().steps.size(), rounds, "steps");
}

#endif

std::jmp_buf target;

[[noreturn]] void jump_from(int depth) {
  PROF_SCOPE_INDEXED("left", depth);
  if (depth > 1) jump_from(depth - 1);
  std::longjmp(target, 1);
}

void jumped() {
  constexpr int rounds = 40;
  static int const depths[] = {1, 2, 60, 70, 300};
  profkit::session session{steps(rounds)};
  std::uint64_t opened = 0;
  std::uint64_t left = 0;
  static profkit::session* running;
  running = &session;
  static std::uint64_t* opened_here;
  static std::uint64_t* left_here;
  opened_here = &opened;
  left_here = &left;
  static int round;
  for (round = 0; round < rounds; ++round) {
    profkit::step const step{*running};
    PROF_SCOPE("round");
    static int const* depth;
    for (depth = depths; depth != depths + sizeof depths / sizeof *depths; ++depth) {
      if (setjmp(target) == 0) {
        PROF_SCOPE("around");
        PROF_SCOPE("inside");
        jump_from(*depth);
      }
      *left_here += static_cast<std::uint64_t>(*depth) + 2;
    }
    PROF_SCOPE("last");
    *opened_here += 3;
  }
  profkit::quality_record const quality = check(session.report(), opened + left);
  require_equal(quality.misnested_scopes, left, "scopes are misnested");
  require_equal(quality.unmatched_ends, 0, "ends are unmatched");
  require_named(quality, "inside (", "had not ended when round (");
  require_equal(session.report().profile().steps.size(), rounds, "steps");
  profkit::summary const& summary = session.report().summary();
  bool has_row = false;
  for (profkit::scope_summary const& row : summary.scopes) has_row = has_row || (row.path == "step" && row.host.count == rounds);
  require(has_row, "the step has no row of its own");
}

ucontext_t scheduler;
ucontext_t contexts[2];
int current = 0;

void fiber() {
  for (int i = 0; i < 300; ++i) {
    PROF_SCOPE("fiber");
    ::swapcontext(&contexts[current], &scheduler);
    PROF_SCOPE("goes on");
  }
}

void fibers() {
  constexpr std::size_t stack_size = 1U << 17U;
  profkit::session session{steps(1)};
  std::unique_ptr<char[]> stacks[2];
  for (int i = 0; i < 2; ++i) {
    stacks[i].reset(new char[stack_size]);
    ::getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i].get();
    contexts[i].uc_stack.ss_size = stack_size;
    contexts[i].uc_link = &scheduler;
    ::makecontext(&contexts[i], fiber, 0);
  }
  {
    profkit::step const step{session};
    for (int turn = 0; turn < 2 * 301; ++turn) {
      current = turn % 2;
      ::swapcontext(&scheduler, &contexts[current]);
    }
  }
  profkit::quality_record const quality = check(session.report(), 1 + 2 * 2 * 300);
  require(quality.misnested_scopes > 0, "scopes are misnested, and not counted");
}

void kept() {
#if HAS_COROUTINES
  moved();
  interleaved();
#endif
  jumped();
  fibers();
  profkit::session session{steps(1)};
  for (int i = 0; i < 100; ++i) {
    PROF_SCOPE("outer");
    PROF_SCOPE("inner");
  }
  profkit::quality_record const quality = check(session.report(), 200);
  require_equal(quality.misnested_scopes + quality.unmatched_ends + quality.open_scopes, 0, "events are out of order");
}

}  // namespace

int main(int count, char** arguments) {
  struct {
    char const* name;
    void (*run)();
  } const cases[] = {
#if HAS_COROUTINES
    {"moved", moved},
    {"interleaved", interleaved},
#endif
    {"jumped", jumped},
    {"fibers", fibers},
    {"kept", kept}
  };
  for (auto const& each : cases) {
    if (count == 2 && std::string_view{arguments[1]} == each.name) return each.run(), 0;
  }
  if (HAS_COROUTINES == 0) {
    std::puts("skipped: the compiler has no coroutines");
    return 4;
  }
  std::fputs("usage: wrong_ends moved|interleaved|jumped|fibers|kept\n", stderr);
  return 2;
}
