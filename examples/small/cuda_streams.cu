// SPDX-License-Identifier: Apache-2.0
//
// Two concurrent streams: each scope has the GPU time of its own stream, and nothing waits for the GPU.
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include "need_gpu.cuh"

__global__ void scale(float* values, int count, int times) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int n = 0; i < count && n < times; ++n) values[i] = values[i] * 0.5F + 1.0F;
}

int main() {
  need_gpu();
  constexpr int count = 1 << 20;
  cudaStream_t streams[2];
  float* values[2];
  for (int i = 0; i < 2; ++i) {
    must(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    must(cudaMalloc(&values[i], count * sizeof(float)));
  }

  profkit::session session;
  session.collect(profkit::cupti_kernels());
  for (profkit::step step : session) {
    for (int i = 0; i < 2; ++i) {
      PROF_SCOPE_INDEXED("stream", i);
      PROF_GPU_SCOPE("scale", streams[i]);
      scale<<<count / 256, 256, 0, streams[i]>>>(values[i], count, i == 0 ? 10 : 1000);
    }
  }
  fmt::print("{}\n", session.report());  // waits until the GPU has done its work
}
