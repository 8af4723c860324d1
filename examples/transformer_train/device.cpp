// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "errors.hpp"
#include "measure/time_mark.hpp"

#if TRAINER_WITH_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace trainer {

namespace {

/// The value of "key:" in bytes, from a file of /proc whose values are in kB.
std::optional<std::uint64_t> bytes_in(char const* path, std::string_view key) {
  std::ifstream file{path};
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size())) * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> private_bytes() { return bytes_in("/proc/self/status", "VmData:"); }

#if TRAINER_WITH_CUDA
std::string describe_gpu(int index) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return "GPU";
  constexpr std::size_t gibibyte = std::size_t{1} << 30U;
  std::size_t const tenths = properties.totalGlobalMem * 10 / gibibyte;
  return properties.name + (" (" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)) + " GiB)";
}
#endif

}  // namespace

compute_device::compute_device(device_kind wanted, [[maybe_unused]] bool captures, [[maybe_unused]] std::uint32_t local_rank)
    : description_{"CPU (" + std::to_string(at::get_num_threads()) + " threads)"} {
#if TRAINER_WITH_CUDA
  auto const gpus = static_cast<std::uint32_t>(c10::cuda::device_count());
  bool const has_gpu = gpus > 0;
  if (wanted == device_kind::cuda && !has_gpu) {
    throw input_error{"--device cuda: there is no usable CUDA device here; use --device cpu, or --device auto"};
  }
  if (wanted == device_kind::cpu || !has_gpu) return;
  if (gpus > 1 && local_rank >= gpus) {
    throw input_error{"local rank " + std::to_string(local_rank) + ": there are " + std::to_string(gpus) +
                      " GPUs here; start at most one process for each, or use --device cpu"};
  }
  is_cuda_ = true;
  if (gpus > 1) index_ = static_cast<std::int8_t>(local_rank);
  c10::cuda::set_device(index_);
  description_ = describe_gpu(index_);
  if (captures) c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_));
  stream_ = c10::cuda::getCurrentCUDAStream(index_).stream();
#else
  if (wanted == device_kind::cuda) {
    throw input_error{
        "--device cuda: this program was built without CUDA; build it with a CUDA LibTorch and a CUDA toolkit, or use --device cpu"};
  }
#endif
}

void compute_device::delay(std::chrono::milliseconds by) const {
#if TRAINER_WITH_CUDA
  if (!is_cuda_) return;
  // A host function blocks the stream and is not counted as a kernel.
  auto const wait = [](void* ms) { std::this_thread::sleep_for(std::chrono::milliseconds{reinterpret_cast<std::intptr_t>(ms)}); };
  C10_CUDA_CHECK(cudaLaunchHostFunc(*stream_, wait, reinterpret_cast<void*>(static_cast<std::intptr_t>(by.count()))));
#else
  static_cast<void>(by);
#endif
}

void compute_device::spin([[maybe_unused]] std::int64_t cycles) const {
#if TRAINER_WITH_CUDA
  if (is_cuda_) at::cuda::sleep(cycles);
#endif
}

double compute_device::cycles_per_millisecond() const {
#if TRAINER_WITH_CUDA
  if (is_cuda_) {
    constexpr std::int64_t cycles = 20'000'000;  // about 10 ms
    time_mark begin{*this};
    time_mark end{*this};
    spin(cycles);  // lets the GPU clock rise
    begin.record();
    spin(cycles);
    end.record();
    auto const time = between(begin, end);
    if (!time) throw std::runtime_error{"CUDA did not time the kernel that measures the clock rate"};
    return static_cast<double>(cycles) / time->count();
  }
#endif
  return 0.0;
}

void compute_device::synchronize() const {
#if TRAINER_WITH_CUDA
  if (is_cuda_) c10::cuda::stream_synchronize(*stream_);
#endif
}

void compute_device::release_memory() const {
#if TRAINER_WITH_CUDA
  if (!is_cuda_) return;
  // Cached memory would otherwise stay until the process ends, so the peak would depend on earlier runs.
  at::cuda::clearCublasWorkspaces();
  c10::cuda::CUDACachingAllocator::emptyCache();
#endif
}

std::optional<std::uint64_t> available_host_bytes() {
  auto const available = bytes_in("/proc/meminfo", "MemAvailable:");
  rlimit limit{};
  auto const used = private_bytes();
  if (!available || !used || ::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return available;
  return std::min<std::uint64_t>(*available, limit.rlim_cur > *used ? limit.rlim_cur - *used : 0);
}

void limit_host_memory() {
  auto const available = available_host_bytes();
  auto const used = private_bytes();
  rlimit limit{};
  if (!available || !used || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, *used + *available);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace trainer
