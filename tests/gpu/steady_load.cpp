// SPDX-License-Identifier: Apache-2.0
//
// Steps of 0.1 s or more that keep a GPU busy in one way, or leave it idle. PROFKIT determines collection and outputs.
//
// usage: profkit_gpu_programs steady_load KIND SECONDS      KIND: idle, arithmetic or memory
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
  if (kind != "idle" && kind != "arithmetic" && kind != "memory") return 2;
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
  for ([[maybe_unused]] profkit::step const& step : session) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{100};
    if (kind == "idle") {
      std::this_thread::sleep_until(end);
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
