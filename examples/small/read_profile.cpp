// SPDX-License-Identifier: Apache-2.0
//
// Analyses a profile written by profkit::save, without a GPU or a session.
#include <profkit/analyze.hpp>
#include <profkit/save_load.hpp>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 2) throw profkit::error{"usage: read_profile FILE"};
  profkit::summary const summary = profkit::analyze(profkit::load(argv[1]));
  std::printf("%llu measured steps\n", static_cast<unsigned long long>(summary.steps.host.count));
  for (profkit::scope_summary const& each : summary.scopes) {
    if (each.depth <= 1) std::printf("%-16s %10.3f ms\n", each.path.c_str(), each.host.total.count());
  }
  if (!summary.gpu) return 0;
  for (profkit::kernel_summary const& each : summary.gpu->kernels) {
    if (each.share > 0.1) std::printf("%5.1f %% of the kernels' time: %s\n", 100 * *each.share, each.name.c_str());
  }
} catch (profkit::error const& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
