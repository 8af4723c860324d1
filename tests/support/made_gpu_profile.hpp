// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <cstdint>

#include "made_path.hpp"
#include "made_profile.hpp"

/// A profile with kernels whose summary can be computed by hand. Three steps of 10 ms that begin at 0, 20 and 40 ms; the first is warm-up.
/// In each, in ms from its beginning:
///
///     thread 0: step [0, 10], forward [1, 4], attention [2, 3] with another attention [2.2, 2.8] inside, backward [5, 7]
///     thread 1: load [1, 2]
///
///     launched in          by thread, call  operation         stream  took
///     load                 1, [1.2, 1.4]    copy of 1 MiB     13      [1.5, 2.0]
///     forward              0, [1.5, 1.6]    matmul            7       [1.7, 3.7]
///     attention            0, [2.05, 2.15]  softmax           7       [3.7, 4.7]
///     attention/attention  0, [2.4, 2.5]    addition          14      [2.7, 4.2]
///     step                 0, [4.2, 4.3]    memset of 4 KiB   7       [4.7, 4.8]
///     backward             0, [5.5, 5.6]    matmul            7       [5.8, 6.8]
///     (no scope)           1, [3.0, 3.1]    addition          13      [3.2, 3.4]
///
/// The last step has a kernel [8.0, 8.5] without a recorded launch; the first one has a kernel that no other step has.
/// @param has_all_api_calls adds a synchronisation [9.0, 9.5] to each step.
inline profkit::profile made_gpu_profile(bool has_all_api_calls = false) {
  profkit::profile result;
  result.environment = {"host", "NVIDIA H200", "13.0", "13.0", {"train", "--size", "tiny"}};
  result.time = {at_ms(0), at_ms(60)};
  result.has_all_api_calls = has_all_api_calls;
  result.paths = {step_path(),
                  {0, "forward", {}, "train.cpp", 10},
                  {1, "attention", {}, "model.cpp", 20},
                  {2, "attention", {}, "model.cpp", 25},
                  {0, "backward", {}, "train.cpp", 12},
                  {profkit::path_record::no_parent, "load", {}, "data.cpp", 30}};
  result.threads = {{100, "train"}, {101, "loader"}};
  result.gpu_names = {
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8>("
       "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8::Params)",
       "_ZN7cutlass7Kernel2I67cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8EEvNT_6ParamsE"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*, float const*, int, int, int, "
       "bool const*, int, bool)",
       "_ZN43_GLOBAL__N__0_PersistentSoftmax_cu_softmax20softmax_warp_forwardIfffLi9ELb0ELb0EEEvPT0_PKT_iiiPKbib"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
       "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
       "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"},
      {"void operator\"\" _scaled<float, 2>(float*, int)", "_Zli7_scaledIfLi2EEvPfi"},
      {"warm_up_only", {}},
      {"[CUDA memcpy Host-to-Device]", {}, profkit::copy_direction::host_to_device},
      {"[CUDA memset]", {}}};
  result.api_names = {"cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020", "cudaDeviceSynchronize_v3020"};
  result.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  result.quality.clock = "time-stamp counter";

  std::uint64_t correlation = 0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    double const begin = 20.0 * static_cast<double>(step);
    auto const scope = [&](std::uint32_t path, std::uint32_t thread, double from, double to) {
      result.scopes.push_back({{at_ms(begin + from), at_ms(begin + to)}, path, thread});
    };
    auto const call = [&](std::uint32_t name, std::uint32_t thread, double from, double to) {
      result.api_calls.push_back({{at_ms(begin + from), at_ms(begin + to)}, ++correlation, name, thread});
    };
    auto const kernel = [&](std::uint32_t name, std::uint32_t stream, double from, double to) {
      result.gpu_operations.push_back({{at_ms(begin + from), at_ms(begin + to)},
                                       correlation,
                                       0,
                                       name,
                                       0,
                                       stream,
                                       {128, 1, 1},
                                       {256, 1, 1},
                                       profkit::gpu_operation_kind::kernel});
    };
    auto const transfer = [&](profkit::gpu_operation_kind kind, std::uint32_t name, std::uint32_t stream, double from, double to,
                              std::uint64_t bytes) {
      result.gpu_operations.push_back({{at_ms(begin + from), at_ms(begin + to)}, correlation, bytes, name, 0, stream, {}, {}, kind});
    };
    scope(3, 0, 2.2, 2.8);
    scope(2, 0, 2.0, 3.0);
    scope(1, 0, 1.0, 4.0);
    scope(4, 0, 5.0, 7.0);
    scope(0, 0, 0.0, 10.0);
    scope(5, 1, 1.0, 2.0);
    call(1, 1, 1.2, 1.4);
    transfer(profkit::gpu_operation_kind::copy, 5, 13, 1.5, 2.0, 1U << 20U);
    call(0, 0, 1.5, 1.6);
    kernel(0, 7, 1.7, 3.7);
    call(0, 0, 2.05, 2.15);
    kernel(1, 7, 3.7, 4.7);
    call(0, 0, 2.4, 2.5);
    kernel(2, 14, 2.7, 4.2);
    call(2, 0, 4.2, 4.3);
    transfer(profkit::gpu_operation_kind::set, 6, 7, 4.7, 4.8, 4096);
    call(0, 0, 5.5, 5.6);
    kernel(0, 7, 5.8, 6.8);
    call(0, 1, 3.0, 3.1);
    kernel(2, 13, 3.2, 3.4);
    if (step == 0) {
      call(0, 0, 7.5, 7.6);
      kernel(4, 7, 7.7, 8.7);
    }
    if (step == 2) {
      ++correlation;
      kernel(3, 7, 8.0, 8.5);
    }
    if (has_all_api_calls) call(3, 0, 9.0, 9.5);
    result.steps.push_back({{at_ms(begin), at_ms(begin + 10.0)}, step, step == 0, 60});
  }
  return result;
}
