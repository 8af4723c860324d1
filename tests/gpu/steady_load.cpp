// SPDX-License-Identifier: Apache-2.0
//
// Steps of 0.1 s or more that keep a GPU busy in one way, or leave it idle. PROFKIT determines collection and outputs.
//
// usage: profkit_gpu_programs steady_load KIND SECONDS      KIND: idle, arithmetic or memory; hang: idle, with kernels collected, and in
//                                                           the last step a kernel that takes half a minute
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace steady_load {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks = 132 * 8;  ///< all of them run concurrently on an H200

void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "steady_load: %s\n", cudaGetErrorString(result));
  std::exit(1);
}

}  // namespace

int run(int argc, char** argv) {
  std::string const kind = argc == 3 ? argv[1] : "";
  if (kind != "idle" && kind != "arithmetic" && kind != "memory" && kind != "hang") return 2;
  float* in = nullptr;
  float* out = nullptr;
  must(cudaMalloc(&in, max_values * sizeof(float)));
  must(cudaMalloc(&out, max_values * sizeof(float)));
  must(cudaMemset(in, 0, max_values * sizeof(float)));
  must(cudaDeviceSynchronize());
  profkit::options options = profkit::options::from_env();
  options.warmup_steps = 1;
  options.measured_steps = static_cast<std::uint64_t>(std::atoi(argv[2])) * 10;
  profkit::session session{options};
  if (kind == "hang") session.collect(profkit::cupti_kernels());
  std::uint64_t left = options.warmup_steps + options.measured_steps;
  for ([[maybe_unused]] profkit::step const& step : session) {
    --left;
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{100};
    if (kind == "idle" || kind == "hang") {
      std::this_thread::sleep_until(end);
      if (kind == "idle" || left > 0) continue;
      PROF_SCOPE("evaluate");
      start_busy(1, 1, nullptr, 30'000'000'000);
      must(cudaDeviceSynchronize());
      continue;
    }
    while (std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < 4; ++i) {  // so that the device has work while the host waits
        if (kind == "arithmetic") {
          start_multiply_add(blocks, threads, nullptr, out, std::size_t{1} << 18U);
        } else {
          start_scale(blocks, threads, nullptr, reinterpret_cast<float4*>(out), reinterpret_cast<float4 const*>(in), max_values / 4);
        }
      }
      must(cudaDeviceSynchronize());
    }
  }
  must(cudaFree(in));
  must(cudaFree(out));
  return 0;
}

}  // namespace steady_load
