// SPDX-License-Identifier: Apache-2.0
//
// usage: profkit_gpu_programs NAME ARGUMENT...
#include "gpu_programs.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  struct program {
    std::string_view name;
    int (*run)(int argc, char** argv);
  };
  constexpr program programs[] = {{"attribution_exact", attribution_exact::run},
                                  {"kernels_in_journal", kernels_in_journal::run},
                                  {"launch_times", launch_times::run},
                                  {"managed_pages", managed_pages::run},
                                  {"nccl_ranks", nccl_ranks::run},
                                  {"slower_scope", slower_scope::run},
                                  {"steady_load", steady_load::run},
                                  {"validation_steps", validation_steps::run}};
  for (program const& each : programs) {
    if (argc > 1 && each.name == argv[1]) return each.run(argc - 1, argv + 1);
  }
  std::fputs("usage: profkit_gpu_programs NAME ARGUMENT...; NAME is one of", stderr);
  for (program const& each : programs) std::fprintf(stderr, " %s", each.name.data());
  std::fputs("\n", stderr);
  return 2;
}
