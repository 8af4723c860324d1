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

/// The nodes of autograd that ran in all steps, by whose work they did: see libtorch_bridge.hpp.
struct bridged_nodes {
  std::uint64_t matched = 0;  ///< a forward scope's
  std::uint64_t higher_order = 0;
  std::uint64_t accumulation = 0;
  std::uint64_t unknown = 0;
};

/// The model, its optimizer and its batches on a device. LibTorch stays behind this interface: its headers take ten times as long to
/// compile as all of the rest.
class training {
 public:
  /// With `run_config::graph`: steps until the graph is there. The first two run as they are, so that libraries load their kernels and make
  /// the memory that they keep; the third is captured.
  static constexpr std::uint64_t graph_warmup_steps = 3;

  /// @param data to train on; without it tokens are random.
  /// @param steps for how many of them losses are kept.
  /// @throws out_of_memory if the model does not fit the device.
  /// @throws input_error if the kernels that `run_config::backend` asks for cannot run here, or if the other ranks cannot be reached.
  training(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps);
  ~training();

  /// One step: the phases data and forward and, as the mode says, backward and optimizer. Does not wait for the device, unless
  /// `run_config::synchronise_phases` asks for it at the end of each phase. With a scaled loss, LibTorch's own AdamW waits for the
  /// gradients, to know whether the step is skipped; the fused one does not.
  /// With many ranks the phase allreduce follows backward: what is left of the reductions, which begin during the backward pass.
  /// With `run_config::graph` the third step captures these phases, which waits for the device once; that step and all later ones have the
  /// phases data and replay.
  /// @param feed where the batch comes from; null: from the data, or random tokens.
  /// @param phases what times the phases of this step, not of a replayed one; null: nothing.
  /// @throws out_of_memory
  void step(batch_feed* feed = nullptr, phase_timer* phases = nullptr);

  /// The losses of this rank that have arrived so far, in nats per token; does not wait for the device.
  [[nodiscard]] std::vector<float> losses() const;

  /// The losses, each the mean over all ranks; call it on all of them, after the device is synchronised.
  [[nodiscard]] std::vector<float> mean_losses() const;

  /// Compares the parameters of all ranks bit by bit; call it on all of them. No effect without other ranks. Waits for the device.
  /// @throws std::runtime_error on all ranks if a parameter differs; it names the first one.
  void check_equal_parameters() const;

  /// How many of all steps were skipped because their gradients overflowed; none if the loss is not scaled. Waits for the device.
  [[nodiscard]] std::optional<std::uint64_t> skipped_steps() const;

  /// None without `run_config::bridge`, and without backward passes.
  [[nodiscard]] std::optional<bridged_nodes> nodes() const;

  /// Which kernels `scaled_dot_product_attention` takes: "flash", "efficient", "cudnn" or "math"; none with attention written out.
  [[nodiscard]] std::optional<std::string_view> attention_backend() const;

  /// Mean loss over held-out windows in nats per token; none without data. Waits for the device.
  /// @throws out_of_memory
  [[nodiscard]] std::optional<double> held_out_loss() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
