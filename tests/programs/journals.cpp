// SPDX-License-Identifier: Apache-2.0
//
// Programs with the same PROFKIT=journal=FILE, for journals.py.
//
// usage: profkit_journals helper | parent | leaves_child | closes_all | wait | count FILE | long [DIRECTORY]
//
// long: fills several files; changes to the directory, or waits for the driver, after 6 of 40 steps; prints the state of the journal.
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void make_steps(profkit::session& session, int count) {
  for (int i = 0; i < count; ++i) {
    profkit::step const step{session};
    PROF_SCOPE("work");
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

/// Runs this program again, like a shell command, and waits for it.
void run_helper(char* program) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    char word[] = "helper";
    char* const arguments[] = {program, word, nullptr};
    ::execv(program, arguments);
    std::_Exit(1);
  }
  ::waitpid(child, nullptr, 0);
}

/// Closes all inherited descriptors, as some programs do; then opens a file, which gets the descriptor number of the journal.
void close_all() {
  for (int each = 3; each < 64; ++each) ::syscall(SYS_close, each);  // by system call, which ThreadSanitizer does not report
  for (int each = 3; each < 64; ++each) static_cast<void>(::open("own file", O_RDWR | O_CREAT, 0600));
}

int run_long(char const* directory) {
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 0;
  options.measured_steps = 40;
  options.journal_bytes = std::uint64_t{1} << 20U;
  profkit::session session{options};
  for (profkit::step step : session) {
    for (int i = 0; i < 3000; ++i) PROF_SCOPE("work");
    std::this_thread::sleep_for(std::chrono::milliseconds{15});
    if (step.index() != 5) continue;
    if (directory != nullptr && ::chdir(directory) != 0) return 2;
    if (directory != nullptr) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds{200});  // so that all is written
    std::fputs("ready\n", stderr);
    static_cast<void>(std::getchar());
  }
  for (profkit::collector_record const& each : session.report().profile().collectors) {
    if (each.kind == profkit::collector_kind::journal) std::printf("%s: %s\n", each.status.c_str(), each.reason.c_str());
  }
  return 0;
}

int count(char const* file) {
  profkit::journal_content const found = profkit::load_journal(file);
  std::printf("%zu %s\n", found.content.steps.size(), found.is_complete ? "complete" : "cut off");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const way = argc > 1 ? argv[1] : "";
  if (way == "count" && argc > 2) return count(argv[2]);
  if (way == "long") return run_long(argc > 2 ? argv[2] : nullptr);
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 0;
  profkit::session session{options};
  make_steps(session, 1);
  if (way == "parent") {
    run_helper(argv[0]);
    run_helper(argv[0]);
    make_steps(session, 4);
  } else if (way == "leaves_child") {
    if (::fork() == 0) {
      std::this_thread::sleep_for(std::chrono::seconds{30});
      std::_Exit(0);
    }
  } else if (way == "closes_all") {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});  // so that the first step is written
    close_all();
    make_steps(session, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  } else if (way == "wait") {
    std::fputs("ready\n", stderr);
    std::this_thread::sleep_for(std::chrono::seconds{60});
  }
  return 0;
}
