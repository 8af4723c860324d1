// SPDX-License-Identifier: Apache-2.0
#include <profkit/load_report.hpp>
#include <profkit/profkit.hpp>

#include <fmt/format.h>

__global__ void never_launched(int* out) { *out = 1; }

// Host code compiled by nvcc. It makes no CUDA call.
int main(int argc, char** argv) {
  if (argc > 1) fmt::print("{}\n", profkit::load_report(argv[1]));
  profkit::session session;
  for (profkit::step step : session) {
    PROF_SCOPE("consumed");
  }
  fmt::print("{}\n", session.report());
}
