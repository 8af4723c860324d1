// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <profkit/options.hpp>
#include <profkit/profile/time.hpp>
#include <profkit/report/report.hpp>
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

/// What LibTorch's allocator did.
struct memory_record {
  std::string snapshot;  ///< see `memory_recorder::pickled`
  memory_history history;
};

/// What came out of a run's steps.
struct measurement {
  profkit::report report;
  std::vector<float> losses;  ///< of all steps, in nats per token
  std::optional<double> held_out_before;
  std::optional<double> held_out_after;
  std::optional<profkit::milliseconds> loop_step;  ///< by the trainer's own timer
  std::string_view loop_source;
  std::optional<std::uint64_t> skipped_steps;  ///< of all steps, for gradients that overflowed; none where the loss is not scaled
  std::vector<timed_phase> phases;             ///< by the trainer's own marks, of the measured steps; empty if they were not to be timed
  std::optional<std::string_view> attention_backend;  ///< see `training::attention_backend`
  std::optional<memory_record> memory;                ///< if it was to be recorded
  std::optional<bridged_nodes> nodes;                 ///< see `training::nodes`
  std::optional<std::string> memory_failure;          ///< what did not fit; the rest is what was measured until then
  std::uint64_t loop_steps = 0;                       ///< measured ones
};

/// @throws input_error for what the device cannot do, and for options that do not go together.
void check_run(run_config const& config, compute_device const& device, profkit::options const& options);

/// Makes the model, runs the warm-up and the measured steps under profkit, and frees all of it. Waits for the device before the first
/// measured step and after the last; the NVTX range `measure_loop` holds the measured steps and nothing else.
/// @param options how many steps; writes and prints nothing itself.
/// @param shows_progress a line on stderr every few seconds.
/// @param feed where the batches come from; null: from the data, or random tokens.
/// @throws input_error for what the device cannot do.
[[nodiscard]] measurement measure(run_config const& config, compute_device const& device, std::optional<text> data,
                                  profkit::options options, bool shows_progress, batch_feed* feed = nullptr);

}  // namespace trainer
