// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tables/lookup.hpp"
#include "tables/table_cells.hpp"
#include "tables/tables.hpp"

namespace trainer {

namespace {

/// Time of a section in all measured steps; n/a if it was not measured.
struct section_time {
  std::optional<milliseconds> host;
  std::optional<milliseconds> gpu;   ///< between CUDA events
  std::optional<milliseconds> work;  ///< of the kernels, copies and memsets launched in it
};

std::optional<milliseconds> operator+(std::optional<milliseconds> a, std::optional<milliseconds> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<milliseconds> operator-(std::optional<milliseconds> a, std::optional<milliseconds> b) {
  if (!a || !b) return std::nullopt;
  return *a - *b;
}

section_time operator+(section_time const& a, section_time const& b) { return {a.host + b.host, a.gpu + b.gpu, a.work + b.work}; }
section_time operator-(section_time const& a, section_time const& b) { return {a.host - b.host, a.gpu - b.gpu, a.work - b.work}; }

/// Finds sections in the tree of scopes.
class sections {
 public:
  explicit sections(profkit::summary const& summary) : summary_{summary} {}

  [[nodiscard]] section_time steps() const {
    if (summary_.steps.host.count == 0) return {};
    section_time time{summary_.steps.host.total, {}, {}};
    if (summary_.steps.gpu) time.gpu = summary_.steps.gpu->total;
    if (summary_.gpu) time.work = summary_.gpu->all.kernel_time;
    return time;
  }

  [[nodiscard]] section_time phase(std::string const& name) const {
    profkit::scope_summary const* const scope = find(name);
    return scope == nullptr ? section_time{} : time_of(*scope);
  }

  /// The phase without the scopes inside it.
  [[nodiscard]] section_time self(std::string const& name) const {
    profkit::scope_summary const* const scope = find(name);
    if (scope == nullptr) return {};
    section_time time{scope->host_self, {}, {}};
    if (scope->gpu) time.work = scope->gpu->kernel_self;
    return time;
  }

  [[nodiscard]] bool is_backward_in_scopes() const { return trainer::is_backward_in_scopes(summary_); }

  /// The attention sublayers of all layers in the forward pass.
  [[nodiscard]] section_time attention() const { return sum("/attention_sublayer"); }
  /// One part of these sublayers.
  [[nodiscard]] section_time attention(std::string const& part) const { return sum("/attention_sublayer/" + part); }

 private:
  [[nodiscard]] profkit::scope_summary const* find(std::string const& phase_name) const {
    return find_scope(summary_, "step/" + phase_name);
  }

  static section_time time_of(profkit::scope_summary const& scope) {
    section_time time{scope.host.total, {}, {}};
    if (scope.gpu_events) time.gpu = scope.gpu_events->total;
    if (scope.gpu) time.work = scope.gpu->kernel_time;
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

/// One row of T2.
struct section_row {
  std::string section;
  std::string metric;
  section_time time;
  section_time whole;
  std::string share_of;
};

std::vector<section_row> host_rows(run_config const& config, sections const& sections) {
  section_time const step = sections.steps();
  section_time const forward = sections.phase("forward");
  auto const backward = [&](section_time time) {
    if (!sections.is_backward_in_scopes()) time.work.reset();
    return time;
  };
  section_time const mha = sections.attention();
  section_time const qkv = sections.attention("attention projections");
  section_time const output = sections.attention("output projection");

  std::vector<section_row> rows{{"run", "step", step, step, "step"},
                                {"run", "data", sections.phase("data"), step, "step"},
                                {"run", "FORWARD inclusive", forward, step, "step"},
                                {"run", "FORWARD exclusive", sections.self("forward"), step, "step"},
                                {"run", "BACKWARD inclusive", backward(sections.phase("backward")), step, "step"},
                                {"run", "BACKWARD exclusive", backward(sections.self("backward")), step, "step"},
                                {"run", "OPTIMIZER inclusive", sections.phase("optimizer"), step, "step"},
                                {"run", "OPTIMIZER exclusive", sections.self("optimizer"), step, "step"},
                                {"attention", "MHA total", mha, forward, "FORWARD"},
                                {"attention", "QKV projections", qkv, mha, "MHA total"},
                                {"attention", "output projection", output, mha, "MHA total"}};
  section_time parts = qkv + output;
  auto const add_part = [&](char const* metric, char const* scope) {
    section_time const part = sections.attention(scope);
    rows.push_back({"attention", metric, part, mha, "MHA total"});
    parts = parts + part;
  };
  if (config.fused) {
    add_part("RoPE(Q and K)", "rope q and k");
  } else {
    add_part("RoPE(Q)", "rope q");
    add_part("RoPE(K)", "rope k");
  }
  if (config.attention == attention_kind::naive && !config.fused) {
    add_part("attention logits + mask", "attention scores + mask");
    add_part("softmax", "softmax");
    add_part("attention x V", "attention x value");
  } else {
    add_part("scaled dot product attention", "scaled dot product attention");
  }
  rows.push_back({"attention", "MHA linear (QKV + output)", qkv + output, mha, "MHA total"});
  rows.push_back({"attention", "MHA residual (total - parts)", mha - parts, mha, "MHA total"});
  rows.push_back({"forward", "non-attention forward", forward - mha, forward, "FORWARD"});
  return rows;
}

/// The row of T2 for a kernel class.
std::string kernel_row(profkit::kernel_summary const& kernel) {
  if (kernel.kernel_class == "optimizer") return "optimizer/multi-tensor";
  if (kernel.kernel_class != "softmax") return kernel.kernel_class;
  return kernel.name.find("ackward") == std::string::npos ? "softmax fwd" : "softmax bwd";
}

std::vector<section_row> kernel_rows(std::optional<profkit::gpu_summary> const& gpu) {
  std::vector<std::pair<std::string, section_time>> classes;
  for (char const* name : {"matmul", "elementwise", "copy/cast", "optimizer/multi-tensor", "softmax fwd", "softmax bwd", "reduction",
                           "norm", "embedding/index", "attention", "other"}) {
    classes.emplace_back(name, section_time{});
  }
  section_time total;
  section_time top;
  std::string top_metric = "top kernel and its calls";
  if (gpu) {
    total.gpu = milliseconds{};
    for (auto& [name, time] : classes) time.gpu = milliseconds{};
    for (profkit::kernel_summary const& kernel : gpu->kernels) {
      *total.gpu += kernel.time.total;
      std::string const row = kernel_row(kernel);
      auto at = std::find_if(classes.begin(), classes.end(), [&](auto const& each) { return each.first == row; });
      if (at == classes.end()) at = classes.insert(classes.end() - 1, {row, section_time{{}, milliseconds{}, {}}});
      *at->second.gpu += kernel.time.total;
    }
    if (!gpu->kernels.empty()) {
      top.gpu = gpu->kernels.front().time.total;
      top_metric = fmt::format("top kernel: {} calls", gpu->kernels.front().time.count);
    }
  }
  char const* const section = "GPU kernels";
  char const* const share_of = "GPU kernels total";
  std::vector<section_row> rows{{section, "total", total, total, share_of}};
  for (auto const& [name, time] : classes) rows.push_back({section, name, time, total, share_of});
  rows.push_back({section, top_metric, top, total, share_of});
  return rows;
}

/// GPU work by section: what each section launched, if kernels were collected.
std::vector<section_row> work_rows(std::vector<section_row> const& sections, std::optional<profkit::gpu_summary> const& gpu) {
  std::vector<section_row> rows;
  if (!gpu) return rows;
  for (section_row const& each : sections) {
    if (!each.time.work) continue;
    rows.push_back({"GPU work", each.metric, {{}, each.time.work, {}}, {{}, each.whole.work, {}}, "GPU work of " + each.share_of});
  }
  section_time const outside{{}, gpu->unattributed_time, {}};
  rows.push_back({"GPU work", "launched outside scopes", outside, {{}, gpu->all.kernel_time, {}}, "GPU work of step"});
  return rows;
}

}  // namespace

titled_table section_table(run_config const& config, profkit::summary const& summary) {
  sections const sections{summary};
  std::vector<section_row> rows = host_rows(config, sections);
  std::vector<section_row> const work = work_rows(rows, summary.gpu);
  std::vector<section_row> const kernels = kernel_rows(summary.gpu);
  rows.insert(rows.end(), work.begin(), work.end());
  rows.insert(rows.end(), kernels.begin(), kernels.end());

  string_table table{
      {"section", "metric", "host_total_ms", "host_ms/step", "host_share", "gpu_total_ms", "gpu_ms/step", "gpu_share", "share_of"},
      /*text_columns=*/2};
  std::uint64_t const count = summary.steps.host.count;
  for (section_row const& row : rows) {
    table.add({row.section, row.metric, in_ms(row.time.host), in_ms(per(count, row.time.host)), percent(row.time.host, row.whole.host),
               in_ms(row.time.gpu), in_ms(per(count, row.time.gpu)), percent(row.time.gpu, row.whole.gpu), row.share_of});
  }

  std::vector<std::string> notes{fmt::format("{} measured steps, batch {}, ctx {}.", count, config.batch, config.ctx)};
  if (!config.package_file.empty()) notes.emplace_back("The compiled forward pass is one scope: its parts are n/a.");
  if (summary.steps.gpu && !config.synchronise_phases) {
    notes.emplace_back("Host columns are launch times, which may run ahead of the GPU; --sync makes each phase wait for its work.");
  }
  notes.emplace_back(
      "GPU columns are the time between CUDA events, for the step and its phases. n/a: not measured, or not part of this mode.");
  notes.emplace_back("Exclusive: without the scopes inside the phase; equal to inclusive if there are none.");
  if (summary.gpu) {
    notes.push_back(
        fmt::format("GPU work: sum of the durations of the kernels, copies and memsets that were launched in the section{}. GPU kernels: "
                    "kernels only, in all measured steps.",
                    is_backward_in_scopes(summary) ? "" : "; an autograd thread launches those of the backward pass outside scopes"));
    if (!summary.gpu->kernels.empty()) {
      profkit::kernel_summary const& top = summary.gpu->kernels.front();
      notes.push_back(fmt::format("Top kernel: {}, {} calls, class {}.", top.name, top.time.count, top.kernel_class));
    }
  } else {
    notes.push_back(why_no_kernels(summary));
  }
  return {"T2. Section breakdown", std::move(table), std::move(notes)};
}

}  // namespace trainer
