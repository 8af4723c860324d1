// SPDX-License-Identifier: Apache-2.0
#include "measure/measurement.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <profkit/profkit.hpp>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "measure/loop_timer.hpp"
#include "measure/progress.hpp"
#include "measure/stop_signal.hpp"
#include "measure/torch_cpu_memory.hpp"
#include "measure/torch_memory.hpp"
#include "memory/memory_snapshot.hpp"
#include "model/work.hpp"
#include "training/training.hpp"

#if TRAINER_WITH_CUDA
#include <cuda_profiler_api.h>

#include <profkit/cupti.hpp>
#if TRAINER_COLLECTS_NCCL
#include <profkit/nccl.hpp>
#endif

#include "measure/roof.hpp"
#endif

namespace trainer {

namespace {

void collect(profkit::session& session, run_config const& config, compute_device const& device, profkit::options const& options) {
  session.collect(profkit::host_memory());
  if (!device.is_cuda()) {
    if (config.scope_memory) session.collect(torch_cpu_memory());
    return;
  }
#if TRAINER_WITH_CUDA
  session.collect(profkit::cuda_step_timer(*device.stream()));
  session.collect(profkit::gpu_clocks());
  session.collect(profkit::cuda_memory());
  if (session.collect(torch_memory{config.scope_memory, device.index()}).has_to_be_polled() && !options.memory_at_scopes) {
    fmt::print(stderr,
               "this allocator of LibTorch does not report allocations, so memory by scope is n/a; PROFKIT=memory=scopes polls it at the "
               "beginning and end of every scope\n");
  }
  session.collect(profkit::cupti_kernels(profkit::kernel_options{.all_api_calls = config.all_api_calls}));
#if TRAINER_COLLECTS_NCCL
  if (config.ranks.has_others()) session.collect(profkit::nccl_collectives());
#endif
#else
  static_cast<void>(options);
#endif
}

/// Empty unless --measure-roof is given. Runs before the session, which would record it.
std::vector<profkit::measured_roof_record> roofs_of(run_config const& config, compute_device const& device) {
#if TRAINER_WITH_CUDA
  if (config.measure_roof) return measure_roofs(device, config.precision);
#else
  static_cast<void>(config);
  static_cast<void>(device);
#endif
  return {};
}

/// Marks the measured steps for tools that wait for cudaProfilerStart, such as `nsys profile --capture-range=cudaProfilerApi`.
class capture_marks {
 public:
  explicit capture_marks(bool is_wanted) noexcept : is_wanted_{is_wanted} {}
  ~capture_marks() { end(); }
  capture_marks(capture_marks const&) = delete;
  capture_marks& operator=(capture_marks const&) = delete;

  void begin() noexcept {
    is_open_ = is_wanted_;
#if TRAINER_WITH_CUDA
    if (is_open_) static_cast<void>(cudaProfilerStart());
#endif
  }

  void end() noexcept {
#if TRAINER_WITH_CUDA
    if (is_open_) static_cast<void>(cudaProfilerStop());
#endif
    is_open_ = false;
  }

 private:
  bool is_wanted_;
  bool is_open_ = false;
};

/// Rejects options that contradict a captured and replayed step.
void check_graph(run_config const& config, std::uint64_t warmup_steps) {
  if (config.mode == run_mode::train && config.optimizer == optimizer_kind::adamw) {
    throw input_error{"--optimizer adamw: counts its steps on the host, and --graph replays only GPU work; use fused_adamw"};
  }
  auto const refuse = [](bool is_set, char const* option, char const* reason) {
    if (is_set) throw input_error{std::string{option} + ": " + reason + "; remove it or --graph"};
  };
  refuse(config.synchronise_phases, "--sync", "waits after each phase, and --graph replays all phases as one");
  refuse(config.times_phases, "--phase-times", "marks each phase from the host, and --graph replays all phases as one");
  refuse(config.head_start_ms > 0, "--head-start", "hides launch gaps, and --graph launches a step as a whole");
  refuse(config.memory_snapshot, "--memory-snapshot", "shows the allocations of a step, and --graph replays a step without allocations");
  if (warmup_steps < training::graph_warmup_steps) {
    throw input_error{"--warmup " + std::to_string(warmup_steps) + ": --graph captures the third step, before the measured ones; use " +
                      std::to_string(training::graph_warmup_steps) + " or more"};
  }
}

/// Rejects options that contradict a compiled forward pass.
void check_package(run_config const& config) {
  if (config.mode != run_mode::forward) {
    throw input_error{"--package: contains the forward pass only, and this run has --mode " + std::string{name_of(run_modes, config.mode)} +
                      "; use --mode fwd"};
  }
  if (config.ranks.has_others()) {
    throw input_error{"--package: runs as one process, and the launcher started " + std::to_string(config.ranks.size) +
                      " ranks; remove it or the launcher"};
  }
  auto const refuse = [](bool is_set, char const* option, char const* reason) {
    if (is_set) throw input_error{std::string{option} + ": " + reason + "; remove it or --package"};
  };
  refuse(config.graph, "--graph", "captures the plain operations of a step, and --package replaces them");
  refuse(config.fused, "--fused", "replaces the operations of the model, and so does --package");
  refuse(config.backend != sdpa_backend::automatic, "--sdpa-backend",
         "chooses kernels, and those of --package were chosen when it was made");
}

/// Rejects options that do not work with many ranks, or whose result differs between them.
void check_ranks(run_config const& config, profkit::options const& options) {
  if (!config.ranks.has_others()) return;
  std::string const ranks = std::to_string(config.ranks.size) + " ranks";
  if (config.max_seconds > 0.0) {
    throw input_error{"--max-seconds: each of " + ranks + " would end after a different step; give a number of steps, as in --steps 100"};
  }
  if (options.wanted_interval) {
    throw input_error{"steps=auto: each of " + ranks + " would end after a different step; give a number of steps, as in --steps 100"};
  }
  if (options.max_wanted_steps() == progress::endless) {
    throw input_error{"steps=forever: a signal would end each of " + ranks +
                      " after a different step; give a number of steps, as in --steps 100"};
  }
}

/// Rejects a delay that has no effect.
void check_slow_rank(slow_rank const& slow, run_config const& config, compute_device const& device) {
  auto const refuse = [](std::string const& reason) { throw input_error{"--slow-rank: " + reason}; };
  if (slow.rank >= config.ranks.size) {
    refuse("there is no rank " + std::to_string(slow.rank) + "; the last one is " + std::to_string(config.ranks.size - 1));
  }
  if (slow.kind == delay_kind::gpu && !device.is_cuda()) refuse("gpu needs a GPU, and there is none here; use host");
  if (slow.phase == step_phase::backward && config.mode == run_mode::forward)
    refuse("there is no backward with --mode fwd; delay data or forward");
  if (config.graph) refuse("delays the launches of a step, and --graph launches a step as a whole; remove one of them");
}

}  // namespace

void check_run(run_config const& config, compute_device const& device, profkit::options const& options) {
  if (config.max_gradient_norm > 0.0 && config.mode == run_mode::forward) {
    throw input_error{"--clip-grad: there are no gradients with --mode fwd; use it with fwd_bwd or train"};
  }
  if (config.backend != sdpa_backend::automatic && config.attention != attention_kind::sdpa && !config.fused) {
    throw input_error{"--sdpa-backend " + std::string{name_of(sdpa_backends, config.backend)} +
                      ": --attention naive does not use it; add --attention sdpa"};
  }
  if (!config.package_file.empty()) check_package(config);
  check_ranks(config, options);
  for (slow_rank const& each : config.slow_ranks) check_slow_rank(each, config, device);
  if (config.graph) check_graph(config, options.warmup_steps);
  if (device.is_cuda()) return;
  if (config.graph) throw input_error{"--graph: captures GPU work, and there is no GPU here; remove it"};
  if (config.memory_snapshot) throw input_error{"--memory-snapshot: shows GPU memory, and there is no GPU here; remove it"};
  if (config.measure_roof) throw input_error{"--measure-roof: measures the rates of a GPU, and there is none here; remove it"};
  if (config.precision == precision_kind::tf32) {
    throw input_error{"--precision tf32: only GPUs compute in TF32; use fp32 or bf16 on the CPU"};
  }
}

measurement measure(run_config const& config, compute_device const& device, std::optional<text> data, profkit::options options,
                    bool shows_progress, batch_feed* feed) {
  check_run(config, device, options);
  // The trainer writes and prints reports itself, so the session must not.
  options.output_directory.clear();
  options.print_report = false;
  options.full_report = false;
  options.items_per_step = static_cast<std::uint64_t>(config.tokens_per_step());
  options.item_name = "tokens";
  options.model_flops_per_step = model_flops_of_step(config);
  options.precision = arithmetic_of(config.precision);
  std::uint64_t const steps = options.max_wanted_steps();
  stop_signal const stop{steps == progress::endless};  // before the session, which ignores signals that the program handles
  std::vector<profkit::measured_roof_record> roofs;
  if (options.enabled) roofs = roofs_of(config, device);
  profkit::session session{options};
  collect(session, config, device, options);
  if (!roofs.empty()) session.collect(profkit::measured_roof{std::move(roofs)});

  loop_timer timer{device};
  std::optional<phase_timer> phases;
  if (config.times_phases) phases.emplace(device, config.mode, options.max_measured_steps());
  capture_marks capture{config.cuda_profiler_api};
  auto const begin_measuring = [&] {
    device.synchronize();
    capture.begin();
  };
  std::optional<memory_recorder> recorder;  // starts before the first tensor of the model
  if (config.memory_snapshot) recorder.emplace(device);
  std::optional<training> trained;
  std::optional<double> held_out_before;
  std::optional<std::string> memory_failure;
  std::uint64_t measured_steps = 0;
  try {
    run_config bridged = config;
    bridged.bridge = config.bridge && options.enabled;  // the bridge needs recorded scopes
    trained.emplace(bridged, device, std::move(data), steps);
    held_out_before = trained->held_out_loss();
    std::chrono::duration<double> const limit{config.max_seconds > 0.0 ? config.max_seconds : std::numeric_limits<double>::infinity()};
    progress progress{steps, limit};
    if (options.warmup_steps == 0) begin_measuring();
    for (profkit::step step : session) {
      if (step.index() == options.warmup_steps) timer.begin();
      if (!step.is_warmup()) ++measured_steps;
      trained->step(feed, phases && !step.is_warmup() ? &*phases : nullptr);
      if (step.index() + 1 == options.warmup_steps) begin_measuring();
      if (shows_progress && progress.is_due()) progress.print(trained->losses());
      if (stop.is_requested() || (!step.is_warmup() && progress.is_time_up())) break;
    }
    timer.end();
    device.synchronize();
    if (recorder) recorder->stop();
  } catch (out_of_memory const& failure) {
    memory_failure = failure.what();
  }
  capture.end();

  measurement result{session.report(), {}, held_out_before, {}, {}, timer.source(), {}, {}, {}, {}, {}, memory_failure};
  if (recorder) result.memory = memory_record{recorder->pickled(), recorder->history()};
  if (memory_failure) return result;
  trained->check_equal_parameters();
  result.losses = trained->mean_losses();
  result.skipped_steps = trained->skipped_steps();
  result.attention_backend = trained->attention_backend();
  result.nodes = trained->nodes();
  if (phases) result.phases = phases->times();
  result.loop_steps = measured_steps;
  if (auto const elapsed = timer.elapsed()) result.loop_step = *elapsed / static_cast<double>(measured_steps);
  try {
    result.held_out_after = trained->held_out_loss();
  } catch (out_of_memory const& failure) {
    result.memory_failure = failure.what();
  }
  return result;
}

}  // namespace trainer
