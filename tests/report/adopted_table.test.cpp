// SPDX-License-Identifier: Apache-2.0
#include <profkit/report.hpp>

#include <thread>

#include "../support/made_gpu_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"

namespace {

/// In each step, another thread works 2 ms for the outer `attention` and launches a kernel of 4 ms.
profkit::profile profile_with_backward(bool has_kernels = true) {
  profkit::profile result = made_gpu_profile();
  auto const path = static_cast<std::uint32_t>(result.paths.size());
  result.paths.push_back({4, "forward/attention (backward)", {}, "engine.cpp", 70, 2, "backward"});
  for (std::uint64_t step = 0; step < 3; ++step) {
    double const begin = 20.0 * static_cast<double>(step);
    result.scopes.push_back({{at_ms(begin + 5.0), at_ms(begin + 7.0)}, path, 1});
    result.api_calls.push_back({{at_ms(begin + 5.1), at_ms(begin + 5.2)}, 1000 + step, 0, 1});
    profkit::gpu_operation_record& operation = result.gpu_operations.emplace_back();
    operation.time = {at_ms(begin + 5.3), at_ms(begin + 9.3)};
    operation.correlation = 1000 + step;
  }
  if (!has_kernels) result.collectors.clear();
  return result;
}

}  // namespace

TEST_CASE("the report shows adopted work next to the own work of a scope", "[adopted]") {
  profkit::report const report = report_of(profile_with_backward());
  // Two measured steps. The outer attention and the inner one: a softmax of 1 ms and an addition of 1.5 ms.
  std::string const row = "    attention  backward        2.000          5.000      2    4.000      8.000    8.000          1.60";
  CHECK_THAT(report.full_text(), ContainsSubstring("Work done for scopes elsewhere\n") && ContainsSubstring(row));
  CHECK_THAT(report.markdown(), ContainsSubstring("### Work done for scopes elsewhere\n") &&
                                    ContainsSubstring("attention | backward | 2.000 | 5.000 | 2 | 4.000 | 8.000 | 8.000 | 1.60 |"));

  json const adopted = json_of(report).at("adopted");
  REQUIRE(adopted.size() == 3);
  json const& attention = adopted[2];
  check_members(attention, R"({"path": "step/forward/attention", "name": "attention", "depth": 2, "role": "backward", "count": 2,
                               "host_total_ms": 4.0, "gpu_operations": 2, "gpu_kernel_ms": 8.0, "gpu_busy_ms": 8.0,
                               "own_host_total_ms": 2.0, "own_gpu_kernel_ms": 5.0, "kernel_ratio": 1.6})"_json);
}

TEST_CASE("if kernels were not collected, the table has no columns for GPU work, and JSON has null", "[adopted]") {
  profkit::report const report = report_of(profile_with_backward(false));
  CHECK_THAT(report.full_text(), ContainsSubstring("    attention  backward        2.000      2    4.000\n"));
  json const attention = json_of(report).at("adopted").at(2);
  CHECK(attention["host_total_ms"].get<double>() == Approx(4.0));
  for (char const* const name : {"gpu_operations", "gpu_kernel_ms", "gpu_busy_ms", "own_gpu_kernel_ms", "kernel_ratio"}) {
    CHECK(attention.at(name).is_null());
  }
}

TEST_CASE("a report without adopting scopes has no such table, and an empty list", "[adopted]") {
  profkit::report const report = report_of(made_gpu_profile());
  CHECK_THAT(report.full_text(), !ContainsSubstring("Work done for scopes elsewhere"));
  json const all = json_of(report);
  REQUIRE(all.at("adopted").is_array());
  CHECK(all["adopted"].empty());
}

TEST_CASE("work handed to another thread is in the report", "[adopted]") {
  profkit::session session{plain_options(1, 2)};
  for (profkit::step step : session) {
    profkit::scope_token token;
    {
      PROF_SCOPE("forward");
      PROF_SCOPE_INDEXED("layer", 3);
      token = profkit::scope_token::current();
    }
    std::thread{[token] { PROF_ADOPT_SCOPE("backward", token); }}.join();
  }
  profkit::summary const summary = session.report().summary();
  REQUIRE(summary.adopted.size() == 3);
  CHECK(summary.adopted[2].path == "step/forward/layer_3");
  CHECK(summary.adopted[2].name == "layer_3");
  CHECK(summary.adopted[2].role == "backward");
  for (profkit::adopted_summary const& row : summary.adopted) CHECK(row.count == 2);
}
