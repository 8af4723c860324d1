// SPDX-License-Identifier: Apache-2.0
//
// Kernel collection with CUDA graphs, on an imitated driver and CUPTI in the library path.
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/collect/cupti_launches.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support/profile_of.hpp"
#include "fake_cupti.hpp"

namespace {

using kind = fake_graph_node::kind;
using counts = std::map<std::string, std::size_t>;

/// A graph during capture, and its instances.
class graph {
 public:
  void capture(kind what) { nodes_.push_back({fake_->capture(number_), what}); }

  [[nodiscard]] graph instantiate() const {
    graph copy;
    for (fake_graph_node const& node : nodes_) copy.nodes_.push_back({fake_->clone(node.number, copy.number_), node.what});
    return copy;
  }

  void replay() const { fake_->replay(nodes_.data(), nodes_.size(), 100); }

 private:
  static inline std::uint32_t graphs_ = 0;

  std::uint32_t number_ = ++graphs_;
  fake_cupti_controls* fake_ = &fake_cupti();
  std::vector<fake_graph_node> nodes_;
};

/// The number of operations charged to each path; "-": to none.
counts charged_to(profkit::profile const& profile) {
  profkit::attribution const to = profkit::attribute(profile);
  counts result;
  for (std::uint32_t const path : to.path_of) ++result[path == profkit::attribution::none ? "-" : path_name(profile, path)];
  return result;
}

/// The same by name of the operation.
counts charged_by_name(profkit::profile const& profile) {
  profkit::attribution const to = profkit::attribute(profile);
  counts result;
  for (std::size_t i = 0; i < to.path_of.size(); ++i) {
    std::string const path = to.path_of[i] == profkit::attribution::none ? "-" : path_name(profile, to.path_of[i]);
    ++result[profile.gpu_names[profile.gpu_operations[i].name].name + " in " + path];
  }
  return result;
}

/// Operations of graphs: all, and those captured before kernel collection began.
std::pair<std::uint64_t, std::uint64_t> operations_of_graphs(profkit::profile const& profile) {
  profkit::summary const all = profkit::analyze(profile);
  REQUIRE(all.gpu);
  return {all.gpu->operations_of_graphs, all.gpu->operations_of_unknown_graphs};
}

}  // namespace

TEST_CASE("operations of a graph are charged to the scopes of its capture, on any thread", "[cupti]") {
  for (bool const all_api_calls : {false, true}) {
    profkit::session session{plain_options()};
    session.collect(profkit::cupti_kernels({all_api_calls}));
    graph captured;
    {
      PROF_SCOPE("capture");
      captured.capture(kind::kernel);
      {
        PROF_SCOPE_INDEXED("layer", 3);
        captured.capture(kind::copy);
        captured.capture(kind::set);
        captured.capture(kind::peer_copy);
      }
      std::thread{[&] {
        PROF_SCOPE("other thread");
        captured.capture(kind::kernel);
        PROF_SCOPE("inner");
        captured.capture(kind::kernel);
        captured.capture(kind::set);
      }}.join();
      captured.capture(kind::kernel);
    }
    graph first;
    {
      PROF_SCOPE("instantiate");
      first = captured.instantiate();
    }
    graph const second = first.instantiate();  // a copy of the copies
    {
      PROF_SCOPE("replay");
      for (int i = 0; i < 10; ++i) first.replay();
      second.replay();
      fake_cupti().kernel("_Z5eagerv", 1, 100, 200);
    }
    profkit::profile const profile = session.report().profile();
    CHECK(charged_by_name(profile) == counts{{"node() in capture", 22},
                                             {"[CUDA memcpy Host-to-Device] in capture/layer_3", 11},
                                             {"[CUDA memcpy Peer-to-Peer] in capture/layer_3", 11},
                                             {"[CUDA memset] in capture/layer_3", 11},
                                             {"node() in other thread", 11},
                                             {"node() in other thread/inner", 11},
                                             {"[CUDA memset] in other thread/inner", 11},
                                             {"eager() in replay", 1}});
    CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{88, 0});
    CHECK(profile.graph_nodes.size() == 3 * 8);
    // The launch is still the replay's.
    profkit::attribution const to = profkit::attribute(profile);
    for (std::uint32_t const scope : to.scope_of) {
      REQUIRE(scope != profkit::attribution::none);
      CHECK(path_name(profile, profile.scopes[scope].path) == "replay");
    }
  }
}

TEST_CASE("a graph captured in a warm-up step has rows for its scopes, over the measured steps that replay it", "[cupti]") {
  profkit::session session{plain_options(2, 5)};
  session.collect(profkit::cupti_kernels());
  graph runnable;
  std::uint64_t steps = 0;
  for (profkit::step const step : session) {
    if (steps++ == 0) {
      PROF_SCOPE("forward");
      graph captured;
      captured.capture(kind::kernel);
      PROF_SCOPE_INDEXED("layer", 0);
      captured.capture(kind::kernel);
      captured.capture(kind::set);
      runnable = captured.instantiate();
    }
    PROF_SCOPE("replay");
    runnable.replay();
  }
  profkit::summary const& all = session.report().summary();
  REQUIRE(all.gpu);
  CHECK(all.gpu->operations_of_graphs == 5 * 3);
  CHECK(all.gpu->operations_of_unknown_graphs == 0);
  CHECK(all.gpu->unattributed_operations == 0);
  profkit::scope_summary const* const forward = find_row(all, "step/forward");
  profkit::scope_summary const* const layer = find_row(all, "step/forward/layer_0");
  REQUIRE(forward != nullptr);
  REQUIRE(forward->gpu);
  CHECK(forward->gpu->operations == 5 * 3);
  CHECK(forward->gpu->kernels == 5 * 2);
  REQUIRE(layer != nullptr);
  REQUIRE(layer->gpu);
  CHECK(layer->gpu->operations == 5 * 2);
}

TEST_CASE("the scopes of a capture outside steps are inside the scope that replays the graph", "[cupti]") {
  profkit::session session{plain_options(0, 4)};
  session.collect(profkit::cupti_kernels());
  graph before;
  graph elsewhere;
  {
    PROF_SCOPE("capture");
    before.capture(kind::kernel);
    profkit::scope_token layer;
    {
      PROF_SCOPE_INDEXED("layer", 3);
      layer = profkit::scope_token::current();
      before.capture(kind::copy);
      before.capture(kind::set);
    }
    static profkit::site role{"backward", __FILE__, __LINE__};
    profkit::adopting_scope const scope{role, layer};
    before.capture(kind::kernel);
  }
  std::thread{[&] {
    PROF_SCOPE_INDEXED("other thread", 1);
    elsewhere.capture(kind::kernel);
    PROF_SCOPE("inner");
    elsewhere.capture(kind::kernel);
  }}.join();
  graph const first = before.instantiate();
  graph const second = elsewhere.instantiate();
  std::uint64_t steps = 0;
  for (profkit::step const step : session) {
    {
      PROF_SCOPE("replay");
      first.replay();
      second.replay();
      fake_cupti().kernel("_Z5eagerv", 1, 100, 200);
    }
    if (++steps % 2 == 1) continue;
    PROF_SCOPE("validate");
    first.replay();
    std::thread{[&] {
      PROF_SCOPE("worker");
      second.replay();
    }}.join();
  }
  first.replay();  // outside any scope
  profkit::report const report = session.report();
  std::string const capture = "step/replay/capture (captured)";
  std::string const validate = "step/validate/capture (captured)";
  CHECK(charged_to(report.profile()) == counts{{capture, 4},
                                               {capture + "/layer_3", 8},
                                               {capture + "/capture/layer_3 (backward)", 4},
                                               {"step/replay/other thread_1 (captured)", 4},
                                               {"step/replay/other thread_1 (captured)/inner", 4},
                                               {"step/replay", 4},
                                               {validate, 2},
                                               {validate + "/layer_3", 4},
                                               {validate + "/capture/layer_3 (backward)", 2},
                                               {"worker/other thread_1 (captured)", 2},
                                               {"worker/other thread_1 (captured)/inner", 2},
                                               {"capture", 1},
                                               {"capture/layer_3", 2},
                                               {"capture/capture/layer_3 (backward)", 1}});
  // Scopes in which graphs are replayed have the figures of all of their operations, and no other row has them.
  profkit::summary const& all = report.summary();
  auto const operations = [&](char const* path) {
    profkit::scope_summary const* const row = find_row(all, path);
    return row == nullptr || !row->gpu ? 0 : row->gpu->operations;
  };
  CHECK(operations("step/replay") == 4 * 7);
  CHECK(operations("step/replay/capture (captured)") == 4 * 4);
  CHECK(operations("step/validate") == 2 * 4);
  CHECK(operations("worker") == 2 * 2);
  CHECK(operations("step") == 4 * 7 + 2 * 4);
  CHECK(operations("capture") == 0);
  double parts = 0.0;
  REQUIRE(all.budget);
  for (auto const& row : all.budget->rows) {
    parts += row.busy.count();
    CHECK(row.part.find("capture") == std::string::npos);
  }
  CHECK(parts == Catch::Approx(all.budget->busy.count()));
  // Backward kernels count for the layer inside the same replay.
  bool has_layer = false;
  for (profkit::adopted_summary const& row : all.adopted) {
    CHECK(row.path.rfind("step", 0) == 0);
    if (row.path != capture + "/layer_3") continue;
    has_layer = true;
    CHECK(row.role == "backward");
    CHECK(row.operations.value() == 4);
    CHECK(row.own_kernel_time.value().count() > 0.0);
  }
  CHECK(has_layer);
  CHECK(report.profile().replayed_scopes.size() == 3 + 2 + 3 + 2);
}

TEST_CASE("a long session counts each operation of a graph in the scope that replays it", "[cupti]") {
  constexpr std::uint64_t steps = 2000;
  constexpr int nodes = 50;
  profkit::options options = plain_options(0, steps);
  options.max_records = 10'000;  // figures of the others come from windows
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  graph captured;
  {
    PROF_SCOPE("capture");
    for (int i = 0; i < nodes; ++i) captured.capture(kind::kernel);
  }
  graph const runnable = captured.instantiate();
  for (profkit::step const step : session) {
    PROF_SCOPE("replay");
    runnable.replay();
  }
  profkit::report const report = session.report();
  CHECK(report.profile().replayed_scopes.size() == 1);
  profkit::scope_summary const* const row = find_row(report.summary(), "step/replay/capture (captured)");
  REQUIRE(row != nullptr);
  REQUIRE(row->gpu);
  CHECK(row->gpu->operations == steps * nodes);
  CHECK(find_row(report.summary(), "capture") == nullptr);
}

TEST_CASE("nodes that one scope captures for another are charged as its own work for that one", "[cupti]") {
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph captured;
  for (profkit::step const step : session) {
    profkit::scope_token layer;
    profkit::scope_token backward;
    {
      PROF_SCOPE("forward");
      PROF_SCOPE_INDEXED("layer", 2);
      layer = profkit::scope_token::current();
      captured.capture(kind::kernel);
    }
    PROF_SCOPE("backward pass");
    backward = profkit::scope_token::current();
    std::thread{[&] {
      static profkit::site role{"backward", __FILE__, __LINE__};
      profkit::adopting_scope const scope{role, layer, backward};
      captured.capture(kind::kernel);
    }}.join();
  }
  captured.instantiate().replay();
  profkit::profile const profile = session.report().profile();
  CHECK(charged_to(profile) == counts{{"step/forward/layer_2", 1}, {"step/backward pass/forward/layer_2 (backward)", 1}});
}

TEST_CASE("a node captured outside any scope is charged to the scope that launches its graph", "[cupti]") {
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph captured;
  captured.capture(kind::kernel);
  {
    PROF_SCOPE("replay");
    captured.instantiate().replay();
  }
  captured.instantiate().replay();
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.graph_nodes.size() == 3);
  for (auto const& each : profile.graph_nodes) CHECK(each.path == profkit::path_record::no_parent);
  CHECK(charged_to(profile) == counts{{"replay", 1}, {"-", 1}});
  CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{2, 0});
}

TEST_CASE("a graph captured before kernel collection is counted as such, and nothing is stored for it", "[cupti]") {
  graph before;
  for (int i = 0; i < 5; ++i) before.capture(kind::kernel);
  graph const instantiated_before = before.instantiate();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph during;
  {
    PROF_SCOPE("capture");
    during.capture(kind::kernel);
  }
  for (int i = 0; i < 100; ++i) {
    PROF_SCOPE("replay");
    instantiated_before.replay();
    before.instantiate().replay();
    during.replay();
  }
  profkit::profile const profile = session.report().profile();
  CHECK(charged_to(profile) == counts{{"replay", 1000}, {"capture", 100}});
  CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{1100, 1000});
  CHECK(profile.graph_nodes.size() == 1);
}

TEST_CASE("a session does not know graphs of the previous session, even if that one failed", "[cupti]") {
  for (char const* const failure : {"", "cuptiActivityFlushAll=999"}) {
    graph captured;
    {
      profkit::session session{plain_options()};
      session.collect(profkit::cupti_kernels());
      {
        PROF_SCOPE("first");
        captured.capture(kind::kernel);
      }
      ::setenv("FAKE_CUPTI", failure, 1);
      static_cast<void>(session.report());
    }
    ::unsetenv("FAKE_CUPTI");
    profkit::session session{plain_options()};
    session.collect(profkit::cupti_kernels());
    {
      PROF_SCOPE("second");
      captured.replay();
      captured.capture(kind::set);
    }
    captured.replay();
    profkit::profile const profile = session.report().profile();
    CHECK(charged_by_name(profile) == counts{{"node() in second", 1}, {"node() in -", 1}, {"[CUDA memset] in second", 1}});
    CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{3, 2});
  }
}

TEST_CASE("nodes that the driver adds to a copy belong to an unknown graph", "[cupti]") {
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  graph captured;
  {
    PROF_SCOPE("capture");
    captured.capture(kind::kernel);
  }
  {
    PROF_SCOPE("instantiate");
    graph copy = captured.instantiate();
    copy.capture(kind::set);  // as in a child graph
    PROF_SCOPE("run");
    copy.replay();
  }
  profkit::profile const profile = session.report().profile();
  CHECK(charged_by_name(profile) == counts{{"node() in capture", 1}, {"[CUDA memset] in instantiate/run", 1}});
  CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{2, 1});
}

TEST_CASE("nodes without numbers from CUPTI count as nodes of unknown graphs", "[cupti]") {
  ::setenv("FAKE_CUPTI", "cuptiGetGraphNodeId=999", 1);
  profkit::session session{plain_options()};
  auto const& collector = session.collect(profkit::cupti_kernels());
  graph captured;
  {
    PROF_SCOPE("capture");
    captured.capture(kind::kernel);
  }
  captured.instantiate().replay();
  ::unsetenv("FAKE_CUPTI");
  profkit::profile const profile = session.report().profile();
  CHECK(collector.status().works);
  CHECK(profile.graph_nodes.empty());
  CHECK(charged_to(profile) == counts{{"-", 1}});
  CHECK(operations_of_graphs(profile) == std::pair<std::uint64_t, std::uint64_t>{1, 1});
}

TEST_CASE("calls that wait for a device are recorded, and are no launches", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{plain_options()};
  session.collect(profkit::cupti_kernels());
  {
    PROF_SCOPE("waiting");
    fake.wait();
    fake.kernel("_Z1av", 1, 100, 200);
    fake.wait();
  }
  profkit::profile const profile = session.report().profile();
  std::vector<std::string> calls;
  for (auto const& each : profile.api_calls) {
    calls.push_back(profile.api_names[each.name]);
    CHECK(each.time.begin >= profile.scopes.at(0).time.begin);
    CHECK(each.time.end <= profile.scopes.at(0).time.end);
  }
  CHECK(calls == std::vector<std::string>{"cuStreamSynchronize", "cuLaunchKernel", "cuStreamSynchronize"});
  CHECK(profkit::attribute(profile).launch_of == std::vector<std::uint32_t>{1});
  CHECK_FALSE(profkit::analyze(profile).gpu->api);
}
