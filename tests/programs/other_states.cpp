// SPDX-License-Identifier: Apache-2.0
//
// The reports of sessions that recorded nothing, or no measured step.
#include <profkit/profkit.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

std::string text;  ///< of the report

bool says(std::string const& part) {
  bool const is_there = text.find(part) != std::string::npos;
  if (!is_there) std::fprintf(stderr, "it does not say: %s\n%s\n", part.c_str(), text.c_str());
  return is_there;
}

bool does_not_say(std::string const& part) {
  bool const is_there = text.find(part) != std::string::npos;
  if (is_there) std::fprintf(stderr, "it says: %s\n%s\n", part.c_str(), text.c_str());
  return !is_there;
}

profkit::options wanted(std::uint64_t warmup, std::uint64_t measured) {
  profkit::options options;
  options.warmup_steps = warmup;
  options.measured_steps = measured;
  return options;
}

bool off() {
  ::setenv("PROFKIT", "off", 1);
  profkit::session session;
  for (profkit::step step : session) PROF_SCOPE("work");
  text = session.report().full_text();
  return says("Nothing was recorded: profkit is off") && does_not_say("No step was made") && does_not_say("nothing dropped") &&
         does_not_say("overhead: ");
}

/// Like `daemon`: the program continues in the child of a fork.
bool child() {
  profkit::session session{wanted(0, 2)};
  { PROF_SCOPE("before"); }
  std::string const parent = std::to_string(::getpid());
  ::pid_t const process = ::fork();
  if (process != 0) {
    int status = -1;
    ::waitpid(process, &status, 0);
    text = session.report().full_text();
    return status == 0 && says("before") && does_not_say("Nothing was recorded");
  }
  int ends[2] = {};
  if (::pipe(ends) != 0) std::_Exit(2);
  int const console = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  for (profkit::step step : session) PROF_SCOPE("work");
  ::dup2(console, STDERR_FILENO);
  char warning[1000] = {};
  text.assign(warning, static_cast<std::size_t>(::read(ends[0], warning, sizeof warning)));
  std::string const line = "profkit: this process records nothing: the session belongs to process " + parent;
  bool const is_warned_once = says(line) && text.find("profkit: ", line.size()) == std::string::npos;
  text = session.report().full_text();
  bool const is_right = is_warned_once && says("Nothing was recorded: the session belongs to process " + parent) &&
                        says("make the session after fork() or daemon()") && does_not_say("No step was made") &&
                        does_not_say("nothing dropped");
  std::_Exit(is_right ? 0 : 1);
}

bool warm_up() {
  profkit::session session{wanted(3, 0)};
  for (profkit::step step : session) PROF_SCOPE("work");
  text = session.report().full_text();
  return says("No step was measured") && says(" 3 warm-up steps were made.") && does_not_say("no scope was recorded") &&
         does_not_say("No step was made");
}

bool abandoned() {
  profkit::session session{wanted(0, 1)};
  try {
    profkit::step const step{session};
    PROF_SCOPE("lost_scope");
    throw std::runtime_error{"left"};
  } catch (std::runtime_error const&) {
  }
  text = session.report().full_text();
  return says("No step was measured") && says(" 1 steps were exited by an exception.") && does_not_say("No step was made") &&
         does_not_say("whole session") && does_not_say("lost_scope");
}

bool excluded() {
  profkit::session session{wanted(0, 2)};
  for (profkit::step step : session) {
    PROF_SCOPE("work");
    step.exclude();
  }
  text = session.report().full_text();
  return says("No step was measured") && says(" 2 steps were excluded by the program.") && does_not_say("no scope was recorded");
}

bool empty() {
  profkit::session session{wanted(0, 2)};
  text = session.report().full_text();
  return says("No step was made (profkit::step): everything below covers the whole session.") && says("no scope was recorded") &&
         does_not_say("No step was measured");
}

}  // namespace

int main(int count, char** arguments) {
  std::string const name = count == 2 ? arguments[1] : "";
  if (name == "off") return off() ? 0 : 1;
  if (name == "child") return child() ? 0 : 1;
  if (name == "warm_up") return warm_up() ? 0 : 1;
  if (name == "abandoned") return abandoned() ? 0 : 1;
  if (name == "excluded") return excluded() ? 0 : 1;
  if (name == "empty") return empty() ? 0 : 1;
  return 2;
}
