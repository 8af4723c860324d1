// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <profkit/options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "errors.hpp"
#include "run.hpp"

namespace {

using namespace trainer;

/// An option that takes one of the words of a table.
template <class Value, std::size_t Count>
void add_choice(CLI::App& app, char const* name, Value& value, name_table<Value, Count> const& table, char const* help) {
  std::vector<std::string> names;
  for (auto const& entry : table) names.emplace_back(entry.name);
  app.add_option_function<std::string>(
         name, [&value, &table](std::string const& word) { value = *value_of(table, word); }, help)
      ->check(CLI::IsMember(names))
      ->default_str(std::string{name_of(table, value)});
}

void add_size(CLI::App& app, model_size& value) {
  std::vector<std::string> names;
  for (model_size const& size : model_sizes) names.emplace_back(size.name);
  app.add_option_function<std::string>(
         "--size", [&value](std::string const& word) { value = *find_model_size(word); }, "Size of the model")
      ->check(CLI::IsMember(names))
      ->default_str(std::string{value.name});
}

/// CLI11's own check answers with the largest number that a double holds.
std::string positive(std::string const& text) {
  double value = 0.0;
  bool const is_positive = CLI::detail::lexical_cast(text, value) && value > 0.0 && std::isfinite(value);
  return is_positive ? "" : "Value " + text + " is not a number above 0";
}

void add_options(CLI::App& app, run_config& config, profkit::options& options) {
  CLI::Range const size{std::int64_t{1}, std::int64_t{1} << 20U};
  CLI::Range const count{std::int64_t{0}, std::int64_t{1'000'000'000}};
  add_size(app, config.size);
  app.add_option("--ctx", config.ctx, "Context: tokens of a sequence")->check(size)->capture_default_str();
  app.add_option("--batch", config.batch, "Sequences of a step")->check(size)->capture_default_str();
  add_choice(app, "--mode", config.mode, run_modes, "What a step does: forward, and backward, and optimizer");
  add_choice(app, "--precision", config.precision, precisions,
             "bf16 and fp16 are autocast; fp16 does not scale the loss; tf32 needs a GPU");
  add_choice(app, "--attention", config.attention, attentions, "Written out, or LibTorch's fused one");
  add_choice(app, "--optimizer", config.optimizer, optimizers, "LibTorch's AdamW, or its fused kernels");
  app.add_option("--lr", config.learning_rate, "Learning rate")->check(CLI::Validator{positive, "ABOVE 0"})->capture_default_str();
  app.add_option("--warmup", options.warmup_steps, "Steps before measuring")->check(count)->capture_default_str();
  app.add_option("--steps", options.measured_steps, "Measured steps")->check(count)->capture_default_str();
  add_choice(app, "--device", config.device, devices, "auto takes a GPU if there is one");
  app.add_option("--data", config.data_file, "Train on the bytes of this file, its last tenth held out; else on random tokens");
  app.add_option("--seed", config.seed, "Of the weights and the batches")->check(count)->capture_default_str();
  app.add_option("--out", options.output_directory, "Write reports and tables into this directory");
  app.add_flag("--sync", config.synchronise_phases, "Wait for the GPU at the end of each phase");
  app.add_option("--head-start", config.head_start_ms,
                 "Let the GPU wait so many ms before each forward, so that its times hold no gaps from launching")
      ->check(CLI::Range{0, 1000})
      ->capture_default_str();
  add_choice(app, "--kernels", options.kernels, switches, "Collect the kernels that a GPU runs, with CUPTI; costs up to 1 us a launch");
  app.add_flag("--api-calls", config.all_api_calls,
               "With the kernels, collect all CUDA API calls and not only launches, for cuda_api_sum.csv; about ten times the records");
  app.add_option("--save-profile", config.profile_file, "Write all that was recorded into this file, for profkit::load");
}

/// Libraries add backtraces and advice to their messages; the first line says what happened.
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
  } catch (profkit::error const& error) {
    return fail(exit_code::bad_input, error.what());
  }
  CLI::App app{"Trains a decoder-only Transformer and shows where each step went."};
  app.footer(
      "Returns 0; 2 for bad arguments or input, 3 when memory runs out, 1 for anything else.\n"
      "PROFKIT=warmup=N,steps=N,out=DIR,kernels=off sets defaults, PROFKIT=report also prints the tree of scopes.");
  add_options(app, config, options);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    app.exit(help);
    return exit_code::success;
  } catch (CLI::ParseError const& error) {
    return fail(exit_code::bad_input, std::string{error.what()} + "; see --help");
  }
  try {
    return run(config, options);
  } catch (input_error const& error) {
    return fail(exit_code::bad_input, error.what());
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
