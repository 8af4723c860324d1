// SPDX-License-Identifier: Apache-2.0
#include "commands/silu_case.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>

#include <string>

#include "model/precision.hpp"
#include "model/silu.hpp"
#include "training/memory_errors.hpp"

namespace trainer {

namespace {

std::string describe_failure(silu_config const& config, compute_device const& device) {
  return "out of memory on " + device.description() + ": SiLU of " + std::to_string(config.elements()) + " numbers";
}

}  // namespace

class silu_case::state {
 public:
  state(silu_config const& config, compute_device const& device) : config_{config}, device_{device} {
    at::manual_seed(config.seed);
    auto const random = [&] {
      c10::Device const on = device.is_cuda() ? c10::Device{c10::kCUDA, 0} : c10::Device{c10::kCPU};
      return at::randn({config.rows, config.columns}, at::TensorOptions{on}.dtype(compute_type(config.precision)));
    };
    input_ = random().requires_grad_();
    output_gradient_ = random();
  }

  void step() {
    at::Tensor output;
    {
      TRAINER_PHASE("forward", device_);
      output = config_.implementation == silu_kind::naive ? naive_silu(input_) : at::silu(input_);
    }
    {
      TRAINER_PHASE("backward", device_);
      output.backward(output_gradient_);
    }
    input_.mutable_grad().reset();
  }

  [[nodiscard]] silu_config const& config() const noexcept { return config_; }
  [[nodiscard]] compute_device const& device() const noexcept { return device_; }

 private:
  silu_config config_;
  compute_device device_;
  at::Tensor input_;
  at::Tensor output_gradient_;
};

silu_case::silu_case(silu_config const& config, compute_device const& device) {
  with_memory_errors([&] { state_ = std::make_unique<state>(config, device); }, [&] { return describe_failure(config, device); });
}

silu_case::~silu_case() = default;

void silu_case::step() {
  with_memory_errors([&] { state_->step(); }, [&] { return describe_failure(state_->config(), state_->device()); });
}

}  // namespace trainer
