// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

namespace {

__global__ void nothing() {}

__global__ void busy(std::uint64_t ns) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

template <int N>
__global__ void fill(int* values) {
  values[threadIdx.x] = N;
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
  constexpr std::size_t far = 2'654'435'761U;  // odd, so that i * far mod 2^26 takes every value
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

/// Needs many registers: all of these values are live at the same time.
template <int registers>
__device__ void keep_values(float* out) {
  float values[registers];
#pragma unroll
  for (int i = 0; i < registers; ++i) values[i] = out[i];
#pragma unroll
  for (int round = 0; round < 3; ++round) {
#pragma unroll
    for (int i = 0; i < registers; ++i) values[i] = values[i] * values[(i + 7) % registers] + 1.0F;
  }
#pragma unroll
  for (int i = 0; i < registers; ++i) out[i] = values[i];
}
__global__ void nothing_with_values(float*) {}
__global__ void __launch_bounds__(1024) use_few_registers(float* out) { keep_values<16>(out); }
__global__ void __launch_bounds__(256) use_many_registers(float* out) { keep_values<180>(out); }
__global__ void __launch_bounds__(1024) use_shared_memory(float* out) {
  __shared__ float values[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) values[i] = out[i % 64];
  __syncthreads();
  out[threadIdx.x % 64] = values[4095 - threadIdx.x];
}

__device__ void repeat(float* values, int times) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int n = 0; n < times; ++n) values[i] = values[i] * 0.5F + 1.0F;
}

__global__ void attention_forward(float* values, int times) { repeat(values, times); }
__global__ void mlp_forward(float* values, int times) { repeat(values, times); }
__global__ void layer_backward(float* values, int times) { repeat(values, times); }
__global__ void adam(float* values, int times) { repeat(values, times); }

}  // namespace

void start_nothing(dim3 blocks, dim3 threads, cudaStream_t stream) { nothing<<<blocks, threads, 0, stream>>>(); }
void* kernel_nothing() { return reinterpret_cast<void*>(nothing); }
void* kernel_of_shape(int number) {
  if (number == 0) return reinterpret_cast<void*>(nothing_with_values);
  if (number == 1) return reinterpret_cast<void*>(use_few_registers);
  if (number == 2) return reinterpret_cast<void*>(use_many_registers);
  return reinterpret_cast<void*>(use_shared_memory);
}
void start_busy(dim3 blocks, dim3 threads, cudaStream_t stream, std::uint64_t ns) { busy<<<blocks, threads, 0, stream>>>(ns); }

template <int number>
void start_fill(dim3 blocks, dim3 threads, cudaStream_t stream, int* values) {
  fill<number><<<blocks, threads, 0, stream>>>(values);
}
template void start_fill<0>(dim3, dim3, cudaStream_t, int*);
template void start_fill<1>(dim3, dim3, cudaStream_t, int*);
template void start_fill<2>(dim3, dim3, cudaStream_t, int*);
template void start_fill<8>(dim3, dim3, cudaStream_t, int*);

void start_scale(dim3 blocks, dim3 threads, cudaStream_t stream, float4* out, float4 const* in, std::size_t count) {
  scale<<<blocks, threads, 0, stream>>>(out, in, count);
}
void start_add_up(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float4 const* in, std::size_t count) {
  add_up<<<blocks, threads, 0, stream>>>(out, in, count);
}
void start_stencil(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float const* in, std::size_t count) {
  stencil<<<blocks, threads, 0, stream>>>(out, in, count);
}
void start_gather(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, float const* in, std::size_t count) {
  gather<<<blocks, threads, 0, stream>>>(out, in, count);
}
void start_multiply_add(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds) {
  multiply_add<<<blocks, threads, 0, stream>>>(out, rounds);
}
void start_sines(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds) {
  sines<<<blocks, threads, 0, stream>>>(out, rounds);
}
void start_hash(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds) {
  hash<<<blocks, threads, 0, stream>>>(out, rounds);
}
void start_short_work(dim3 blocks, dim3 threads, cudaStream_t stream, float* out, std::size_t rounds) {
  short_work<<<blocks, threads, 0, stream>>>(out, rounds);
}

void start_attention_forward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times) {
  attention_forward<<<blocks, threads, 0, stream>>>(values, times);
}
void start_mlp_forward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times) {
  mlp_forward<<<blocks, threads, 0, stream>>>(values, times);
}
void start_layer_backward(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times) {
  layer_backward<<<blocks, threads, 0, stream>>>(values, times);
}
void start_adam(dim3 blocks, dim3 threads, cudaStream_t stream, float* values, int times) {
  adam<<<blocks, threads, 0, stream>>>(values, times);
}
