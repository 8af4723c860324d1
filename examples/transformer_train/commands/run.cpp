// SPDX-License-Identifier: Apache-2.0
#include "commands/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "errors.hpp"
#include "files.hpp"
#include "measure/measurement.hpp"
#include "memory/memory_timeline.hpp"
#include "tables/tables.hpp"
#include "training/text.hpp"

namespace trainer {

namespace {

namespace fs = std::filesystem;

std::string describe(run_config const& config, compute_device const& device) {
  std::string const ranks = config.ranks.has_others() ? fmt::format(" on each of {} ranks", config.ranks.size) : std::string{};
  std::string text =
      fmt::format("{} ({:.1f} M parameters), ctx {}, batch {}{}, {}, {}, {} attention", config.size.name,
                  static_cast<double>(parameter_count(config.size)) / 1e6, config.ctx, config.batch, ranks, name_of(run_modes, config.mode),
                  name_of(precisions, config.precision), name_of(attentions, config.attention));
  if (config.mode == run_mode::train) text += fmt::format(", {} with lr {}", name_of(optimizers, config.optimizer), config.learning_rate);
  if (config.fused) text += ", fused operations";
  if (!config.package_file.empty()) text += ", compiled";
  if (config.graph) text += ", replayed from a CUDA graph";
  return text + ", on " + device.description();
}

double mean(std::span<float const> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void print_loop(measurement const& run) {
  if (run.loop_step)
    fmt::print("measured loop: {:.4f} ms a step ({} steps, {})\n", run.loop_step->count(), run.loop_steps, run.loop_source);
}

/// One line for the table of profiling costs.
void print_phases(measurement const& run) {
  std::string line;
  for (timed_phase const& phase : run.phases) {
    line += fmt::format("{}{} {:.4f}", line.empty() ? "" : ", ", phase.name, phase.mean.count());
    if (phase.standard_deviation) line += fmt::format(" +- {:.4f}", phase.standard_deviation->count());
    line += " ms";
  }
  if (!line.empty()) fmt::print("phase times: {} ({} steps, {})\n", line, run.phases.front().count, run.loop_source);
}

/// The losses of the first and the last steps, or one mean if the weights do not change.
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

void print_ranks(run_config const& config) {
  if (config.ranks.has_others()) fmt::print("parameters: equal on all {} ranks, to the last bit\n", config.ranks.size);
}

/// One row for each step, with all digits that a float has.
std::string csv_of_losses(std::vector<float> const& losses) {
  std::string csv = "step,loss\n";
  for (std::size_t i = 0; i < losses.size(); ++i) csv += fmt::format("{},{:.9g}\n", i, losses[i]);
  return csv;
}

/// The backend of scaled_dot_product_attention: the one that LibTorch chooses, and the one that ran according to the kernel names.
void print_attention_backend(measurement const& run) {
  if (!run.attention_backend) return;
  auto const ran = sdpa_backend_of(run.report.summary());
  fmt::print("scaled_dot_product_attention: {}{}\n", *run.attention_backend, ran ? fmt::format(", by its kernels {}", *ran) : "");
}

void print_roofs(profkit::profile const& profile) {
  for (profkit::measured_roof_record const& roof : profile.measured_roofs) {
    fmt::print("measured roof, {}: {:.1f} TFLOP/s, {:.0f} GB/s ({})\n", name_of(roof.precision), roof.flops_per_second * 1e-12,
               roof.bytes_per_second * 1e-9, roof.how);
  }
}

void print_skipped_steps(measurement const& run) {
  if (run.skipped_steps) fmt::print("skipped steps: {} of {}, whose scaled gradients overflowed\n", *run.skipped_steps, run.losses.size());
}

void print_nodes(measurement const& run) {
  if (!run.nodes) return;
  bridged_nodes const& nodes = *run.nodes;
  fmt::print("backward: {} nodes, {} for a forward scope, {} of unknown forward, {} of higher order\n",
             nodes.matched + nodes.unknown + nodes.higher_order, nodes.matched, nodes.unknown, nodes.higher_order);
}

struct run_table {
  std::string file_name;
  titled_table table;
  bool is_printed;
};

/// Other tables compare kernel time with host time over all measured steps.
bool has_kernels_of_all_steps(profkit::summary const& summary) { return !summary.gpu || summary.gpu->steps == summary.steps.host.count; }

std::vector<run_table> tables_of(run_config const& config, profkit::report const& report) {
  profkit::summary const& summary = report.summary();
  if (!has_kernels_of_all_steps(summary)) {
    return {{"t1", step_summary_table(config, summary), true}, {"types", type_table(summary), true}};
  }
  std::vector<run_table> tables{{"t1", step_summary_table(config, summary), true}, {"t2", section_table(config, summary), true}};
  if (std::optional<backward_tables> backward = backward_tables_of(report.profile(), summary)) {
    tables.push_back({"t14_by_name", std::move(backward->by_name), true});
    tables.push_back({"t14", std::move(backward->by_scope), false});
  }
  if (summary.gpu) tables.push_back({"types", type_table(summary), true});
  if (config.questions) tables.push_back({"t6", questions_table(config, report.profile(), summary), true});
  tables.push_back({"t8", layer_table(config, summary), false});
  return tables;
}

void write_memory(memory_record const& memory, profkit::profile const& profile, std::string const& title, fs::path const& directory) {
  replace_file(directory / "memory_snapshot.pickle", memory.snapshot);
  replace_file(directory / "memory_timeline.svg", to_svg(last_step_of(profile, memory.history, title)));
}

}  // namespace

exit_code run(run_config const& config, profkit::options const& options) {
  // Only rank 0 prints; other ranks write files.
  if (config.ranks.rank > 0 && std::freopen("/dev/null", "w", stdout) == nullptr) throw std::runtime_error{"cannot open /dev/null"};
  compute_device const device{config.device, config.graph, config.ranks.local_rank};
  check_run(config, device, options);
  std::optional<text> data;
  if (!config.data_file.empty()) data.emplace(config.data_file, config.ctx);
  fs::path directory = options.output_directory;
  fs::path profile_file{config.profile_file};
  if (config.ranks.has_others()) {
    std::string const name = "rank" + std::to_string(config.ranks.rank);
    if (!directory.empty()) directory /= name;
    if (!profile_file.empty()) profile_file += "." + name;
  }
  if (!directory.empty()) check_output_directory("--out", directory);
  if (config.memory_snapshot && directory.empty()) throw input_error{"--memory-snapshot: needs --out, the directory to write it into"};
  if (profile_file.has_parent_path()) check_output_directory("--save-profile", profile_file.parent_path());
  if (!device.is_cuda()) limit_host_memory();

  fmt::print("{}\n", describe(config, device));
  std::fflush(stdout);
  measurement const measured = measure(config, device, std::move(data), options, /*shows_progress=*/config.ranks.rank == 0);
  print_roofs(measured.report.profile());
  print_loop(measured);
  print_phases(measured);
  print_attention_backend(measured);
  print_skipped_steps(measured);
  print_nodes(measured);
  print_losses(config, measured.losses);
  if (!measured.memory_failure) print_ranks(config);
  if (measured.held_out_after) {
    fmt::print("held-out loss, nats per byte: {:.4f} before training, {:.4f} after\n", *measured.held_out_before, *measured.held_out_after);
  }

  profkit::report const& report = measured.report;
  std::vector<run_table> const tables = tables_of(config, report);
  if (options.full_report) {
    fmt::print("\n{}", report.full_text());
  } else if (options.print_report) {
    fmt::print("\n{}", report);
  }
  for (run_table const& each : tables) {
    if (each.is_printed) fmt::print("\n{}", each.table.text());
  }
  if (!has_kernels_of_all_steps(report.summary())) {
    fmt::print(
        "\nT2, T6, T8 and T14 are omitted: they need the kernels of all measured steps, and kernels=every:N collects some of them\n");
  }
  if (!directory.empty()) {
    report.write(directory);
    std::string markdown;
    for (run_table const& each : tables) {
      replace_file(directory / (each.file_name + ".csv"), each.table.content.to_csv());
      if (!markdown.empty()) markdown += "\n";
      markdown += each.table.markdown();
    }
    replace_file(directory / "tables.md", markdown);
    replace_file(directory / "losses.csv", csv_of_losses(measured.losses));
    if (measured.memory) write_memory(*measured.memory, report.profile(), describe(config, device), directory);
    fmt::print("\nreports and tables are in {}\n", directory.string());
  }
  if (!profile_file.empty()) {
    profkit::save(report.profile(), profile_file);
    fmt::print("the profile is in {}\n", profile_file.string());
  }
  if (!measured.memory_failure) return exit_code::success;
  fmt::print(stderr, "transformer_train: {}\n", *measured.memory_failure);
  return exit_code::out_of_memory;
}

}  // namespace trainer
