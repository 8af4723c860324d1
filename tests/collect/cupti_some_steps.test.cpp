// SPDX-License-Identifier: Apache-2.0
//
// Kernels in some steps only (`kernels=every:N`), on an imitated driver and CUPTI in the library path.
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/save_load.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../../tools/profkit/control/control_client.hpp"
#include "../support/profile_of.hpp"
#include "../support/report_text.hpp"
#include "fake_cupti.hpp"

namespace {

int waits_for_devices() { return *static_cast<int*>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_synchronisations")); }

profkit::options every(std::uint64_t n, std::uint64_t warmup, std::uint64_t measured) {
  profkit::options result = plain_options(warmup, measured);
  result.kernels_every = n;
  return result;
}

/// The indices of the steps with kernels collected.
std::vector<std::uint64_t> collected_steps(profkit::profile const& profile) {
  std::vector<std::uint64_t> result;
  for (profkit::step_record const& step : profile.steps) {
    if (step.has_kernels) result.push_back(step.index);
  }
  return result;
}

/// By step: recorded operations by grid size. The tests launch one with the index of the step as grid size, and one of size 1.
std::vector<std::uint64_t> steps_launched_in(profkit::profile const& profile) {
  std::vector<std::uint64_t> result;
  for (profkit::gpu_operation_record const& each : profile.gpu_operations) result.push_back(each.grid[0] - 1U);
  return result;
}

void launch(std::uint64_t step) {
  PROF_SCOPE("forward");
  fake_cupti().kernel("_Z1av", static_cast<std::uint32_t>(step) + 1, 100, 200);
}

}  // namespace

TEST_CASE("kernels are recorded in every N-th measured step, and in the last one of the warm-up", "[cupti]") {
  profkit::session session{every(3, 2, 10)};
  session.collect(profkit::cupti_kernels());
  for (profkit::step const step : session) launch(step.index());
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  std::vector<std::uint64_t> const expected{1, 4, 7, 10};
  CHECK(collected_steps(profile) == expected);
  CHECK(steps_launched_in(profile) == expected);
  CHECK(profile.api_calls.size() == expected.size());
  CHECK(profile.steps.size() == 12);
  CHECK(report.summary().gpu->steps == 3);
  CHECK(report.summary().gpu->all.kernels == 3);
  CHECK(report.summary().gpu->unattributed_kernels == 0);
  CHECK(find_row(report.summary(), "step/forward")->host.count == 10);
  CHECK_THAT(squeezed(report.full_text()), Catch::Matchers::ContainsSubstring("\nkernels collected in 3 of 10 measured steps\n"));
}

TEST_CASE("if fewer than N steps are measured, kernels are recorded in the last one", "[cupti]") {
  profkit::session session{every(10, 0, 4)};
  session.collect(profkit::cupti_kernels());
  for (profkit::step const step : session) launch(step.index());
  CHECK(collected_steps(session.report().profile()) == std::vector<std::uint64_t>{3});
  CHECK(steps_launched_in(session.report().profile()) == std::vector<std::uint64_t>{3});
}

TEST_CASE("with N = 1 all steps are collected, without waiting for devices between them", "[cupti]") {
  profkit::session session{every(1, 1, 3)};
  session.collect(profkit::cupti_kernels());
  int const before = waits_for_devices();
  for (profkit::step const step : session) launch(step.index());
  CHECK(waits_for_devices() == before);
  CHECK(steps_launched_in(session.report().profile()).size() == 4);
}

TEST_CASE("the session waits for the devices before and after a collected step, but not inside steps", "[cupti]") {
  profkit::session session{every(4, 2, 8)};
  session.collect(profkit::cupti_kernels());
  std::vector<int> waits;  // before each step, and at the end
  for (profkit::step const step : session) {
    int const at_begin = waits_for_devices();
    waits.push_back(at_begin);
    launch(step.index());
    CHECK(waits_for_devices() == at_begin);
  }
  for (std::size_t i = waits.size(); i-- > 1;) waits[i] -= waits[i - 1];
  // Step 0: recording stops. Steps 1 (warm-up), 5, 9: recording begins, and stops before the next step.
  CHECK(std::vector<int>(waits.begin() + 1, waits.end()) == std::vector<int>{1, 1, 0, 0, 1, 1, 0, 0, 1});
}

TEST_CASE("a step without kernels has no callbacks around its launches, from the second such step on", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{every(5, 1, 10)};
  session.collect(profkit::cupti_kernels());
  std::vector<std::uint64_t> callbacks;
  for (profkit::step const step : session) {
    std::uint64_t const before = fake.callbacks;
    launch(step.index());
    callbacks.push_back(fake.callbacks - before);
  }
  // Collected: 0 (warm-up), 5, 10. The step after each may still have callbacks of pending calls.
  CHECK(callbacks == std::vector<std::uint64_t>{2, 2, 0, 0, 0, 2, 2, 0, 0, 0, 2});
}

TEST_CASE("a call in progress when recording stops is recorded to its end", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  std::atomic<int> stage{0};
  profkit::session session{every(2, 0, 6)};
  session.collect(profkit::cupti_kernels());
  std::thread other{[&] {
    while (stage.load() != 1) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) {
      PROF_SCOPE("other");
      fake.set(8, 100, 200);
      fake.wait();
    }
    stage = 2;
  }};
  for (profkit::step const step : session) {
    if (step.index() == 1) stage = 1;
    for (int i = 0; i < 50; ++i) launch(step.index());
    if (step.index() == 5) {
      while (stage.load() != 2) std::this_thread::yield();
    }
  }
  other.join();
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "other") == 1000);
  CHECK(profile.quality.open_scopes == 0);
  CHECK(count_scopes(profile, "step/forward") == 300);
  for (profkit::api_call_record const& call : profile.api_calls) CHECK(call.time.begin <= call.time.end);
}

TEST_CASE("graphs captured in a step without kernels are known in a step with kernels", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{every(3, 0, 3)};
  session.collect(profkit::cupti_kernels());
  fake_graph_node node{0, fake_graph_node::kind::kernel};
  for (profkit::step const step : session) {
    if (step.index() == 1) {
      PROF_SCOPE("forward");
      node.number = fake.clone(fake.capture(7001), 7002);
    }
    PROF_SCOPE("replay");
    if (step.index() > 0) fake.replay(&node, 1, 100);
  }
  profkit::report const report = session.report();
  REQUIRE(report.profile().gpu_operations.size() == 1);
  CHECK(report.summary().gpu->operations_of_unknown_graphs == 0);
  CHECK(find_row(report.summary(), "step/forward")->gpu->kernels == 1);
}

TEST_CASE("driver allocations are recorded in all steps", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{every(4, 0, 4)};
  session.collect(profkit::cupti_kernels());
  for (profkit::step const step : session) fake.allocate(0x1000 * (step.index() + 1), 4096, false);
  CHECK(session.report().profile().allocations.size() == 4);
}

TEST_CASE("if all API calls are requested, runtime calls are recorded in the collected steps only", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  profkit::session session{every(2, 0, 4)};
  session.collect(profkit::cupti_kernels({true}));
  for ([[maybe_unused]] profkit::step const step : session) fake.call();
  CHECK(session.report().profile().api_calls.size() == 2);
}

TEST_CASE("without steps kernels are recorded all the time", "[cupti]") {
  profkit::session session{every(10, 0, 30)};
  session.collect(profkit::cupti_kernels());
  launch(0);
  launch(1);
  CHECK(session.report().profile().gpu_operations.size() == 2);
  CHECK(session.report().summary().gpu->all.kernels == 2);
}

TEST_CASE("a failure to switch recording ends the collection with its reason, and the program runs on", "[cupti]") {
  for (std::string const call : {"cuptiActivityDisable", "cuptiEnableCallback", "cuptiActivityEnable"}) {
    INFO(call);
    profkit::session session{every(4, 1, 8)};
    auto const& collector = session.collect(profkit::cupti_kernels());
    REQUIRE(collector.status().works);
    for (profkit::step const step : session) {
      if (step.index() == 3) ::setenv("FAKE_CUPTI", (call + "=999").c_str(), 1);
      launch(step.index());
    }
    ::unsetenv("FAKE_CUPTI");
    profkit::report const report = session.report();
    CHECK_FALSE(collector.status().works);
    CHECK_THAT(collector.status().reason, Catch::Matchers::ContainsSubstring(call));
    CHECK_FALSE(report.summary().gpu);
    CHECK(report.summary().steps.host.count == 8);
  }
}

TEST_CASE("a snapshot has the kernels of earlier steps, and counts launches whose kernels have not arrived", "[cupti][snapshot]") {
  profkit::session session{plain_options(0, 4)};
  session.collect(profkit::cupti_kernels());
  for (profkit::step step : session) {
    PROF_SCOPE("launch");
    fake_cupti().kernel("_Z5firstv", 1, 100 + 1000 * step.index(), 200 + 1000 * step.index());
    profkit::report const so_far = session.snapshot();
    CHECK(so_far.profile().gpu_operations.size() == step.index() + 1);
    CHECK(so_far.summary().steps.host.count == step.index());
    CHECK(so_far.profile().quality.snapshot->missing_operations == 0);
    if (step.index() > 0) {
      REQUIRE(so_far.summary().gpu);
      CHECK(so_far.summary().gpu->all.kernels == step.index());
    }
    if (step.index() < 3) continue;
    fake_cupti().kernel("_Z4lostv", 1, 0, 0);  // its record has no time
    CHECK(session.snapshot().profile().quality.snapshot->missing_operations == 1);
  }
  CHECK(session.report().summary().gpu->all.kernels == 4);
}

TEST_CASE("a capture collects kernels in its steps alone, also with kernels=every:N", "[cupti]") {
  fake_cupti_controls& fake = fake_cupti();
  char runtime[] = "/tmp/profkit-XXXXXX";
  REQUIRE(::mkdtemp(runtime) != nullptr);
  ::setenv("XDG_RUNTIME_DIR", runtime, 1);
  profkit::options options = plain_options(0, 0);
  options.control = true;
  options.kernels_on_capture = GENERATE(true, false);
  if (!options.kernels_on_capture) options.kernels_every = 1'000'000;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  std::atomic<int> answers{0};
  profkit_program::session_answer answer[2];
  std::thread client{[&] {
    auto const process = static_cast<std::uint64_t>(::getpid());
    for (int i = 0; i < 2; ++i, ++answers) {
      profkit_program::session_call call{profkit_program::socket_of_process(process), "capture steps=3 kernels", ::geteuid()};
      answer[i] = call.finish(profkit_program::session_call::clock::now() + std::chrono::seconds{60}).value();
      std::this_thread::sleep_for(std::chrono::milliseconds{50});  // some steps without a capture
    }
  }};
  std::uint64_t const before = fake.callbacks;
  std::uint64_t steps = 0;
  auto const run_step = [&] {
    profkit::step const step{session};
    launch(steps++);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  for (int i = 0; i < 10; ++i) run_step();
  while (answers < 2) run_step();
  client.join();
  std::uint64_t const after = fake.callbacks;
  CHECK(after > before);
  for (int i = 0; i < 10; ++i) run_step();
  CHECK(fake.callbacks == after);

  std::vector<std::uint64_t> captured;
  for (profkit_program::session_answer const& each : answer) {
    profkit::profile const part = profkit::load_journal(profkit_program::path_of(*each.files.at(0))).content;
    auto const from = static_cast<std::uint64_t>(each.number("from").value());
    CHECK(each.number("to") == static_cast<double>(from + 2));
    std::vector<std::uint64_t> const expected{from, from + 1, from + 2};
    CHECK(collected_steps(part) == expected);
    std::vector<std::uint64_t> const launched = steps_launched_in(part);
    for (std::uint64_t const step : expected) CHECK(std::count(launched.begin(), launched.end(), step) == 1);
    profkit::summary const figures = profkit::analyze(part);
    CHECK(figures.gpu->all.kernels == 3);
    CHECK(figures.gpu->unattributed_kernels == 0);
    captured.insert(captured.end(), expected.begin(), expected.end());
  }
  profkit::report const report = session.report();
  CHECK(collected_steps(report.profile()) == captured);
  CHECK(report.summary().gpu->all.kernels == 6);
  CHECK(report.summary().steps.host.count == steps);
  ::unsetenv("XDG_RUNTIME_DIR");
  ::rmdir((std::string{runtime} + "/profkit").c_str());
  ::rmdir(runtime);
}

TEST_CASE("without a capture, kernels=capture starts no kernel collector", "[cupti]") {
  profkit::options options = plain_options(0, 3);
  options.kernels_on_capture = true;
  profkit::session session{options};
  session.collect(profkit::cupti_kernels());
  for (profkit::step const step : session) launch(step.index());
  CHECK(session.report().profile().gpu_operations.empty());
  CHECK(session.report().profile().collectors.at(0).status == "not started");
}
