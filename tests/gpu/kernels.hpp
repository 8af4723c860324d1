// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the tests and programs in this folder. nvcc parses files three times, so it compiles only kernels.cu and no header of
// profkit; examples/small and tests/packaging show that it can.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

// start_NAME(blocks, threads, stream, arguments...) is NAME<<<blocks, threads, 0, stream>>>(arguments...).

void start_nothing(dim3 blocks, dim3 threads, cudaStream_t stream);
/// For nodes of graphs.
void* kernel_nothing();
/// Kernels with one parameter, `float*`, and different needs. @param number from 0 to 3.
void* kernel_of_shape(int number);

/// Each block keeps one multiprocessor busy for this duration.
void start_busy(dim3 blocks, dim3 threads, cudaStream_t stream, std::uint64_t ns);

/// Writes `number`: 0, 1, 2 or 8.
template <int number>
void start_fill(dim3 blocks, dim3 threads, cudaStream_t stream, int* values);

// For slower_scope.

constexpr std::size_t max_values = 1U << 26U;  ///< 256 MiB of floats: far more than the caches hold

void start_scale(dim3 blocks, dim3 threads, cudaStream_t stream, float4* out, float4 const* in, std::size_t count);
void start_add_up(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float4 const* in, std::size_t count);
void start_stencil(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float const* in, std::size_t count);
void start_gather(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float const* in, std::size_t count);
void start_multiply_add(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds);
void start_sines(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds);
void start_hash(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds);
void start_short_work(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds);

// For validation_steps.

void start_attention_forward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times);
void start_mlp_forward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times);
void start_layer_backward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times);
void start_adam(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times);
