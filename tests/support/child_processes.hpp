// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "temporary_folder.hpp"

/// Sanitizers make programs many times slower, so limits of time are longer with them.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int sanitizer_factor = 3;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int sanitizer_factor = 3;
#else
inline constexpr int sanitizer_factor = 1;
#endif
#else
inline constexpr int sanitizer_factor = 1;
#endif

/// To be set in a process that ends in the middle of calls: the memory that they use is no leak.
inline bool ends_in_calls = false;

/// Called by LeakSanitizer.
extern "C" inline __attribute__((used)) int __lsan_is_turned_off() { return ends_in_calls ? 1 : 0; }

/// How a child process ended.
struct child_outcome {
  int status = 0;         ///< of `waitpid`
  bool is_late = false;   ///< it was killed at its time limit
  std::string out;        ///< stdout
  std::string err;        ///< stderr
  std::string directory;  ///< its current directory, empty when it began

  [[nodiscard]] bool exits_with(int code) const { return !is_late && WIFEXITED(status) && WEXITSTATUS(status) == code; }
  [[nodiscard]] bool dies_by(int number) const { return !is_late && WIFSIGNALED(status) && WTERMSIG(status) == number; }

  /// Such as "it hangs", "signal 11" or "exit code 1".
  [[nodiscard]] std::string end() const {
    if (is_late) return "it hangs";
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    return "exit code " + std::to_string(WEXITSTATUS(status));
  }
};

/// Ends this process with a message unless something is true.
inline void require(bool truth, std::string const& what) {
  if (truth) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(1);
}

inline bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

/// Something that runs in a process of its own.
struct child_case {
  std::string name;
  std::function<int()> body;  ///< its result is the exit code; an exception that leaves it is a failure
  /// Returns why the outcome is wrong; empty if it is right. Without it, the exit code has to be 0.
  std::function<std::string(child_outcome const&)> judge;
  std::chrono::seconds limit{30};
};

/// Runs cases in forked children, each in an empty directory with its own files for stdout and stderr. The calling process must have one
/// thread.
class child_processes {
 public:
  /// @param name of the test, for the temporary folder.
  explicit child_processes(std::string const& name) : folder_{name} {}

  /// Runs all cases. Prints those that fail, with the end of their stderr.
  /// @param at_once the number of children at the same time.
  /// @return the number of cases that fail.
  std::size_t run(std::vector<child_case> const& cases, std::size_t at_once) {
    std::size_t failures = 0;
    std::size_t next = 0;
    std::vector<child> running;
    while (next < cases.size() || !running.empty()) {
      while (next < cases.size() && running.size() < at_once) running.push_back(start(cases[next++]));
      for (std::size_t i = 0; i < running.size();) {
        if (!has_ended(running[i])) {
          ++i;
          continue;
        }
        failures += conclude(running[i]) ? 0U : 1U;
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return failures;
  }

 private:
  using clock = std::chrono::steady_clock;

  struct child {
    child_case const* what = nullptr;
    ::pid_t process = -1;
    clock::time_point deadline;
    child_outcome outcome;
  };

  child start(child_case const& what) {
    child result;
    result.what = &what;
    std::filesystem::path const directory = folder_.path / std::to_string(++started_);
    std::filesystem::create_directories(directory);
    result.outcome.directory = directory.string();
    result.deadline = clock::now() + what.limit * sanitizer_factor;
    std::fflush(nullptr);
    result.process = ::fork();
    if (result.process == 0) run_child(what, directory);
    if (result.process < 0) std::exit((std::perror("fork"), 2));
    return result;
  }

  [[noreturn]] static void run_child(child_case const& what, std::filesystem::path const& directory) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int const each : {SIGINT, SIGTERM}) static_cast<void>(std::signal(each, SIG_DFL));  // a shell may have started us with others
    std::filesystem::current_path(directory);
    if (std::freopen("stdout", "w", stdout) == nullptr || std::freopen("stderr", "w", stderr) == nullptr) ::_exit(3);
    std::setvbuf(stderr, nullptr, _IONBF, 0);
    int code = 1;
    try {
      code = what.body();
    } catch (std::exception const& failure) {
      std::fprintf(stderr, "an exception left the test: %s\n", failure.what());
    }
    std::exit(code);
  }

  static bool has_ended(child& which) {
    ::pid_t const ended = ::waitpid(which.process, &which.outcome.status, WNOHANG);
    if (ended == which.process) return true;
    if (clock::now() < which.deadline) return false;
    which.outcome.is_late = true;
    ::kill(which.process, SIGKILL);
    ::waitpid(which.process, &which.outcome.status, 0);
    return true;
  }

  /// @return whether the outcome is right.
  static bool conclude(child& which) {
    child_outcome& outcome = which.outcome;
    outcome.out = text_of_file(outcome.directory + "/stdout");
    outcome.err = text_of_file(outcome.directory + "/stderr");
    std::string wrong;
    if (outcome.is_late || outcome.err.find("Sanitizer") != std::string::npos) {
      wrong = outcome.end();
    } else if (which.what->judge) {
      wrong = which.what->judge(outcome);
    } else if (!outcome.exits_with(0)) {
      wrong = outcome.end();
    }
    std::filesystem::remove_all(outcome.directory);
    if (wrong.empty()) return true;
    std::size_t const shown = outcome.err.find("Sanitizer") != std::string::npos ? 20'000 : 1'500;
    std::string const tail = outcome.err.size() > shown ? "..." + outcome.err.substr(outcome.err.size() - shown) : outcome.err;
    std::printf("FAILED %s: %s\n", which.what->name.c_str(), wrong.c_str());
    if (!tail.empty()) std::printf("%s%s", tail.c_str(), tail.back() == '\n' ? "" : "\n");
    std::fflush(stdout);
    return false;
  }

  temporary_folder folder_;
  std::size_t started_ = 0;
};
