// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <profkit/options.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/cells.hpp"
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "device.hpp"
#include "files.hpp"
#include "measure/measurement.hpp"
#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

struct sweep_config {
  std::vector<model_size> sizes{model_sizes.begin() + 1, model_sizes.end()};
  std::vector<std::int64_t> contexts{128, 256, 512, 1024};
  std::vector<run_mode> modes{run_mode::forward, run_mode::forward_backward, run_mode::train};
  std::vector<precision_kind> precisions{precision_kind::fp32};
  run_config common;  ///< options of all cells
};

std::vector<std::string> const sweep_key_columns{"size",      "ctx",       "batch",  "mode",  "precision",
                                                 "attention", "optimizer", "warmup", "steps", "device"};
std::vector<std::string> const sweep_value_columns{
    "status",       "avg_ms",       "std_ms",        "tokens/s",      "forward_ms", "forward_std",        "backward_ms",
    "backward_std", "optimizer_ms", "optimizer_std", "skipped_steps", "loss",       "peak_allocated_MiB", "peak_reserved_MiB"};

std::vector<std::string> key_of(run_config const& run, profkit::options const& options, compute_device const& device) {
  return {std::string{run.size.name},
          std::to_string(run.ctx),
          std::to_string(run.batch),
          std::string{name_of(run_modes, run.mode)},
          std::string{name_of(precisions, run.precision)},
          std::string{name_of(attentions, run.attention)},
          run.mode == run_mode::train ? std::string{name_of(optimizers, run.optimizer)} : not_measured,
          std::to_string(options.warmup_steps),
          std::to_string(options.measured_steps),
          device.description()};
}

/// Estimates the relative duration of a cell for the remaining time: FLOPs, and a minimum for the host.
double weight_of(run_config const& run) {
  double const passes = run.mode == run_mode::forward ? 1.0 : 3.0;
  double const speed = run.precision == precision_kind::fp32 ? 1.0 : 4.0;
  auto const tokens = static_cast<double>(run.tokens_per_step());
  return passes * (tokens * static_cast<double>(parameter_count(run.size)) / speed + 1e10);
}

std::vector<std::string> measure_cell(run_config const& run, profkit::options const& options, compute_device const& device) {
  device.release_memory();
  measurement const measured = measure(run, device, std::nullopt, options, /*shows_progress=*/false);
  if (measured.memory_failure) {
    std::vector<std::string> row(sweep_value_columns.size(), not_measured);
    row.front() = "OOM";
    return row;
  }
  profkit::summary const& summary = measured.report.summary();
  profkit::duration_summary const& timed = summary.steps.gpu ? *summary.steps.gpu : summary.steps.host;
  std::vector<std::string> row{"ok", in_ms(timed.mean), in_ms(timed.standard_deviation),
                               summary.steps.items_per_second ? fmt::format("{:.0f}", *summary.steps.items_per_second) : not_measured};
  for (char const* phase : {"forward", "backward", "optimizer"}) {
    profkit::duration_summary const* const time = phase_time(summary, phase);
    row.push_back(time == nullptr ? not_measured : in_ms(time->mean));
    row.push_back(time == nullptr ? not_measured : in_ms(time->standard_deviation));
  }
  row.emplace_back(measured.skipped_steps ? std::to_string(*measured.skipped_steps) : not_measured);
  row.push_back(measured.losses.empty() ? not_measured : fmt::format("{:.4f}", measured.losses.back()));
  row.push_back(in_mib(allocator_peak(summary, "allocated")));
  row.push_back(in_mib(allocator_peak(summary, "reserved")));
  return row;
}

std::string mean_and_deviation(std::vector<std::string> const& row, result_file const& results, std::string const& phase) {
  if (row[results.column("status")] != "ok") return row[results.column("status")];
  std::string const& mean = row[results.column(phase + "_ms")];
  std::string const& deviation = row[results.column(phase + "_std")];
  return deviation == not_measured ? mean : mean + " ± " + deviation;
}

titled_table step_table(result_file const& results, bool is_gpu) {
  return {
      "T1, T4. Step summary",
      table_of(results,
               {"size", "ctx", "batch", "mode", "precision", "attention", "optimizer", "warmup", "steps", "status", "avg_ms", "std_ms",
                "tokens/s", "skipped_steps", "peak_allocated_MiB", "peak_reserved_MiB"},
               1),
      {is_gpu ? "avg_ms and std_ms: time between CUDA events around a step." : "avg_ms and std_ms: host time of a step.",
       "std_ms is the sample standard deviation (n - 1). Peaks are from LibTorch's CUDA allocator over the measured steps of the row; n/a "
       "without a GPU. OOM: out of memory."}};
}

titled_table phase_table(result_file const& results, bool is_gpu) {
  string_table table{{"size", "precision", "ctx", "mode", "warmup", "forward_ms", "backward_ms", "optimizer_ms"}, 2};
  for (auto const& row : results.rows()) {
    auto const at = [&](char const* column) { return row[results.column(column)]; };
    table.add({at("size"), at("precision"), at("ctx"), at("mode"), at("warmup"), mean_and_deviation(row, results, "forward"),
               mean_and_deviation(row, results, "backward"), mean_and_deviation(row, results, "optimizer")});
  }
  return {"T3. End to end by size",
          std::move(table),
          {is_gpu ? "Mean ± standard deviation over the steps, between CUDA events."
                  : "Mean ± standard deviation over the steps, in host time.",
           "n/a: the mode has no such phase. OOM: out of memory."}};
}

exit_code sweep(sweep_config const& wanted, profkit::options const& options) {
  compute_device const device{wanted.common.device};
  if (!device.is_cuda()) limit_host_memory();
  result_file results{options.output_directory, "sweep", sweep_key_columns, sweep_value_columns};
  std::vector<cell> cells;
  for (precision_kind const precision : wanted.precisions) {
    for (model_size const& size : wanted.sizes) {
      for (std::int64_t const ctx : wanted.contexts) {
        for (run_mode const mode : wanted.modes) {
          run_config run = wanted.common;
          run.size = size;
          run.ctx = ctx;
          run.mode = mode;
          run.precision = precision;
          check_run(run, device, options);
          cells.push_back({key_of(run, options, device), weight_of(run), [=, &device] { return measure_cell(run, options, device); }});
        }
      }
    }
  }
  fmt::print("{} cells on {}\n", cells.size(), device.description());
  measure_cells(results, cells);
  titled_table const steps = step_table(results, device.is_cuda());
  titled_table const phases = phase_table(results, device.is_cuda());
  fmt::print("\n{}\n{}", steps.markdown(), phases.markdown());
  if (!options.output_directory.empty()) {
    replace_file(std::filesystem::path{options.output_directory} / "sweep.md", steps.markdown() + "\n" + phases.markdown());
  }
  return exit_code::success;
}

}  // namespace

void add_sweep_command(CLI::App& app, command& chosen) {
  auto const config = std::make_shared<sweep_config>();
  auto const options = std::make_shared<profkit::options>(profkit::options::from_env());
  options->wanted_interval.reset();  // each cell has the same number of steps
  options->kernels = false;          // only time is measured here
  config->common.bridge = false;
  config->common.scope_memory = false;
  CLI::App& sub =
      *app.add_subcommand("sweep", "Measure step time, phases and peak memory of many configurations; resumes an interrupted run");
  add_choices(sub, "--sizes", config->sizes, model_sizes_by_name, "Model sizes");
  sub.add_option("--ctx", config->contexts, "Context lengths: tokens per sequence")
      ->check(size_range())
      ->delimiter(',')
      ->capture_default_str();
  add_choices(sub, "--modes", config->modes, run_modes, "Work of a step");
  add_choices(sub, "--precisions", config->precisions, precisions, "Precision of matrix products");
  sub.add_option("--batch", config->common.batch, "Sequences per step")->check(size_range())->capture_default_str();
  add_choice(sub, "--attention", config->common.attention, attentions, "naive: separate operations; sdpa: scaled_dot_product_attention");
  add_choice(sub, "--optimizer", config->common.optimizer, optimizers, "LibTorch's AdamW, or one with fused kernels");
  sub.add_option("--warmup", options->warmup_steps, "Warm-up steps of each configuration")->check(count_range())->capture_default_str();
  sub.add_option("--steps", options->measured_steps, "Measured steps of each configuration")->check(count_range())->capture_default_str();
  add_choice(sub, "--device", config->common.device, devices, "auto uses a GPU if there is one");
  sub.add_option("--seed", config->common.seed, "Seed of the weights and the batches")->check(count_range())->capture_default_str();
  sub.add_option("--out", options->output_directory,
                 "Directory of sweep.csv, sweep.json and sweep.md; configurations already in it are not measured again");
  sub.callback([config, options, &chosen] { chosen = [config, options] { return sweep(*config, *options); }; });
}

}  // namespace trainer
