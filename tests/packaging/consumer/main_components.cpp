// SPDX-License-Identifier: Apache-2.0
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include <fmt/format.h>

// Also runs on a machine without a GPU: a collector that cannot work is reported.
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
