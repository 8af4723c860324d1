// SPDX-License-Identifier: Apache-2.0
//
// Steps of eight scopes with kernels of different kinds: memory-bound or compute-bound, few long ones or many short ones. One scope can do
// more work, so that `profkit compare` finds a difference. Writes report.json.
//
// usage: slower_scope --out DIR [--slower NAME --percent P]     NAME: one of those that --list prints
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/report/report.hpp>
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

namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks = 132 * 8;           ///< all of them run at once on an H200: more work is more time, without steps
constexpr std::size_t max_values = 1U << 26U;  ///< 256 MiB of floats: far more than the caches hold

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "slower_scope: %s\n", cudaGetErrorString(status));
  std::exit(2);
}

__device__ std::size_t first_value() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }
__device__ std::size_t all_threads() { return gridDim.x * static_cast<std::size_t>(blockDim.x); }

__global__ void scale(float4* out, float4 const* in, std::size_t count) {
  for (std::size_t i = first_value(); i < count; i += all_threads()) {
    float4 const value = in[i];
    out[i] = make_float4(1.5F * value.x, 1.5F * value.y, 1.5F * value.z, 1.5F * value.w);
  }
}

__global__ void add_up(float* out, float4 const* in, std::size_t count) {
  float sum = 0.0F;
  for (std::size_t i = first_value(); i < count; i += all_threads()) sum += in[i].x + in[i].y + in[i].z + in[i].w;
  out[first_value()] = sum;
}

__global__ void stencil(float* out, float const* in, std::size_t count) {
  for (std::size_t i = first_value() + 1; i + 1 < count; i += all_threads()) out[i] = 0.25F * in[i - 1] + 0.5F * in[i] + 0.25F * in[i + 1];
}

__global__ void gather(float* out, float const* in, std::size_t count) {
  constexpr std::size_t far = 2'654'435'761U;  // odd: i * far mod 2^26 meets every value
  for (std::size_t i = first_value(); i < count; i += all_threads()) out[i] = in[i * far & (max_values - 1)];
}

__global__ void multiply_add(float* out, std::size_t rounds) {
  float a = static_cast<float>(threadIdx.x);
  float b = 1.0F + a;
  for (std::size_t i = 0; i < rounds; ++i) {
    a = a * 0.999F + 0.001F;
    b = b * 0.998F + 0.002F;
  }
  out[first_value()] = a + b;
}

__global__ void sines(float* out, std::size_t rounds) {
  float a = static_cast<float>(threadIdx.x);
  for (std::size_t i = 0; i < rounds; ++i) a = __sinf(a) + 1.0F;
  out[first_value()] = a;
}

__global__ void hash(float* out, std::size_t rounds) {
  std::uint32_t a = threadIdx.x + 1;
  for (std::size_t i = 0; i < rounds; ++i) {
    a ^= a << 13U;
    a ^= a >> 17U;
    a ^= a << 5U;
  }
  out[first_value()] = static_cast<float>(a);
}

__global__ void short_work(float* out, std::size_t rounds) {
  float a = static_cast<float>(threadIdx.x);
  for (std::size_t i = 0; i < rounds; ++i) a = a * 0.997F + 0.003F;
  out[first_value()] = a;
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
        scale<<<blocks, threads>>>(out4, in4, amount("scale", max_values / 8));
      }
      {
        PROF_SCOPE("add up");
        for (int i = 0; i < 3; ++i) add_up<<<blocks, threads>>>(out_, in4, amount("add up", max_values / 8));
      }
      {
        PROF_SCOPE("stencil");
        for (int i = 0; i < 2; ++i) stencil<<<blocks, threads>>>(out_, in_, amount("stencil", max_values / 2));
      }
      {
        PROF_SCOPE("gather");
        gather<<<blocks, threads>>>(out_, in_, amount("gather", max_values / 16));
      }
    }
    PROF_SCOPE("arithmetic");
    {
      PROF_SCOPE("multiply-add");
      multiply_add<<<blocks, threads>>>(out_, amount("multiply-add", 4000));
    }
    {
      PROF_SCOPE("sines");
      for (int i = 0; i < 4; ++i) sines<<<blocks, threads>>>(out_, amount("sines", 800));
    }
    {
      PROF_SCOPE("hash");
      for (int i = 0; i < 2; ++i) hash<<<blocks, threads>>>(out_, amount("hash", 1000));
    }
    {
      PROF_SCOPE("short kernels");
      for (int i = 0; i < 20; ++i) short_work<<<blocks, threads>>>(out_, amount("short kernels", 2500));
    }
  }

 private:
  /// How much a scope does: `plain`, or more.
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

int main(int argc, char** argv) {
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
