// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/step_choice.hpp"

using namespace std::chrono_literals;
using profkit_run::matches;
using profkit_run::step_finder;

namespace {

/// Ranges on a clock of their own.
class timeline {
 public:
  std::optional<std::string> begin(std::string_view name, std::uint64_t number = 0) { return finder.begin(name, now, number); }
  void end(std::chrono::microseconds later, std::uint64_t number = 0) {
    now += later;
    finder.end(now, number);
  }
  /// A range without ranges in it.
  std::optional<std::string> range(std::string_view name, std::chrono::microseconds time) {
    auto const found = begin(name);
    end(time);
    return found;
  }

  step_finder finder;
  step_finder::clock::time_point now{};
};

}  // namespace

TEST_CASE("a pattern of --step", "[run]") {
  CHECK(matches("Train step *", "Train step 17"));
  CHECK(matches("Train step *", "Train step "));
  CHECK_FALSE(matches("Train step *", "Train"));
  CHECK(matches("*step*7", "a step, 1 step 77"));
  CHECK(matches("step ?", "step 1"));
  CHECK_FALSE(matches("step ?", "step 11"));
  CHECK_FALSE(matches("step", "step 1"));
  CHECK(matches("**", ""));
  CHECK_FALSE(matches("", "x"));
  CHECK(profkit_run::pattern_of("Train step 17 of 300") == "Train step * of *");
}

TEST_CASE("the outermost range that repeats is the step", "[run]") {
  timeline program;
  CHECK_FALSE(program.range("load", 5000us));
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(program.begin("step " + std::to_string(i)));
    for (int layer = 0; layer < 96; ++layer) CHECK_FALSE(program.range("layer " + std::to_string(layer), 200us));
    program.end(100us);
  }
  CHECK(program.begin("step 2") == "step *");
  CHECK(program.finder.names() == R"("load", "step *")");
}

TEST_CASE("ranges between a start and an end are steps if they nest, and others are ignored as soon as they cross", "[run]") {
  timeline program;
  for (std::uint64_t i = 1; i < 4; ++i) {
    CHECK(program.begin("iteration", i).has_value() == (i == 3));
    for (int layer = 0; layer < 20; ++layer) CHECK_FALSE(program.range("layer", 200us));
    program.end(0us, i);
  }
  // Each prefetch ends in the next step.
  timeline ahead;
  static_cast<void>(ahead.begin("prefetch", 100));
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(ahead.begin("step").has_value() == (i == 3));
    ahead.end(100us, 100 + i);
    CHECK_FALSE(ahead.begin("prefetch", 101 + i));
    ahead.end(100us);
  }
  // The same, where both are between a start and an end.
  timeline both;
  static_cast<void>(both.begin("prefetch", 100));
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(both.begin("iteration", 200 + i).has_value() == (i == 3));
    both.end(100us, 100 + i);
    CHECK_FALSE(both.begin("prefetch", 101 + i));
    both.end(100us, 200 + i);
  }
  // Steps that overlap.
  timeline pipeline;
  for (std::uint64_t i = 1; i < 20; ++i) {
    CHECK_FALSE(pipeline.begin("stage", i));
    if (i > 1) pipeline.end(200us, i - 1);
  }
  // The ends on another thread are not seen.
  timeline threads;
  for (std::uint64_t i = 1; i < 20; ++i) {
    threads.finder.forget_ended([](std::uint64_t) { return false; });
    CHECK_FALSE(threads.begin("load", i));
    threads.now += 300us;
  }
}

TEST_CASE("a range in one that has not ended is the step after many repetitions", "[run]") {
  timeline program;
  CHECK_FALSE(program.begin("training"));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(program.range("iteration", 200us));
  CHECK(program.range("iteration", 200us) == "iteration");
  timeline slow;
  CHECK_FALSE(slow.begin("training"));
  for (int i = 0; i < 10; ++i) CHECK_FALSE(slow.range("iteration", 1'000'000us));
  CHECK(slow.begin("iteration") == "iteration");
}

TEST_CASE("ranges that are short, or cover little of the time, are no steps", "[run]") {
  timeline program;
  for (int i = 0; i < 200; ++i) CHECK_FALSE(program.range("short", 99us));
  timeline rare;
  for (int i = 0; i < 200; ++i) {
    CHECK_FALSE(rare.range("checkpoint", 400us));
    rare.now += 500us;
  }
  timeline operators;
  for (int i = 0; i < 200; ++i) {
    for (char const* each : {"conv", "relu", "pool"}) CHECK_FALSE(operators.range(each, 500us));
  }
}

TEST_CASE("ranges nested deeper than the finder looks, and many names, do no harm", "[run]") {
  timeline program;
  for (int i = 0; i < 3; ++i) {
    CHECK(program.begin("step").has_value() == (i == 2));
    for (int depth = 0; depth < 50; ++depth) static_cast<void>(program.begin("level " + std::string(static_cast<std::size_t>(depth), 'x')));
    for (int depth = 0; depth < 50; ++depth) program.end(10us);
    program.end(100us);
  }
}
