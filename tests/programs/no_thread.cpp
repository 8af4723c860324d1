// SPDX-License-Identifier: Apache-2.0
//
// A session in a process that cannot create threads, as with `ulimit -u` or in a sandbox: the steps drain, and the report states that.
//
// usage: profkit_no_thread steps | journal | exit | fork
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>

#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/child_processes.hpp"
#include "../support/report_text.hpp"

/// Replaces the function of the C library.
extern "C" int pthread_create(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) noexcept { return EAGAIN; }

namespace {

constexpr std::uint64_t steps = 20;
constexpr std::uint64_t scopes = 2000;

void make_steps(profkit::session& session) {
  for (profkit::step step : session) {
    for (std::uint64_t i = 0; i < scopes; ++i) PROF_SCOPE("work");
    if (step.index() == 5) require(session.snapshot().profile().scopes.size() == 6 * scopes + 5, "the snapshot misses scopes");
    std::this_thread::sleep_for(std::chrono::milliseconds{11});
  }
}

/// Forks in its last drain. The parent waits there for the child, which goes on and ends the session.
class forking final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "forking"; }
  void drain(profkit::profile_builder&, bool last) override {
    if (!last) return;
    ::pid_t const child = ::fork();
    if (child == 0) return;
    int status = -1;
    require(child > 0 && ::waitpid(child, &status, 0) == child && status == 0, "the child does not end well");
    require(!std::filesystem::exists("run.out"), "the child has written a report");
  }
};

/// Both processes destroy the session. @return the status of the process.
int fork_at_end(profkit::options options) {
  std::string const folder = (std::filesystem::temp_directory_path() / "profkit-no-thread-XXXXXX").string();
  std::vector<char> name{folder.begin(), folder.end()};
  name.push_back('\0');
  require(::mkdtemp(name.data()) != nullptr && ::chdir(name.data()) == 0, "no folder");
  ::pid_t const parent = ::getpid();
  options.output_directory = "run.out";
  {
    profkit::session session{options};
    session.collect(forking{});
    make_steps(session);
  }
  if (::getpid() != parent) return 0;
  require(std::filesystem::exists("run.out/report.json"), "there is no report");
  std::filesystem::remove_all(name.data());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const way = argc > 1 ? argv[1] : "";
  std::string const journal = (std::filesystem::temp_directory_path() / ("profkit-no-thread-" + std::to_string(::getpid()))).string();
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = steps;
  // Less than the records of all steps, because the log is drained while they run.
  options.log_slots_per_thread = std::uint64_t{1} << 16U;
  if (way == "fork") return fork_at_end(options);
  if (way == "journal") options.journal = journal;
  profkit::session session{options};
  make_steps(session);
  if (way == "exit") std::exit(0);
  if (way == "journal") {
    profkit::journal_content const found = profkit::load_journal(journal);
    require(!found.is_complete && found.content.scopes.size() > scopes * steps / 2, "the journal does not grow between steps");
  }
  profkit::report const report = session.report();
  std::filesystem::remove(journal);
  require(report.profile().scopes.size() == steps * (scopes + 1), "scopes are missing");
  require(report.profile().quality.dropped_events == 0, "scopes were dropped");
  require(report.profile().steps.size() == steps, "steps are missing");
  require(squeezed(report.full_text()).find("draining between steps only cannot start a thread: Resource temporarily unavailable") !=
              std::string::npos,
          "the report does not say that there is no thread");
  return 0;
}
