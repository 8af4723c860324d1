// SPDX-License-Identifier: Apache-2.0
//
// Kernel collection with CUDA graphs on a real device. Every operation encodes the number of its capturing place: kernels in their grid
// size, copies and memsets in their size.
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

constexpr std::size_t unit_bytes = 16;

struct two_halves {
  two_halves() { check(cudaMalloc(&bytes, 2 * half)); }
  ~two_halves() { cudaFree(bytes); }
  two_halves(two_halves const&) = delete;
  two_halves& operator=(two_halves const&) = delete;
  static constexpr std::size_t half = 4096;
  char* bytes = nullptr;
};

struct graph {
  graph() = default;
  ~graph() { cudaGraphDestroy(handle); }
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;
  cudaGraph_t handle = nullptr;
};

/// A graph that is instantiated at construction.
struct runnable_graph {
  explicit runnable_graph(graph const& graph) { check(cudaGraphInstantiate(&handle, graph.handle, 0)); }
  ~runnable_graph() { cudaGraphExecDestroy(handle); }
  runnable_graph(runnable_graph const&) = delete;
  runnable_graph& operator=(runnable_graph const&) = delete;
  void replay(stream const& on, int times = 1) const {
    for (int i = 0; i < times; ++i) check(cudaGraphLaunch(handle, on.handle));
  }
  cudaGraphExec_t handle = nullptr;
};

/// The resources of the tests, created once. Modules are loaded before any capture.
struct fixture {
  fixture() {
    start_nothing(1, 1, on.handle);
    check(cudaStreamSynchronize(on.handle));
  }

  /// Launches a kernel, a copy and a memset on a stream.
  void work(unsigned number) const {
    start_nothing(number, 1, on.handle);
    check(cudaGetLastError());
    check(cudaMemcpyAsync(memory.bytes, memory.bytes + two_halves::half, unit_bytes * number, cudaMemcpyDeviceToDevice, on.handle));
    check(cudaMemsetAsync(memory.bytes, 0, unit_bytes * number, on.handle));
  }

  void begin_capture() const { check(cudaStreamBeginCapture(on.handle, cudaStreamCaptureModeThreadLocal)); }
  void end_capture(graph& into) const { check(cudaStreamEndCapture(on.handle, &into.handle)); }

  two_halves memory;
  stream on;
};

/// Adds a kernel, a copy and a memset to a graph, without a stream. @return the last of them.
cudaGraphNode_t build(graph& into, two_halves const& memory, unsigned number) {
  cudaGraphNode_t kernel = nullptr;
  cudaGraphNode_t copy = nullptr;
  cudaGraphNode_t set = nullptr;
  void* no_arguments[] = {nullptr};
  cudaKernelNodeParams run{};
  run.func = kernel_nothing();
  run.gridDim = dim3{number, 1, 1};
  run.blockDim = dim3{1, 1, 1};
  run.kernelParams = no_arguments;
  check(cudaGraphAddKernelNode(&kernel, into.handle, nullptr, 0, &run));
  check(cudaGraphAddMemcpyNode1D(&copy, into.handle, &kernel, 1, memory.bytes, memory.bytes + two_halves::half, unit_bytes * number,
                                 cudaMemcpyDeviceToDevice));
  cudaMemsetParams zeros{};
  zeros.dst = memory.bytes;
  zeros.elementSize = 1;
  zeros.width = unit_bytes * number;
  zeros.height = 1;
  check(cudaGraphAddMemsetNode(&set, into.handle, &copy, 1, &zeros));
  return set;
}

/// "kernel 3 in capture/inner" -> how many; "-": in no scope.
using counts = std::map<std::string, std::size_t>;

char const* name_of(profkit::gpu_operation_kind kind) {
  switch (kind) {
    case profkit::gpu_operation_kind::kernel:
      return "kernel ";
    case profkit::gpu_operation_kind::copy:
      return "copy ";
    case profkit::gpu_operation_kind::set:
      return "memset ";
  }
  return "unknown ";
}

counts charged(profkit::profile const& profile) {
  profkit::attribution const to = profkit::attribute(profile);
  counts result;
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    profkit::gpu_operation_record const& operation = profile.gpu_operations[i];
    bool const is_kernel = operation.kind == profkit::gpu_operation_kind::kernel;
    std::uint64_t const number = is_kernel ? operation.grid[0] : operation.bytes / unit_bytes;
    std::string const path = to.path_of[i] == profkit::attribution::none ? "-" : path_name(profile, to.path_of[i]);
    ++result[name_of(operation.kind) + std::to_string(number) + " in " + path];
  }
  return result;
}

/// Checks that a kernel, a copy and a memset with this number are charged to a path this many times each.
void expect(counts& into, unsigned number, std::string const& path, std::size_t times) {
  for (char const* const kind : {"kernel ", "copy ", "memset "}) into[kind + std::to_string(number) + " in " + path] += times;
}

/// The complete profile of the session.
profkit::profile finish(profkit::session& session) {
  profkit::profile profile = session.report().profile();
  for (auto const& each : profile.collectors) {
    INFO(each.name << ": " << each.status << ' ' << each.reason);
    REQUIRE(each.status == "collected");
  }
  REQUIRE(profile.quality.dropped_operations == 0);
  REQUIRE(profile.quality.invalid_operations == 0);
  REQUIRE(profile.quality.dropped_events == 0);
  return profile;
}

std::pair<std::uint64_t, std::uint64_t> operations_of_graphs(profkit::profile const& profile) {
  profkit::summary const all = profkit::analyze(profile);
  REQUIRE(all.gpu);
  return {all.gpu->operations_of_graphs, all.gpu->operations_of_unknown_graphs};
}

using operations = std::pair<std::uint64_t, std::uint64_t>;

}  // namespace

TEST_CASE("graph operations are charged to the scopes of both capturing threads, in a thousand replays", "[gpu]") {
  need_gpu();
  fixture const with;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph captured;
  {
    PROF_SCOPE("capture");
    with.begin_capture();
    with.work(1);
    {
      PROF_SCOPE_INDEXED("layer", 0);
      with.work(2);
      PROF_SCOPE("attention");
      with.work(3);
    }
    {
      PROF_SCOPE_INDEXED("layer", 1);
      with.work(4);
    }
    std::thread{[&] {
      PROF_SCOPE("other thread");
      with.work(5);
      PROF_SCOPE("inner");
      with.work(6);
    }}.join();
    with.work(1);
    with.end_capture(captured);
  }
  {
    PROF_SCOPE("run");
    runnable_graph const first{captured};
    runnable_graph const second{captured};
    first.replay(with.on, 1000);
    second.replay(with.on, 7);
    check(cudaStreamSynchronize(with.on.handle));
  }
  profkit::profile const profile = finish(session);
  counts expected;
  expect(expected, 1, "capture", 2 * 1007);
  expect(expected, 2, "capture/layer_0", 1007);
  expect(expected, 3, "capture/layer_0/attention", 1007);
  expect(expected, 4, "capture/layer_1", 1007);
  expect(expected, 5, "other thread", 1007);
  expect(expected, 6, "other thread/inner", 1007);
  CHECK(charged(profile) == expected);
  CHECK(operations_of_graphs(profile) == operations{21 * 1007, 0});
}

TEST_CASE("graphs captured before the steps are charged inside the scopes that replay them", "[gpu]") {
  need_gpu();
  fixture const with;
  profkit::session session{plain_options(0, 200)};
  session.collect(profkit::cupti_kernels());
  graph captured;
  with.begin_capture();
  {
    PROF_SCOPE("forward");
    with.work(1);
    PROF_SCOPE_INDEXED("layer", 0);
    with.work(2);
  }
  with.end_capture(captured);
  runnable_graph const runnable{captured};
  std::uint64_t done = 0;
  for ([[maybe_unused]] profkit::step const& step : session) {
    {
      PROF_SCOPE("replay");
      runnable.replay(with.on, 3);
      with.work(3);
    }
    if (++done % 2 == 0) {
      PROF_SCOPE("validate");
      runnable.replay(with.on);
    }
    check(cudaStreamSynchronize(with.on.handle));
  }
  profkit::profile const profile = finish(session);
  counts expected;
  expect(expected, 1, "step/replay/forward (captured)", 3 * 200);
  expect(expected, 2, "step/replay/forward (captured)/layer_0", 3 * 200);
  expect(expected, 3, "step/replay", 200);
  expect(expected, 1, "step/validate/forward (captured)", 100);
  expect(expected, 2, "step/validate/forward (captured)/layer_0", 100);
  CHECK(charged(profile) == expected);
  CHECK(operations_of_graphs(profile) == operations{6 * 700, 0});
  profkit::summary const all = profkit::analyze(profile);
  for (profkit::scope_summary const& row : all.scopes) {
    if (row.path == "step/replay") {
      REQUIRE(row.gpu);
      CHECK(row.gpu->operations == 200 * (3 * 6 + 3));
    }
    CHECK(row.path.rfind("forward", 0) != 0);  // not outside the steps
  }
}

TEST_CASE("graphs built by hand are charged to the scopes that added their nodes, child graphs to the launching scope", "[gpu]") {
  need_gpu();
  fixture const with;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph child;
  {
    PROF_SCOPE("child");
    with.begin_capture();
    with.work(1);
    {
      PROF_SCOPE("inner");
      with.work(2);
    }
    with.end_capture(child);
  }
  graph built;
  check(cudaGraphCreate(&built.handle, 0));
  {
    PROF_SCOPE("parent");
    cudaGraphNode_t const last = build(built, with.memory, 3);
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddChildGraphNode(&node, built.handle, &last, 1, child.handle));
  }
  {
    PROF_SCOPE("run");
    runnable_graph const runnable{built};
    runnable.replay(with.on, 50);
    check(cudaStreamSynchronize(with.on.handle));
  }
  profkit::profile const profile = finish(session);
  counts expected;
  expect(expected, 3, "parent", 50);
  // The driver creates the nodes of the child graph again at instantiation, and does not say from which nodes.
  expect(expected, 1, "run", 50);
  expect(expected, 2, "run", 50);
  CHECK(charged(profile) == expected);
  CHECK(operations_of_graphs(profile) == operations{9 * 50, 6 * 50});
}

TEST_CASE("an updated graph stays charged to the capture that was instantiated", "[gpu]") {
  need_gpu();
  fixture const with;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph first;
  graph second;
  {
    PROF_SCOPE("first");
    with.begin_capture();
    with.work(1);
    with.end_capture(first);
  }
  {
    PROF_SCOPE("second");
    with.begin_capture();
    with.work(2);
    with.end_capture(second);
  }
  {
    PROF_SCOPE("run");
    runnable_graph const runnable{first};
    runnable.replay(with.on, 10);
    cudaGraphExecUpdateResultInfo result{};
    check(cudaGraphExecUpdate(runnable.handle, second.handle, &result));
    runnable.replay(with.on, 20);
    check(cudaStreamSynchronize(with.on.handle));
  }
  profkit::profile const profile = finish(session);
  counts expected;
  expect(expected, 1, "first", 10);
  expect(expected, 2, "first", 20);
  // For copies, CUPTI 13.0 continues to report the size at instantiation.
  expected.erase("copy 2 in first");
  expected["copy 1 in first"] += 20;
  CHECK(charged(profile) == expected);
}

TEST_CASE("short-lived graphs are each charged to their own scopes", "[gpu]") {
  need_gpu();
  fixture const with;
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  counts expected;
  for (unsigned i = 0; i < 60; ++i) {
    unsigned const number = 1 + i % 20;
    graph captured;
    {
      PROF_SCOPE_INDEXED("capture", number);
      with.begin_capture();
      with.work(number);
      with.end_capture(captured);
    }
    PROF_SCOPE("run");
    runnable_graph const runnable{captured};
    runnable.replay(with.on, 5);
    check(cudaStreamSynchronize(with.on.handle));
    expect(expected, number, "capture_" + std::to_string(number), 5);
  }
  CHECK(charged(finish(session)) == expected);
}

TEST_CASE("a graph captured before the session is counted as such, and nothing is stored for it", "[gpu]") {
  need_gpu();
  fixture const with;
  graph captured;
  with.begin_capture();
  for (int i = 0; i < 3; ++i) start_nothing(1, 1, with.on.handle);  // CUPTI may show copies of such graphs as kernels
  with.end_capture(captured);
  runnable_graph const instantiated_before{captured};
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  {
    PROF_SCOPE("run");
    instantiated_before.replay(with.on, 1000);
    for (int i = 0; i < 10; ++i) {
      runnable_graph const instantiated_now{captured};
      instantiated_now.replay(with.on);
      check(cudaStreamSynchronize(with.on.handle));
    }
  }
  profkit::profile const profile = finish(session);
  CHECK(charged(profile) == counts{{"kernel 1 in run", 3 * 1010}});
  CHECK(operations_of_graphs(profile) == operations{3 * 1010, 3 * 1010});
  CHECK(profile.graph_nodes.empty());
}

TEST_CASE("each of several sessions charges the graphs whose capture it saw", "[gpu]") {
  need_gpu();
  fixture const with;
  std::vector<std::string> seen;
  for (unsigned round = 1; round <= 3; ++round) {
    graph captured;
    profkit::session session{plain_options()};
    session.collect(profkit::cupti_kernels());
    {
      PROF_SCOPE_INDEXED("capture", round);
      with.begin_capture();
      with.work(round);
      with.end_capture(captured);
    }
    {
      PROF_SCOPE("run");
      runnable_graph const runnable{captured};
      runnable.replay(with.on, 100);
      check(cudaStreamSynchronize(with.on.handle));
    }
    profkit::profile const profile = finish(session);
    counts expected;
    expect(expected, round, "capture_" + std::to_string(round), 100);
    CHECK(charged(profile) == expected);
    CHECK(operations_of_graphs(profile) == operations{300, 0});

    // NVIDIA's release notes say that CUPTI 13.0 assigns wrong correlations to graph launches in sessions after the first. The scopes of
    // graph operations do not depend on them, but the steps in which operations count do.
    profkit::attribution const to = profkit::attribute(profile);
    std::size_t found = 0;
    for (std::uint32_t const launch : to.launch_of) {
      if (launch == profkit::attribution::none) continue;
      found += profile.api_names[profile.api_calls[launch].name].find("cuGraphLaunch") == 0 ? 1 : 0;
    }
    seen.push_back("session " + std::to_string(round) + ": " + std::to_string(found) + " of 300 operations with the launch of a graph");
  }
  for (std::string const& each : seen) WARN(each);
}
