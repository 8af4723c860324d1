// SPDX-License-Identifier: Apache-2.0
//
// An ordinary program that uses PROFKIT, except for the numbers of steps: 1 warm-up and 3 measured steps. If PROFKIT requests very many, it
// ends the loop itself. Its last line on stderr says that it reached its end.
#include <profkit/profkit.hpp>

#include <cstdint>
#include <cstdio>

int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // unbuffered output
  profkit::options options = profkit::options::from_env();
  if (options.measured_steps < 1'000'000) {
    options.warmup_steps = 1;
    options.measured_steps = 3;
  }
  {
    profkit::session session{options};
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      if (step.index() == 7) {
        std::fputs("8 steps\n", stderr);
        break;
      }
    }
  }
  std::fputs("the program came to its end\n", stderr);
  return 0;
}
