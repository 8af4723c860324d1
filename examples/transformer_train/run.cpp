// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <profkit/profile/save_load.hpp>
#include <profkit/profkit.hpp>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "device.hpp"
#include "loop_timer.hpp"
#include "progress.hpp"
#include "tables.hpp"
#include "text.hpp"
#include "torch_memory.hpp"
#include "training.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cupti.hpp>
#endif

namespace trainer {

namespace {

namespace fs = std::filesystem;

/// Better now than after an hour of training.
void check_output_directory(char const* option, fs::path const& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (!failure && ::access(directory.c_str(), W_OK | X_OK) != 0) failure = {errno, std::generic_category()};
  if (failure) {
    throw input_error{option + (" " + directory.string()) + ": " + failure.message() + "; a directory that can be written is needed"};
  }
}

void write_file(fs::path const& path, std::string const& content) {
  std::ofstream file{path, std::ios::binary};
  file << content;
  file.close();
  if (!file) throw profkit::error{"cannot write " + path.string()};
}

void collect(profkit::session& session, run_config const& config, compute_device const& device) {
  session.collect(profkit::host_memory());
#if TRAINER_WITH_CUDA
  if (!device.is_cuda()) return;
  session.collect(profkit::cuda_step_timer(*device.stream()));
  session.collect(profkit::cuda_memory());
  session.collect(torch_memory());
  session.collect(profkit::cupti_kernels(profkit::kernel_options{.all_api_calls = config.all_api_calls}));
#else
  static_cast<void>(config);
  static_cast<void>(device);
#endif
}

std::string describe(run_config const& config, compute_device const& device) {
  std::string text =
      fmt::format("{} ({:.1f} M parameters), ctx {}, batch {}, {}, {}, {} attention", config.size.name,
                  static_cast<double>(parameter_count(config.size)) / 1e6, config.ctx, config.batch, name_of(run_modes, config.mode),
                  name_of(precisions, config.precision), name_of(attentions, config.attention));
  if (config.mode == run_mode::train) text += fmt::format(", {} with lr {}", name_of(optimizers, config.optimizer), config.learning_rate);
  return text + ", on " + device.description();
}

double mean(std::span<float const> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void print_loop(loop_timer const& timer, std::uint64_t steps) {
  auto const elapsed = timer.elapsed();
  if (!elapsed) return;
  fmt::print("measured loop: {:.4f} ms a step ({} steps, {})\n", elapsed->count() / static_cast<double>(steps), steps, timer.source());
}

/// The losses of the steps: where they began and where they ended, or one mean if the weights stay as they are.
void print_losses(run_config const& config, std::vector<float> const& losses) {
  if (losses.empty()) return;
  std::span<float const> const all{losses};
  fmt::print("loss, nats per token: ");
  if (config.mode == run_mode::train && losses.size() > 1) {
    std::size_t const some = std::min<std::size_t>(10, losses.size() / 2);
    fmt::print("{:.4f} (mean of the first {} of {} steps), {:.4f} (mean of the last {})\n", mean(all.first(some)), some, losses.size(),
               mean(all.last(some)), some);
  } else {
    fmt::print("{:.4f} (mean of {} steps)\n", mean(all), losses.size());
  }
}

}  // namespace

exit_code run(run_config const& config, profkit::options options) {
  compute_device const device{config.device};
  if (config.precision == precision_kind::tf32 && !device.is_cuda()) {
    throw input_error{"--precision tf32: only a GPU computes in TF32; use fp32 or bf16 on the CPU"};
  }
  std::optional<text> data;
  if (!config.data_file.empty()) data.emplace(config.data_file, config.ctx);
  // Taken from the session, which would write and print its own part a second time.
  fs::path const directory = std::exchange(options.output_directory, {});
  bool const prints_report = std::exchange(options.print_report, false);
  if (!directory.empty()) check_output_directory("--out", directory);
  fs::path const profile_file{config.profile_file};
  if (profile_file.has_parent_path()) check_output_directory("--save-profile", profile_file.parent_path());
  if (!device.is_cuda()) limit_host_memory();

  fmt::print("{}\n", describe(config, device));
  std::fflush(stdout);

  options.items_per_step = static_cast<std::uint64_t>(config.tokens_per_step());
  options.item_name = "tokens";
  std::uint64_t const steps = options.warmup_steps + options.measured_steps;
  profkit::session session{options};
  collect(session, config, device);

  std::optional<std::string> memory_failure;
  try {
    training training{config, device, std::move(data), steps};
    auto const before = training.held_out_loss();
    progress progress{steps};
    loop_timer timer{device};
    for (profkit::step step : session) {
      if (step.index() == options.warmup_steps) timer.begin();
      training.step();
      if (progress.is_due()) progress.print(training.losses());
    }
    timer.end();
    device.synchronize();
    print_loop(timer, options.measured_steps);
    print_losses(config, training.losses());
    if (before) fmt::print("held-out loss, nats per byte: {:.4f} before training, {:.4f} after\n", *before, *training.held_out_loss());
  } catch (out_of_memory const& failure) {
    memory_failure = failure.what();
  }

  profkit::report const report = session.report();
  titled_table const t1 = step_summary_table(config, report.summary());
  titled_table const t2 = section_table(config, report.summary());
  if (prints_report) fmt::print("\n{}", report);
  fmt::print("\n{}\n{}", t1.text(), t2.text());
  if (!directory.empty()) {
    report.write(directory);
    write_file(directory / "t1.csv", t1.content.to_csv());
    write_file(directory / "t2.csv", t2.content.to_csv());
    write_file(directory / "tables.md", t1.markdown() + "\n" + t2.markdown());
    fmt::print("\nreports and tables are in {}\n", directory.string());
  }
  if (!profile_file.empty()) {
    profkit::save(report.profile(), profile_file);
    fmt::print("the profile is in {}\n", profile_file.string());
  }
  if (!memory_failure) return exit_code::success;
  fmt::print(stderr, "transformer_train: {}\n", *memory_failure);
  return exit_code::out_of_memory;
}

}  // namespace trainer
