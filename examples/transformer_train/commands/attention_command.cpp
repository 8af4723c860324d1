// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <profkit/options.hpp>
#include <string>
#include <utility>
#include <vector>

#include "commands/attention_case.hpp"
#include "commands/cells.hpp"
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "device.hpp"
#include "files.hpp"
#include "measure/timed_steps.hpp"
#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

struct attention_sweep {
  std::vector<std::int64_t> d_models{16, 32, 64, 128, 256, 512};
  std::vector<std::int64_t> lengths{64, 256, 1024, 4096, 8192, 16384};
  std::vector<attention_kind> implementations{attention_kind::naive, attention_kind::sdpa};
  std::vector<precision_kind> precisions{precision_kind::fp32, precision_kind::tf32, precision_kind::bf16};
  attention_config common;  ///< options of all cells
  device_kind device = device_kind::automatic;
};

std::vector<std::string> const attention_key_columns{"d_model", "seq_len", "batch", "impl", "precision", "warmup", "steps", "device"};
std::vector<std::string> const attention_value_columns{"status",       "forward_ms",          "forward_std",        "backward_ms",
                                                       "backward_std", "before_backward_MiB", "peak_allocated_MiB", "backend"};

std::vector<std::string> key_of(attention_config const& config, profkit::options const& options, compute_device const& device) {
  return {std::to_string(config.d_model),
          std::to_string(config.length),
          std::to_string(config.batch),
          std::string{name_of(attention_impls, config.implementation)},
          std::string{name_of(tensor_precisions, config.precision)},
          std::to_string(options.warmup_steps),
          std::to_string(options.measured_steps),
          device.description()};
}

/// The estimated duration of a cell relative to the others, for the estimate of the remaining time. Fused attention takes 14 FLOPs per pair
/// of tokens and dimension: 4 for the two forward products, 8 for their backward, and 2 to recompute the scores. Naive attention also
/// accesses memory about 25 times per pair, each as long as 80 FLOPs. The constant covers the host.
double weight_of(attention_config const& config) {
  double const speed = config.precision == precision_kind::fp32 ? 1.0 : 4.0;
  double const pairs = static_cast<double>(config.batch) * static_cast<double>(config.length) * static_cast<double>(config.length);
  double const traffic = config.implementation == attention_kind::naive ? 25.0 * 80.0 : 0.0;
  return pairs * (14.0 * static_cast<double>(config.d_model) / speed + traffic) + 1e10;
}

void add_phase(std::vector<std::string>& row, profkit::summary const& summary, char const* phase) {
  profkit::duration_summary const* const time = phase_time(summary, phase);
  row.push_back(time == nullptr ? not_measured : in_ms(time->mean));
  row.push_back(time == nullptr ? not_measured : in_ms(time->standard_deviation));
}

std::vector<std::string> measure_cell(attention_config const& config, profkit::options const& options, compute_device const& device) {
  device.release_memory();
  try {
    attention_case attention{config, device};
    profkit::report const report = time_steps(device, options, /*with_kernels=*/false, [&] { attention.step(); });
    std::vector<std::string> row{"ok"};
    add_phase(row, report.summary(), "forward");
    add_phase(row, report.summary(), "backward");
    row.push_back(in_mib(attention.bytes_before_backward()));
    row.push_back(in_mib(allocator_peak(report.summary(), "allocated")));
    row.emplace_back(attention.backend().empty() ? not_measured : attention.backend());
    return row;
  } catch (out_of_memory const&) {
    std::vector<std::string> row(attention_value_columns.size(), not_measured);
    row.front() = "OOM";
    return row;
  }
}

using row_list = std::vector<std::vector<std::string>>;

/// The rows of this device by size, independent of the order of measurement.
row_list rows_by_size(result_file const& results, compute_device const& device) {
  row_list rows;
  for (auto const& row : results.rows()) {
    if (row[results.column("device")] == device.description()) rows.push_back(row);
  }
  auto const size_of = [&](std::vector<std::string> const& row) {
    auto const number = [&](char const* column) { return std::stoll(row[results.column(column)]); };
    return std::array{number("batch"), number("warmup"), number("steps"), number("d_model"), number("seq_len")};
  };
  std::stable_sort(rows.begin(), rows.end(), [&](auto const& a, auto const& b) { return size_of(a) < size_of(b); });
  return rows;
}

titled_table attention_table(result_file const& results, row_list const& rows, compute_device const& device) {
  std::vector<std::string> columns = results.columns();
  std::erase(columns, "device");
  string_table table{columns, 1};
  for (auto const& row : rows) {
    std::vector<std::string> cells;
    for (std::string const& column : columns) cells.push_back(row[results.column(column)]);
    table.add(std::move(cells));
  }
  return {
      "T5. Attention, naive and fused",
      std::move(table),
      {fmt::format("On {}. Times are {}: mean and sample standard deviation (n - 1) over the steps.", device.description(),
                   device.is_cuda() ? "between CUDA events around the phase; small values are mostly launch time on the host"
                                    : "host times of the phase"),
       "One head, causal mask. Query, key and value are random, [batch, seq_len, d_model], in the type given by precision (tf32: fp32 "
       "tensors, whose matrix products may round their inputs to TF32), without autocast.",
       "naive: matmul, scale, mask, max, subtract, exp, sum, divide, matmul. fused: scaled_dot_product_attention, with the "
       "backend that LibTorch chooses for these tensors.",
       "before_backward is the memory in use in LibTorch's allocator between the phases, peak_allocated its peak over the measured steps. "
       "Both include the inputs, the naive mask and cuBLAS workspaces; n/a without a GPU. OOM: out of memory."}};
}

titled_table comparison_table(result_file const& results, row_list const& rows) {
  string_table table{{"d_model", "seq_len", "batch", "precision", "forward", "backward", "before_backward", "peak_allocated"}, 1};
  std::size_t const implementation = results.column("impl");
  for (auto const& naive : rows) {
    auto const fused = std::find_if(rows.begin(), rows.end(), [&](auto const& other) {
      bool is_partner = naive[implementation] == "naive" && other[implementation] == "fused";
      for (std::string const& column : attention_key_columns) {
        if (column != "impl") is_partner = is_partner && naive[results.column(column)] == other[results.column(column)];
      }
      return is_partner;
    });
    if (fused == rows.end()) continue;
    std::vector<std::string> cells;
    for (char const* column : {"d_model", "seq_len", "batch", "precision"}) cells.push_back(naive[results.column(column)]);
    for (char const* column : {"forward_ms", "backward_ms", "before_backward_MiB", "peak_allocated_MiB"}) {
      std::size_t const at = results.column(column);
      cells.push_back(naive[results.column("status")] == "ok" ? ratio(naive[at], (*fused)[at]) : naive[results.column("status")]);
    }
    table.add(std::move(cells));
  }
  return {"T5. Naive over fused",
          std::move(table),
          {"Time and memory of naive attention divided by those of fused attention. OOM: naive attention runs out of memory; n/a: no "
           "result to compare."}};
}

void check_sweep(attention_sweep const& wanted, compute_device const& device) {
  bool const has_tf32 = std::count(wanted.precisions.begin(), wanted.precisions.end(), precision_kind::tf32) > 0;
  if (!device.is_cuda() && has_tf32) {
    throw input_error{"--precisions tf32: only GPUs compute in TF32; use --precisions fp32,bf16 on the CPU"};
  }
}

exit_code sweep_attention(attention_sweep wanted, profkit::options const& options) {
  compute_device const device{wanted.device};
  check_sweep(wanted, device);
  if (!device.is_cuda()) limit_host_memory();
  result_file results{options.output_directory, "attention", attention_key_columns, attention_value_columns};
  // From small to large, so that an interrupted command has completed as many rows as possible.
  std::sort(wanted.lengths.begin(), wanted.lengths.end());
  std::sort(wanted.d_models.begin(), wanted.d_models.end());
  std::vector<cell> cells;
  for (std::int64_t const length : wanted.lengths) {
    for (std::int64_t const d_model : wanted.d_models) {
      for (precision_kind const precision : wanted.precisions) {
        for (attention_kind const implementation : wanted.implementations) {
          attention_config config = wanted.common;
          config.length = length;
          config.d_model = d_model;
          config.precision = precision;
          config.implementation = implementation;
          cells.push_back(
              {key_of(config, options, device), weight_of(config), [=, &device] { return measure_cell(config, options, device); }});
        }
      }
    }
  }
  fmt::print("{} cells on {}\n", cells.size(), device.description());
  measure_cells(results, cells);
  row_list const rows = rows_by_size(results, device);
  std::string const tables = attention_table(results, rows, device).markdown() + "\n" + comparison_table(results, rows).markdown();
  fmt::print("\n{}", tables);
  if (!options.output_directory.empty()) replace_file(std::filesystem::path{options.output_directory} / "attention.md", tables);
  return exit_code::success;
}

}  // namespace

void add_attention_command(CLI::App& app, command& chosen) {
  auto const wanted = std::make_shared<attention_sweep>();
  auto const options = std::make_shared<profkit::options>(timed_steps_options());
  CLI::App& sub = *app.add_subcommand(
      "attention",
      "Measure causal attention with one head, naive and fused: times and memory per configuration; resumes an interrupted run");
  sub.add_option("--d-models", wanted->d_models, "Dimensions of the head, a row for each")
      ->check(size_range())
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--seq-lens", wanted->lengths, "Tokens per sequence, a row for each")
      ->check(size_range())
      ->delimiter(',')
      ->capture_default_str();
  sub.add_option("--batch", wanted->common.batch, "Sequences per step")->check(size_range())->capture_default_str();
  add_choices(sub, "--impls", wanted->implementations, attention_impls, "naive: separate operations; fused: scaled_dot_product_attention");
  add_choices(sub, "--precisions", wanted->precisions, tensor_precisions, "Type of the tensors; tf32 needs a GPU");
  sub.add_option("--warmup", options->warmup_steps, "Warm-up steps of each configuration")->check(count_range())->capture_default_str();
  sub.add_option("--steps", options->measured_steps, "Measured steps of each configuration")->check(count_range())->capture_default_str();
  add_choice(sub, "--device", wanted->device, devices, "auto uses a GPU if there is one");
  sub.add_option("--seed", wanted->common.seed, "Seed of the random tensors")->check(count_range())->capture_default_str();
  sub.add_option("--out", options->output_directory,
                 "Directory of attention.csv, attention.json and attention.md; configurations already in it are not measured again");
  sub.callback([wanted, options, &chosen] { chosen = [wanted, options] { return sweep_attention(*wanted, *options); }; });
}

}  // namespace trainer
