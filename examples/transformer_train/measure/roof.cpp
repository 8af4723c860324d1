// SPDX-License-Identifier: Apache-2.0
#include "measure/roof.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "measure/time_mark.hpp"
#include "model/precision.hpp"
#include "model/work.hpp"
#include "training/memory_errors.hpp"

namespace trainer {

namespace {

constexpr std::int64_t width = 8192;
constexpr std::int64_t copied_bytes = std::int64_t{1} << 30U;
constexpr int warmups = 5;  ///< repetitions in which clocks rise and libraries choose kernels
constexpr int runs = 20;

/// The minimum of several repetitions.
template <class Work>
double best_seconds(compute_device const& device, Work&& work) {
  for (int i = 0; i < warmups; ++i) work();
  time_mark begin{device};
  time_mark end{device};
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    begin.record();
    work();
    end.record();
    auto const time = between(begin, end);
    if (!time) throw std::runtime_error{"--measure-roof: CUDA could not time a product or a copy"};
    best = std::min(best, std::chrono::duration<double>{*time}.count());
  }
  return best;
}

at::TensorOptions on_gpu(compute_device const& device, at::ScalarType type) {
  return at::TensorOptions{c10::Device{c10::kCUDA, device.index()}}.dtype(type);
}

double product_flops_per_second(compute_device const& device, precision_kind precision) {
  set_tf32(precision);
  at::TensorOptions const options = on_gpu(device, compute_type(precision));
  // Random numbers, because products of zeros draw less power, so clocks stay higher.
  at::Tensor const a = at::empty({width, width}, options).normal_();
  at::Tensor const b = at::empty({width, width}, options).normal_();
  at::Tensor c = at::empty({width, width}, options);
  double const seconds = best_seconds(device, [&] { at::mm_out(c, a, b); });
  return static_cast<double>(matmul_flops(width, width, width)) / seconds;
}

double copy_bytes_per_second(compute_device const& device) {
  at::Tensor const from = at::empty({copied_bytes}, on_gpu(device, at::kByte)).fill_(1);
  at::Tensor const to = at::empty({copied_bytes}, on_gpu(device, at::kByte));
  double const seconds = best_seconds(device, [&] { to.copy_(from, /*non_blocking=*/true); });
  return 2.0 * static_cast<double>(copied_bytes) / seconds;
}

}  // namespace

std::vector<profkit::measured_roof_record> measure_roofs(compute_device const& device, precision_kind precision) {
  c10::NoGradGuard const no_grad;
  auto const describe = [] { return std::string{"--measure-roof: out of memory on the GPU; it needs 3 GiB; remove it"}; };
  std::vector<profkit::measured_roof_record> roofs = with_memory_errors(
      [&] {
        double const bytes_per_second = copy_bytes_per_second(device);
        std::string const side = std::to_string(width);
        std::string const how = "the fastest of " + std::to_string(runs) + ": a matrix product " + side + " x " + side + " x " + side +
                                ", a copy of " + std::to_string(copied_bytes >> 30U) + " GiB";
        std::vector<profkit::measured_roof_record> measured;
        measured.push_back({arithmetic_of(precision), product_flops_per_second(device, precision), bytes_per_second, how});
        if (precision != precision_kind::fp32) {
          measured.push_back({profkit::precision::fp32, product_flops_per_second(device, precision_kind::fp32), bytes_per_second, how});
        }
        return measured;
      },
      describe);
  device.release_memory();
  return roofs;
}

}  // namespace trainer
