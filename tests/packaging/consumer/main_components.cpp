// SPDX-License-Identifier: Apache-2.0
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include <fmt/format.h>

// Runs on a machine without a GPU too: a collector that cannot work says so in the report.
int main() {
  profkit::session session;
  session.collect(profkit::cuda_step_timer(nullptr));
  session.collect(profkit::cuda_memory());
  session.collect(profkit::cupti_kernels());
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("consumed", nullptr);
  }
  fmt::print("{}\n", session.report());
}
