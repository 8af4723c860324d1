// SPDX-License-Identifier: Apache-2.0
//
// A program as anybody has it, with what PROFKIT says. Its last words on stderr are that it came to its end.
#include <profkit/profkit.hpp>

#include <cstdio>

int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // what is printed is written at once
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 1;
  options.measured_steps = 3;
  {
    profkit::session session{options};
    for (profkit::step step : session) {
      PROF_SCOPE("work");
    }
  }
  std::fputs("the program came to its end\n", stderr);
  return 0;
}
