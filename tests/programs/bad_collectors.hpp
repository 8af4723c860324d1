// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profkit.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../support/child_processes.hpp"
#include "../support/sanitizers.hpp"

// A collector, a memory source and a listener with functions that do what they should not, for collector_calls.cpp.

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr int exit_code = 7;
inline constexpr std::uint64_t steps = 7;
inline constexpr std::uint64_t scopes_per_step = 100;
inline constexpr std::uint64_t added_inside = 20;  ///< collectors: more than a list has room for
inline constexpr seconds max_call_time{13 * sanitizer_factor};

/// A function that the program provides.
enum class place {
  use_clock,
  start,
  poll_at_scopes,
  prepare_step,
  before_step,
  after_step,
  drain,
  last_drain,
  flush,
  stop,
  samples,
  times_steps,
  read_step_times,
  destructor,
  read,
  reset_peak,
  at_scopes,
  first_usage,  ///< the reading of `polled_allocator::usage` when the collector starts
  usage,        ///< the readings at scopes
  listener,
};

inline constexpr std::pair<place, char const*> places[] = {
    {place::use_clock, "use_clock"},
    {place::start, "start"},
    {place::poll_at_scopes, "poll_at_scopes"},
    {place::prepare_step, "prepare_step"},
    {place::before_step, "before_step"},
    {place::after_step, "after_step"},
    {place::drain, "drain"},
    {place::last_drain, "last drain"},
    {place::flush, "flush"},
    {place::stop, "stop"},
    {place::samples, "samples"},
    {place::times_steps, "times_steps"},
    {place::read_step_times, "read_step_times"},
    {place::destructor, "destructor"},
    {place::read, "memory_source::read"},
    {place::reset_peak, "memory_source::reset_peak"},
    {place::at_scopes, "memory_source::at_scopes"},
    {place::first_usage, "first usage function"},
    {place::usage, "usage function"},
    {place::listener, "scope_listener"},
};

enum class deed {
  throw_exception,
  throw_number,
  throw_no_memory,
  allocate,
  scopes,
  collect,
  snapshot,
  report,
  step,
  thread,
  fork,
  exit,
  block
};

inline constexpr std::pair<deed, char const*> deeds[] = {
    {deed::throw_exception, "exception"},
    {deed::throw_number, "number thrown"},
    {deed::throw_no_memory, "bad_alloc"},
    {deed::allocate, "allocations"},
    {deed::scopes, "scopes"},
    {deed::collect, "collect"},
    {deed::snapshot, "snapshot"},
    {deed::report, "report"},
    {deed::step, "step"},
    {deed::thread, "thread with snapshot"},
    {deed::fork, "fork"},
    {deed::exit, "exit"},
};

/// Waits until it is true. @return false after a limit.
template <class Condition>
inline bool comes_true(seconds limit, Condition&& condition) {
  auto const deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds{2});
  }
  return true;
}

/// What happens in this process: set before the session begins.
inline struct {
  place where{};
  deed what{};
  profkit::session* session = nullptr;
  bool is_armed = false;  ///< for `place::usage`: the collector has started
  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> is_thread_done{false};
  std::atomic<::pid_t> child{-1};  ///< of `deed::fork`; 0 in the child
  std::string refusal;             ///< what profkit answered
} now;

/// Whether the function belongs to a collector and runs before the session has ended.
inline bool is_in_session(place where) { return where != place::destructor && where != place::usage && where != place::listener; }

inline bool may_throw(place where) {
  return is_in_session(where) && where != place::samples && where != place::times_steps && where != place::at_scopes &&
         where != place::first_usage;
}

/// The functions that run when the session ends.
inline bool is_at_end(place where) { return where == place::last_drain || where == place::stop || where == place::destructor; }

inline bool is_of_memory(place where) {
  return where == place::read || where == place::reset_peak || where == place::at_scopes || where == place::first_usage ||
         where == place::usage;
}

/// Does nothing wrong.
class healthy final : public profkit::collector {
 public:
  explicit healthy(char const* name) : name_{name} {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  void before_step(profkit::step_record const&) override { ++before; }
  void after_step(profkit::step_record const&) override { ++after; }

  std::uint64_t before = 0;
  std::uint64_t after = 0;

 private:
  char const* name_;
};

/// Calls the session. A refusal leaves the function, if it may throw.
template <class Call>
inline void ask(Call&& call) {
  auto const begin = std::chrono::steady_clock::now();
  bool is_refused = false;
  try {
    call();
  } catch (profkit::error const& refusal) {
    now.refusal = refusal.what();
    is_refused = true;
  }
  require(std::chrono::steady_clock::now() - begin < seconds{5} * sanitizer_factor, "the answer took longer than 5 s");
  now.has_ended = true;
  if (is_refused && may_throw(now.where)) throw profkit::error{now.refusal};
}

inline void allocate() {
  std::vector<char> const large(std::size_t{64} << 20U, 'x');
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) many.emplace_back(static_cast<std::size_t>(i % 1000), large.back());
  static profkit::site pool{"pool", __FILE__, __LINE__};
  for (std::string const& each : many) profkit::record_allocation(pool, &each, each.size());
  for (std::string const& each : many) profkit::record_release(pool, &each, each.size());
}

inline void open_scopes() {
  PROF_SCOPE("of a collector");
  { PROF_SCOPE_INDEXED("inner", 3); }
  PROF_COUNTER("of a collector", 1);
  static profkit::site kept{"kept open", __FILE__, __LINE__};
  struct never_closed {
    profkit::scope open;
  };
  alignas(never_closed) static unsigned char memory[sizeof(never_closed)];
  if (!now.has_begun.exchange(true)) new (memory) never_closed{profkit::scope{kept}};
}

inline void start_thread() {
  std::thread{[] {
    try {
      static_cast<void>(now.session->snapshot());
    } catch (profkit::error const&) {
    }
    now.is_thread_done = true;
  }}.detach();
  static_cast<void>(comes_true(seconds{1}, [] { return now.is_thread_done.load(); }));
}

/// Called by every function. Does the deed of this process, if this is its place.
inline void act(place where) {
  if (where != now.where) return;
  if (now.what == deed::scopes) {  // each time: a function that always opens scopes must not call itself
    open_scopes();
    now.has_ended = true;
    return;
  }
  if (now.has_begun.exchange(true)) return;
  switch (now.what) {
    case deed::throw_exception:
      throw std::runtime_error{"it broke on purpose, with a long reason"};
    case deed::throw_number:
      throw 42;
    case deed::throw_no_memory:
      throw std::bad_alloc{};
    case deed::allocate:
      allocate();
      break;
    case deed::collect:
      ask([] {
        for (std::uint64_t i = 0; i < added_inside; ++i) now.session->collect(healthy{"added inside"});
      });
      break;
    case deed::snapshot:
      ask([] { static_cast<void>(now.session->snapshot()); });
      break;
    case deed::report:
      ask([] { static_cast<void>(now.session->report()); });
      break;
    case deed::step:
      try {
        profkit::step const inner{*now.session};
        PROF_SCOPE("in a step of a collector");
      } catch (profkit::error const&) {
      }
      break;
    case deed::thread:
      start_thread();
      break;
    case deed::fork:
      now.child = ::fork();
      ends_in_calls = ends_in_calls || now.child == 0;
      break;
    case deed::exit:
      std::exit(exit_code);
    case deed::block:
      for (;;) std::this_thread::sleep_for(std::chrono::hours{1});
    case deed::scopes:
      break;
  }
  now.has_ended = true;
}

/// The end of the child of `deed::fork`. A child that the session's thread forked ends with that thread; others return from `main`.
inline void require_end_of_child() {
  if (now.child == 0) std::_Exit(0);
  int status = -1;
  bool const has_ended = now.child < 0 || comes_true(seconds{10}, [&] { return ::waitpid(now.child, &status, WNOHANG) == now.child; });
  if (!has_ended) ::kill(now.child, SIGKILL);
  require(has_ended, "the child of a fork does not end");
  bool const is_right = status == 0 || under_thread_sanitizer;  // which crashes where a thread of the child ends
  require(now.child < 0 || is_right, "the child of a fork ends with status " + std::to_string(status));
}

class bad final : public profkit::collector {
 public:
  bad() = default;
  bad(bad&& from) noexcept : is_in_use_{std::exchange(from.is_in_use_, false)} {}
  bad& operator=(bad&&) = delete;
  ~bad() override {
    if (is_in_use_) act(place::destructor);
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "bad collector"; }
  void use_clock(profkit::detail::calendar_clock&) override { act(place::use_clock); }
  void start(profkit::profile_builder&) override { act(place::start); }
  void poll_at_scopes(profkit::profile_builder&) override { act(place::poll_at_scopes); }
  void prepare_step(profkit::step_record const&) override { act(place::prepare_step); }
  void before_step(profkit::step_record const&) override { act(place::before_step); }
  void after_step(profkit::step_record const&) override { act(place::after_step); }
  void drain(profkit::profile_builder&, bool last) override { act(last ? place::last_drain : place::drain); }
  void flush() override { act(place::flush); }
  void stop() override { act(place::stop); }
  [[nodiscard]] profkit::detail::sample_source* samples() noexcept override {
    act(place::samples);
    return nullptr;
  }
  [[nodiscard]] bool times_steps() const noexcept override {
    act(place::times_steps);
    return now.where == place::read_step_times;
  }
  void read_step_times() override { act(place::read_step_times); }

 private:
  bool is_in_use_ = true;
};

inline std::uint64_t bytes_in_use() noexcept {
  act(now.is_armed ? place::usage : place::first_usage);
  return 4096;
}

class bad_memory final : public profkit::memory_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "bad collector"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override {
    act(place::read);
    return {{"allocated", 4096, {}, {}}};
  }
  void reset_peak() override { act(place::reset_peak); }
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override {
    act(place::at_scopes);
    static profkit::site source{"bad collector", __FILE__, __LINE__};
    return {&source, &bytes_in_use};
  }
};

inline void listen() noexcept { act(place::listener); }
