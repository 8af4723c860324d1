// SPDX-License-Identifier: Apache-2.0
//
// Steps of eight scopes with kernels of different kinds: memory-bound or compute-bound, few long ones or many short ones. One scope can do
// more work, so that `profkit compare` finds a difference. Writes report.json.
//
// usage: profkit_gpu_programs slower_scope --out DIR [--slower NAME --percent P]     NAME: one of those that --list prints
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "gpu_programs.hpp"
#include "kernels.hpp"

namespace slower_scope {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks = 132 * 8;  ///< all of them run concurrently on an H200, so that time grows smoothly with work

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "slower_scope: %s\n", cudaGetErrorString(status));
  std::exit(2);
}

constexpr std::array<char const*, 8> names = {"scale", "add up", "stencil", "gather", "multiply-add", "sines", "hash", "short kernels"};

class program {
 public:
  program(std::string slower, double percent) : slower_{std::move(slower)}, factor_{1.0 + percent / 100.0} {
    check(cudaMalloc(&in_, max_values * sizeof(float)));
    check(cudaMalloc(&out_, max_values * sizeof(float)));
    check(cudaMemset(in_, 0, max_values * sizeof(float)));
  }
  ~program() {
    cudaFree(in_);
    cudaFree(out_);
  }
  program(program const&) = delete;
  program& operator=(program const&) = delete;

  void step() const {
    {
      PROF_SCOPE("memory");
      auto* const out4 = reinterpret_cast<float4*>(out_);
      auto const* const in4 = reinterpret_cast<float4 const*>(in_);
      {
        PROF_SCOPE("scale");
        start_scale(blocks, threads, nullptr, out4, in4, amount("scale", max_values / 8));
      }
      {
        PROF_SCOPE("add up");
        for (int i = 0; i < 3; ++i) start_add_up(blocks, threads, nullptr, out_, in4, amount("add up", max_values / 8));
      }
      {
        PROF_SCOPE("stencil");
        for (int i = 0; i < 2; ++i) start_stencil(blocks, threads, nullptr, out_, in_, amount("stencil", max_values / 2));
      }
      {
        PROF_SCOPE("gather");
        start_gather(blocks, threads, nullptr, out_, in_, amount("gather", max_values / 16));
      }
    }
    PROF_SCOPE("arithmetic");
    {
      PROF_SCOPE("multiply-add");
      start_multiply_add(blocks, threads, nullptr, out_, amount("multiply-add", 4000));
    }
    {
      PROF_SCOPE("sines");
      for (int i = 0; i < 4; ++i) start_sines(blocks, threads, nullptr, out_, amount("sines", 800));
    }
    {
      PROF_SCOPE("hash");
      for (int i = 0; i < 2; ++i) start_hash(blocks, threads, nullptr, out_, amount("hash", 1000));
    }
    {
      PROF_SCOPE("short kernels");
      for (int i = 0; i < 20; ++i) start_short_work(blocks, threads, nullptr, out_, amount("short kernels", 2500));
    }
  }

 private:
  /// The work of a scope: `plain`, or more.
  [[nodiscard]] std::size_t amount(char const* scope, std::size_t plain) const {
    return scope == slower_ ? static_cast<std::size_t>(std::llround(static_cast<double>(plain) * factor_)) : plain;
  }

  std::string slower_;
  double factor_;
  float* in_ = nullptr;
  float* out_ = nullptr;
};

int usage() {
  std::fputs("usage: slower_scope --out DIR [--slower NAME --percent P], or slower_scope --list\n", stderr);
  return 2;
}

}  // namespace

int run(int argc, char** argv) {
  std::string out;
  std::string slower;
  double percent = 5.0;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--list") {
      for (char const* const name : names) std::puts(name);
      return 0;
    }
    if (i + 1 == argc) return usage();
    char const* const value = argv[++i];
    if (word == "--out") {
      out = value;
    } else if (word == "--slower") {
      slower = value;
    } else if (word == "--percent") {
      percent = std::strtod(value, nullptr);
    } else {
      return usage();
    }
  }
  bool is_known = slower.empty();
  for (char const* const name : names) is_known = is_known || slower == name;
  if (out.empty() || !is_known || percent < 0.0 || percent > 100.0) return usage();
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no CUDA device");
    return 4;
  }
  profkit::options options;
  options.warmup_steps = 10;
  options.measured_steps = 30;
  profkit::session session{options};
  session.collect(profkit::cuda_step_timer(nullptr));
  session.collect(profkit::cupti_kernels());
  {
    program const work{slower, percent};
    for (profkit::step step : session) {
      work.step();
      check(cudaGetLastError());
      check(cudaDeviceSynchronize());  // steps do not run into each other
    }
    session.report().write(out);
  }
  return 0;
}

}  // namespace slower_scope
