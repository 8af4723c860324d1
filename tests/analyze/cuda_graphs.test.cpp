// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/kernels_of_scope.hpp>

#include "../support/made_launches.hpp"
#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"

namespace {

constexpr std::uint64_t graph = std::uint64_t{7} << 32U;

/// Two measured steps of 10 ms at 20 and 40 ms, each with `replay` [1, 2] in which a graph is launched in [1.1, 1.3], which runs
///
///     node 1, captured in step/forward/attention           [2, 4]
///     node 2, captured in step/forward                      [4, 5]
///     node 3, captured on another thread in step/backward/forward/attention (backward)   [5, 8]
///     node 4, captured outside any scope                    [8, 8.5]
///     node 5, of a graph whose capture was not seen         [8.5, 9]
///
/// and a kernel launched without a graph in `replay` [9.5, 9.7]. The graph was captured in an earlier step, at 0 ms.
profkit::profile graph_profile() {
  profkit::profile result;
  result.paths = {step_path(),
                  {0, "forward", {}, "train.cpp", 10},
                  {1, "attention", {}, "model.cpp", 20},
                  {0, "backward", {}, "train.cpp", 12},
                  {3, "forward/attention (backward)", {}, "bridge.hpp", 5, 2, "backward"},
                  {0, "replay", {}, "train.cpp", 30}};
  result.threads = {{100, "train"}};
  result.gpu_names = {{"gemm", {}}};
  result.api_names = {"cuGraphLaunch", "cuLaunchKernel"};
  result.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  result.graph_nodes = {{graph | 1U, 2}, {graph | 2U, 1}, {graph | 3U, 4}, {graph | 4U, profkit::path_record::no_parent}};
  result.scopes = {{{at_ms(0), at_ms(10)}, 0, 0}};
  result.steps = {{{at_ms(0), at_ms(10)}, 0, true, 1}};
  std::uint64_t correlation = 0;
  for (std::uint64_t step = 1; step <= 2; ++step) {
    double const begin = 20.0 * static_cast<double>(step);
    auto const run = [&](std::uint64_t node, double from, double to) {
      profkit::gpu_operation_record each;
      each.time = {at_ms(begin + from), at_ms(begin + to)};
      each.correlation = correlation;
      each.graph_node = node;
      result.gpu_operations.push_back(each);
    };
    result.scopes.push_back({{at_ms(begin + 1), at_ms(begin + 2)}, 5, 0});
    result.scopes.push_back({{at_ms(begin), at_ms(begin + 10)}, 0, 0});
    result.steps.push_back({{at_ms(begin), at_ms(begin + 10)}, step, false, 1});
    result.api_calls.push_back({{at_ms(begin + 1.1), at_ms(begin + 1.3)}, ++correlation, 0, 0});
    run(graph | 1U, 2, 4);
    run(graph | 2U, 4, 5);
    run(graph | 3U, 5, 8);
    run(graph | 4U, 8, 8.5);
    run(graph | 5U, 8.5, 9);
    result.api_calls.push_back({{at_ms(begin + 1.5), at_ms(begin + 1.6)}, ++correlation, 1, 0});
    run(0, 9.5, 9.7);
  }
  return result;
}

profkit::scope_summary const& row_of(profkit::summary const& summary, char const* path) {
  INFO(path);
  profkit::scope_summary const* const row = find_row(summary, path);
  REQUIRE(row != nullptr);
  REQUIRE(row->gpu);
  return *row;
}

}  // namespace

TEST_CASE("scopes have the work of graphs captured in them, although they are not open when it runs", "[cuda_graphs]") {
  profkit::summary const summary = profkit::analyze(graph_profile());
  CHECK(row_of(summary, "step/forward/attention").gpu->kernel_self.count() == Approx(4.0));
  CHECK(row_of(summary, "step/forward").gpu->kernel_time.count() == Approx(6.0));
  CHECK(row_of(summary, "step/forward").gpu->kernels == 4);
  CHECK(row_of(summary, "step/forward").host.count == 0);
  CHECK(row_of(summary, "step/backward").gpu->kernel_time.count() == Approx(6.0));
  CHECK(row_of(summary, "step/backward").gpu->kernel_self.count() == 0.0);
  CHECK(row_of(summary, "step/backward/forward/attention (backward)").gpu->busy.count() == Approx(6.0));
  CHECK(row_of(summary, "step/replay").gpu->kernel_time.count() == Approx(2 * 1.2));
  CHECK(row_of(summary, "step").gpu->kernel_time.count() == Approx(2 * 7.2));
  CHECK(summary.gpu->unattributed_operations == 0);
}

TEST_CASE("each launch of a graph is one span of the scopes in which it was captured", "[cuda_graphs]") {
  profkit::summary const summary = profkit::analyze(graph_profile());
  profkit::duration_summary const& forward = row_of(summary, "step/forward").gpu->span;
  CHECK(forward.count == 2);
  CHECK(forward.total.count() == Approx(2 * 3.0));
  // The step was open at the launch, so its span also contains operations launched without a graph.
  CHECK(row_of(summary, "step").gpu->span.count == 2);
  CHECK(row_of(summary, "step").gpu->span.total.count() == Approx(2 * 7.7));
}

TEST_CASE("only single launches have a latency", "[cuda_graphs]") {
  profkit::summary const summary = profkit::analyze(graph_profile());
  CHECK_FALSE(row_of(summary, "step/forward").gpu->latency_mean);
  CHECK(row_of(summary, "step/replay").gpu->latency_mean->count() == Approx(8.0));
}

TEST_CASE("graphs captured before kernel collection are counted, and charged to the launching scope", "[cuda_graphs]") {
  profkit::profile profile = graph_profile();
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.gpu->operations_of_graphs == 10);
  CHECK(summary.gpu->operations_of_unknown_graphs == 2);
  profile.graph_nodes.clear();
  profkit::summary const unknown = profkit::analyze(profile);
  CHECK(unknown.gpu->operations_of_unknown_graphs == 10);
  CHECK(row_of(unknown, "step/replay").gpu->kernel_time.count() == Approx(2 * 7.2));
  CHECK(find_row(unknown, "step/forward") == nullptr);
}

TEST_CASE("the kernels of a scope are those of graphs captured in it", "[cuda_graphs]") {
  auto const kernels = profkit::kernels_of_scope(graph_profile(), "step/forward");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].time.count == 4);
  CHECK(profkit::kernels_outside_scopes(graph_profile()).empty());
}

TEST_CASE("the budget of a step with a graph has the parts in which it was captured", "[cuda_graphs]") {
  auto const budget = profkit::analyze(graph_profile()).budget;
  REQUIRE(budget);
  double total = 0.0;
  for (auto const& row : budget->rows) {
    total += row.total.count();
    if (row.part == "forward") CHECK(row.busy.count() == Approx(6.0));
    if (row.part == "backward") CHECK(row.busy.count() == Approx(6.0));
  }
  CHECK(total == Approx(20.0));
  CHECK(budget->busy.count() == Approx(2 * 7.2));
}

TEST_CASE("a scope that waits for work on another thread has the span of that work", "[spans]") {
  made_launches make;
  std::uint32_t const step = make.path(profkit::path_record::no_parent, "step");
  std::uint32_t const backward = make.path(step, "backward");
  std::uint32_t const adopting = make.adopting(backward, make.path(step, "forward"), "backward");
  make.profile.threads[1].default_path = make.path(backward, "rest");
  make.scope(adopting, 1, 2, 3);
  make.scope(adopting, 1, 5, 6);
  make.scope(backward, 0, 1, 8);
  make.scope(step, 0, 0, 10);
  make.step(0, 10);
  make.kernel(1, 2.1, 2.5, 3.5);
  make.kernel(1, 5.1, 5.5, 6.5);
  make.kernel(1, 7.0, 7.2, 9.2);  // outside scopes
  profkit::summary const summary = profkit::analyze(make.profile);
  CHECK(row_of(summary, "step/backward/of 2 (backward)").gpu->span.total.count() == Approx(2.0));
  CHECK(row_of(summary, "step/backward/rest").gpu->span.total.count() == Approx(2.0));
  CHECK(row_of(summary, "step/backward").gpu->span.count == 1);
  CHECK(row_of(summary, "step/backward").gpu->span.total.count() == Approx(6.7));
  CHECK(row_of(summary, "step").gpu->span.total.count() == Approx(6.7));
  CHECK(row_of(summary, "step/backward").gpu->kernel_self.count() == 0.0);
}
