// SPDX-License-Identifier: Apache-2.0
#include "commands/attention_case.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>

#include <string>

#include "measure/torch_memory.hpp"
#include "model/attention.hpp"
#include "model/precision.hpp"
#include "model/sdpa.hpp"
#include "training/memory_errors.hpp"

namespace trainer {

namespace {

std::string describe_failure(attention_config const& config, compute_device const& device) {
  return "out of memory on " + device.description() + ": attention of " + std::to_string(config.length) + " tokens";
}

/// Returns the memory in use by tensors.
std::optional<std::uint64_t> allocated_bytes(compute_device const& device) {
#if TRAINER_WITH_CUDA
  if (device.is_cuda()) return torch_memory{}.read().front().current_bytes;
#else
  static_cast<void>(device);
#endif
  return std::nullopt;
}

}  // namespace

class attention_case::state {
 public:
  state(attention_config const& config, compute_device const& device) : config_{config}, device_{device} {
    set_tf32(config.precision);
    at::manual_seed(config.seed);
    // LibTorch has fused kernels only for tensors with a dimension of heads.
    auto const random = [&] {
      c10::Device const on = device.is_cuda() ? c10::Device{c10::kCUDA, 0} : c10::Device{c10::kCPU};
      return at::randn({config.batch, 1, config.length, config.d_model}, at::TensorOptions{on}.dtype(compute_type(config.precision)));
    };
    query_ = random().requires_grad_();
    key_ = random().requires_grad_();
    value_ = random().requires_grad_();
    output_gradient_ = random();
    if (config.implementation == attention_kind::naive) {
      mask_ = causal_mask(config.length, query_.device());
    } else {
      backend_ = sdpa_backend_for(query_, key_, value_).value_or("none");
    }
  }

  void step() {
    at::Tensor output;
    {
      TRAINER_PHASE("forward", device_);
      output = config_.implementation == attention_kind::naive ? naive_attention(query_, key_, value_, mask_)
                                                               : fused_attention(query_, key_, value_);
    }
    bytes_before_backward_ = allocated_bytes(device_);
    {
      TRAINER_PHASE("backward", device_);
      output.backward(output_gradient_);
    }
    for (at::Tensor const* const tensor : {&query_, &key_, &value_}) tensor->mutable_grad().reset();
  }

  [[nodiscard]] attention_config const& config() const noexcept { return config_; }
  [[nodiscard]] compute_device const& device() const noexcept { return device_; }
  [[nodiscard]] std::optional<std::uint64_t> bytes_before_backward() const noexcept { return bytes_before_backward_; }
  [[nodiscard]] std::string_view backend() const noexcept { return backend_; }

 private:
  attention_config config_;
  compute_device device_;
  at::Tensor query_;
  at::Tensor key_;
  at::Tensor value_;
  at::Tensor output_gradient_;
  at::Tensor mask_;
  std::string_view backend_;
  std::optional<std::uint64_t> bytes_before_backward_;
};

attention_case::attention_case(attention_config const& config, compute_device const& device) {
  with_memory_errors([&] { state_ = std::make_unique<state>(config, device); }, [&] { return describe_failure(config, device); });
}

attention_case::~attention_case() = default;

void attention_case::step() {
  with_memory_errors([&] { state_->step(); }, [&] { return describe_failure(state_->config(), state_->device()); });
}

std::optional<std::uint64_t> attention_case::bytes_before_backward() const { return state_->bytes_before_backward(); }

std::string_view attention_case::backend() const { return state_->backend(); }

}  // namespace trainer
