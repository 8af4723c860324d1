// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <profkit/options.hpp>
#include <string>
#include <utility>
#include <vector>

#include "commands/cells.hpp"
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "files.hpp"
#include "loader/corpus.hpp"
#include "loader/text_loader.hpp"
#include "measure/measurement.hpp"
#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

namespace fs = std::filesystem;

struct loader_sweep {
  std::vector<std::uint64_t> workers{0, 2, 4, 8};
  std::uint64_t work_us = 0;
  std::uint64_t epoch_batches = 0;  ///< 0: as many as the text contains
  run_config run;                   ///< options of all cells
};

std::vector<std::string> const loader_key_columns{"workers",   "size",    "ctx",    "batch", "mode", "precision", "attention",
                                                  "optimizer", "work_us", "warmup", "steps", "text", "seed",      "device"};
std::vector<std::string> const loader_value_columns{"status",           "epoch_s",          "samples/s",    "step_ms",           "data_ms",
                                                    "gpu_busy_percent", "gpu_idle_percent", "data_idle_ms", "data_idle_percent", "loss"};

std::vector<std::string> key_of(loader_sweep const& wanted, std::uint64_t workers, corpus const& from, profkit::options const& options,
                                compute_device const& device) {
  run_config const& run = wanted.run;
  return {std::to_string(workers),
          std::string{run.size.name},
          std::to_string(run.ctx),
          std::to_string(run.batch),
          std::string{name_of(run_modes, run.mode)},
          std::string{name_of(precisions, run.precision)},
          std::string{name_of(attentions, run.attention)},
          run.mode == run_mode::train ? std::string{name_of(optimizers, run.optimizer)} : not_measured,
          std::to_string(wanted.work_us),
          std::to_string(options.warmup_steps),
          std::to_string(options.measured_steps),
          fmt::format("x{:016x}", from.fingerprint()),
          std::to_string(run.seed),
          device.description()};
}

std::string in_percent(std::optional<milliseconds> part, std::optional<milliseconds> whole) {
  if (!part || !whole || whole->count() <= 0.0) return not_measured;
  return fmt::format("{:.1f}", 100.0 * (*part / *whole));
}

std::vector<std::string> row_of(measurement const& measured, std::uint64_t steps, std::int64_t batch) {
  if (measured.memory_failure) {
    std::vector<std::string> row(loader_value_columns.size(), not_measured);
    row.front() = "OOM";
    return row;
  }
  profkit::summary const& summary = measured.report.summary();
  profkit::scope_summary const* const data = find_scope(summary, "step/data");
  std::optional<milliseconds> const wall = summary.steps.host.total;
  std::optional<milliseconds> idle;
  if (summary.gpu && summary.gpu->idle) idle = summary.gpu->idle->inclusive;
  std::optional<milliseconds> data_idle;
  if (data != nullptr && data->gpu_idle) data_idle = data->gpu_idle->inclusive;
  std::optional<std::chrono::duration<double>> epoch;
  if (measured.loop_step) epoch = *measured.loop_step * static_cast<double>(steps);
  auto const samples = static_cast<double>(steps) * static_cast<double>(batch);
  return {"ok",
          epoch ? fmt::format("{:.4f}", epoch->count()) : not_measured,
          epoch ? fmt::format("{:.1f}", samples / epoch->count()) : not_measured,
          in_ms(measured.loop_step),
          data == nullptr ? not_measured : in_ms(data->host.mean),
          idle ? in_percent(*wall - *idle, wall) : not_measured,
          in_percent(idle, wall),
          in_ms(data_idle),
          in_percent(data_idle, idle),
          measured.losses.empty() ? not_measured : fmt::format("{:.6f}", measured.losses.back())};
}

std::vector<std::string> measure_cell(loader_sweep const& wanted, std::uint64_t workers, std::shared_ptr<corpus const> const& from,
                                      profkit::options const& options, compute_device const& device) {
  device.release_memory();
  text_loader loader{from,
                     {.workers = workers,
                      .ctx = wanted.run.ctx,
                      .batch = wanted.run.batch,
                      .work = std::chrono::microseconds{wanted.work_us},
                      .seed = wanted.run.seed,
                      .warmup_batches = options.warmup_steps,
                      .epoch_batches = options.measured_steps}};
  measurement const measured = measure(wanted.run, device, std::nullopt, options, /*shows_progress=*/false, &loader);
  if (!options.output_directory.empty()) {
    // Workers finish some steps before the epoch ends, so the trace must go back far enough to contain their work.
    measured.report.write(fs::path{options.output_directory} / fmt::format("workers_{}_work_{}", workers, wanted.work_us),
                          options.trace_steps + 2 * workers);
  }
  return row_of(measured, options.measured_steps, wanted.run.batch);
}

titled_table loader_table(result_file const& results) {
  return {
      "T12. Data loading",
      table_of(results,
               {"workers", "work_us", "steps", "status", "epoch_s", "samples/s", "step_ms", "data_ms", "gpu_busy_percent",
                "gpu_idle_percent", "data_idle_ms", "data_idle_percent", "loss"},
               0),
      {"0 workers: the training thread loads. epoch_s: from the start of the loader's workers until the device completes the last step. "
       "step_ms: mean time of a step.",
       "data_ms: host time of the phase data per step. It waits for a batch (or prepares it, with 0 workers) and copies it to the device.",
       "gpu_busy_percent and gpu_idle_percent are shares of the host time of the steps. data_idle_ms is the GPU idle time of the epoch "
       "charged to the phase data, data_idle_percent its share of all GPU idle time. All are n/a without a GPU.",
       "work_us: processor time per sample in addition to decoding. loss: of the last step."}};
}

/// @throws input_error
std::uint64_t epoch_batches(loader_sweep const& wanted, corpus const& from) {
  auto const batch = static_cast<std::size_t>(wanted.run.batch);
  std::uint64_t const available = from.windows() / batch;
  std::string const size = fmt::format("{} characters, windows of --ctx {}: {}", from.characters(), wanted.run.ctx, from.windows());
  std::string const text = wanted.run.data_file.empty() ? "the generated text" : "--data " + wanted.run.data_file;
  if (available == 0) {
    throw input_error{
        fmt::format("{}: too short for one batch of {} ({}); use a longer text, or a smaller --batch or --ctx", text, batch, size)};
  }
  if (wanted.epoch_batches > available) {
    throw input_error{fmt::format("--steps-per-epoch {}: {} is too short for it ({}, batches of {}: {})", wanted.epoch_batches, text, size,
                                  batch, available)};
  }
  return wanted.epoch_batches > 0 ? wanted.epoch_batches : available;
}

exit_code load(loader_sweep const& wanted, profkit::options options) {
  compute_device const device{wanted.run.device};
  check_run(wanted.run, device, options);
  auto const from = std::make_shared<corpus const>(wanted.run.data_file, wanted.run.ctx);
  options.measured_steps = epoch_batches(wanted, *from);
  // Each worker has a log; the samples of a step fit into a small one.
  options.log_slots_per_thread = std::uint64_t{1} << 19U;
  if (!device.is_cuda()) limit_host_memory();
  result_file results{options.output_directory, "loader", loader_key_columns, loader_value_columns};
  std::vector<cell> cells;
  for (std::uint64_t const workers : wanted.workers) {
    auto const work =
        static_cast<double>(wanted.run.batch) * static_cast<double>(wanted.work_us) / static_cast<double>(workers > 0 ? workers : 1);
    constexpr double step_us = 20'000;
    cells.push_back({key_of(wanted, workers, *from, options, device), work + step_us,
                     [=, &wanted, &device] { return measure_cell(wanted, workers, from, options, device); }});
  }
  fmt::print("an epoch of {} batches with {} workers on {}\n", options.measured_steps, fmt::join(wanted.workers, ", "),
             device.description());
  measure_cells(results, cells);
  titled_table const table = loader_table(results);
  fmt::print("\n{}", table.markdown());
  if (!options.output_directory.empty()) replace_file(fs::path{options.output_directory} / "loader.md", table.markdown());
  return exit_code::success;
}

}  // namespace

void add_loader_command(CLI::App& app, command& chosen) {
  auto const config = std::make_shared<loader_sweep>();
  config->run.ctx = 128;
  config->run.batch = 16;
  config->run.bridge = false;  // only time is measured here
  config->run.scope_memory = false;
  auto const options = std::make_shared<profkit::options>(profkit::options::from_env());
  options->wanted_interval.reset();  // each cell has the same number of steps
  run_config& run = config->run;
  CLI::App& sub = *app.add_subcommand(
      "loader",
      "Measure an epoch over a text for each number of loader workers, and how long the GPU waits for data; resumes an interrupted run");
  sub.add_option("--workers", config->workers, "Threads that prepare batches in advance; 0: the training thread prepares them")
      ->check(CLI::Range{0, 256})
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--data", run.data_file, "Text in UTF-8; a token is a character. Without it, a generated text of a million characters");
  sub.add_option("--work", config->work_us, "Processor time in microseconds that each sample takes in addition to decoding")
      ->check(CLI::Range{0, 10'000'000})
      ->capture_default_str();
  sub.add_option("--steps-per-epoch", config->epoch_batches, "Batches per epoch; without it, the whole text")->check(size_range());
  add_choice(sub, "--size", run.size, model_sizes_by_name, "Model size");
  sub.add_option("--ctx", run.ctx, "Context length: tokens per sequence")->check(size_range())->capture_default_str();
  sub.add_option("--batch", run.batch, "Sequences per step")->check(size_range())->capture_default_str();
  add_choice(sub, "--mode", run.mode, run_modes, "Work of a step");
  add_choice(sub, "--precision", run.precision, precisions, "Precision of matrix products");
  add_choice(sub, "--attention", run.attention, attentions, "naive: separate operations; sdpa: scaled_dot_product_attention");
  add_choice(sub, "--optimizer", run.optimizer, optimizers, "LibTorch's AdamW, or one with fused kernels");
  sub.add_option("--warmup", options->warmup_steps, "Warm-up steps before the epoch")->check(count_range())->capture_default_str();
  add_choice(sub, "--device", run.device, devices, "auto uses a GPU if there is one");
  sub.add_option("--seed", run.seed, "Seed of the weights and of the order of the windows")->check(count_range())->capture_default_str();
  sub.add_option(
      "--out", options->output_directory,
      "Directory of loader.csv, loader.json, loader.md and the reports of each epoch; epochs already in it are not measured again");
  sub.callback([config, options, &chosen] { chosen = [config, options] { return load(*config, *options); }; });
}

}  // namespace trainer
