// SPDX-License-Identifier: Apache-2.0
//
// A loop of small training steps, every ninth of which validates instead: two kinds of step. Its profile is recorded for tests on machines
// without a GPU (tests/data/README.md).
//
// usage: profkit_gpu_programs validation_steps FILE      FILE: the profile to write
#include <profkit/cupti.hpp>
#include <profkit/profkit.hpp>
#include <profkit/save_load.hpp>

#include <cstdio>
#include <cstdlib>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace validation_steps {

namespace {

constexpr int layers = 4;
constexpr int batches = 6;
constexpr int count = 1 << 20;
constexpr int threads = 256;

void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

void forward(float* values) {
  for (int layer = 0; layer < layers; ++layer) {
    PROF_SCOPE_INDEXED("layer", layer);
    {
      PROF_SCOPE("attention");
      start_attention_forward(count / threads, threads, nullptr, values, 1000);
    }
    PROF_SCOPE("mlp");
    start_mlp_forward(count / threads, threads, nullptr, values, 2000);
  }
}

/// Waits for the device.
float loss(float const* values) {
  PROF_SCOPE("loss");
  float result = 0.0F;
  must(cudaMemcpy(&result, values, sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

void train(float* values) {
  {
    PROF_SCOPE("forward");
    forward(values);
  }
  {
    PROF_SCOPE("backward");
    for (int layer = layers - 1; layer >= 0; --layer) {
      PROF_SCOPE_INDEXED("layer", layer);
      start_layer_backward(count / threads, threads, nullptr, values, layer == 1 ? 20000 : 6000);  // one layer is slower than the others
    }
  }
  {
    PROF_SCOPE("optimizer");
    start_adam(count / threads, threads, nullptr, values, 2000);
  }
  loss(values);
}

void validate(float* values) {
  PROF_SCOPE("validation");
  for (int batch = 0; batch < batches; ++batch) {
    PROF_SCOPE_INDEXED("batch", batch);
    forward(values);
    loss(values);
  }
}

}  // namespace

int run(int argc, char** argv) {
  if (argc != 2) return 2;
  float* values = nullptr;
  must(cudaMalloc(&values, count * sizeof(float)));
  must(cudaMemset(values, 0, count * sizeof(float)));
  profkit::options options;
  options.warmup_steps = 3;
  options.measured_steps = 34;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  session.collect(profkit::host_memory());
  for (profkit::step step : session) {
    if (step.index() % 9 == 8) {
      validate(values);
    } else {
      train(values);
    }
  }
  must(cudaDeviceSynchronize());
  profkit::report const report = session.report();
  profkit::save(report.profile(), argv[1]);
  fmt::print("{}\n", report);
  return 0;
}

}  // namespace validation_steps
