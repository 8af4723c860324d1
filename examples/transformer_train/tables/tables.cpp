// SPDX-License-Identifier: Apache-2.0
#include "tables/tables.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"

namespace trainer {

namespace {

std::string attention_of(run_config const& config) {
  if (config.fused) return "sdpa, fused";
  std::string const attention{name_of(attentions, config.attention)};
  return config.package_file.empty() ? attention : attention + ", compiled";
}

}  // namespace

std::string titled_table::text() const {
  std::string result = fmt::format("{}\n\n{}", title, content.to_text());
  for (std::string const& note : notes) result += fmt::format("  {}\n", note);
  return result;
}

std::string titled_table::markdown() const {
  std::string result = fmt::format("## {}\n\n{}\n", title, content.to_markdown());
  for (std::string const& note : notes) result += fmt::format("* {}\n", note);
  return result;
}

titled_table step_summary_table(run_config const& config, profkit::summary const& summary) {
  profkit::step_summary const& steps = summary.steps;
  profkit::duration_summary const& timed = steps.gpu ? *steps.gpu : steps.host;
  string_table table{{"size", "ctx", "batch", "mode", "precision", "attention", "warmup", "steps", "avg_ms", "std_ms", "tokens/s",
                      "host_ms", "gpu_ms", "peak_allocated_MiB", "peak_reserved_MiB"}};
  table.add({std::string{config.size.name}, std::to_string(config.ctx), std::to_string(config.batch),
             std::string{name_of(run_modes, config.mode)}, std::string{name_of(precisions, config.precision)}, attention_of(config),
             std::to_string(steps.warmup), std::to_string(steps.host.count), in_ms(timed.mean), in_ms(timed.standard_deviation),
             steps.items_per_second ? fmt::format("{:.0f}", *steps.items_per_second) : not_measured, in_ms(steps.host.mean),
             steps.gpu ? in_ms(steps.gpu->mean) : not_measured, in_mib(allocator_peak(summary, "allocated")),
             in_mib(allocator_peak(summary, "reserved"))});
  std::vector<std::string> notes;
  notes.push_back(steps.gpu ? "avg_ms and std_ms are gpu_ms: the time between CUDA events around a step. The host may run ahead of it."
                            : "avg_ms and std_ms are host_ms: no GPU was timed.");
  notes.push_back(
      "std_ms is of the sample (n - 1). Peaks are those of LibTorch's CUDA allocator over the measured steps; n/a without a GPU.");
  return {"T1. Step summary", std::move(table), std::move(notes)};
}

}  // namespace trainer
