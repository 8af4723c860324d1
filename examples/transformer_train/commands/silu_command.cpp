// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
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
#include "commands/silu_case.hpp"
#include "device.hpp"
#include "files.hpp"
#include "measure/timed_steps.hpp"
#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

/// The types of the tensors.
constexpr name_table<precision_kind, 3> silu_precisions{
    {{"fp32", precision_kind::fp32}, {"bf16", precision_kind::bf16}, {"fp16", precision_kind::fp16}}};

std::vector<std::string> const silu_key_columns{"impl", "rows", "columns", "precision", "warmup", "steps", "device"};
std::vector<std::string> const silu_value_columns{"status",       "forward_us",    "backward_us",     "forward_kernels", "backward_kernels",
                                                  "forward_GB/s", "backward_GB/s", "forward_host_us", "backward_host_us"};

std::vector<std::string> key_of(silu_config const& config, profkit::options const& options, compute_device const& device) {
  return {std::string{name_of(silu_impls, config.implementation)},
          std::to_string(config.rows),
          std::to_string(config.columns),
          std::string{name_of(silu_precisions, config.precision)},
          std::to_string(options.warmup_steps),
          std::to_string(options.measured_steps),
          device.description()};
}

/// Kernel time in one direction, over all measured steps.
struct kernel_work {
  milliseconds time{};
  std::uint64_t kernels = 0;
};

struct both_directions {
  kernel_work forward;
  kernel_work backward;
};

/// Empty if kernels were not collected.
std::optional<both_directions> kernels_of(profkit::summary const& summary) {
  profkit::scope_summary const* const forward = find_scope(summary, "step/forward");
  if (!summary.gpu || forward == nullptr || !forward->gpu) return std::nullopt;
  kernel_work const first{forward->gpu->kernel_time, forward->gpu->kernels};
  // Autograd launches the backward pass on its own thread, which has no open scope. A step launches nothing else.
  return both_directions{first, {summary.gpu->all.kernel_time - first.time, summary.gpu->all.kernels - first.kernels}};
}

std::string in_us(std::optional<milliseconds> time) { return time ? fmt::format("{:.1f}", time->count() * 1e3) : not_measured; }

std::string gigabytes_per_second(double bytes, milliseconds time) {
  return time.count() > 0.0 ? fmt::format("{:.0f}", bytes / (time.count() * 1e-3) / 1e9) : not_measured;
}

std::vector<std::string> measure_cell(silu_config const& config, profkit::options const& options, compute_device const& device) {
  device.release_memory();
  std::vector<std::string> row(silu_value_columns.size(), not_measured);
  try {
    silu_case silu{config, device};
    profkit::report const report = time_steps(device, options, /*with_kernels=*/true, [&] { silu.step(); });
    row = {"ok"};
    auto const steps = static_cast<double>(report.summary().gpu ? report.summary().gpu->steps : 0);
    std::optional<both_directions> const work = kernels_of(report.summary());
    if (work && steps > 0.0) {
      double const tensor_bytes = static_cast<double>(config.elements()) * (config.precision == precision_kind::fp32 ? 4.0 : 2.0);
      milliseconds const forward = work->forward.time / steps;
      milliseconds const backward = work->backward.time / steps;
      row.insert(row.end(), {in_us(forward), in_us(backward), fmt::format("{:g}", static_cast<double>(work->forward.kernels) / steps),
                             fmt::format("{:g}", static_cast<double>(work->backward.kernels) / steps),
                             gigabytes_per_second(2.0 * tensor_bytes, forward), gigabytes_per_second(3.0 * tensor_bytes, backward)});
    } else {
      row.insert(row.end(), 6, not_measured);
      if (device.is_cuda()) fmt::print(stderr, "{}\n", why_no_kernels(report.summary()));
    }
    for (char const* phase : {"step/forward", "step/backward"}) {
      profkit::scope_summary const* const scope = find_scope(report.summary(), phase);
      row.push_back(scope == nullptr ? not_measured : in_us(scope->host.mean));
    }
  } catch (out_of_memory const&) {
    row.front() = "OOM";
  }
  return row;
}

/// The two implementations of each shape, and the ratios of their times.
titled_table silu_table(result_file const& results, compute_device const& device) {
  std::vector<std::string> columns = results.columns();
  std::erase(columns, "device");
  string_table table{columns, 1};
  auto const cell = [&](std::vector<std::string> const& row, std::string const& column) { return row[results.column(column)]; };
  auto const add = [&](std::vector<std::string> const& row) {
    std::vector<std::string> cells;
    for (std::string const& column : columns) cells.push_back(cell(row, column));
    table.add(std::move(cells));
  };
  std::vector<std::string> compared{"forward_us", "backward_us", "forward_kernels", "backward_kernels"};
  if (!device.is_cuda()) compared.insert(compared.end(), {"forward_host_us", "backward_host_us"});
  for (auto const& naive : results.rows()) {
    if (cell(naive, "device") != device.description() || cell(naive, "impl") != "naive") continue;
    for (auto const& native : results.rows()) {
      bool const is_partner = cell(native, "impl") == "native" &&
                              std::all_of(silu_key_columns.begin() + 1, silu_key_columns.end(),
                                          [&](std::string const& column) { return cell(naive, column) == cell(native, column); });
      if (!is_partner) continue;
      add(naive);
      add(native);
      std::vector<std::string> ratios(naive.size());
      ratios[results.column("impl")] = "naive / native";
      for (std::string const& column : compared) ratios[results.column(column)] = ratio(cell(naive, column), cell(native, column));
      add(ratios);
    }
  }
  return {"T11. SiLU, naive and native",
          std::move(table),
          {fmt::format("On {}. naive: x / (1 + exp(-x)) as four operations, with the backward pass of autograd; native: at::silu.",
                       device.description()),
           "forward and backward are kernel times per call and kernels is their number: means over the steps, from CUPTI; n/a "
           "if kernels are not collected. Backward is everything that a step launches outside its forward pass.",
           "GB/s (10^9 bytes) uses the minimum number of bytes: forward reads x and writes y, 2 tensors of rows x columns; "
           "backward reads x and dy and writes dx, 3 tensors.",
           device.is_cuda() ? "host is the host time of the phase: the time to launch it, not its duration on the GPU. OOM: out of memory."
                            : "host is the host time of the phase. OOM: out of memory."}};
}

exit_code compare_silu(silu_config const& wanted, device_kind wanted_device, profkit::options const& options) {
  compute_device const device{wanted_device};
  if (!device.is_cuda()) limit_host_memory();
  result_file results{options.output_directory, "silu", silu_key_columns, silu_value_columns};
  std::vector<cell> cells;
  for (auto const& implementation : silu_impls) {
    silu_config config = wanted;
    config.implementation = implementation.value;
    double const weight = config.implementation == silu_kind::naive ? 5.0 : 1.0;
    cells.push_back({key_of(config, options, device), weight, [=, &device] { return measure_cell(config, options, device); }});
  }
  measure_cells(results, cells);
  titled_table const table = silu_table(results, device);
  fmt::print("{}", table.markdown());
  if (!options.output_directory.empty()) {
    replace_file(std::filesystem::path{options.output_directory} / "silu.md", table.markdown());
  }
  return exit_code::success;
}

}  // namespace

void add_silu_command(CLI::App& app, command& chosen) {
  auto const wanted = std::make_shared<silu_config>();
  auto const device = std::make_shared<device_kind>(device_kind::automatic);
  auto const options = std::make_shared<profkit::options>(timed_steps_options());
  CLI::App& sub = *app.add_subcommand(
      "silu", "Compare SiLU from separate operations with LibTorch's: time and number of kernels, forward and backward");
  sub.add_option("--rows", wanted->rows, "Rows of x; the defaults match SwiGLU's activations for 8 sequences of 1024 tokens with d_ff 4096")
      ->check(size_range())
      ->capture_default_str();
  sub.add_option("--columns", wanted->columns, "Columns of x")->check(size_range())->capture_default_str();
  add_choice(sub, "--precision", wanted->precision, silu_precisions, "Type of the tensors");
  sub.add_option("--warmup", options->warmup_steps, "Warm-up calls")->check(count_range())->capture_default_str();
  sub.add_option("--steps", options->measured_steps, "Measured calls")->check(count_range())->capture_default_str();
  add_choice(sub, "--device", *device, devices, "auto uses a GPU if there is one");
  sub.add_option("--seed", wanted->seed, "Seed of the random numbers")->check(count_range())->capture_default_str();
  sub.add_option("--out", options->output_directory,
                 "Directory of silu.csv, silu.json and silu.md; results already in it are not measured again");
  sub.callback([=, &chosen] { chosen = [=] { return compare_silu(*wanted, *device, *options); }; });
}

}  // namespace trainer
