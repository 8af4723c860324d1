// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace trainer {

struct named_parameter {
  std::string name;
  at::Tensor tensor;
};

/// Creates and initialises the parameters of a model on the device, and keeps them in the order of creation.
class parameter_set {
 public:
  explicit parameter_set(c10::Device device) : options_{at::TensorOptions{device}.dtype(at::kFloat)} {}

  /// [out, in], normal with variance 2 / (in + out), truncated at three standard deviations.
  [[nodiscard]] at::Tensor linear(std::string name, std::int64_t out, std::int64_t in) {
    return add(std::move(name), truncated_normal(out, in, std::sqrt(2.0 / static_cast<double>(in + out))));
  }

  /// The same in the storage of `place`, a contiguous [out, in] part of a `storage` tensor.
  [[nodiscard]] at::Tensor linear(std::string name, at::Tensor const& place) {
    // Detached from the view's history, because a parameter must be a leaf.
    at::Tensor const tensor = place.detach();
    fill_truncated_normal(tensor, std::sqrt(2.0 / static_cast<double>(tensor.size(0) + tensor.size(1))));
    return add(std::move(name), tensor);
  }

  /// [rows, columns], uninitialised: storage for several parameters.
  [[nodiscard]] at::Tensor storage(std::int64_t rows, std::int64_t columns) const { return at::empty({rows, columns}, options_); }

  /// [rows, columns], standard normal truncated at 3.
  [[nodiscard]] at::Tensor embedding(std::string name, std::int64_t rows, std::int64_t columns) {
    return add(std::move(name), truncated_normal(rows, columns, 1.0));
  }

  /// [size], ones.
  [[nodiscard]] at::Tensor scale(std::string name, std::int64_t size) { return add(std::move(name), at::empty({size}, options_).fill_(1)); }

  [[nodiscard]] std::vector<named_parameter> const& all() const noexcept { return all_; }

 private:
  [[nodiscard]] at::Tensor truncated_normal(std::int64_t rows, std::int64_t columns, double standard_deviation) const {
    at::Tensor const tensor = at::empty({rows, columns}, options_);
    fill_truncated_normal(tensor, standard_deviation);
    return tensor;
  }

  static void fill_truncated_normal(at::Tensor const& tensor, double standard_deviation) {
    // By inversion: a uniform number between the values of erf at the two cut-offs, mapped by the inverse of erf.
    constexpr double cut_off = 3.0;
    double const bound = std::erf(cut_off / std::numbers::sqrt2);
    tensor.uniform_(-bound, bound).erfinv_().mul_(standard_deviation * std::numbers::sqrt2);
    // The ends of the interval are rounded to fp32, and the inverse is steep there, so clamp.
    tensor.clamp_(-cut_off * standard_deviation, cut_off * standard_deviation);
  }

  [[nodiscard]] at::Tensor add(std::string name, at::Tensor tensor) {
    tensor.requires_grad_();
    all_.push_back({std::move(name), tensor});
    return tensor;
  }

  at::TensorOptions options_;
  std::vector<named_parameter> all_;
};

}  // namespace trainer
