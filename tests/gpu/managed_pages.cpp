// SPDX-License-Identifier: Apache-2.0
//
// Steps in which the host writes managed memory and a kernel reads it, and launches of two other shapes: few blocks, many registers.
// PROFKIT determines collection and outputs.
//
// usage: profkit_gpu_programs managed_pages MIB STEPS
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace managed_pages {

namespace {

void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "managed_pages: %s\n", cudaGetErrorString(result));
  std::exit(1);
}

}  // namespace

int run(int argc, char** argv) {
  if (argc != 3) return 2;
  std::size_t const bytes = static_cast<std::size_t>(std::atoi(argv[1])) << 20U;
  constexpr unsigned blocks = 132;
  constexpr unsigned threads = 256;
  float* pages = nullptr;
  float* out = nullptr;
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 1;
  options.measured_steps = static_cast<std::uint64_t>(std::atoi(argv[2]));
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  must(cudaMallocManaged(&pages, bytes));
  must(cudaMalloc(&out, blocks * threads * sizeof(float)));
  for ([[maybe_unused]] profkit::step const& step : session) {
    {
      PROF_SCOPE("write on the host");
      for (std::size_t i = 0; i < bytes / sizeof(float); ++i) pages[i] = static_cast<float>(i % 7);
    }
    {
      PROF_SCOPE("read on the device");
      start_add_up(blocks, threads, nullptr, out, reinterpret_cast<float4 const*>(pages), bytes / sizeof(float4));
      must(cudaDeviceSynchronize());
    }
    PROF_SCOPE("few blocks");
    start_busy(12, 64, nullptr, 1'000'000);
    must(cudaDeviceSynchronize());
  }
  must(cudaFree(pages));
  must(cudaFree(out));
  return 0;
}

}  // namespace managed_pages
