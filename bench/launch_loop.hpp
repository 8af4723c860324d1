// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "launch_nothing.hpp"

/// The loop of launches that launch_cost and step_cost measure, without and with LibTorch in the process.
namespace bench {

using time_source = std::chrono::steady_clock;
using nanoseconds = std::chrono::duration<double, std::nano>;

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline void plain() { launch_nothing(nullptr); }

/// Creates the CUDA context and loads the kernel.
inline void warm_up() {
  check(cudaFree(nullptr));
  for (int i = 0; i < 1000; ++i) plain();
  check(cudaDeviceSynchronize());
}

template <class Launch>
double ns_per_launch(Launch&& launch) {
  constexpr int launches = 25'000;
  constexpr int repetitions = 7;
  std::vector<double> ns;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    check(cudaDeviceSynchronize());
    auto const begin = time_source::now();
    for (int i = 0; i < launches; ++i) launch();
    ns.push_back(nanoseconds{time_source::now() - begin}.count() / launches);
  }
  return median(ns);
}

/// Measures once per line on stdin, so that programs can alternate without restarting.
/// @param measure returns a line of JSON.
template <class Measure>
void take_turns(Measure&& measure) {
  for (std::string line; std::getline(std::cin, line);) {
    std::string const result = measure();
    std::printf("%s\n", result.c_str());
    std::fflush(stdout);
  }
}

}  // namespace bench
