// SPDX-License-Identifier: Apache-2.0
//
// A program for watch.py, which writes the journal of PROFKIT: steps of about 10 ms, until it is killed or told to end.
//
// usage: profkit_watched [STEPS [SCOPES]]      SCOPES per step, in addition to "work" and "odd work"
#include <profkit/profkit.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  std::uint64_t const steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : UINT64_MAX;
  std::uint64_t const scopes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 2;
  profkit::session session{options};
  session.collect(profkit::host_memory());
  for (std::uint64_t i = 0; i < steps; ++i) {
    profkit::step const step{session};
    PROF_SCOPE("work");
    for (std::uint64_t j = 0; j < scopes; ++j) PROF_SCOPE("tiny");
    PROF_SCOPE("odd \x1b[2J work");  // a name must not be interpreted by the terminal
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return 0;
}
