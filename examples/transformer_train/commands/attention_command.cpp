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

/// Roughly what a cell takes beside the others, for the time that is left. 14 FLOPs for each pair of tokens and each dimension: two matrix
/// products forward (4), their backward (8), and half of the forward again, since fused attention keeps no scores. Written out, memory
/// is read and written some 25 times for each pair, in each of which a GPU could do 80 FLOPs. And a floor for what the host does.
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
      {fmt::format("On {}. Times are {}: mean and standard deviation of the sample (n - 1) over the steps.", device.description(),
                   device.is_cuda() ? "between CUDA events around the phase; a small one is mostly the time that the host takes to launch"
                                    : "those of the phase by the host's clock"),
       "One head, causal mask. Query, key and value are random, [batch, seq_len, d_model], in the type that precision names (tf32: fp32 "
       "whose matrix products may round to TF32), without autocast.",
       "naive: matmul, scale, mask, max, subtract, exp, sum, divide, matmul. fused: scaled_dot_product_attention; backend is the one "
       "that LibTorch chooses for these tensors.",
       "before_backward is what LibTorch's allocator held between the phases, peak_allocated its peak over the measured steps, both with "
       "the inputs, the naive mask and cuBLAS's workspaces; n/a without a GPU. OOM: it does not fit."}};
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
  return {
      "T5. Naive over fused",
      std::move(table),
      {"How many times the time and the memory of fused attention naive attention takes. OOM: naive attention does not fit; n/a: there is "
       "nothing to compare."}};
}

void check_sweep(attention_sweep const& wanted, compute_device const& device) {
  bool const has_tf32 = std::count(wanted.precisions.begin(), wanted.precisions.end(), precision_kind::tf32) > 0;
  if (!device.is_cuda() && has_tf32) {
    throw input_error{"--precisions tf32: only a GPU computes in TF32; use --precisions fp32,bf16 on the CPU"};
  }
}

exit_code sweep_attention(attention_sweep wanted, profkit::options const& options) {
  compute_device const device{wanted.device};
  check_sweep(wanted, device);
  if (!device.is_cuda()) limit_host_memory();
  result_file results{options.output_directory, "attention", attention_key_columns, attention_value_columns};
  // From small to large, so that an interrupted command has completed the most rows.
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
      "attention", "Causal attention of one head by itself, written out and fused: times and memory, a row each; goes on where it was");
  sub.add_option("--d-models", wanted->d_models, "Dimensions of the head")->check(size_range())->delimiter(',')->capture_default_str();
  sub.add_option("--seq-lens", wanted->lengths, "Tokens of a sequence")->check(size_range())->delimiter(',')->capture_default_str();
  sub.add_option("--batch", wanted->common.batch, "Sequences of a step")->check(size_range())->capture_default_str();
  add_choices(sub, "--impls", wanted->implementations, attention_impls, "Written out, or LibTorch's fused one");
  add_choices(sub, "--precisions", wanted->precisions, tensor_precisions, "Type of the tensors; tf32 needs a GPU");
  sub.add_option("--warmup", options->warmup_steps, "Steps before measuring, of each cell")->check(count_range())->capture_default_str();
  sub.add_option("--steps", options->measured_steps, "Measured steps of each cell")->check(count_range())->capture_default_str();
  add_choice(sub, "--device", wanted->device, devices, "auto takes a GPU if there is one");
  sub.add_option("--seed", wanted->common.seed, "Of the random tensors")->check(count_range())->capture_default_str();
  sub.add_option("--out", options->output_directory,
                 "Keep attention.csv, attention.json and attention.md here; cells that are in it already are not measured again");
  sub.callback([wanted, options, &chosen] { chosen = [wanted, options] { return sweep_attention(*wanted, *options); }; });
}

}  // namespace trainer
