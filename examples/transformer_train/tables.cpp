// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "torch_memory.hpp"

namespace trainer {

namespace {

using profkit::milliseconds;

constexpr char const* not_measured = "n/a";

std::string in_ms(std::optional<milliseconds> time) { return time ? fmt::format("{:.3f}", time->count()) : not_measured; }

std::string in_mib(std::optional<std::uint64_t> bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / (1024.0 * 1024.0)) : not_measured;
}

std::string percent(std::optional<milliseconds> part, std::optional<milliseconds> whole) {
  if (!part || !whole || whole->count() <= 0.0) return not_measured;
  return fmt::format("{:.1f} %", 100.0 * (*part / *whole));
}

std::optional<std::uint64_t> allocator_peak(profkit::summary const& summary, std::string_view quantity) {
  for (profkit::memory_summary const& memory : summary.memory) {
    if (memory.source == torch_memory::source_name && memory.quantity == quantity) return memory.peak_bytes;
  }
  return std::nullopt;
}

/// Time of a section in all measured steps; n/a if it was not measured.
struct section_time {
  std::optional<milliseconds> host;
  std::optional<milliseconds> gpu;
};

std::optional<milliseconds> operator+(std::optional<milliseconds> a, std::optional<milliseconds> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<milliseconds> operator-(std::optional<milliseconds> a, std::optional<milliseconds> b) {
  if (!a || !b) return std::nullopt;
  return *a - *b;
}

section_time operator+(section_time const& a, section_time const& b) { return {a.host + b.host, a.gpu + b.gpu}; }
section_time operator-(section_time const& a, section_time const& b) { return {a.host - b.host, a.gpu - b.gpu}; }

/// Looks sections up in the tree of scopes.
class sections {
 public:
  explicit sections(profkit::summary const& of) : summary_{of} {}

  [[nodiscard]] section_time steps() const {
    if (summary_.steps.host.count == 0) return {};
    section_time time{summary_.steps.host.total, {}};
    if (summary_.steps.gpu) time.gpu = summary_.steps.gpu->total;
    return time;
  }

  [[nodiscard]] section_time phase(std::string const& name) const {
    for (profkit::scope_summary const& scope : summary_.scopes) {
      if (scope.path == "step/" + name) return time_of(scope);
    }
    return {};
  }

  [[nodiscard]] std::optional<milliseconds> self(std::string const& phase_name) const {
    for (profkit::scope_summary const& scope : summary_.scopes) {
      if (scope.path == "step/" + phase_name) return scope.host_self;
    }
    return std::nullopt;
  }

  /// The attention sublayers of all layers in the forward pass.
  [[nodiscard]] section_time attention() const { return sum("/attention_sublayer"); }
  /// One part of them.
  [[nodiscard]] section_time attention(std::string const& part) const { return sum("/attention_sublayer/" + part); }

 private:
  static section_time time_of(profkit::scope_summary const& scope) {
    section_time time{scope.host.total, {}};
    if (scope.gpu_events) time.gpu = scope.gpu_events->total;
    return time;
  }

  [[nodiscard]] section_time sum(std::string_view end_of_path) const {
    std::optional<section_time> total;
    for (profkit::scope_summary const& scope : summary_.scopes) {
      std::string_view const path = scope.path;
      if (!path.starts_with("step/forward/layer_") || !path.ends_with(end_of_path)) continue;
      total = total ? *total + time_of(scope) : time_of(scope);
    }
    return total.value_or(section_time{});
  }

  profkit::summary const& summary_;
};

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
  profkit::table table{{"size", "ctx", "batch", "mode", "precision", "attention", "warmup", "steps", "avg_ms", "std_ms", "tokens/s",
                        "host_ms", "gpu_ms", "peak_allocated_MiB", "peak_reserved_MiB"}};
  table.add({std::string{config.size.name}, std::to_string(config.ctx), std::to_string(config.batch),
             std::string{name_of(run_modes, config.mode)}, std::string{name_of(precisions, config.precision)},
             std::string{name_of(attentions, config.attention)}, std::to_string(steps.warmup), std::to_string(steps.host.count),
             in_ms(timed.mean), in_ms(timed.standard_deviation),
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

titled_table section_table(run_config const& config, profkit::summary const& summary) {
  profkit::table table{
      {"section", "metric", "host_total_ms", "host_ms/step", "host_share", "gpu_total_ms", "gpu_ms/step", "gpu_share", "share_of"},
      /*text_columns=*/2};
  std::uint64_t const count = summary.steps.host.count;
  auto const per_step = [&](std::optional<milliseconds> total) -> std::optional<milliseconds> {
    if (!total || count == 0) return std::nullopt;
    return *total / static_cast<double>(count);
  };
  auto const add = [&](char const* section, char const* metric, section_time const& time, section_time const& whole, char const* share_of) {
    table.add({section, metric, in_ms(time.host), in_ms(per_step(time.host)), percent(time.host, whole.host), in_ms(time.gpu),
               in_ms(per_step(time.gpu)), percent(time.gpu, whole.gpu), share_of});
  };

  sections const of{summary};
  section_time const step = of.steps();
  section_time const forward = of.phase("forward");
  section_time const mha = of.attention();
  section_time const qkv = of.attention("attention projections");
  section_time const output = of.attention("output projection");
  section_time const rope_q = of.attention("rope q");
  section_time const rope_k = of.attention("rope k");

  add("run", "step", step, step, "step");
  add("run", "data", of.phase("data"), step, "step");
  add("run", "FORWARD inclusive", forward, step, "step");
  add("run", "BACKWARD inclusive", of.phase("backward"), step, "step");
  add("run", "OPTIMIZER inclusive", of.phase("optimizer"), step, "step");
  add("run", "OPTIMIZER exclusive", {of.self("optimizer"), {}}, step, "step");
  add("attention", "MHA total", mha, forward, "FORWARD");
  add("attention", "QKV projections", qkv, mha, "MHA total");
  add("attention", "output projection", output, mha, "MHA total");
  add("attention", "RoPE(Q)", rope_q, mha, "MHA total");
  add("attention", "RoPE(K)", rope_k, mha, "MHA total");
  section_time parts = qkv + output + rope_q + rope_k;
  if (config.attention == attention_kind::naive) {
    section_time const scores = of.attention("attention scores + mask");
    section_time const softmax = of.attention("softmax");
    section_time const value = of.attention("attention x value");
    add("attention", "attention logits + mask", scores, mha, "MHA total");
    add("attention", "softmax", softmax, mha, "MHA total");
    add("attention", "attention x V", value, mha, "MHA total");
    parts = parts + scores + softmax + value;
  } else {
    section_time const fused = of.attention("scaled dot product attention");
    add("attention", "scaled dot product attention", fused, mha, "MHA total");
    parts = parts + fused;
  }
  add("attention", "MHA linear (QKV + output)", qkv + output, mha, "MHA total");
  add("attention", "MHA residual (total - parts)", mha - parts, mha, "MHA total");
  add("forward", "non-attention forward", forward - mha, forward, "FORWARD");
  for (char const* metric : {"total", "matmul", "elementwise", "optimizer/multi-tensor", "softmax fwd", "softmax bwd", "reduction", "other",
                             "top kernel and its calls"}) {
    add("GPU kernels", metric, {}, {}, "GPU kernels total");
  }

  std::vector<std::string> notes{fmt::format("{} measured steps, batch {}, ctx {}.", count, config.batch, config.ctx)};
  if (step.gpu && !config.synchronise_phases) {
    notes.emplace_back("Host columns are the time to launch, which may run ahead of the GPU; --sync makes each phase wait for its work.");
  }
  notes.emplace_back(
      "GPU columns are the time between CUDA events, for the step and its phases. n/a: not measured, or not part of this mode.");
  notes.emplace_back("GPU kernels: kernels are not collected.");
  return {"T2. Section breakdown", std::move(table), std::move(notes)};
}

}  // namespace trainer
