// SPDX-License-Identifier: Apache-2.0

/// The compared implementations compute the same values and gradients: separate operations and one operation.

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/silu.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/attention.hpp"
#include "model/silu.hpp"
#include "named_check.hpp"

namespace written_out_check {

namespace {

using namespace trainer;

using tensors = std::vector<at::Tensor>;
using operation = std::function<at::Tensor(tensors const&)>;

// In double, where rounding cannot hide a wrong term.
constexpr double tolerance = 1e-10;

at::Tensor random(std::vector<std::int64_t> const& shape) { return at::randn(shape, at::TensorOptions{}.dtype(at::kDouble)); }

/// The result, and the gradient of each input.
tensors values_and_gradients(operation const& compute, tensors const& inputs, at::Tensor const& output_gradient) {
  tensors leaves;
  for (at::Tensor const& input : inputs) leaves.push_back(input.detach().clone().requires_grad_());
  at::Tensor const output = compute(leaves);
  output.backward(output_gradient);
  tensors result{output.detach()};
  for (at::Tensor const& leaf : leaves) result.push_back(leaf.grad());
  return result;
}

void check_same(std::string const& what, operation const& first, operation const& second, tensors const& inputs) {
  at::Tensor const output_gradient = at::randn_like(inputs.back());
  tensors const a = values_and_gradients(first, inputs, output_gradient);
  tensors const b = values_and_gradients(second, inputs, output_gradient);
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const difference = (a[i] - b[i]).abs().max().item<double>();
    std::printf("%s, %s %zu: largest difference %.1e\n", what.c_str(), i == 0 ? "value" : "gradient", i, difference);
    // NaN does not count as agreement.
    if (!(difference < tolerance)) throw std::runtime_error{what + " does not agree"};
  }
}

void check_attention(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dimension) {
  std::vector<std::int64_t> const shape{batch, heads, length, dimension};
  at::Tensor const mask = causal_mask(length, at::kCPU);
  check_same(
      "attention of " + std::to_string(length) + " tokens, dimension " + std::to_string(dimension),
      [&](tensors const& in) { return naive_attention(in[0], in[1], in[2], mask); },
      [](tensors const& in) { return fused_attention(in[0], in[1], in[2]); }, {random(shape), random(shape), random(shape)});
}

void check_silu() {
  // Also far from 0, where the exponential is very large or very small.
  check_same(
      "SiLU", [](tensors const& in) { return naive_silu(in[0]); }, [](tensors const& in) { return at::silu(in[0]); },
      {random({33, 65}) * 20.0});
}

int run(int /*count*/, char** /*arguments*/) {
  try {
    at::manual_seed(1);
    check_attention(1, 1, 1, 8);
    check_attention(2, 1, 64, 16);
    check_attention(2, 3, 100, 32);
    check_silu();
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "written_out: %s\n", error.what());
    return 1;
  }
}

checks::named_check const registered{"written_out", run};

}  // namespace

}  // namespace written_out_check
