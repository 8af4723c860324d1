// SPDX-License-Identifier: Apache-2.0
//
// Captures a graph once and launches it in every step; its kernels are charged to the scopes of their capture.
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>

#include "need_gpu.cuh"

__global__ void add_one(float* values) { values[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F; }

int main() {
  need_gpu();
  float* values = nullptr;
  cudaStream_t stream = nullptr;
  must(cudaMalloc(&values, 1 << 20));
  must(cudaStreamCreate(&stream));

  profkit::session session;
  session.collect(profkit::cupti_kernels());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int layer = 0; layer < 2; ++layer) {
    PROF_SCOPE_INDEXED("layer", layer);
    for (int i = 0; i <= layer; ++i) add_one<<<256, 256, 0, stream>>>(values);
  }
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&runnable, graph, 0));

  for (profkit::step step : session) {
    PROF_SCOPE("replay");
    must(cudaGraphLaunch(runnable, stream));
  }
  fmt::print("{}\n", session.report());
}
