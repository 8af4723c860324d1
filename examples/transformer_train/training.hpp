// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "text.hpp"

namespace trainer {

/// The model, its optimizer and its batches on a device. LibTorch stays behind this interface: its headers take ten times as long to
/// compile as all of the rest.
class training {
 public:
  /// @param data to train on; without it tokens are random.
  /// @param steps for how many of them losses are kept.
  /// @throws out_of_memory if the model does not fit the device.
  training(run_config const& config, compute_device const& device, std::optional<text> data, std::uint64_t steps);
  ~training();

  /// One step: the phases data and forward and, as the mode says, backward and optimizer. Does not wait for the device, unless
  /// `run_config::synchronise_phases` asks for it at the end of each phase.
  /// @throws out_of_memory
  void step();

  /// The losses that have arrived so far, in nats per token; does not wait for the device.
  [[nodiscard]] std::vector<float> losses() const;

  /// Mean loss over held-out windows in nats per token; none without data. Waits for the device.
  /// @throws out_of_memory
  [[nodiscard]] std::optional<double> held_out_loss() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
