// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/gpu/launch_shapes.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/statistics.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

profkit::gpu_work_summary work_in(profkit::summary const& summary, std::string const& path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  REQUIRE(row != nullptr);
  REQUIRE(row->gpu);
  return *row->gpu;
}

template <class Rows>
auto const& row_named(Rows const& rows, std::string const& beginning) {
  auto const row = std::find_if(rows.begin(), rows.end(), [&](auto const& each) { return each.name.rfind(beginning, 0) == 0; });
  REQUIRE(row != rows.end());
  return *row;
}

/// Computes the figures of a set of operations from their definitions.
struct plain_summary_model {
  profkit::profile const& profile;
  random_gpu_profile const& made;

  [[nodiscard]] profkit::api_call_record const* call_of(std::size_t operation) const {
    auto const call = std::find_if(profile.api_calls.begin(), profile.api_calls.end(),
                                   [&](auto const& each) { return each.correlation == profile.gpu_operations[operation].correlation; });
    return call == profile.api_calls.end() ? nullptr : &*call;
  }

  [[nodiscard]] bool counts(std::size_t operation) const {
    profkit::interval const call = call_of(operation)->time;
    profkit::timestamp const moment = call.begin + (call.end - call.begin) / 2;
    return std::any_of(profile.steps.begin(), profile.steps.end(), [&](profkit::step_record const& step) {
      return !step.warmup && step.time.begin <= moment && moment < step.time.end;
    });
  }

  /// Whether the operation was launched in a path for which `is_wanted` holds, or in a path inside one.
  template <class IsWanted>
  [[nodiscard]] bool is_in(std::size_t operation, IsWanted is_wanted) const {
    if (made.scope_of[operation] == profkit::attribution::none) return false;
    std::uint32_t path = profile.scopes[made.scope_of[operation]].path;
    for (; path != profkit::path_record::no_parent; path = profile.paths[path].parent) {
      if (is_wanted(path)) return true;
    }
    return false;
  }

  template <class IsWanted>
  [[nodiscard]] std::vector<std::size_t> operations_in(IsWanted is_wanted) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
      if (counts(i) && is_in(i, is_wanted)) result.push_back(i);
    }
    return result;
  }

  [[nodiscard]] double busy_ms(std::vector<std::size_t> const& operations) const {
    std::vector<std::int64_t> edges;
    auto const ns = [](profkit::timestamp at) { return at.time_since_epoch().count(); };
    for (std::size_t const each : operations) {
      edges.push_back(ns(profile.gpu_operations[each].time.begin));
      edges.push_back(ns(profile.gpu_operations[each].time.end));
    }
    std::sort(edges.begin(), edges.end());
    std::int64_t result = 0;
    for (std::size_t i = 1; i < edges.size(); ++i) {
      bool const is_busy = std::any_of(operations.begin(), operations.end(), [&](std::size_t each) {
        profkit::interval const& time = profile.gpu_operations[each].time;
        return ns(time.begin) <= edges[i - 1] && edges[i] <= ns(time.end);
      });
      if (is_busy) result += edges[i] - edges[i - 1];
    }
    return static_cast<double>(result) / 1e6;
  }

  void check(profkit::gpu_work_summary const& found, std::vector<std::size_t> const& operations) const {
    double total = 0.0;
    std::uint64_t kernels = 0;
    std::vector<double> latencies;
    for (std::size_t const each : operations) {
      profkit::gpu_operation_record const& operation = profile.gpu_operations[each];
      total += profkit::milliseconds{operation.time.duration()}.count();
      kernels += operation.kind == profkit::gpu_operation_kind::kernel ? 1U : 0U;
      latencies.push_back(profkit::milliseconds{operation.time.begin - call_of(each)->time.begin}.count());
    }
    std::sort(latencies.begin(), latencies.end());
    CHECK(found.operations == operations.size());
    CHECK(found.kernels == kernels);
    CHECK(found.kernel_time.count() == Approx(total));
    CHECK(found.busy.count() == Approx(busy_ms(operations)));
    CHECK(found.latency_p95.has_value() == !operations.empty());
    if (operations.empty()) return;
    CHECK(found.latency_p95->count() == Approx(*profkit::quantile(latencies, 0.95)).epsilon(0.01));
    double sum = 0.0;
    for (double const each : latencies) sum += each;
    CHECK(found.latency_mean->count() == Approx(sum / static_cast<double>(latencies.size())));
  }

  /// The spans of the scopes with a path: first start to last end of operations launched in the scope or inside it.
  [[nodiscard]] std::vector<double> spans_of(std::uint32_t path) const {
    std::vector<profkit::interval> spans(profile.scopes.size(), {profkit::timestamp::max(), profkit::timestamp::min()});
    for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
      if (!counts(i)) continue;
      for (std::uint32_t scope = made.scope_of[i]; scope != profkit::attribution::none; scope = made.parent_of[scope]) {
        spans[scope].begin = std::min(spans[scope].begin, profile.gpu_operations[i].time.begin);
        spans[scope].end = std::max(spans[scope].end, profile.gpu_operations[i].time.end);
      }
    }
    std::vector<double> result;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (profile.scopes[i].path == path && spans[i].begin <= spans[i].end) {
        result.push_back(profkit::milliseconds{spans[i].duration()}.count());
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }
};

/// Three steps with gaps between them, the first of them warm-up.
random_gpu_profile random_steps(std::uint64_t seed) {
  random_gpu_profile made = make_random_gpu_profile(seed, 700);
  profkit::timestamp const begin{std::chrono::seconds{1'790'000'000}};
  auto const at = [&](int ns) { return begin + std::chrono::nanoseconds{ns}; };
  made.profile.steps = {{{at(0), at(5000)}, 0, true, 1}, {{at(5500), at(10000)}, 1, false, 1}, {{at(10000), at(15000)}, 2, false, 1}};
  return made;
}

}  // namespace

TEST_CASE("if kernels were collected but none ran, the figures are 0", "[gpu_summary]") {
  profkit::profile profile = made_gpu_profile();
  profile.gpu_operations.clear();
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(summary.gpu);
  CHECK(summary.gpu->all.operations == 0);
  CHECK(summary.gpu->kernels.empty());
  profkit::gpu_work_summary const step = work_in(summary, "step");
  CHECK(step.kernel_time.count() == 0.0);
  CHECK(step.span.count == 0);
  CHECK_FALSE(step.span.mean);
  CHECK_FALSE(step.latency_mean);
}

TEST_CASE("a scope has its own operations and those inside: their time, busy time, spans and latencies", "[gpu_summary]") {
  profkit::summary const summary = profkit::analyze(made_gpu_profile());
  struct {
    char const* path;
    std::uint64_t operations, kernels;
    double kernel_ms, self_ms, busy_ms, span_ms, latency_ms;
  } const expected[] = {{"step", 10, 8, 11.2, 0.2, 8.2, 5.1, 0.59},  // itself: the memsets
                        {"step/forward", 6, 6, 9.0, 4.0, 6.0, 3.0, 2.15 / 3.0},
                        {"step/forward/attention", 4, 4, 5.0, 2.0, 4.0, 2.0, 0.975},
                        {"step/forward/attention/attention", 2, 2, 3.0, 3.0, 3.0, 1.5, 0.3},
                        {"step/backward", 2, 2, 2.0, 2.0, 2.0, 1.0, 0.3},
                        {"load", 2, 0, 1.0, 1.0, 1.0, 0.5, 0.3}};
  for (auto const& each : expected) {
    INFO(each.path);
    profkit::gpu_work_summary const work = work_in(summary, each.path);
    CHECK(work.operations == each.operations);
    CHECK(work.kernels == each.kernels);
    CHECK(work.kernel_time.count() == Approx(each.kernel_ms));
    CHECK(work.kernel_self.count() == Approx(each.self_ms));
    CHECK(work.busy.count() == Approx(each.busy_ms));
    CHECK(work.span.count == 2);
    CHECK(work.span.mean->count() == Approx(each.span_ms));
    CHECK(work.span.median->count() == Approx(each.span_ms).epsilon(0.01));
    CHECK(work.latency_mean->count() == Approx(each.latency_ms));
  }
  CHECK(work_in(summary, "step").latency_p95->count() == Approx(1.65).epsilon(0.01));
  CHECK(summary.gpu->all.busy.count() == Approx(9.1));
  CHECK(summary.gpu->all.span.count == 2);  // of the steps
  CHECK(summary.gpu->all.span.min->count() == Approx(5.3));
  CHECK(summary.gpu->all.span.max->count() == Approx(7.0));
}

TEST_CASE("a scope inside another of its name does not count twice", "[gpu_summary]") {
  profkit::summary const summary = profkit::analyze(made_gpu_profile());
  std::vector<std::string> names;
  for (auto const& row : summary.names) names.push_back(row.name);
  CHECK(names == std::vector<std::string>{"step", "forward", "attention", "backward", "load"});
  profkit::scope_name_summary const& attention = row_named(summary.names, "attention");
  CHECK(attention.host.count == 4);
  CHECK(attention.host.total.count() == Approx(2.0));
  CHECK(attention.host.mean->count() == Approx(1.0));
  CHECK(attention.gpu->operations == 4);
  CHECK(attention.gpu->kernel_time.count() == Approx(5.0));
  CHECK(attention.gpu->kernel_self.count() == Approx(5.0));
  CHECK(attention.gpu->busy.count() == Approx(4.0));
  CHECK(attention.gpu->span.count == 2);
}

TEST_CASE("the same name in several places is one row by name, with its busy time counted once", "[gpu_summary]") {
  profkit::profile profile = made_gpu_profile();
  profile.paths[5].name = "backward";  // load: the copy [1.5, 2.0] and the other scope's kernel [5.8, 6.8]
  profkit::summary summary = profkit::analyze(profile);
  profkit::gpu_work_summary backward = *row_named(summary.names, "backward").gpu;
  CHECK(backward.operations == 4);
  CHECK(backward.kernel_time.count() == Approx(3.0));
  CHECK(backward.busy.count() == Approx(3.0));
  CHECK(backward.span.count == 4);
  CHECK(backward.latency_p95->count() == Approx(0.3));
  CHECK(row_named(summary.names, "backward").host.total.count() == Approx(6.0));

  profile.paths[5].name = "forward";  // the kernel [1.7, 3.7] overlaps the copy
  summary = profkit::analyze(profile);
  profkit::gpu_work_summary const forward = *row_named(summary.names, "forward").gpu;
  CHECK(forward.kernel_time.count() == Approx(10.0));
  CHECK(forward.busy.count() == Approx(6.4));
}

TEST_CASE("kernels of one class are one row of the classes", "[gpu_summary]") {
  profkit::profile profile = made_gpu_profile();
  profile.gpu_names[1].name = "ampere_sgemm_128x64_tn";
  profkit::gpu_summary const gpu = *profkit::analyze(profile).gpu;
  CHECK(gpu.kernels.size() == 4);
  REQUIRE(gpu.classes.size() == 3);
  CHECK(gpu.classes[0].count == 6);
  CHECK(gpu.classes[0].total.count() == Approx(8.0));
}

TEST_CASE("without any step all operations count", "[gpu_summary]") {
  profkit::profile profile = made_gpu_profile();
  profile.steps.clear();
  profkit::gpu_summary const gpu = *profkit::analyze(profile).gpu;
  CHECK(gpu.all.operations == 23);
  CHECK(gpu.all.span.count == 1);
  CHECK(gpu.all.span.total.count() == Approx(47.0));
}

TEST_CASE("a scope that began before the measured time but launched in it has a row", "[gpu_summary]") {
  profkit::profile profile = made_gpu_profile();
  profile.scopes.erase(std::remove_if(profile.scopes.begin(), profile.scopes.end(), [](auto const& each) { return each.path == 5; }),
                       profile.scopes.end());
  profile.scopes.push_back({{at_ms(0), at_ms(60)}, 5, 1});
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(find_row(summary, "load")->host.count == 0);
  CHECK(work_in(summary, "load").operations == 4);  // including operations that were launched outside any scope before
  CHECK(summary.gpu->unattributed_operations == 1);
}

TEST_CASE("figures of random nests equal their definitions", "[gpu_summary]") {
  for (std::uint64_t seed = 1; seed <= repetitions(3); ++seed) {
    INFO("seed " << seed);
    random_gpu_profile const made = random_steps(seed);
    profkit::profile const& profile = made.profile;
    plain_summary_model const model{profile, made};
    profkit::summary const summary = profkit::analyze(profile);

    double self = summary.gpu->unattributed_time.count();
    for (auto const& row : summary.scopes) self += row.gpu->kernel_self.count();
    CHECK(self == Approx(summary.gpu->all.kernel_time.count()));

    std::size_t rows = 0;
    for (std::uint32_t path = 0; path < profile.paths.size(); ++path) {
      profkit::scope_summary const* const row = find_row(summary, path_name(profile, path));
      if (row == nullptr) continue;
      ++rows;
      INFO(row->path);
      model.check(*row->gpu, model.operations_in([&](std::uint32_t each) { return each == path; }));
      std::vector<double> const spans = model.spans_of(path);
      CHECK(row->gpu->span.count == spans.size());
      if (spans.empty()) continue;
      CHECK(row->gpu->span.median->count() == Approx(*profkit::quantile(spans, 0.5)).epsilon(0.01));
      CHECK(row->gpu->span.p95->count() == Approx(*profkit::quantile(spans, 0.95)).epsilon(0.01));
    }
    CHECK(rows == summary.scopes.size());
    for (profkit::scope_name_summary const& row : summary.names) {
      INFO(row.name);
      model.check(*row.gpu, model.operations_in([&](std::uint32_t each) { return profile.paths[each].name == row.name; }));
    }
  }
}

TEST_CASE("the order of the operations does not matter to the summary", "[gpu_summary]") {
  random_gpu_profile const made = random_steps(7);
  profkit::profile reversed = made.profile;
  std::reverse(reversed.gpu_operations.begin(), reversed.gpu_operations.end());
  profkit::gpu_work_summary const before = profkit::analyze(made.profile).gpu->all;
  profkit::gpu_work_summary const after = profkit::analyze(reversed).gpu->all;
  CHECK(before.operations > 100);
  CHECK(before.operations == after.operations);
  CHECK(before.busy == after.busy);
  CHECK(before.kernel_time == after.kernel_time);
  CHECK(before.latency_p95 == after.latency_p95);
}

TEST_CASE("the figures of a launch follow from its shape, its grid and its device", "[gpu]") {
  struct launch_case {
    profkit::launch_shape_record shape;
    std::uint64_t blocks;
    double occupancy;
    char const* limited_by;
    double waves;
    double last_wave;
  };
  using namespace profkit::launch_limit;
  // Device 0 with 132 SMs of 64 warps; threads, registers, shared and local memory, cluster, resident blocks, limits.
  std::vector<launch_case> const cases{
      {{0, 132, 64, 256, 32, 0, 0, 0, 1, 8, warps}, 12, 1.0, "", 12.0 / 1056, 12.0 / 1056},
      {{0, 132, 64, 128, 255, 0, 0, 0, 1, 2, registers}, 264, 0.125, "registers", 1.0, 1.0},
      {{0, 132, 64, 128, 255, 0, 0, 0, 1, 2, registers}, 265, 0.125, "registers", 265.0 / 264, 1.0 / 264},
      {{0, 132, 64, 1, 16, 0, 0, 0, 1, 32, blocks}, 132 * 32 * 2, 0.5, "blocks", 2.0, 1.0},
      {{0, 132, 64, 33, 16, 100, 90000, 0, 1, 2, shared_memory}, 66, 0.0625, "shared memory", 0.25, 0.25},
      {{0, 132, 64, 768, 16, 0, 0, 0, 1, 2, warps}, 264, 0.75, "block size", 1.0, 1.0},
      {{0, 132, 64, 512, 128, 0, 65536, 0, 4, 1, registers | shared_memory}, 528, 0.25, "registers, shared memory", 4.0, 1.0},
  };
  for (launch_case const& each : cases) {
    profkit::launch_summary const found = profkit::detail::summarize_launch(each.shape, each.blocks);
    CAPTURE(each.shape.threads, each.blocks);
    CHECK(found.occupancy == Approx(each.occupancy));
    CHECK(found.limited_by == each.limited_by);
    CHECK(found.waves == Approx(each.waves));
    CHECK(found.last_wave == Approx(each.last_wave));
    CHECK(found.shared_bytes == std::uint64_t{each.shape.static_shared_bytes} + each.shape.dynamic_shared_bytes);
    CHECK(found.cluster_blocks == each.shape.cluster_blocks);
  }
}

TEST_CASE("a kernel has its median launch by count, and the one that can use the smallest share of the device", "[gpu]") {
  profkit::profile profile;
  profile.gpu_names = {{"kernel", {}}, {"other", {}}};
  profile.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  profile.launch_shapes = {{0, 132, 64, 256, 32, 0, 0, 0, 1, 8, profkit::launch_limit::warps},
                           {0, 132, 64, 128, 255, 0, 0, 0, 1, 2, profkit::launch_limit::registers},
                           {1, 0, 0, 128, 255, 0, 0, 0, 1, 0, 0}};
  auto const add = [&](std::uint16_t shape, std::uint32_t x, std::uint32_t y, double ms, std::uint32_t name = 0) {
    double const begin = 10.0 * static_cast<double>(profile.gpu_operations.size());
    profkit::gpu_operation_record operation;
    operation.time = {at_ms(begin), at_ms(begin + ms)};
    operation.name = name;
    operation.grid = {x, y, 1};
    operation.shape = shape;
    profile.gpu_operations.push_back(operation);
  };
  for (int i = 0; i < 5; ++i) add(1, 600, 2, 1.0);
  add(1, 1100, 1, 1.0);  // in the same quarter of a power of two as 1,200
  add(2, 132, 1, 2.0);
  add(2, 12, 1, 3.0);
  add(3, 1, 1, 4.0);  // the limits of its device are unknown
  add(0, 1, 1, 5.0);  // its shape is unknown
  add(3, 1, 1, 1.0, 1);
  profkit::summary const summary = profkit::analyze(profile);
  profkit::kernel_summary const& kernel = row_named(summary.gpu->kernels, "kernel");
  REQUIRE(kernel.median_launch);
  CHECK(kernel.median_launch->launches == 6);
  CHECK(kernel.median_launch->blocks == 1100);
  CHECK(kernel.median_launch->total.count() == Approx(6.0));
  CHECK(kernel.median_launch->occupancy == 1.0);
  REQUIRE(kernel.worst_launch);
  CHECK(kernel.worst_launch->blocks == 12);
  CHECK(kernel.worst_launch->launches == 1);
  CHECK(kernel.worst_launch->registers == 255);
  CHECK_FALSE(row_named(summary.gpu->kernels, "other").median_launch);
}
