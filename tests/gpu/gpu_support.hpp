// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <stdexcept>

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error{cudaGetErrorString(status)};
}

inline void need_gpu() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) SKIP("no CUDA device");
}

struct stream {
  stream() { check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~stream() { cudaStreamDestroy(handle); }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  cudaStream_t handle = nullptr;
};
