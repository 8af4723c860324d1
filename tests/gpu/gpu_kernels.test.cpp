// SPDX-License-Identifier: Apache-2.0
//
// Kernel collection on a real device.
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

struct device_memory {
  device_memory() { check(cudaMalloc(&bytes, size)); }
  ~device_memory() { cudaFree(bytes); }
  device_memory(device_memory const&) = delete;
  device_memory& operator=(device_memory const&) = delete;
  static constexpr std::size_t size = 4096;
  void* bytes = nullptr;
};

/// The operations launched in scopes of a path: "fill<1>(int*)", "[CUDA memset]".
std::vector<std::string> operations_in(profkit::profile const& profile, std::string_view path) {
  profkit::attribution const charged = profkit::attribute(profile);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::uint32_t const scope = charged.scope_of[i];
    bool const is_wanted = scope == profkit::attribution::none ? path.empty() : path_name(profile, profile.scopes[scope].path) == path;
    if (is_wanted) names.push_back(profile.gpu_names[profile.gpu_operations[i].name].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

profkit::collector_record const& kernels_of(profkit::profile const& profile) {
  for (auto const& each : profile.collectors) {
    if (each.name == "kernels") return each;
  }
  throw std::runtime_error{"no collector of kernels"};
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("kernels, copies and memsets are charged to the scope that launched them", "[gpu]") {
  need_gpu();
  device_memory const memory;
  char host[64] = {};
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  auto* const values = static_cast<int*>(memory.bytes);
  start_fill<0>(1, 32, nullptr, values);
  {
    PROF_SCOPE("outer");
    start_fill<1>(1, 32, nullptr, values);
    {
      PROF_SCOPE("inner");
      start_fill<2>(2, 32, nullptr, values);
      check(cudaMemset(memory.bytes, 0, 100));
    }
    check(cudaMemcpy(memory.bytes, host, sizeof host, cudaMemcpyHostToDevice));
  }
  profkit::profile const profile = session.report().profile();
  INFO(kernels_of(profile).reason);
  REQUIRE(kernels_of(profile).status == "collected");
  CHECK(operations_in(profile, "") == names{"void (anonymous namespace)::fill<0>(int*)"});
  CHECK(operations_in(profile, "outer") == names{"[CUDA memcpy Host-to-Device]", "void (anonymous namespace)::fill<1>(int*)"});
  CHECK(operations_in(profile, "outer/inner") == names{"[CUDA memset]", "void (anonymous namespace)::fill<2>(int*)"});
  CHECK(profile.quality.dropped_operations == 0);
  CHECK(profile.quality.invalid_operations == 0);
  CHECK_FALSE(profile.environment.gpu.empty());
  for (auto const& each : profile.gpu_operations) {
    auto const& name = profile.gpu_names[each.name];
    if (name.name == "[CUDA memset]") CHECK(each.bytes == 100);
    if (name.name == "[CUDA memcpy Host-to-Device]") {
      CHECK(each.bytes == sizeof host);
      CHECK(name.direction == profkit::copy_direction::host_to_device);
    }
    if (name.name == "void (anonymous namespace)::fill<2>(int*)") CHECK(each.grid[0] == 2);
    if (each.kind == profkit::gpu_operation_kind::kernel) CHECK(name.mangled.substr(0, 2) == "_Z");
  }
}

TEST_CASE("work that is not complete when the session ends is still collected", "[gpu]") {
  need_gpu();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  {
    PROF_SCOPE("slow");
    for (int i = 0; i < 3; ++i) start_busy(1, 1, nullptr, std::uint64_t{50'000'000});
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(operations_in(profile, "slow").size() == 3);
  for (auto const& each : profile.gpu_operations) CHECK(each.time.duration() > std::chrono::milliseconds{49});
}

TEST_CASE("all API calls can be requested, and one call is recorded for each launch", "[gpu]") {
  need_gpu();
  device_memory const memory;
  auto* const values = static_cast<int*>(memory.bytes);
  for (bool const all : {false, true}) {
    profkit::session session{plain_options()};
    session.collect(profkit::cupti_kernels({all}));
    for (int i = 0; i < 10; ++i) start_fill<8>(1, 32, nullptr, values);
    check(cudaDeviceSynchronize());
    profkit::profile const profile = session.report().profile();
    std::size_t launches = 0;
    std::size_t synchronizations = 0;
    for (auto const& each : profile.api_calls) {
      std::string const& name = profile.api_names[each.name];
      launches += name.find("LaunchKernel") != std::string::npos ? 1 : 0;
      synchronizations += name.find("cudaDeviceSynchronize") != std::string::npos ? 1 : 0;
    }
    CHECK(profile.has_all_api_calls == all);
    CHECK(launches == 10);
    CHECK(synchronizations == (all ? 1 : 0));
  }
}

TEST_CASE("a call that waits for the device is recorded with its duration, and is no launch", "[gpu]") {
  need_gpu();
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  auto const keep_busy = [&] { start_busy(1, 1, stream, std::uint64_t{50'000'000}); };
  keep_busy();
  check(cudaStreamSynchronize(stream));
  keep_busy();
  check(cudaEventRecord(event, stream));
  check(cudaEventSynchronize(event));
  keep_busy();
  check(cudaDeviceSynchronize());
  profkit::profile const profile = session.report().profile();
  profkit::attribution const charged = profkit::attribute(profile);
  for (std::string const name : {"cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}) {
    INFO(name);
    bool has_waited = false;
    for (std::uint32_t i = 0; i < profile.api_calls.size(); ++i) {
      auto const& call = profile.api_calls[i];
      if (profile.api_names[call.name].find(name) != 0) continue;
      has_waited = has_waited || call.time.duration() > std::chrono::milliseconds{25};
      CHECK(std::find(charged.launch_of.begin(), charged.launch_of.end(), i) == charged.launch_of.end());
    }
    CHECK(has_waited);
  }
  check(cudaEventDestroy(event));
  check(cudaStreamDestroy(stream));
}

TEST_CASE("driver memory is charged to the scope that requested it, by any call", "[gpu]") {
  need_gpu();
  check(cudaFree(nullptr));  // create the context first
  constexpr std::size_t size = std::size_t{64} << 20U;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  std::size_t pitch = 0;
  {
    PROF_SCOPE("scope");
    void* plain = nullptr;
    void* pitched = nullptr;
    void* managed = nullptr;
    void* pooled = nullptr;
    check(cudaMalloc(&plain, size));
    check(cudaMallocPitch(&pitched, &pitch, 1000, 100));
    check(cudaMallocManaged(&managed, size));
    check(cudaMallocAsync(&pooled, size, nullptr));
    check(cudaFreeAsync(pooled, nullptr));
    check(cudaFree(managed));
    check(cudaFree(pitched));
    check(cudaFree(plain));
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(kernels_of(profile).status == "collected");
  std::vector<std::uint64_t> got;
  std::vector<std::uint64_t> given_back;
  for (profkit::allocation_record const& each : profile.allocations) {
    if (each.kind == profkit::allocation_kind::allocated) got.push_back(each.bytes);
    if (each.kind == profkit::allocation_kind::released) given_back.push_back(each.address);
    REQUIRE(profile.scopes.at(0).time.begin < each.time);
    CHECK(each.time < profile.scopes[0].time.end);
  }
  CHECK(got == std::vector<std::uint64_t>{size, pitch * 100, size, size});
  CHECK(given_back.size() == 4);
}

TEST_CASE("as many blocks of each of 200 shapes are resident as the CUDA runtime says", "[gpu]") {
  need_gpu();
  device_memory const memory;
  struct launched_shape {
    int kernel;
    int threads;
    int shared_bytes;
    int blocks;
  };
  std::vector<launched_shape> shapes;
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  for (int kernel = 0; kernel < 4; ++kernel) {
    void* const function = kernel_of_shape(kernel);
    cudaFuncAttributes needs{};
    check(cudaFuncGetAttributes(&needs, function));
    int const max_shared = static_cast<int>(device.sharedMemPerBlockOptin - needs.sharedSizeBytes);
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared));
    for (int const threads : {32, 64, 96, 128, 160, 256, 384, 512, 768, 1024}) {
      if (threads > needs.maxThreadsPerBlock) continue;
      for (int const shared_bytes : {0, 500, 8'000, 16'384, 40'000, 65'536, 100'000, max_shared}) {
        if (shared_bytes > max_shared) continue;
        int blocks = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, static_cast<std::size_t>(shared_bytes)));
        void* values = memory.bytes;
        void* parameters[] = {&values};
        check(cudaLaunchKernel(function, dim3(1), dim3(static_cast<unsigned>(threads)), parameters, static_cast<std::size_t>(shared_bytes),
                               nullptr));
        shapes.push_back({kernel, threads, shared_bytes, blocks});
      }
    }
  }
  REQUIRE(shapes.size() >= 200);
  profkit::profile const profile = session.report().profile();
  INFO(kernels_of(profile).reason);
  REQUIRE(profile.gpu_operations.size() == shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    launched_shape const& wanted = shapes[i];
    REQUIRE(profile.gpu_operations[i].shape > 0);
    profkit::launch_shape_record const& found = profile.launch_shapes.at(profile.gpu_operations[i].shape - 1U);
    CAPTURE(wanted.kernel, wanted.threads, wanted.shared_bytes, found.registers, found.static_shared_bytes);
    CHECK(found.blocks_per_multiprocessor == static_cast<std::uint32_t>(wanted.blocks));
    CHECK(found.threads == static_cast<std::uint32_t>(wanted.threads));
    CHECK(found.dynamic_shared_bytes == static_cast<std::uint32_t>(wanted.shared_bytes));
    CHECK(found.multiprocessors == static_cast<std::uint32_t>(device.multiProcessorCount));
    CHECK(found.max_warps == static_cast<std::uint32_t>(device.maxThreadsPerMultiProcessor / device.warpSize));
  }
}
