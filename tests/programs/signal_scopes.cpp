// SPDX-License-Identifier: Apache-2.0
//
// Scopes and counters in signal handlers that interrupt scopes, on threads that record and on one that has not recorded before.
//   usage: signal_scopes CASE
//   nested       handlers open and close scopes, on the thread's stack
//   other_stack  the same on a stack of their own
//   jumps        a handler leaves the interrupted code by siglongjmp
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <sys/syscall.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/child_processes.hpp"
#include "../support/sanitizers.hpp"

namespace {

constexpr bool delays_signals = under_thread_sanitizer;  // until the program calls a function that the sanitizer intercepts

constexpr auto round_time = std::chrono::milliseconds{30};

std::atomic<std::uint64_t> in_handlers{0};  ///< number of scopes and counters opened by handlers

void on_timer(int) {
  PROF_SCOPE("handler");
  PROF_COUNTER("signals", 1);
  PROF_SCOPE_INDEXED("inside", 3);
  in_handlers += 3;
}

/// Sends a signal to this thread 20,000 times a second, or with another period.
class timer_of_this_thread {
 public:
  explicit timer_of_this_thread(int signal, long period_ns = 50'000) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    require(::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0, "no timer");
    timespec const often{0, period_ns};
    itimerspec const when{often, often};
    ::timer_settime(timer_, 0, &when, nullptr);
  }
  ~timer_of_this_thread() { ::timer_delete(timer_); }
  timer_of_this_thread(timer_of_this_thread const&) = delete;
  timer_of_this_thread& operator=(timer_of_this_thread const&) = delete;

 private:
  timer_t timer_{};
};

/// @return the number of scopes and counters opened.
std::uint64_t nest(std::uint64_t i) {
  PROF_SCOPE("outer");
  PROF_SCOPE_INDEXED("middle", i % 5);
  PROF_COUNTER("i", i);
  PROF_SCOPE("inner", (profkit::work{1.0, 2.0}));
  return 5;  // the work itself
}

void install(int flags) {
  struct sigaction action {};
  action.sa_handler = on_timer;
  action.sa_flags = flags;
  require(::sigaction(SIGUSR1, &action, nullptr) == 0, "no handler");
}

class own_signal_stack {
 public:
  explicit own_signal_stack(bool wanted) : memory_(wanted ? 1U << 16U : 0) {
    if (!wanted) return;
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    require(::sigaltstack(&stack, nullptr) == 0, "no signal stack");
  }
  ~own_signal_stack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  own_signal_stack(own_signal_stack const&) = delete;
  own_signal_stack& operator=(own_signal_stack const&) = delete;

 private:
  std::vector<char> memory_;
};

/// Runs one session. @return the number of dropped events of handlers.
std::uint64_t record_round(bool own_stack) {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 1000;
  options.max_records = 100'000'000;
  profkit::session session{options};
  in_handlers = 0;
  std::atomic<std::uint64_t> opened{0};
  std::atomic<bool> is_over{false};
  auto const work = [&](bool records) {
    own_signal_stack const stack{own_stack};
    timer_of_this_thread const timer{SIGUSR1};
    std::uint64_t count = 0;
    while (!is_over) {
      for (int i = 0; records && i < 1000; ++i) count += nest(count);
      timespec const pause{0, records ? 200'000 : 0};
      ::nanosleep(&pause, nullptr);  // A signal ends it; sleep_for would sleep again, and with frequent signals forever.
    }
    opened += count;
  };
  std::thread busy{work, true};
  std::thread idle{work, false};
  std::uint64_t steps = 0;
  {
    own_signal_stack const stack{own_stack};
    timer_of_this_thread const timer{SIGUSR1};
    auto const end = std::chrono::steady_clock::now() + round_time;
    while (std::chrono::steady_clock::now() < end) {
      profkit::step const step{session};
      ++steps;
      std::uint64_t count = 0;
      for (int i = 0; i < 2000; ++i) count += nest(count);
      opened += count;
    }
    is_over = true;
    busy.join();
    idle.join();
  }
  profkit::profile const profile = session.report().profile();
  profkit::quality_record const& quality = profile.quality;
  std::uint64_t const recorded = profile.scopes.size() + profile.counters.size() + profile.work.size();
  std::uint64_t const wanted = opened + in_handlers + steps;
  require(recorded + quality.dropped_events == wanted,
          std::to_string(recorded) + " recorded and " + std::to_string(quality.dropped_events) + " dropped of " + std::to_string(wanted));
  require(quality.open_scopes + quality.misnested_scopes + quality.unmatched_ends == 0, "events are out of order");
  require(profile.steps.size() == steps, "steps are missing");
  for (profkit::scope_record const& scope : profile.scopes) require(scope.time.begin <= scope.time.end, "a negative time");
  return quality.interrupting_events;
}

void nested(bool own_stack) {
  install(own_stack ? SA_ONSTACK | SA_RESTART : SA_RESTART);
  std::uint64_t dropped = 0;
  for (int round = 0; round < 20; ++round) dropped += record_round(own_stack);
  std::printf("%llu events of handlers were dropped\n", static_cast<unsigned long long>(dropped));
  require(dropped > 0 || delays_signals, "no handler interrupted the recorder: this proves nothing");
}

sigjmp_buf retry;
volatile std::sig_atomic_t jumps = 0;

void jump(int) {
  PROF_SCOPE("handler");
  jumps = jumps + 1;
  siglongjmp(retry, 1);
}

void jumps_out() {
  struct sigaction action {};
  action.sa_handler = jump;
  require(::sigaction(SIGUSR1, &action, nullptr) == 0, "no handler");
  profkit::options options;
  options.warmup_steps = 0;
  options.max_records = 100'000'000;
  profkit::session session{options};
  static int step_number;
  for (step_number = 0; step_number < 30; ++step_number) {
    profkit::step const step{session};
    static int volatile round;
    round = 0;
    sigset_t signal{};
    ::sigemptyset(&signal);
    ::sigaddset(&signal, SIGUSR1);
    {
      // siglongjmp unblocks the signal before it leaves the handler. With AddressSanitizer a handler takes longer than 50 us, so handlers
      // would nest until the stack is full.
      timer_of_this_thread const timer{SIGUSR1, under_address_sanitizer ? 1'000'000 : 50'000};
      while (round < 20) {
        if (sigsetjmp(retry, 1) != 0) round = round + 1;
        for (std::uint64_t i = 0; round < 20 && i < 1'000'000; ++i) nest(i);
      }
      ::pthread_sigmask(SIG_BLOCK, &signal, nullptr);
    }
    timespec const no_time{};
    while (::sigtimedwait(&signal, nullptr, &no_time) > 0) {
    }
    ::pthread_sigmask(SIG_UNBLOCK, &signal, nullptr);
  }
  profkit::report const report = session.report();
  require(jumps >= 600, "no jumps");
  require(report.profile().steps.size() == 30, "steps are missing");
  profkit::quality_record const& quality = report.profile().quality;
  std::printf("%llu scopes were jumped over, %llu ends have no scope, %llu events were dropped\n",
              static_cast<unsigned long long>(quality.misnested_scopes), static_cast<unsigned long long>(quality.unmatched_ends),
              static_cast<unsigned long long>(quality.interrupting_events));
  require(quality.misnested_scopes + quality.interrupting_events > 0, "no jump was noticed");
  for (profkit::scope_summary const& row : report.summary().scopes)
    require(row.host_self.count() >= 0.0, row.path + " has a negative time");
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const test = count == 2 ? arguments[1] : "";
  if (test == "nested") {
    nested(false);
  } else if (test == "other_stack") {
    nested(true);
  } else if (test == "jumps") {
    jumps_out();
  } else {
    std::fputs("usage: signal_scopes nested|other_stack|jumps\n", stderr);
    return 2;
  }
}
