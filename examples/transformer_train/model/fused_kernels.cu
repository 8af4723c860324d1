// SPDX-License-Identifier: Apache-2.0
#include "model/fused_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace trainer::fused_kernels {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;

__device__ float widen(float x) { return x; }
__device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ float widen(__half x) { return __half2float(x); }

__device__ void narrow(float x, float& to) { to = x; }
__device__ void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16(x); }
__device__ void narrow(float x, __half& to) { to = __float2half(x); }

/// A vector of adjacent values, aligned so that one instruction loads or stores up to 16 bytes.
template <class T, int Width>
struct alignas(sizeof(T) * Width < 16 ? sizeof(T) * Width : 16) vector {
  T at[Width];
};

template <int Width, class T>
__device__ void load(T const* from, float (&to)[Width]) {
  vector<T, Width> const loaded = *reinterpret_cast<vector<T, Width> const*>(from);
#pragma unroll
  for (int i = 0; i < Width; ++i) to[i] = widen(loaded.at[i]);
}

template <int Width, class T>
__device__ void store(T* to, float const (&from)[Width]) {
  vector<T, Width> stored;
#pragma unroll
  for (int i = 0; i < Width; ++i) narrow(from[i], stored.at[i]);
  *reinterpret_cast<vector<T, Width>*>(to) = stored;
}

struct add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Reduces one value per thread of a block; every thread receives the result.
template <class Operation>
__device__ float reduce(float value, Operation operation) {
  __shared__ float of_warps[warps];
  for (int offset = 16; offset > 0; offset /= 2) value = operation(value, __shfl_xor_sync(0xffffffffU, value, offset));
  __syncthreads();  // every thread has read the result of the previous reduction
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int i = 1; i < warps; ++i) value = operation(value, of_warps[i]);
  return value;
}

template <class T, int Width>
__global__ void norm_forward_kernel(float const* x, T const* delta, float const* scale, float* sum, T* normed, float* rstd,
                                    std::int64_t columns, float epsilon) {
  std::int64_t const row = blockIdx.x * columns;
  float squares = 0.0F;
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
    float values[Width];
    load<Width>(x + row + c, values);
    if (delta != nullptr) {
      float more[Width];
      load<Width>(delta + row + c, more);
#pragma unroll
      for (int i = 0; i < Width; ++i) values[i] += more[i];
      store<Width>(sum + row + c, values);
    }
#pragma unroll
    for (int i = 0; i < Width; ++i) squares += values[i] * values[i];
  }
  float const factor = rsqrtf(reduce(squares, add{}) / static_cast<float>(columns) + epsilon);
  if (threadIdx.x == 0) rstd[blockIdx.x] = factor;
  // Each thread reads only what it wrote itself.
  float const* const normalised = delta != nullptr ? sum : x;
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
    float values[Width];
    float scales[Width];
    load<Width>(normalised + row + c, values);
    load<Width>(scale + c, scales);
#pragma unroll
    for (int i = 0; i < Width; ++i) values[i] *= factor * scales[i];
    store<Width>(normed + row + c, values);
  }
}

template <class T, int Width>
__global__ void norm_backward_kernel(float const* grad_sum, T const* grad_normed, float const* sum, float const* rstd, float const* scale,
                                     float* grad_x, T* grad_delta, float* parts, std::int64_t rows, std::int64_t columns) {
  extern __shared__ float scale_sums[];  // each thread uses only its own columns
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
#pragma unroll
    for (int i = 0; i < Width; ++i) scale_sums[c + i] = 0.0F;
  }
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    std::int64_t const row = r * columns;
    float const factor = rstd[r];
    float product = 0.0F;
    for (std::int64_t c = threadIdx.x * Width; c < columns && grad_normed != nullptr; c += threads * Width) {
      float grads[Width];
      float values[Width];
      float scales[Width];
      load<Width>(grad_normed + row + c, grads);
      load<Width>(sum + row + c, values);
      load<Width>(scale + c, scales);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        product += grads[i] * scales[i] * values[i];
        scale_sums[c + i] += grads[i] * values[i] * factor;
      }
    }
    float const mean = reduce(product, add{}) * factor * factor / static_cast<float>(columns);
    for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
      float result[Width] = {};
      if (grad_sum != nullptr) load<Width>(grad_sum + row + c, result);
      if (grad_normed != nullptr) {
        float grads[Width];
        float values[Width];
        float scales[Width];
        load<Width>(grad_normed + row + c, grads);
        load<Width>(sum + row + c, values);
        load<Width>(scale + c, scales);
#pragma unroll
        for (int i = 0; i < Width; ++i) result[i] += factor * (grads[i] * scales[i] - values[i] * mean);
      }
      store<Width>(grad_x + row + c, result);
      if (grad_delta != nullptr) store<Width>(grad_delta + row + c, result);
    }
  }
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
#pragma unroll
    for (int i = 0; i < Width; ++i) parts[blockIdx.x * columns + c + i] = scale_sums[c + i];
  }
}

/// Each block has 32 warps and handles 32 columns: lanes are columns, warps are rows.
__global__ void sum_rows_kernel(float const* parts, float* sums, std::int64_t rows, std::int64_t columns) {
  __shared__ float tile[32][33];
  std::int64_t const column = blockIdx.x * 32 + threadIdx.x;
  float total = 0.0F;
  if (column < columns) {
    for (std::int64_t r = threadIdx.y; r < rows; r += 32) total += parts[r * columns + column];
  }
  tile[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  total = tile[threadIdx.x][threadIdx.y];
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffU, total, offset);
  std::int64_t const reduced = blockIdx.x * 32 + threadIdx.y;
  if (threadIdx.x == 0 && reduced < columns) sums[reduced] = total;
}

/// `Direction` 1 rotates and splits (forward); -1 rotates back and joins (backward).
template <class T, int Width, int Direction>
__global__ void rope_kernel(T* joined, float const* turn, T* q, T* k, T* v, std::int64_t count, std::int64_t length, std::int64_t d_model,
                            std::int64_t d_head) {
  std::int64_t const i = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
  if (i >= count) return;
  std::int64_t const at = i * Width;  // offset in `joined`
  std::int64_t const row = at / (3 * d_model);
  std::int64_t const column = at % (3 * d_model);
  std::int64_t const which = column / d_model;
  std::int64_t const in_row = column % d_model;
  T* const split = (which == 0 ? q : which == 1 ? k : v) + row * d_model + in_row;
  float values[Width];
  if constexpr (Direction > 0) {
    load<Width>(joined + at, values);
  } else {
    load<Width>(split, values);
  }
  if (which < 2) {
    float turns[Width];
    load<Width>(turn + (row % length) * d_head + in_row % d_head, turns);
#pragma unroll
    for (int j = 0; j < Width; j += 2) {
      float const even = values[j];
      float const odd = values[j + 1];
      float const cosine = turns[j];
      float const sine = Direction * turns[j + 1];
      values[j] = even * cosine - odd * sine;
      values[j + 1] = even * sine + odd * cosine;
    }
  }
  if constexpr (Direction > 0) {
    store<Width>(split, values);
  } else {
    store<Width>(joined + at, values);
  }
}

template <class T, int Width>
__global__ void swiglu_forward_kernel(T const* joined, T* hidden, std::int64_t count, std::int64_t columns) {
  std::int64_t const i = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
  if (i >= count) return;
  std::int64_t const at = i * Width;
  T const* const gate_at = joined + at / columns * 2 * columns + at % columns;
  float gate[Width];
  float up[Width];
  load<Width>(gate_at, gate);
  load<Width>(gate_at + columns, up);
#pragma unroll
  for (int j = 0; j < Width; ++j) up[j] *= gate[j] / (1.0F + __expf(-gate[j]));
  store<Width>(hidden + at, up);
}

template <class T, int Width>
__global__ void swiglu_backward_kernel(T const* grad_hidden, T const* joined, T* grad_joined, std::int64_t count, std::int64_t columns) {
  std::int64_t const i = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
  if (i >= count) return;
  std::int64_t const at = i * Width;
  std::int64_t const gate_at = at / columns * 2 * columns + at % columns;
  float grad[Width];
  float gate[Width];
  float up[Width];
  load<Width>(grad_hidden + at, grad);
  load<Width>(joined + gate_at, gate);
  load<Width>(joined + gate_at + columns, up);
#pragma unroll
  for (int j = 0; j < Width; ++j) {
    float const sigmoid = 1.0F / (1.0F + __expf(-gate[j]));
    float const silu = gate[j] * sigmoid;
    float const grad_up = grad[j] * silu;
    gate[j] = grad[j] * up[j] * (sigmoid + silu * (1.0F - sigmoid));
    up[j] = grad_up;
  }
  store<Width>(grad_joined + gate_at, gate);
  store<Width>(grad_joined + gate_at + columns, up);
}

template <class T, int Width>
__global__ void cross_entropy_forward_kernel(T const* logits, std::int64_t const* targets, float* losses, float* log_sums,
                                             std::int64_t columns) {
  T const* const row = logits + blockIdx.x * columns;
  float maximum = -INFINITY;
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
    float values[Width];
    load<Width>(row + c, values);
#pragma unroll
    for (int i = 0; i < Width; ++i) maximum = fmaxf(maximum, values[i]);
  }
  maximum = reduce(maximum, larger{});
  float total = 0.0F;
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
    float values[Width];
    load<Width>(row + c, values);
#pragma unroll
    for (int i = 0; i < Width; ++i) total += __expf(values[i] - maximum);
  }
  total = reduce(total, add{});
  if (threadIdx.x != 0) return;
  std::int64_t const target = targets[blockIdx.x];
  float const log_sum = maximum + logf(total);
  log_sums[blockIdx.x] = log_sum;
  losses[blockIdx.x] = target >= 0 && target < columns ? log_sum - widen(row[target]) : NAN;
}

template <class T, int Width>
__global__ void cross_entropy_backward_kernel(float const* grad_mean, T const* logits, std::int64_t const* targets, float const* log_sums,
                                              T* grad_logits, std::int64_t rows, std::int64_t columns) {
  std::int64_t const row = blockIdx.x * columns;
  float const factor = *grad_mean / static_cast<float>(rows);
  float const log_sum = log_sums[blockIdx.x];
  std::int64_t const target = targets[blockIdx.x];
  for (std::int64_t c = threadIdx.x * Width; c < columns; c += threads * Width) {
    float values[Width];
    load<Width>(logits + row + c, values);
#pragma unroll
    for (int i = 0; i < Width; ++i) values[i] = factor * (__expf(values[i] - log_sum) - (c + i == target ? 1.0F : 0.0F));
    store<Width>(grad_logits + row + c, values);
  }
}

template <class T>
struct type_tag {
  using type = T;
};
template <int Width>
struct width_tag {
  static constexpr int value = Width;
};

/// Calls `run` with the type and the number of values per load: 8 if that divides `row`, else `least`.
template <int Least, class Run>
void dispatch(number type, std::int64_t row, Run run) {
  auto const with_width = [&](auto tag) {
    if (row % 8 == 0) {
      run(tag, width_tag<8>{});
    } else {
      run(tag, width_tag<Least>{});
    }
  };
  if (type == number::bf16) {
    with_width(type_tag<__nv_bfloat16>{});
  } else if (type == number::fp16) {
    with_width(type_tag<__half>{});
  } else {
    with_width(type_tag<float>{});
  }
}

unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

template <int Direction>
void rope(number type, void* joined, float const* turn, void* q, void* k, void* v, std::int64_t rows, std::int64_t length,
          std::int64_t heads, std::int64_t d_head, cudaStream_t stream) {
  dispatch<2>(type, d_head, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value;
    std::int64_t const count = rows * 3 * heads * d_head / Width;
    rope_kernel<T, Width, Direction><<<blocks_for(count), threads, 0, stream>>>(
        static_cast<T*>(joined), turn, static_cast<T*>(q), static_cast<T*>(k), static_cast<T*>(v), count, length, heads * d_head, d_head);
  });
}

}  // namespace

void norm_forward(number type, float const* x, void const* delta, float const* scale, float* sum, void* normed, float* rstd,
                  std::int64_t rows, std::int64_t columns, float epsilon, cudaStream_t stream) {
  // Rows are short: with 4 instead of 8 values per load, more threads of the block have work.
  dispatch<1>(type, columns % 4 == 0 ? 8 : columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value == 8 ? 4 : 1;
    norm_forward_kernel<T, Width><<<static_cast<unsigned>(rows), threads, 0, stream>>>(x, static_cast<T const*>(delta), scale, sum,
                                                                                       static_cast<T*>(normed), rstd, columns, epsilon);
  });
}

void norm_backward(number type, float const* grad_sum, void const* grad_normed, float const* sum, float const* rstd, float const* scale,
                   float* grad_x, void* grad_delta, float* parts, float* grad_scale, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream) {
  std::int64_t const part_count = norm_parts(rows);
  dispatch<1>(type, columns % 4 == 0 ? 8 : columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value == 8 ? 4 : 1;
    norm_backward_kernel<T, Width>
        <<<static_cast<unsigned>(part_count), threads, static_cast<std::size_t>(columns) * sizeof(float), stream>>>(
            grad_sum, static_cast<T const*>(grad_normed), sum, rstd, scale, grad_x, static_cast<T*>(grad_delta), parts, rows, columns);
  });
  sum_rows_kernel<<<static_cast<unsigned>((columns + 31) / 32), dim3{32, 32}, 0, stream>>>(parts, grad_scale, part_count, columns);
}

void rope_forward(number type, void const* joined, float const* turn, void* q, void* k, void* v, std::int64_t rows, std::int64_t length,
                  std::int64_t heads, std::int64_t d_head, cudaStream_t stream) {
  rope<1>(type, const_cast<void*>(joined), turn, q, k, v, rows, length, heads, d_head, stream);
}

void rope_backward(number type, void const* q, void const* k, void const* v, float const* turn, void* joined, std::int64_t rows,
                   std::int64_t length, std::int64_t heads, std::int64_t d_head, cudaStream_t stream) {
  rope<-1>(type, joined, turn, const_cast<void*>(q), const_cast<void*>(k), const_cast<void*>(v), rows, length, heads, d_head, stream);
}

void swiglu_forward(number type, void const* joined, void* hidden, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  dispatch<1>(type, columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value;
    std::int64_t const count = rows * columns / Width;
    swiglu_forward_kernel<T, Width>
        <<<blocks_for(count), threads, 0, stream>>>(static_cast<T const*>(joined), static_cast<T*>(hidden), count, columns);
  });
}

void swiglu_backward(number type, void const* grad_hidden, void const* joined, void* grad_joined, std::int64_t rows, std::int64_t columns,
                     cudaStream_t stream) {
  dispatch<1>(type, columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value;
    std::int64_t const count = rows * columns / Width;
    swiglu_backward_kernel<T, Width><<<blocks_for(count), threads, 0, stream>>>(
        static_cast<T const*>(grad_hidden), static_cast<T const*>(joined), static_cast<T*>(grad_joined), count, columns);
  });
}

void cross_entropy_forward(number type, void const* logits, std::int64_t const* targets, float* losses, float* log_sums, std::int64_t rows,
                           std::int64_t columns, cudaStream_t stream) {
  dispatch<1>(type, columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value;
    cross_entropy_forward_kernel<T, Width>
        <<<static_cast<unsigned>(rows), threads, 0, stream>>>(static_cast<T const*>(logits), targets, losses, log_sums, columns);
  });
}

void cross_entropy_backward(number type, float const* grad_mean, void const* logits, std::int64_t const* targets, float const* log_sums,
                            void* grad_logits, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  dispatch<1>(type, columns, [&](auto type_of, auto width) {
    using T = typename decltype(type_of)::type;
    constexpr int Width = decltype(width)::value;
    cross_entropy_backward_kernel<T, Width><<<static_cast<unsigned>(rows), threads, 0, stream>>>(
        grad_mean, static_cast<T const*>(logits), targets, log_sums, static_cast<T*>(grad_logits), rows, columns);
  });
}

}  // namespace trainer::fused_kernels
