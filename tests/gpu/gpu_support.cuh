// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error{cudaGetErrorString(status)};
}

/// Keeps one multiprocessor busy for so long.
static __global__ void busy(std::uint64_t ns) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}
