// SPDX-License-Identifier: Apache-2.0
//
// A CUDA program with NVTX ranges and without profkit, for `profkit run` and Nsight Systems. Prints one line of JSON: what its own clock
// says about its ranges, the number of its kernels, and the time of a step.
// Usage: run_ranges STEPS

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

namespace {

long long now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

struct own_time {
  long long count = 0;
  long long ns = 0;
};
std::map<std::string, own_time> ranges;

class range {
 public:
  explicit range(char const* name, nvtxDomainHandle_t domain = nullptr) : name_{name}, domain_{domain} {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    domain == nullptr ? nvtxRangePushA(name) : nvtxDomainRangePushEx(domain, &attributes);
    begin_ = now_ns();
  }
  ~range() {
    own_time& mine = ranges[std::string{name_}.substr(0, 5) == "step " ? "step" : name_];
    mine.ns += now_ns() - begin_;
    ++mine.count;
    domain_ == nullptr ? nvtxRangePop() : nvtxDomainRangePop(domain_);
  }

 private:
  char const* name_;
  nvtxDomainHandle_t domain_;
  long long begin_ = 0;
};

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

}  // namespace

__global__ void spin_short(float* out) {
  long long const begin = clock64();
  while (clock64() - begin < 40'000) continue;
  out[threadIdx.x] += 1.0F;
}

__global__ void spin_long(float* out) {
  long long const begin = clock64();
  while (clock64() - begin < 200'000) continue;
  out[threadIdx.x] += 2.0F;
}

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 50;
  constexpr std::size_t bytes = std::size_t{1} << 20U;
  nvtxDomainHandle_t const solver = nvtxDomainCreateA("solver");
  float* device = nullptr;
  check(cudaMalloc(&device, bytes));
  check(cudaMemset(device, 0, bytes));
  float* const host = static_cast<float*>(std::malloc(bytes));
  long long kernels = 0;
  long long const begin = now_ns();
  for (int i = 0; i < steps; ++i) {
    std::string const name = "step " + std::to_string(i);
    range const step{name.c_str()};
    {
      range const solve{"solve", solver};
      for (int k = 0; k < 20; ++k) {
        range const launch{"launch", solver};
        spin_short<<<1, 32>>>(device);
        spin_long<<<1, 32>>>(device);
        kernels += 2;
      }
    }
    range const wait{"wait"};
    check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
  }
  check(cudaDeviceSynchronize());
  std::printf("{\"step_ms\": %.6f, \"kernels\": %lld, \"ranges\": {", static_cast<double>(now_ns() - begin) / 1e6 / steps, kernels);
  char const* comma = "";
  for (auto const& [name, own] : ranges) {
    std::printf("%s\"%s\": [%lld, %.6f]", comma, name.c_str(), own.count, static_cast<double>(own.ns) / 1e6);
    comma = ", ";
  }
  std::printf("}}\n");
  return 0;
}
