// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "measure/phase_timer.hpp"
#include "training/batch_feed.hpp"
#include "training/text.hpp"

namespace trainer {

/// The number of autograd nodes of all steps, without those of parameters: see libtorch_bridge.hpp.
struct bridged_nodes {
  std::uint64_t matched = 0;  ///< of a forward scope
  std::uint64_t higher_order = 0;
  std::uint64_t unknown = 0;
};

/// The model, its optimizer and its batches on a device. Hides LibTorch, whose headers take ten times as long to compile as the rest.
class training {
 public:
  /// Steps before the graph exists, with `run_config::graph`. The first two run normally, so that libraries load kernels and allocate
  /// persistent memory; the third is captured.
  static constexpr std::uint64_t graph_warmup_steps = 3;

  /// @param data the training text; without it tokens are random.
  /// @param steps number of steps whose losses are kept.
  /// @throws out_of_memory if the model does not fit into the memory of the device.
  /// @throws input_error if the kernels of `run_config::backend` cannot run here, if `run_config::package_file` cannot be used, or if the
  ///   other ranks cannot be reached.
  training(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps);
  ~training();

  /// Runs one step: the phases data, forward and, depending on the mode, backward and optimizer. Does not wait for the device, with two
  /// exceptions: `run_config::synchronise_phases` waits at the end of each phase. With a scaled loss, LibTorch's AdamW waits for the
  /// gradients, to know whether to skip the step; the fused one does not.
  /// With many ranks the phase allreduce follows backward: it has the reductions that did not finish during the backward pass.
  /// With `run_config::graph` the third step captures these phases, which waits for the device once. That step and all later ones have the
  /// phases data and replay.
  /// @param feed the source of the batch; null: the data, or random tokens.
  /// @param phases times the phases of this step, but not of a replayed one; null: no timing.
  /// @throws out_of_memory
  void step(batch_feed* feed = nullptr, phase_timer* phases = nullptr);

  /// The losses of this rank that have arrived so far, in nats per token; does not wait for the device.
  [[nodiscard]] std::vector<float> losses() const;

  /// The losses, each the mean over all ranks. Collective; the device must be synchronised.
  [[nodiscard]] std::vector<float> mean_losses() const;

  /// Compares the parameters of all ranks bit by bit. Collective; no effect with a single rank. Waits for the device.
  /// @throws std::runtime_error on all ranks if a parameter differs; it names the first one.
  void check_equal_parameters() const;

  /// The number of steps skipped because their gradients overflowed; empty if the loss is not scaled. Waits for the device.
  [[nodiscard]] std::optional<std::uint64_t> skipped_steps() const;

  /// Empty without `run_config::bridge`, and without backward passes.
  [[nodiscard]] std::optional<bridged_nodes> nodes() const;

  /// The kernel of `scaled_dot_product_attention`: "flash", "efficient", "cudnn" or "math"; empty with naive attention, and with
  /// `run_config::package_file`.
  [[nodiscard]] std::optional<std::string_view> attention_backend() const;

  /// Mean loss over held-out windows in nats per token, also with `run_config::package_file` by single operations. Empty without data.
  /// Waits for the device.
  /// @throws out_of_memory
  [[nodiscard]] std::optional<double> held_out_loss() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
