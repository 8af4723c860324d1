// SPDX-License-Identifier: Apache-2.0
#include "training/training.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "libtorch_bridge.hpp"
#include "model/compiled_forward.hpp"
#include "model/model.hpp"
#include "model/precision.hpp"
#include "model/sdpa.hpp"
#include "ranks/data_parallel.hpp"
#include "ranks/phase_delay.hpp"
#include "training/batches.hpp"
#include "training/loss_log.hpp"
#include "training/memory_errors.hpp"
#include "training/optimizer.hpp"
#include "training/weight_update.hpp"

#if TRAINER_WITH_CUDA
#include "training/step_graph.hpp"
#endif

namespace trainer {

namespace {

/// Calls `work`; converts out of memory to `out_of_memory`.
template <class Work>
decltype(auto) with_memory(run_config const& config, compute_device const& device, Work&& work) {
  return with_memory_errors(std::forward<Work>(work), [&] {
    return "out of memory on " + device.description() + ": --size " + std::string{config.size.name} + " --ctx " +
           std::to_string(config.ctx) + " --batch " + std::to_string(config.batch) + " --mode " +
           std::string{name_of(run_modes, config.mode)} + " does not fit; use a smaller --batch, --ctx or --size";
  });
}

/// Fails early if the model can never fit, because initialising its weights takes minutes. On a GPU the allocator fails fast enough.
void check_host_memory(run_config const& config) {
  auto const available = available_host_bytes();
  // fp32 weights, gradients, and two moments of the optimizer
  std::uint64_t const tensors = config.mode == run_mode::train ? 4 : config.mode == run_mode::forward_backward ? 2 : 1;
  std::uint64_t const needed = tensors * sizeof(float) * static_cast<std::uint64_t>(parameter_count(config.size));
  if (available && needed > *available) throw std::bad_alloc{};
}

}  // namespace

class training::state {
 public:
  state(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps)
      : config_{config},
        device_{device},
        torch_device_{prepare(config, device)},
        compiled_{load_package(config, torch_device_)},
        bridge_{make_bridge(config)},
        batches_{config, std::move(data), torch_device_},
        model_{config.size, config.ctx, config.attention, compute_type(config.precision), torch_device_, config.fused},
        attention_backend_{check_attention_backend()},
        update_{make_update()},
        losses_{steps, device.is_cuda()},
        delay_{config, device},
        others_{join_others()} {
    if (compiled_) compiled_->use(model_);
  }

  [[nodiscard]] run_config const& config() const noexcept { return config_; }
  [[nodiscard]] compute_device const& device() const noexcept { return device_; }
  [[nodiscard]] loss_log const& losses() const noexcept { return losses_; }

  [[nodiscard]] std::optional<std::string_view> attention_backend() const noexcept { return attention_backend_; }
  [[nodiscard]] std::optional<std::uint64_t> skipped_steps() const {
    if (!update_.scaler()) return std::nullopt;
    return update_.scaler()->skipped_steps();
  }

  [[nodiscard]] std::optional<bridged_nodes> nodes() const {
    if (!bridge_) return std::nullopt;
    auto const [matched, higher_order, unknown] = bridge_->counts();
    return bridged_nodes{matched, higher_order, unknown};
  }

  void step(batch_feed* feed, phase_timer* phases) {
    c10::AutoGradMode const gradients{config_.mode != run_mode::forward};
    batch now;
    {
      TRAINER_PHASE("data", device_);
      delay_.in(step_phase::data);
      now = feed != nullptr ? batches_.next(*feed) : batches_.next();
      end_phase();
    }
    losses_.record(config_.graph ? compute_by_graph(now) : compute(now, phases));
  }

  [[nodiscard]] std::vector<float> mean_losses() const { return others_ ? others_->mean(losses_.arrived()) : losses_.arrived(); }

  void check_equal_parameters() const {
    if (!others_) return;
    std::vector<std::size_t> const different = others_->different_parameters();
    if (different.empty()) return;
    auto const& parameters = model_.parameters();
    throw std::runtime_error{std::to_string(different.size()) + " of " + std::to_string(parameters.size()) +
                             " parameters differ between the ranks; the first is " + parameters[different.front()].name};
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
    set_sdpa_backend(config.backend);
    at::manual_seed(config.seed);
    return device.is_cuda() ? c10::Device{c10::kCUDA, device.index()} : c10::Device{c10::kCPU};
  }

  static std::unique_ptr<profkit_torch::libtorch_bridge> make_bridge(run_config const& config) {
    bool const is_wanted = config.bridge && config.mode != run_mode::forward;
    return is_wanted ? std::make_unique<profkit_torch::libtorch_bridge>() : nullptr;
  }

  /// Before the model, whose initialisation can take minutes.
  static std::unique_ptr<compiled_forward> load_package(run_config const& config, c10::Device device) {
    return config.package_file.empty() ? nullptr : std::make_unique<compiled_forward>(config, device);
  }

  /// Checked before the first step, because the attention itself would fail in the middle of a profile.
  [[nodiscard]] std::optional<std::string_view> check_attention_backend() const {
    if (compiled_) return std::nullopt;  // chosen when the package was made
    if (config_.attention != attention_kind::sdpa && !config_.fused) return std::nullopt;
    c10::AutoGradMode const gradients{config_.mode != run_mode::forward};
    auto const backend = model_.attention_backend(config_.batch, config_.ctx);
    if (backend) return backend;
    throw input_error{"--sdpa-backend " + std::string{name_of(sdpa_backends, config_.backend)} + ": cannot run with --precision " +
                      std::string{name_of(precisions, config_.precision)} + " on " + device_.description() +
                      "; use another backend, auto, or another precision"};
  }

  [[nodiscard]] weight_update make_update() const {
    std::vector<at::Tensor> parameters;
    for (named_parameter const& parameter : model_.parameters()) parameters.push_back(parameter.tensor);
    std::unique_ptr<optimizer> update;
    if (config_.mode == run_mode::train) update = make_optimizer(config_.optimizer, parameters, config_.learning_rate);
    std::optional<loss_scaler> scaler;
    if (config_.precision == precision_kind::fp16_scaled && config_.mode != run_mode::forward) scaler.emplace(torch_device_);
    return {std::move(parameters), std::move(update), std::move(scaler), config_.max_gradient_norm};
  }

  [[nodiscard]] std::unique_ptr<data_parallel> join_others() const {
    if (!config_.ranks.has_others()) return nullptr;
    std::vector<at::Tensor> parameters;
    for (named_parameter const& parameter : model_.parameters()) parameters.push_back(parameter.tensor);
    return std::make_unique<data_parallel>(config_.ranks, torch_device_, std::move(parameters), config_.mode != run_mode::forward);
  }

  [[nodiscard]] bool reduces_gradients() const noexcept { return others_ && config_.mode != run_mode::forward; }

  /// Runs forward and, depending on the mode, backward and optimizer. Returns the loss.
  [[nodiscard]] at::Tensor compute(batch const& now, phase_timer* phases) {
    auto const mark = [&] {
      if (phases != nullptr) phases->mark();
    };
    at::Tensor loss;
    {
      if (config_.head_start_ms > 0) device_.delay(std::chrono::milliseconds{config_.head_start_ms});
      mark();
      TRAINER_PHASE("forward", device_);
      delay_.in(step_phase::forward);
      if (reduces_gradients()) others_->begin_forward();
      loss = compiled_ ? compiled_->loss(now.tokens, now.targets) : forward(now);
      end_phase();
    }
    mark();
    if (config_.mode != run_mode::forward) {
      TRAINER_PHASE("backward", device_);
      delay_.in(step_phase::backward);
      if (others_) others_->begin_backward(loss);
      update_.backward(loss);
      if (config_.mode == run_mode::forward_backward && !others_) update_.apply();
      end_phase();
    }
    if (reduces_gradients()) {
      // Buckets are reduced during the backward pass; this phase has the rest.
      TRAINER_PHASE("allreduce", device_);
      others_->finish_gradients();
      end_phase();
    }
    if (config_.mode == run_mode::forward_backward && others_) update_.apply();
    if (config_.mode != run_mode::forward) mark();
    if (config_.mode == run_mode::train) {
      TRAINER_PHASE("optimizer", device_);
      update_.apply();
      end_phase();
    }
    if (config_.mode == run_mode::train) mark();
    return loss;
  }

  /// The same, but replayed from the third step on. Captured in the scopes of the phases, to which the profile then charges the work.
  [[nodiscard]] at::Tensor compute_by_graph(batch const& now) {
#if TRAINER_WITH_CUDA
    if (++steps_ >= graph_warmup_steps) {
      if (!graph_) capture(now);
      TRAINER_PHASE("replay", device_);
      return graph_->replay();
    }
#endif
    return compute(now, nullptr);
  }

#if TRAINER_WITH_CUDA
  /// @throws std::runtime_error if the reductions between ranks cannot be captured, as with an old NCCL.
  void capture(batch const& now) {
    try {
      graph_.emplace([&] { return compute(now, nullptr); });
    } catch (c10::Error const& error) {
      if (!others_ || is_out_of_memory(error)) throw;
      throw std::runtime_error{"--graph: cannot capture a step of " + std::to_string(config_.ranks.size) + " ranks (" +
                               first_line(error.what_without_backtrace()) + "); remove --graph"};
    }
  }
#endif

  [[nodiscard]] at::Tensor forward(batch const& batch) const {
    autocast_guard const autocast{torch_device_.type(), config_.precision};
    return cross_entropy(model_.forward(batch.tokens), batch.targets, config_.fused);
  }

  void end_phase() const {
    if (config_.synchronise_phases) device_.synchronize();
  }

  run_config config_;
  compute_device device_;
  c10::Device torch_device_;
  std::unique_ptr<compiled_forward> compiled_;  ///< null without `run_config::package_file`
  std::unique_ptr<profkit_torch::libtorch_bridge> bridge_;
  batch_source batches_;
  transformer model_;
  std::optional<std::string_view> attention_backend_;
  weight_update update_;
  loss_log losses_;
  phase_delay delay_;
  std::unique_ptr<data_parallel> others_;  ///< null with a single rank
#if TRAINER_WITH_CUDA
  std::uint64_t steps_ = 0;          ///< number of steps so far, with `run_config::graph`
  std::optional<step_graph> graph_;  ///< destroyed before `others_`
#endif
};

training::training(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps) {
  with_memory(config, device, [&] { state_ = std::make_unique<state>(config, device, std::move(data), steps); });
}

training::~training() = default;

void training::step(batch_feed* feed, phase_timer* phases) {
  with_memory(state_->config(), state_->device(), [&] { state_->step(feed, phases); });
}

std::vector<float> training::losses() const { return state_->losses().arrived(); }

std::vector<float> training::mean_losses() const { return state_->mean_losses(); }

void training::check_equal_parameters() const { state_->check_equal_parameters(); }

std::optional<std::uint64_t> training::skipped_steps() const { return state_->skipped_steps(); }

std::optional<bridged_nodes> training::nodes() const { return state_->nodes(); }

std::optional<std::string_view> training::attention_backend() const { return state_->attention_backend(); }

std::optional<double> training::held_out_loss() const {
  return with_memory(state_->config(), state_->device(), [&] { return state_->held_out_loss(); });
}

}  // namespace trainer
