// SPDX-License-Identifier: Apache-2.0
//
// T2 of a summary made by hand, with kernels: every kernel counts in one row of its class, and rows that were not measured are n/a.

#include <fmt/format.h>

#include <cstdint>
#include <profkit/analyze/summary.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "tables.hpp"

namespace {

using profkit::milliseconds;

int failures = 0;

/// @param row what the row has to be, in CSV.
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

/// Two steps of 50 ms each that the GPU works 80 ms in, 50 of them launched outside scopes.
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

void check_without_kernels() {
  profkit::summary summary = made_summary();
  summary.gpu.reset();
  for (profkit::scope_summary& each : summary.scopes) each.gpu.reset();
  summary.collectors = {{"kernels", "not collected", "another tool has CUPTI"}};
  trainer::titled_table const table = trainer::section_table({}, summary);
  std::string const csv = table.content.to_csv();
  expect(csv, "GPU kernels,total,n/a,n/a,n/a,n/a,n/a,n/a,GPU kernels total");
  expect(csv, "GPU kernels,matmul,n/a,n/a,n/a,n/a,n/a,n/a,GPU kernels total");
  if (csv.find("GPU work") != std::string::npos || table.notes.back() != "GPU kernels: not collected (another tool has CUPTI).") {
    ++failures;
    fmt::print("FAIL: {}\n{}\n", csv, table.notes.back());
  }
}

}  // namespace

int main() {
  check_with_kernels();
  check_without_kernels();
  return failures == 0 ? 0 : 1;
}
