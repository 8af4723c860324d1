// SPDX-License-Identifier: Apache-2.0
//
// The model with fused operations has the parameters, loss and gradients of the plain one, and trains like it.
//     torch_checks fused_model cpu|cuda       returns 77 for cuda without a GPU

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "model/model.hpp"
#include "model/precision.hpp"
#include "named_check.hpp"
#include "training/optimizer.hpp"
#include "training/weight_update.hpp"

namespace fused_model_check {

namespace {

using namespace trainer;

int failures = 0;

void expect(bool is_true, std::string const& what) {
  if (is_true) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

struct test_case {
  std::string_view name;
  model_size size;
  std::int64_t ctx;
  precision_kind precision;
};

transformer make_model(test_case const& test, c10::Device device, bool fused) {
  at::manual_seed(7);
  return {test.size, test.ctx, attention_kind::sdpa, compute_type(test.precision), device, fused};
}

struct tokens_and_targets {
  at::Tensor tokens;
  at::Tensor targets;
};

tokens_and_targets random_batch(std::int64_t length, c10::Device device) {
  at::Tensor const both = at::randint(vocabulary, {3, length + 1}, at::TensorOptions{}.dtype(at::kLong)).to(device);
  return {both.narrow(1, 0, length).contiguous(), both.narrow(1, 1, length).contiguous()};
}

at::Tensor loss_of(transformer const& model, test_case const& test, tokens_and_targets const& batch, c10::Device device, bool fused) {
  autocast_guard const autocast{device.type(), test.precision};
  return cross_entropy(model.forward(batch.tokens), batch.targets, fused);
}

/// 2-norm of the difference divided by the 2-norm of b.
double difference(at::Tensor const& a, at::Tensor const& b) {
  at::Tensor const exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

double tolerance(precision_kind precision) { return precision == precision_kind::fp32 ? 1e-5 : 3e-2; }

void check_gradients(test_case const& test, c10::Device device) {
  transformer const plain = make_model(test, device, false);
  transformer const fused = make_model(test, device, true);
  for (std::size_t i = 0; i < plain.parameters().size(); ++i) {
    named_parameter const& a = plain.parameters()[i];
    named_parameter const& b = fused.parameters()[i];
    expect(a.name == b.name && a.tensor.equal(b.tensor), fmt::format("{}: {} begins as in the plain model", test.name, a.name));
  }
  // Shorter than ctx, so the position tables must be cut.
  tokens_and_targets const batch = random_batch(test.ctx - 1, device);
  at::Tensor const plain_loss = loss_of(plain, test, batch, device, false);
  at::Tensor const fused_loss = loss_of(fused, test, batch, device, true);
  expect(difference(fused_loss, plain_loss) < tolerance(test.precision),
         fmt::format("{}: loss {} is {}", test.name, fused_loss.item<double>(), plain_loss.item<double>()));
  (plain_loss * 2).backward();
  (fused_loss * 2).backward();
  // With rounding, the plain model is no reference: the fused one may differ from fp32 by 1.5 times as much as the plain one.
  std::vector<at::Tensor> exact;
  if (test.precision != precision_kind::fp32) {
    test_case const in_fp32{test.name, test.size, test.ctx, precision_kind::fp32};
    transformer const reference = make_model(in_fp32, device, false);
    (loss_of(reference, in_fp32, batch, device, false) * 2).backward();
    for (named_parameter const& parameter : reference.parameters()) exact.push_back(parameter.tensor.grad());
  }
  double largest = 0.0;
  auto const compare = [&](double factor) {
    for (std::size_t i = 0; i < plain.parameters().size(); ++i) {
      at::Tensor const& gradient = fused.parameters()[i].tensor.grad();
      expect(gradient.scalar_type() == at::kFloat && gradient.is_contiguous(), fmt::format("{}: a gradient is fp32 and dense", test.name));
      at::Tensor const plain_gradient = plain.parameters()[i].tensor.grad() * factor;
      double const apart = difference(gradient, exact.empty() ? plain_gradient : exact[i] * factor);
      double const allowed = exact.empty() ? 1e-5 : 1.5 * difference(plain_gradient, exact[i] * factor) + 1e-3;
      largest = std::max(largest, apart);
      expect(apart < allowed,
             fmt::format("{}: gradient of {} is off by {}, not {}", test.name, plain.parameters()[i].name, apart, allowed));
    }
  };
  compare(1.0);
  (loss_of(fused, test, batch, device, true) * 2).backward();
  compare(2.0);
  fmt::print("{}: loss {:.6f}, plain {:.6f}; gradients are off by at most {:.1e}\n", test.name, fused_loss.item<double>(),
             plain_loss.item<double>(), largest);
}

std::vector<double> train(test_case const& test, c10::Device device, bool fused) {
  transformer const model = make_model(test, device, fused);
  std::vector<at::Tensor> parameters;
  for (named_parameter const& parameter : model.parameters()) parameters.push_back(parameter.tensor);
  weight_update update{parameters, make_optimizer(optimizer_kind::fused_adamw, parameters, 1e-4), std::nullopt, 0.5};
  std::vector<double> losses;
  tokens_and_targets const batch = random_batch(test.ctx, device);
  for (int step = 0; step < 20; ++step) {
    at::Tensor const loss = loss_of(model, test, batch, device, fused);
    losses.push_back(loss.item<double>());
    update.backward(loss);
    update.apply();
  }
  return losses;
}

void check_training(test_case const& test, c10::Device device) {
  std::vector<double> const plain = train(test, device, false);
  std::vector<double> const fused = train(test, device, true);
  double largest = 0.0;
  for (std::size_t i = 0; i < plain.size(); ++i) largest = std::max(largest, std::abs(fused[i] / plain[i] - 1.0));
  fmt::print("{}: 20 losses from {:.4f} to {:.4f}, apart by at most {:.1e}\n", test.name, fused.front(), fused.back(), largest);
  expect(largest < (test.precision == precision_kind::fp32 ? 1e-4 : 1e-2), fmt::format("{}: losses stay equal", test.name));
  expect(plain.back() < plain.front() - 0.05, fmt::format("{}: the model learns", test.name));
}

void check_not_a_number(test_case const& test, c10::Device device) {
  transformer const model = make_model(test, device, true);
  {
    c10::NoGradGuard const no_grad;
    model.parameters().back().tensor[3][1] = std::numeric_limits<float>::quiet_NaN();
  }
  at::Tensor const loss = loss_of(model, test, random_batch(test.ctx, device), device, true);
  expect(std::isnan(loss.item<double>()), fmt::format("{}: a NaN reaches the loss", test.name));
  loss.backward();
  expect(model.parameters().front().tensor.grad().isnan().any().item<bool>(), fmt::format("{}: a NaN reaches the gradients", test.name));
}

int run(int argc, char** argv) {
  try {
    bool const on_gpu = argc == 2 && std::string_view{argv[1]} == "cuda";
    if (on_gpu) compute_device const needed{device_kind::cuda};
    c10::Device const device{on_gpu ? c10::kCUDA : c10::kCPU};
    fmt::print("by {}\n", fused::implementation(device));
    set_tf32(precision_kind::fp32);
    model_size const even{"even", 64, 128, 2, 2};
    model_size const uneven{"uneven", 30, 37, 2, 5};  // row lengths that no vector width divides
    std::vector<test_case> cases{{"fp32", even, 16, precision_kind::fp32},
                                 {"fp32, uneven", uneven, 7, precision_kind::fp32},
                                 {"bf16", even, 16, precision_kind::bf16}};
    if (on_gpu) {
      cases.push_back({"bf16, uneven", uneven, 7, precision_kind::bf16});
      cases.push_back({"fp16", even, 16, precision_kind::fp16});
      cases.push_back({"fp32, tiny", model_sizes[0], 128, precision_kind::fp32});
      cases.push_back({"bf16, tiny", model_sizes[0], 512, precision_kind::bf16});
    }
    for (test_case const& each : cases) {
      check_gradients(each, device);
      if (each.precision != precision_kind::fp16) check_training(each, device);
      check_not_a_number(each, device);
    }
  } catch (input_error const& error) {
    fmt::print("skipped: {}\n", error.what());
    return 77;
  } catch (std::exception const& error) {
    ++failures;
    fmt::print("FAIL: {}\n", error.what());
  }
  if (failures == 0) fmt::print("passed\n");
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"fused_model", run};

}  // namespace

}  // namespace fused_model_check
