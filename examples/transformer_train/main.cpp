// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <profkit/options.hpp>
#ifdef TRAINER_WITH_PERFETTO
#include <profkit/perfetto.hpp>
#endif
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

/// The message of CLI11's own check contains the largest double.
std::string positive(std::string const& text) {
  double value = 0.0;
  bool const is_positive = CLI::detail::lexical_cast(text, value) && value > 0.0 && std::isfinite(value);
  return is_positive ? "" : "Value " + text + " is not a number above 0";
}

std::string not_negative(std::string const& text) {
  double value = 0.0;
  bool const is_valid = CLI::detail::lexical_cast(text, value) && value >= 0.0 && std::isfinite(value);
  return is_valid ? "" : "Value " + text + " is not a number from 0";
}

void add_options(CLI::App& app, run_config& config, profkit::options& options) {
  add_choice(app, "--size", config.size, model_sizes_by_name, "Size of the model");
  app.add_option("--ctx", config.ctx, "Context: tokens of a sequence")->check(size_range())->capture_default_str();
  app.add_option("--batch", config.batch, "Sequences of a step")->check(size_range())->capture_default_str();
  add_choice(app, "--mode", config.mode, run_modes, "What a step does: forward, and backward, and optimizer");
  add_choice(app, "--precision", config.precision, precisions,
             "bf16 and fp16 are autocast; fp16_scaled scales the loss too; tf32 needs a GPU");
  add_choice(app, "--attention", config.attention, attentions, "Written out, or LibTorch's fused one");
  add_choice(app, "--sdpa-backend", config.backend, sdpa_backends, "Which kernels the fused one may take");
  add_choice(app, "--optimizer", config.optimizer, optimizers, "LibTorch's AdamW, or its fused kernels");
  app.add_option("--lr", config.learning_rate, "Learning rate")->check(CLI::Validator{positive, "ABOVE 0"})->capture_default_str();
  app.add_option("--clip-grad", config.max_gradient_norm, "Largest 2-norm of all gradients together; 0 does not clip")
      ->check(CLI::Validator{not_negative, "FROM 0"})
      ->capture_default_str();
  app.add_option("--warmup", options.warmup_steps, "Steps before measuring")->check(count_range())->capture_default_str();
  app.add_option("--steps", options.measured_steps, "Measured steps")
      ->check(count_range())
      ->each([&](std::string const&) { options.wanted_interval.reset(); })
      ->capture_default_str();
  add_choice(app, "--device", config.device, devices, "auto takes a GPU if there is one");
  app.add_option("--data", config.data_file, "Train on the bytes of this file, its last tenth held out; else on random tokens");
  app.add_option("--seed", config.seed, "Of the weights and the batches")->check(count_range())->capture_default_str();
  app.add_option("--out", options.output_directory, "Write reports and tables into this directory");
  add_choice(app, "--bridge", config.bridge, switches, "Charge the backward pass to the scopes of the forward pass (T14)");
  add_choice(app, "--scope-memory", config.scope_memory, switches, "Charge what LibTorch allocates to the scopes that are open");
  app.add_flag("--measure-roof", config.measure_roof,
               "First see what the GPU reaches in a large matrix product and a large copy; needs a GPU, 3 GiB of it and some seconds");
  app.add_flag("--graph", config.graph, "Capture the third step as a CUDA graph and replay it from then on; needs a GPU");
  app.add_flag("--fused", config.fused,
               "Join products of the same input and fuse what is between them into one kernel each; attention is sdpa")
      ->excludes("--attention");
  app.add_flag("--phase-times", config.times_phases, "Time each phase of the measured steps without profkit too");
  app.add_flag("--sync", config.synchronise_phases, "Wait for the GPU at the end of each phase");
  app.add_option("--head-start", config.head_start_ms,
                 "Let the GPU wait so many ms before each forward, so that its times hold no gaps from launching")
      ->check(CLI::Range{0, 1000})
      ->capture_default_str();
  add_choice(app, "--kernels", options.kernels, switches, "Collect the kernels that a GPU runs, with CUPTI; costs up to 1 us a launch");
  app.add_flag("--api-calls", config.all_api_calls,
               "With the kernels, collect all CUDA API calls and not only launches, for cuda_api_sum.csv; about ten times the records");
  app.add_flag("--questions", config.questions, "Answer the questions that people ask of the kernels of a run (T6)");
  app.add_flag(
      "--memory-snapshot", config.memory_snapshot,
      "Write memory_snapshot.pickle, for PyTorch's memory viewer, and memory_timeline.svg into --out; needs a GPU, and takes some time");
  app.add_flag(
      "--cuda-profiler-api", config.cuda_profiler_api,
      "Call cudaProfilerStart before the measured steps and cudaProfilerStop after them, for nsys --capture-range=cudaProfilerApi");
  app.add_option_function<std::vector<std::string>>(
      "--slow-rank",
      [&](std::vector<std::string> const& texts) {
        for (std::string const& text : texts) config.slow_ranks.push_back(parse_slow_rank(text));
      },
      "Delay a rank: R:MS[:host|gpu[:data|forward|backward]] lets rank R's host sleep, or its GPU spin, so many ms in each step");
  app.add_option("--save-profile", config.profile_file, "Write all that was recorded into this file, for profkit::load");
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
      "Trains a decoder-only Transformer and shows where each step went. A command measures many things, one after the other; without one, "
      "this is one run."};
  app.footer(
      "Returns 0; 2 for bad arguments or input, 3 when memory runs out, 1 for anything else.\n"
      "PROFKIT=warmup=N,steps=N,out=DIR,kernels=off sets defaults, PROFKIT=report=full also prints the tree of scopes.");
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
