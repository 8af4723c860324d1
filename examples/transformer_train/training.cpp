// SPDX-License-Identifier: Apache-2.0
#include "training.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

#include "batches.hpp"
#include "errors.hpp"
#include "loss_log.hpp"
#include "model.hpp"
#include "optimizer.hpp"
#include "precision.hpp"

namespace trainer {

namespace {

/// Memory runs out in several ways: in LibTorch's allocators, in the C++ library, in a library of NVIDIA's.
bool is_out_of_memory(c10::Error const& error) {
  if (dynamic_cast<c10::OutOfMemoryError const*>(&error) != nullptr) return true;
  std::string_view const message = error.what_without_backtrace();
  auto const says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  return says("out of memory") || says("can't allocate memory") || says("ALLOC_FAILED");
}

/// Calls `work`; out of memory, in whatever way, becomes `out_of_memory`.
template <class Work>
decltype(auto) with_memory_errors(run_config const& config, compute_device const& device, Work&& work) {
  auto const failure = [&] {
    return out_of_memory{"out of memory on " + device.description() + ": --size " + std::string{config.size.name} + " --ctx " +
                         std::to_string(config.ctx) + " --batch " + std::to_string(config.batch) + " --mode " +
                         std::string{name_of(run_modes, config.mode)} + " does not fit; take a smaller --batch, --ctx or --size"};
  };
  try {
    return std::forward<Work>(work)();
  } catch (c10::Error const& error) {
    if (is_out_of_memory(error)) throw failure();
    throw;
  } catch (std::bad_alloc const&) {
    throw failure();
  }
}

/// Refuses at once what can never fit, before minutes go into making its weights. On a GPU the allocator is as quick to say so.
void check_host_memory(run_config const& config) {
  auto const available = available_host_bytes();
  // fp32 weights; their gradients; two moments of the optimizer.
  std::uint64_t const tensors = config.mode == run_mode::train ? 4 : config.mode == run_mode::forward_backward ? 2 : 1;
  std::uint64_t const needed = tensors * sizeof(float) * static_cast<std::uint64_t>(parameter_count(config.size));
  if (available && needed > *available) throw std::bad_alloc{};
}

std::vector<at::Tensor> tensors_of(std::vector<named_parameter> const& parameters) {
  std::vector<at::Tensor> result;
  for (named_parameter const& parameter : parameters) result.push_back(parameter.tensor);
  return result;
}

}  // namespace

class training::state {
 public:
  state(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps)
      : config_{config},
        device_{device},
        torch_device_{prepare(config, device)},
        batches_{config, std::move(data), torch_device_},
        model_{config.size, config.ctx, config.attention, compute_type(config.precision), torch_device_},
        losses_{steps, device.is_cuda()} {
    if (config.mode == run_mode::train) {
      optimizer_ = make_optimizer(config.optimizer, tensors_of(model_.parameters()), config.learning_rate);
    }
  }

  [[nodiscard]] run_config const& config() const noexcept { return config_; }
  [[nodiscard]] compute_device const& device() const noexcept { return device_; }
  [[nodiscard]] loss_log const& losses() const noexcept { return losses_; }

  void step() {
    c10::AutoGradMode const gradients{config_.mode != run_mode::forward};
    batch now;
    at::Tensor loss;
    {
      TRAINER_PHASE("data", device_);
      now = batches_.next();
      end_phase();
    }
    {
      if (config_.head_start_ms > 0) device_.delay(std::chrono::milliseconds{config_.head_start_ms});
      TRAINER_PHASE("forward", device_);
      loss = forward(now);
      end_phase();
    }
    if (config_.mode != run_mode::forward) {
      TRAINER_PHASE("backward", device_);
      loss.backward();
      if (!optimizer_) model_.drop_gradients();
      end_phase();
    }
    if (optimizer_) {
      TRAINER_PHASE("optimizer", device_);
      optimizer_->step();
      model_.drop_gradients();
      end_phase();
    }
    losses_.record(loss);
  }

  [[nodiscard]] std::optional<double> held_out_loss() const {
    if (!batches_.has_held_out()) return std::nullopt;
    PROF_SCOPE("held-out loss");
    c10::NoGradGuard const no_grad;
    constexpr std::int64_t windows = 64;
    at::Tensor total = at::zeros({}, at::TensorOptions{torch_device_}.dtype(at::kFloat));
    for (std::int64_t first = 0; first < windows; first += config_.batch) {
      std::int64_t const count = std::min(config_.batch, windows - first);
      total += forward(batches_.held_out(first, count, windows)) * count;
    }
    return total.item<double>() / static_cast<double>(windows);
  }

 private:
  static c10::Device prepare(run_config const& config, compute_device const& device) {
    if (!device.is_cuda()) check_host_memory(config);
    set_tf32(config.precision);
    at::manual_seed(config.seed);
    return device.is_cuda() ? c10::Device{c10::kCUDA, 0} : c10::Device{c10::kCPU};
  }

  [[nodiscard]] at::Tensor forward(batch const& of) const {
    autocast_guard const autocast{torch_device_.type(), config_.precision};
    return cross_entropy(model_.forward(of.tokens), of.targets);
  }

  void end_phase() const {
    if (config_.synchronise_phases) device_.synchronize();
  }

  run_config config_;
  compute_device device_;
  c10::Device torch_device_;
  batch_source batches_;
  transformer model_;
  std::unique_ptr<optimizer> optimizer_;
  loss_log losses_;
};

training::training(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps) {
  with_memory_errors(config, device, [&] { state_ = std::make_unique<state>(config, device, std::move(data), steps); });
}

training::~training() = default;

void training::step() {
  with_memory_errors(state_->config(), state_->device(), [&] { state_->step(); });
}

std::vector<float> training::losses() const { return state_->losses().arrived(); }

std::optional<double> training::held_out_loss() const {
  return with_memory_errors(state_->config(), state_->device(), [&] { return state_->held_out_loss(); });
}

}  // namespace trainer
