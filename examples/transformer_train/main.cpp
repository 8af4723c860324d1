// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <profkit/options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/run.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "ranks/launcher_ranks.hpp"
#include "ranks/parse_slow_rank.hpp"

namespace {

using namespace trainer;

/// CLI11's own check prints the largest double in its message.
std::string positive(std::string const& text) {
  double value = 0.0;
  bool const is_positive = CLI::detail::lexical_cast(text, value) && value > 0.0 && std::isfinite(value);
  return is_positive ? "" : "Value " + text + " is not a number above 0";
}

std::string not_negative(std::string const& text) {
  double value = 0.0;
  bool const is_valid = CLI::detail::lexical_cast(text, value) && value >= 0.0 && std::isfinite(value);
  return is_valid ? "" : "Value " + text + " is not a number of at least 0";
}

void add_options(CLI::App& app, run_config& config, profkit::options& options) {
  add_choice(app, "--size", config.size, model_sizes_by_name, "Model size");
  app.add_option("--ctx", config.ctx, "Context length: tokens per sequence")->check(size_range())->capture_default_str();
  app.add_option("--batch", config.batch, "Sequences per step")->check(size_range())->capture_default_str();
  add_choice(app, "--mode", config.mode, run_modes,
             "Work of a step: the forward pass, with the backward pass (fwd_bwd), with the optimizer too (train)");
  add_choice(app, "--precision", config.precision, precisions,
             "bf16 and fp16 use autocast; fp16_scaled also scales the loss; tf32 needs a GPU");
  add_choice(app, "--attention", config.attention, attentions, "naive: separate operations; sdpa: scaled_dot_product_attention");
  add_choice(app, "--sdpa-backend", config.backend, sdpa_backends, "Permitted kernels for sdpa");
  add_choice(app, "--optimizer", config.optimizer, optimizers, "LibTorch's AdamW, or one with fused kernels");
  app.add_option("--lr", config.learning_rate, "Learning rate")->check(CLI::Validator{positive, "ABOVE 0"})->capture_default_str();
  app.add_option("--clip-grad", config.max_gradient_norm, "Maximum 2-norm of all gradients; 0 disables clipping")
      ->check(CLI::Validator{not_negative, "FROM 0"})
      ->capture_default_str();
  app.add_option("--warmup", options.warmup_steps, "Warm-up steps")->check(count_range())->capture_default_str();
  app.add_option("--steps", options.measured_steps, "Measured steps")
      ->check(count_range())
      ->each([&](std::string const&) { options.wanted_interval.reset(); })
      ->capture_default_str();
  app.add_option("--max-seconds", config.max_seconds,
                 "End after the measured step in which this time since the first step is up; 0: no limit")
      ->check(CLI::Validator{not_negative, "FROM 0"})
      ->capture_default_str();
  add_choice(app, "--device", config.device, devices, "auto uses a GPU if there is one");
  app.add_option("--data", config.data_file, "Train on the bytes of this file, with the last tenth held out; without it, on random tokens");
  app.add_option("--seed", config.seed, "Seed of the weights and the batches")->check(count_range())->capture_default_str();
  app.add_option("--out", options.output_directory, "Write reports and tables into this directory");
  add_choice(app, "--bridge", config.bridge, switches, "Charge the backward pass to the scopes of the forward pass (T14)");
  add_choice(app, "--scope-memory", config.scope_memory, switches, "Charge LibTorch's allocations to the open scopes");
  app.add_flag("--measure-roof", config.measure_roof,
               "First measure the GPU's rates in a large matrix product and a large copy; needs a GPU with 3 GiB of free memory");
  app.add_flag("--graph", config.graph, "Capture the third step as a CUDA graph and replay it in all later steps; needs a GPU");
  app.add_flag("--fused", config.fused, "Join products of the same input and fuse the operations between products; attention is sdpa")
      ->excludes("--attention");
  app.add_option("--package", config.package_file,
                 "Run the forward pass from this package of AOTInductor, made with reference/export_forward.py; needs --mode fwd");
  app.add_flag("--phase-times", config.times_phases,
               "Time each phase of the measured steps with the trainer's own events, also without profkit");
  app.add_flag("--sync", config.synchronise_phases, "Wait for the GPU at the end of each phase");
  app.add_option("--head-start", config.head_start_ms,
                 "Delay the GPU by this many ms before each forward pass, so that GPU times contain no launch gaps")
      ->check(CLI::Range{0, 1000})
      ->capture_default_str();
  add_choice(app, "--kernels", options.kernels, switches, "Collect GPU kernels with CUPTI; costs up to 1 us per launch");
  app.add_flag(
      "--api-calls", config.all_api_calls,
      "Also collect all CUDA API calls, not only launches, for cuda_api_sum.csv of profkit report --nsys; about ten times as many records");
  app.add_flag("--questions", config.questions, "Answer common questions about the kernels of the run (T6)");
  app.add_flag(
      "--memory-snapshot", config.memory_snapshot,
      "Write memory_snapshot.pickle, for PyTorch's memory viewer, and memory_timeline.svg to --out; needs a GPU and slows steps down");
  app.add_flag(
      "--cuda-profiler-api", config.cuda_profiler_api,
      "Call cudaProfilerStart before the measured steps and cudaProfilerStop after them, for nsys --capture-range=cudaProfilerApi");
  app.add_option_function<std::vector<std::string>>(
      "--slow-rank",
      [&](std::vector<std::string> const& texts) {
        for (std::string const& text : texts) config.slow_ranks.push_back(parse_slow_rank(text));
      },
      "Delay a rank: with R:MS[:host|gpu[:data|forward|backward]] the host of rank R sleeps, or its GPU spins, for MS ms in each step");
  app.add_option("--save-profile", config.profile_file, "Save the recorded profile to this file, for profkit::load");
}

/// Libraries add backtraces and advice to their messages; the first line is the error.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

exit_code fail(exit_code code, std::string_view reason) {
  fmt::print(stderr, "transformer_train: {}\n", first_line(reason));
  return code;
}

exit_code run_command_line(int argc, char** argv) {
  run_config config;
  profkit::options options;
  try {
    options = profkit::options::from_env();
    config.ranks = ranks_of_launcher(options);
  } catch (std::runtime_error const& error) {
    return fail(exit_code::bad_input, error.what());
  }
  CLI::App app{
      "Trains a decoder-only Transformer and shows where each step went. A command measures many configurations; without a "
      "command, the program trains once."};
  app.footer(
      "Exit codes: 0; 2 for a bad argument or unusable input; 3 when memory runs out; 1 for any other error.\n"
      "PROFKIT=warmup=N,steps=N,out=DIR,kernels=off sets defaults. PROFKIT=report=full also prints the tree of scopes.");
  add_options(app, config, options);
  command chosen = [&] { return run(config, options); };
  add_sweep_command(app, chosen);
  add_loader_command(app, chosen);
  add_attention_command(app, chosen);
  add_silu_command(app, chosen);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
    if (config.fused) config.attention = attention_kind::sdpa;
  } catch (CLI::CallForHelp const& help) {
    app.exit(help);
    return exit_code::success;
  } catch (CLI::ParseError const& error) {
    return fail(exit_code::bad_input, std::string{error.what()} + "; see --help");
  } catch (input_error const& error) {
    return fail(exit_code::bad_input, error.what());
  }
  std::string const rank = config.ranks.has_others() ? "rank " + std::to_string(config.ranks.rank) + ": " : "";
  try {
    if (config.ranks.has_others() && !app.get_subcommands().empty()) {
      throw input_error{app.get_subcommands().front()->get_name() + ": runs as one process, and the launcher started " +
                        std::to_string(config.ranks.size) + " ranks"};
    }
    return chosen();
  } catch (input_error const& error) {
    return fail(exit_code::bad_input, rank + error.what());
  } catch (out_of_memory const& error) {
    return fail(exit_code::out_of_memory, rank + error.what());
  } catch (std::exception const& error) {
    return fail(exit_code::failure, rank + error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run_command_line(argc, argv));
  } catch (std::exception const& error) {
    return static_cast<int>(fail(exit_code::failure, error.what()));
  }
}
