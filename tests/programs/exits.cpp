// SPDX-License-Identifier: Apache-2.0
//
// Ends in the way that its argument names, while a session is active. exits.py checks the result. A line on stderr says when the program is
// ready for a signal.
//
// usage: profkit_exits WAY
#include <profkit/profkit.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>

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

/// While another thread runs steps all the time.
[[noreturn]] void exit_beside_steps(profkit::session& session) {
  std::thread{[] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    std::exit(code);
  }}.detach();
  for (;;) {
    profkit::step const step{session};
    PROF_SCOPE("work");
  }
}

/// A collector that calls `exit` when the session's thread drains it.
class exiting final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "exiting"; }
  void drain(profkit::profile_builder&, bool) override { std::exit(code); }
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
  if (way == "fork") {
    some_steps(session);
    profkit::step const step{session};
    if (::fork() == 0) std::exit(code);  // with the parent's session
    work();
    std::exit(code);
  }
  if (way == "daemon") {
    some_steps(session);
    if (::daemon(1, 1) != 0) return 1;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});  // the parent ends
    work();
    std::exit(code);
  }
  wait_for_ever(session);
}
