// SPDX-License-Identifier: Apache-2.0
//
// T2 of a hand-made summary with kernels: every kernel counts in one row of its class, and figures that were not measured are n/a. Also the
// sums of runs recorded on an H200.
//
//     table_checks section_table [FOLDER_OF_THE_PROFILES]

#include <fmt/format.h>

#include <cstdint>
#include <profkit/summary.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "named_check.hpp"
#include "table_check.hpp"
#include "tables/tables.hpp"

namespace section_table_check {

namespace {

using checks::failures;
using profkit::milliseconds;

/// @param row the expected row, in CSV.
void expect(std::string const& csv, std::string_view row) {
  std::string const line = fmt::format("\n{}\n", row);
  if (csv.find(line) != std::string::npos) return;
  ++failures;
  fmt::print("FAIL: there is no row {}\n", row);
}

profkit::kernel_summary kernel(std::string name, std::string kernel_class, std::uint64_t count, double ms) {
  profkit::kernel_summary result;
  result.name = std::move(name);
  result.kernel_class = std::move(kernel_class);
  result.time.count = count;
  result.time.total = milliseconds{ms};
  return result;
}

profkit::scope_summary scope(std::string path, double host_ms, double work_ms, double self_ms) {
  profkit::scope_summary result;
  result.name = path.substr(path.rfind('/') + 1);
  result.path = std::move(path);
  result.host.total = milliseconds{host_ms};
  result.host_self = milliseconds{host_ms / 2};
  result.gpu.emplace();
  result.gpu->kernel_time = milliseconds{work_ms};
  result.gpu->kernel_self = milliseconds{self_ms};
  return result;
}

/// Two steps of 50 ms each, with 80 ms of GPU work. Of these, 50 are launched outside scopes.
profkit::summary made_summary() {
  profkit::summary summary;
  summary.steps.host.count = 2;
  summary.steps.host.total = milliseconds{100};
  summary.scopes = {scope("step", 100, 80, 0),
                    scope("step/forward", 40, 24, 0),
                    scope("step/forward/layer_0/attention_sublayer", 12, 6, 0),
                    scope("step/forward/layer_1/attention_sublayer", 8, 6, 0),
                    scope("step/forward/layer_0/attention_sublayer/softmax", 2, 1, 1),
                    scope("step/forward/layer_1/attention_sublayer/softmax", 2, 2, 2),
                    scope("step/backward", 40, 0, 0),
                    scope("step/optimizer", 10, 6, 4)};
  summary.gpu.emplace();
  summary.gpu->all.kernel_time = milliseconds{80};
  summary.gpu->unattributed_time = milliseconds{50};
  summary.gpu->kernels = {kernel("sgemm", "matmul", 7, 30),
                          kernel("gemm", "matmul", 2, 10),
                          kernel("multi_tensor_apply_kernel", "optimizer", 3, 10),
                          kernel("cunn_SoftMaxForward", "softmax", 2, 8),
                          kernel("cunn_SoftMaxBackward", "softmax", 2, 6),
                          kernel("ncclDevKernel", "communication", 1, 4),
                          kernel("strange", "other", 1, 2)};
  return summary;
}

void check_with_kernels() {
  trainer::titled_table const table = trainer::section_table({}, made_summary());
  std::string const csv = table.content.to_csv();
  expect(csv, "run,step,100.000,50.000,100.0 %,n/a,n/a,n/a,step");
  expect(csv, "run,FORWARD exclusive,20.000,10.000,20.0 %,n/a,n/a,n/a,step");
  expect(csv, "run,BACKWARD exclusive,20.000,10.000,20.0 %,n/a,n/a,n/a,step");
  expect(csv, "GPU work,FORWARD exclusive,n/a,n/a,n/a,0.000,0.000,0.0 %,GPU work of step");
  expect(csv, "GPU work,step,n/a,n/a,n/a,80.000,40.000,100.0 %,GPU work of step");
  expect(csv, "GPU work,FORWARD inclusive,n/a,n/a,n/a,24.000,12.000,30.0 %,GPU work of step");
  expect(csv, "GPU work,OPTIMIZER exclusive,n/a,n/a,n/a,4.000,2.000,5.0 %,GPU work of step");
  expect(csv, "GPU work,MHA total,n/a,n/a,n/a,12.000,6.000,50.0 %,GPU work of FORWARD");
  expect(csv, "GPU work,softmax,n/a,n/a,n/a,3.000,1.500,25.0 %,GPU work of MHA total");
  expect(csv, "GPU work,launched outside scopes,n/a,n/a,n/a,50.000,25.000,62.5 %,GPU work of step");
  expect(csv, "GPU kernels,total,n/a,n/a,n/a,70.000,35.000,100.0 %,GPU kernels total");
  expect(csv, "GPU kernels,matmul,n/a,n/a,n/a,40.000,20.000,57.1 %,GPU kernels total");
  expect(csv, "GPU kernels,elementwise,n/a,n/a,n/a,0.000,0.000,0.0 %,GPU kernels total");
  expect(csv, "GPU kernels,optimizer/multi-tensor,n/a,n/a,n/a,10.000,5.000,14.3 %,GPU kernels total");
  expect(csv, "GPU kernels,softmax fwd,n/a,n/a,n/a,8.000,4.000,11.4 %,GPU kernels total");
  expect(csv, "GPU kernels,softmax bwd,n/a,n/a,n/a,6.000,3.000,8.6 %,GPU kernels total");
  expect(csv, "GPU kernels,communication,n/a,n/a,n/a,4.000,2.000,5.7 %,GPU kernels total");
  expect(csv, "GPU kernels,other,n/a,n/a,n/a,2.000,1.000,2.9 %,GPU kernels total");
  expect(csv, "GPU kernels,top kernel: 7 calls,n/a,n/a,n/a,30.000,15.000,42.9 %,GPU kernels total");
  if (csv.find("GPU work,BACKWARD") != std::string::npos) {
    ++failures;
    fmt::print("FAIL: the work of the backward pass is not known, and there is a row for it\n");
  }
  if (table.notes.back() != "Top kernel: sgemm, 7 calls, class matmul.") {
    ++failures;
    fmt::print("FAIL: {}\n", table.notes.back());
  }
}

/// If the nodes of autograd are in scopes, their work belongs to the phase.
void check_with_bridge() {
  profkit::summary summary = made_summary();
  summary.scopes[6] = scope("step/backward", 40, 50, 2);
  summary.scopes.push_back(scope("step/backward/forward/layer_0 (backward)", 20, 48, 48));
  trainer::titled_table const table = trainer::section_table({}, summary);
  std::string const csv = table.content.to_csv();
  expect(csv, "GPU work,BACKWARD inclusive,n/a,n/a,n/a,50.000,25.000,62.5 %,GPU work of step");
  expect(csv, "GPU work,BACKWARD exclusive,n/a,n/a,n/a,2.000,1.000,2.5 %,GPU work of step");
  for (std::string const& note : table.notes) {
    if (note.find("outside scopes") == std::string::npos) continue;
    ++failures;
    fmt::print("FAIL: {}\n", note);
  }
}

void check_without_kernels() {
  profkit::summary summary = made_summary();
  summary.gpu.reset();
  for (profkit::scope_summary& each : summary.scopes) each.gpu.reset();
  summary.collectors = {{"kernels", "not collected", "another tool has CUPTI", profkit::collector_kind::kernels}};
  trainer::titled_table const table = trainer::section_table({}, summary);
  std::string const csv = table.content.to_csv();
  expect(csv, "GPU kernels,total,n/a,n/a,n/a,n/a,n/a,n/a,GPU kernels total");
  expect(csv, "GPU kernels,matmul,n/a,n/a,n/a,n/a,n/a,n/a,GPU kernels total");
  if (csv.find("GPU work") != std::string::npos || table.notes.back() != "GPU kernels: not collected (another tool has CUPTI).") {
    ++failures;
    fmt::print("FAIL: {}\n{}\n", csv, table.notes.back());
  }
}

constexpr char const* host = "host_total_ms";
constexpr char const* gpu = "gpu_total_ms";

/// @param section the section of the rows: "attention" in host time, "GPU work" in GPU time.
void check_parts_of_attention(checks::cells const& cells, std::string const& section, char const* column) {
  double sum = 0.0;
  for (char const* const part : {"QKV projections", "output projection", "RoPE(Q)", "RoPE(K)", "attention logits + mask", "softmax",
                                 "attention x V", "MHA residual (total - parts)"}) {
    double const time = cells.number(section + ", " + part, column);
    checks::check(time > 0.0, fmt::format("{} takes {} ms", part, time));
    sum += time;
  }
  checks::check_close(sum, cells.number(section + ", MHA total", column), 0.0051,
                      section + ": the parts of MHA and its residual sum to MHA");
  checks::check_close(cells.number(section + ", QKV projections", column) + cells.number(section + ", output projection", column),
                      cells.number(section + ", MHA linear (QKV + output)", column), 0.0021, section + ": MHA linear");
}

void check_recorded(checks::recorded_run const& run, bool trains) {
  checks::cells const cells{trainer::section_table(run.config, run.summary).content, 2};
  check_parts_of_attention(cells, "attention", host);
  check_parts_of_attention(cells, "GPU work", gpu);

  double classes = 0.0;
  for (std::string const& name : cells.names()) {
    bool const is_class = name.starts_with("GPU kernels, ") && name != "GPU kernels, total" && !name.starts_with("GPU kernels, top kernel");
    if (is_class) classes += cells.number(name, gpu);
  }
  checks::check_close(classes, cells.number("GPU kernels, total", gpu), 0.0061, "the classes of kernels sum to the total");

  double phases = 0.0;
  for (char const* const phase : {"data", "FORWARD inclusive", "OPTIMIZER inclusive", "launched outside scopes"}) {
    if (trains || std::string_view{phase} != "OPTIMIZER inclusive") phases += cells.number(std::string{"GPU work, "} + phase, gpu);
  }
  // The backward pass launches a memset itself, and so does the step.
  checks::check_close(phases, cells.number("GPU work, step", gpu), 0.01, "the phases sum to the step");

  double const inclusive = cells.number("run, FORWARD inclusive", host);
  double const exclusive = cells.number("run, FORWARD exclusive", host);
  checks::check(exclusive > 0.0 && exclusive < 0.02 * inclusive, fmt::format("FORWARD takes {} ms itself", exclusive));
  checks::check_equal(cells.at("run, BACKWARD exclusive", host), cells.at("run, BACKWARD inclusive", host),
                      "BACKWARD has no scopes inside");
  checks::check_equal(cells.at("run, BACKWARD exclusive", "host_share"), trains ? "67.6 %" : "n/a", "BACKWARD exclusive");
}

int run(int count, char** arguments) {
  check_with_kernels();
  check_with_bridge();
  check_without_kernels();
  if (count > 1) {
    check_recorded(checks::training_run(arguments[1]), true);
    check_recorded(checks::forward_run(arguments[1]), false);
  }
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"section_table", run};

}  // namespace

}  // namespace section_table_check
