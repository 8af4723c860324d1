// SPDX-License-Identifier: Apache-2.0
#include <profkit/report.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "../support/made_gpu_profile.hpp"
#include "../support/profile_of.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

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

profkit::report report_of(profkit::profile profile) {
  return profkit::report{std::make_shared<profkit::profile const>(std::move(profile))};
}

}  // namespace

TEST_CASE("the report shows adopted work next to the own work of a scope", "[adopted]") {
  profkit::report const report = report_of(profile_with_backward());
  // Two measured steps. The outer attention and the inner one: a softmax of 1 ms and an addition of 1.5 ms.
  std::string const row = "    attention  backward        2.000          5.000      2    4.000      8.000    8.000          1.60";
  CHECK_THAT(report.full_text(), ContainsSubstring("Work done for scopes elsewhere\n") && ContainsSubstring(row));
  CHECK_THAT(report.markdown(), ContainsSubstring("### Work done for scopes elsewhere\n") &&
                                    ContainsSubstring("attention | backward | 2.000 | 5.000 | 2 | 4.000 | 8.000 | 8.000 | 1.60 |"));

  json const adopted = json::parse(profkit::report_json(report.summary())).at("adopted");
  REQUIRE(adopted.size() == 3);
  json const& attention = adopted[2];
  CHECK(attention["path"] == "step/forward/attention");
  CHECK(attention["name"] == "attention");
  CHECK(attention["depth"] == 2);
  CHECK(attention["role"] == "backward");
  CHECK(attention["count"] == 2);
  CHECK(attention["host_total_ms"].get<double>() == Approx(4.0));
  CHECK(attention["gpu_operations"] == 2);
  CHECK(attention["gpu_kernel_ms"].get<double>() == Approx(8.0));
  CHECK(attention["gpu_busy_ms"].get<double>() == Approx(8.0));
  CHECK(attention["own_host_total_ms"].get<double>() == Approx(2.0));
  CHECK(attention["own_gpu_kernel_ms"].get<double>() == Approx(5.0));
  CHECK(attention["kernel_ratio"].get<double>() == Approx(1.6));
}

TEST_CASE("if kernels were not collected, GPU work for a scope is n/a, and null in JSON", "[adopted]") {
  profkit::report const report = report_of(profile_with_backward(false));
  CHECK_THAT(report.full_text(),
             ContainsSubstring("    attention  backward        2.000            n/a      2    4.000        n/a      n/a"));
  json const attention = json::parse(profkit::report_json(report.summary())).at("adopted").at(2);
  CHECK(attention["host_total_ms"].get<double>() == Approx(4.0));
  for (char const* const name : {"gpu_operations", "gpu_kernel_ms", "gpu_busy_ms", "own_gpu_kernel_ms", "kernel_ratio"}) {
    CHECK(attention.at(name).is_null());
  }
}

TEST_CASE("a report without adopting scopes has no such table, and an empty list", "[adopted]") {
  profkit::report const report = report_of(made_gpu_profile());
  CHECK_THAT(report.full_text(), !ContainsSubstring("Work done for scopes elsewhere"));
  json const all = json::parse(profkit::report_json(report.summary()));
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
