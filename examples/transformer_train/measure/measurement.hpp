// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <profkit/options.hpp>
#include <profkit/report.hpp>
#include <profkit/time.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "device.hpp"
#include "measure/phase_timer.hpp"
#include "memory/memory_timeline.hpp"
#include "training/batch_feed.hpp"
#include "training/text.hpp"
#include "training/training.hpp"

namespace trainer {

/// The allocation history of LibTorch's allocator.
struct memory_record {
  std::string snapshot;  ///< see `memory_recorder::pickled`
  memory_history history;
};

/// The results of a run.
struct measurement {
  profkit::report report;
  std::vector<float> losses;  ///< loss of each step, in nats per token, the mean over all ranks
  std::optional<double> held_out_before;
  std::optional<double> held_out_after;
  std::optional<profkit::milliseconds> loop_step;  ///< step time by the trainer's timer
  std::string_view loop_source;
  std::optional<std::uint64_t> skipped_steps;  ///< number of steps skipped because gradients overflowed; nothing without loss scaling
  std::vector<timed_phase> phases;             ///< measured steps by the trainer's marks; empty unless phases are timed
  std::optional<std::string_view> attention_backend;  ///< see `training::attention_backend`
  std::optional<memory_record> memory;                ///< if recording was requested
  std::optional<bridged_nodes> nodes;                 ///< see `training::nodes`
  std::optional<std::string> memory_failure;          ///< the failed allocation; the other members have the results until then
  std::uint64_t loop_steps = 0;                       ///< the failed allocation; the other members have the results up to it
};

/// @throws input_error for unsupported or contradictory options.
void check_run(run_config const& config, compute_device const& device, profkit::options const& options);

/// Creates the model, runs warm-up and measured steps under profkit, and frees everything. Waits for the device before the first and after
/// the last measured step. The NVTX range `measure_loop` contains exactly the measured steps.
/// @param options the numbers of steps; this function writes and prints no report.
/// @param shows_progress prints a line on stderr every few seconds.
/// @param feed the source of batches; null: the data, or random tokens.
/// @throws input_error for options that the device does not support.
/// @throws std::runtime_error if the parameters of the ranks differ at the end.
[[nodiscard]] measurement measure(run_config const& config, compute_device const& device, std::optional<text> data,
                                  profkit::options options, bool shows_progress, batch_feed* feed = nullptr);

}  // namespace trainer
