// SPDX-License-Identifier: Apache-2.0
//
// Ends in the way that its argument names, while a session is active. exits.py checks the result. A line on stderr says when the program is
// ready for a signal.
//
// usage: profkit_exits WAY
#include <profkit/profkit.hpp>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../support/child_processes.hpp"

namespace {

constexpr int code = 7;

profkit::options from_environment() {
  profkit::options result = profkit::options::from_env();
  result.warmup_steps = 0;
  result.measured_steps = 5;
  return result;
}

void work() {
  PROF_SCOPE("work");
  std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

void some_steps(profkit::session& session) {
  for (int i = 0; i < 3; ++i) {
    profkit::step const step{session};
    work();
  }
}

[[noreturn]] void wait_for_ever(profkit::session& session) {
  some_steps(session);
  profkit::step const step{session};
  work();
  std::fputs("ready\n", stderr);
  for (;;) std::this_thread::sleep_for(std::chrono::milliseconds{10});
}

/// Created by `main` before it continues: a session in static memory.
profkit::session& static_session() {
  static profkit::session session{from_environment()};
  return session;
}

std::atomic<int> steps_for_ever{0};

[[noreturn]] void make_steps_for_ever(profkit::session& session) {
  for (;; ++steps_for_ever) {
    profkit::step const step{session};
    PROF_SCOPE("work");
  }
}

void wait_for_steps() {
  do std::this_thread::sleep_for(std::chrono::milliseconds{20});
  while (steps_for_ever < 100);
}

/// While another thread runs steps all the time.
[[noreturn]] void exit_beside_steps(profkit::session& session) {
  std::thread{[] {
    wait_for_steps();
    std::exit(code);
  }}.detach();
  make_steps_for_ever(session);
}

/// Each of a thread's objects lives until the thread ends.
thread_local std::unique_ptr<profkit::session> session_of_thread;

void use_session_of_thread() {
  session_of_thread = std::make_unique<profkit::session>(from_environment());
  some_steps(*session_of_thread);
}

/// `main` ends as a thread, while another one continues: the process ends when that one does.
[[noreturn]] void leave_main() {
  std::thread{[] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    PROF_SCOPE("late");
  }}.detach();
  some_steps(static_session());
  ::pthread_exit(nullptr);
}

/// The session ends inside its step.
void destroy_in_step() {
  auto session = std::make_unique<profkit::session>(from_environment());
  some_steps(*session);
  profkit::step const step{*session};
  session.reset();
  PROF_SCOPE("too late");
}

/// Calls `exit` while the stack is unwound by a return.
struct exits_at_its_end {
  exits_at_its_end() = default;
  exits_at_its_end(exits_at_its_end const&) = delete;
  exits_at_its_end& operator=(exits_at_its_end const&) = delete;
  ~exits_at_its_end() { std::exit(code); }
};

[[noreturn]] void stop(char const* what, int status) {
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(status);
}

/// A process that the function runs in a new namespace of processes, where it has the number 1. @return its exit status.
template <class Function>
int run_as_number_one(Function&& function) {
  if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) stop("skipped: no right to make a namespace", 4);
  ::pid_t const child = ::fork();
  if (child == 0) {
    if (::getpid() != 1) stop("it is not number 1", 1);
    ::alarm(30);
    function();
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child) stop("no child", 1);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A process with the number 1 and a session forks another process with the number 1, in a namespace of its own.
[[noreturn]] void fork_namesake() {
  int const status = run_as_number_one([] {
    profkit::session session{from_environment()};
    some_steps(session);
    int const of_child = run_as_number_one([&session] {
      work();
      bool const is_known = session.snapshot().profile().quality.not_recorded.find("belongs to process") != std::string::npos;
      ends_in_calls = true;         // LeakSanitizer cannot work in the process number 1
      std::exit(is_known ? 0 : 1);  // with the parent's session
    });
    if (of_child != 0) ::stop("the child of the same number takes the session for its own", of_child);
    ends_in_calls = true;
    std::exit(code);
  });
  std::_Exit(status);
}

/// A collector that calls `exit` when the session's thread drains it.
class exiting final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "exiting"; }
  void drain(profkit::profile_builder&, bool) override { std::exit(code); }
};

/// A collector that ends the session's thread when that drains it.
class leaving final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "leaving"; }
  void drain(profkit::profile_builder&, bool) override { ::pthread_exit(nullptr); }
};

::pid_t fork_unannounced() { return static_cast<::pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

/// A collector that forks once, in a drain or in the last one, and whose child returns. The parent waits for the child before it continues,
/// so what is different then has the child done.
class forking final : public profkit::collector {
 public:
  forking(::pid_t (*make_child)(), bool in_last_drain) : make_child_{make_child}, in_last_drain_{in_last_drain} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "forking"; }
  void drain(profkit::profile_builder&, bool last) override {
    if (last != in_last_drain_ || steps_for_ever < 3 || make_child_ == nullptr) return;
    std::string const before = files();
    ::pid_t const child = std::exchange(make_child_, nullptr)();
    if (child == 0) {
      ends_in_calls = true;
      ::alarm(30);
      return;
    }
    int status = -1;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) ::stop("the child does not end well", 1);
    if (files() != before) ::stop("the child has changed a file", 1);
  }

 private:
  static std::string files() {
    std::error_code failure;
    return std::to_string(std::filesystem::exists("out", failure)) + ' ' +
           std::to_string(std::filesystem::file_size("run.journal", failure));
  }

  ::pid_t (*make_child_)();
  bool in_last_drain_;
};

extern "C" void say_and_exit(int) {
  char const text[] = "own handler\n";
  static_cast<void>(::write(STDERR_FILENO, text, sizeof text - 1));
  std::_Exit(code);
}

extern "C" void exit_normally(int) { std::exit(code); }

}  // namespace

int main(int argc, char** argv) {
  std::string const way = argc > 1 ? argv[1] : "";
  if (way == "static") {
    profkit::session& session = static_session();
    some_steps(session);
    profkit::step const step{session};
    work();
    std::exit(code);
  }
  if (way == "static_worker") exit_beside_steps(static_session());
  if (way == "static_main") {
    some_steps(static_session());
    return code;
  }
  if (way == "static_step") {
    some_steps(static_session());
    static profkit::step const step{static_session()};
    return code;
  }
  if (way == "detached") {
    std::thread{[] {
      profkit::session session{from_environment()};
      make_steps_for_ever(session);
    }}.detach();
    wait_for_steps();
    return code;
  }
  if (way == "thread_local") {
    std::thread{use_session_of_thread}.join();
    return code;
  }
  if (way == "thread_local_main") {
    use_session_of_thread();
    return code;
  }
  if (way == "other_thread") {
    auto made = std::make_unique<profkit::session>(from_environment());
    some_steps(*made);
    std::thread{[moved = std::move(made)]() mutable { moved.reset(); }}.join();
    return code;
  }
  if (way == "step_outlives") {
    destroy_in_step();
    return code;
  }
  if (way == "pthread_exit") leave_main();
  if (way == "namesake") fork_namesake();
  if (way == "own_handler") std::signal(SIGINT, say_and_exit);
  if (way == "ignored") std::signal(SIGINT, SIG_IGN);
  if (way == "exit_in_handler") std::signal(SIGTERM, exit_normally);
  profkit::session session{from_environment()};
  if (way == "local") {
    some_steps(session);
    profkit::step const step{session};
    work();
    std::exit(code);
  }
  if (way == "without_steps") {
    work();
    std::exit(code);
  }
  if (way == "worker") exit_beside_steps(session);
  if (way == "in_destructor") {
    some_steps(session);
    profkit::step const step{session};
    exits_at_its_end const last;
    work();
    return 1;
  }
  if (way == "abort") {
    some_steps(session);
    std::abort();
  }
  if (way == "terminate") {
    some_steps(session);
    std::terminate();
  }
  if (way == "quick_exit" || way == "_exit") {
    some_steps(session);
    way == "_exit" ? ::_exit(code) : std::quick_exit(code);
  }
  if (way == "reported") {
    some_steps(session);
    static_cast<void>(session.report());
    std::exit(code);
  }
  if (way == "in_collector") {
    session.collect(exiting{});
    wait_for_ever(session);
  }
  if (way == "leaves_in_collector") {
    session.collect(leaving{});
    some_steps(session);
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    std::exit(code);
  }
  bool const forks_at_end = way == "forks_at_end";
  if (forks_at_end || way == "forks_in_drain") {
    session.collect(forking{forks_at_end ? ::fork : fork_unannounced, forks_at_end});
    some_steps(session);
    steps_for_ever = 3;
    // A child without fork handlers finds the locks of the C library as they are now.
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{300};
    while (std::chrono::steady_clock::now() < end) {
      for (std::size_t i = 0; i < 100; ++i) std::vector<char> const large(4096 + 64 * i);
    }
    std::fputs("ready\n", stderr);
    for (;;) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  if (way == "fork") {
    some_steps(session);
    profkit::step const step{session};
    if (::fork() == 0) std::exit(code);  // with the parent's session
    work();
    std::exit(code);
  }
  if (way == "daemon") {
    some_steps(session);
    ::pid_t const parent = ::getpid();
    if (::daemon(1, 1) != 0) return 1;
    // The parent ends, and whoever started it takes notice.
    for (int i = 0; i < 20'000 && ::kill(parent, 0) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    work();
    std::exit(code);
  }
  wait_for_ever(session);
}
