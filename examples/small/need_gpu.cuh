// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

inline void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Exits with code 77, which test runners report as "skipped", if there is no GPU.
inline void need_gpu() {
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return;
  std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
  std::exit(77);
}
