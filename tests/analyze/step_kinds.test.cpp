// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/analysis.hpp>
#include <profkit/impl/analyze/kinds/kind_table.hpp>
#include <profkit/impl/analyze/kinds/step_kinds.hpp>
#include <profkit/impl/analyze/time/step_series.hpp>
#include <profkit/save_load.hpp>

#include "../support/made_kinds.hpp"
#include "../support/made_loop.hpp"
#include "../support/made_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_profiles.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"
#include "../support/with_more.hpp"

namespace {

using part_names = std::vector<std::string>;

bool is_near(profkit::milliseconds a, profkit::milliseconds b) { return a.count() == Approx(b.count()).margin(1e-6); }

/// Times of scopes and the rest add up to the wall time, in each kind; kinds add up to all steps.
void check_sums(profkit::summary const& summary) {
  std::uint64_t steps = 0;
  std::map<std::size_t, std::uint64_t> scopes;
  std::map<std::size_t, profkit::milliseconds> host;
  std::map<std::size_t, std::uint64_t> kernels;
  profkit::milliseconds wall{};
  profkit::milliseconds busy{};
  for (profkit::step_kind_summary const& kind : summary.kinds) {
    steps += kind.steps;
    CHECK(kind.times.host.count == kind.steps);
    CHECK((kind.budget.has_value() || kind.gpu_steps == 0 || summary.budget->is_of_gpu));
    std::map<std::size_t, profkit::milliseconds> inside;
    profkit::milliseconds sum{};
    for (profkit::kind_scope_summary const& each : kind.scopes) {
      scopes[each.scope] += each.count;
      host[each.scope] += each.host;
      REQUIRE(each.busy.has_value() == kind.budget.has_value());
      if (!each.busy) continue;
      profkit::milliseconds const time = *each.busy + *each.idle;
      inside[each.scope] += *each.busy_self + *each.idle_self - time;
      if (auto const parent = summary.scopes[each.scope].parent) {
        inside[*parent] += time;
      } else {
        sum += time;
      }
    }
    for (auto const& [scope, rest] : inside) CHECK(is_near(rest, {}));
    for (profkit::kind_kernel_summary const& each : kind.kernels) {
      kernels[each.kernel] += each.count;
      std::uint64_t count = 0;
      profkit::milliseconds total{};
      for (profkit::launch_place_summary const& place : each.launched_in) count += place.count, total += place.total;
      CHECK(count == each.count);
      CHECK(is_near(total, each.total));
    }
    if (!kind.budget) continue;
    CHECK(is_near(sum + *kind.outside, kind.budget->wall));
    wall += kind.budget->wall;
    busy += kind.budget->busy;
  }
  CHECK(steps == summary.steps.host.count);
  for (std::size_t row = 0; row < summary.scopes.size() && !summary.kinds.empty(); ++row) {
    CHECK(scopes[row] == summary.scopes[row].host.count);
    CHECK(is_near(host[row], summary.scopes[row].host.total));
  }
  if (summary.kinds.empty() || !summary.gpu) return;
  for (std::size_t row = 0; row < summary.gpu->kernels.size(); ++row) CHECK(kernels[row] == summary.gpu->kernels[row].time.count);
  CHECK(is_near(wall, summary.budget->wall));
  CHECK(is_near(busy, summary.budget->busy));
}

double idle_share(profkit::budget_summary const& budget) { return 1.0 - budget.busy / budget.wall; }

}  // namespace

TEST_CASE("one validation step among 35 training steps is a separate kind, and the others have their own narrow figures", "[step_kinds]") {
  profkit::summary const summary = profkit::analyze(training_with_one_validation());
  REQUIRE(summary.kinds.size() == 2);
  profkit::step_kind_summary const& usual = summary.kinds[0];
  profkit::step_kind_summary const& other = summary.kinds[1];
  CHECK(usual.name == "usual");
  CHECK(usual.is_usual);
  CHECK(usual.parts == part_names{"forward", "backward", "optimizer"});
  CHECK(usual.steps == 35);
  CHECK(usual.gpu_steps == 35);
  CHECK(other.name == "step 20");
  CHECK_FALSE(other.is_usual);
  CHECK(other.parts == part_names{"validation", "generation"});
  CHECK(other.steps == 1);

  CHECK(summary.steps.host_verdict.verdict == profkit::step_verdict::uneven);
  CHECK(summary.steps.host.mean->count() == Approx(48.9).epsilon(0.01));
  CHECK(usual.times.host_verdict.verdict == profkit::step_verdict::stable);
  CHECK(usual.times.host.mean->count() == Approx(46.0).epsilon(0.001));
  CHECK(*usual.times.host_verdict.relative_half_width < 0.001);
  CHECK(usual.times.host_samples.size() == 35);
  REQUIRE(usual.times.gpu_period);
  CHECK(usual.times.gpu_period->time.count == 35);
  CHECK(usual.times.items == 350);
  REQUIRE(usual.times.step_time);
  CHECK(usual.times.step_time->basis == summary.steps.step_time->basis);
  CHECK(other.times.host.mean->count() == Approx(150.0).epsilon(0.001));
  CHECK(other.times.host_verdict.verdict == profkit::step_verdict::too_few);

  REQUIRE(usual.budget);
  REQUIRE(other.budget);
  CHECK(usual.budget->steps == 35);
  CHECK(idle_share(*usual.budget) == Approx(0.0326).epsilon(0.01));
  CHECK(idle_share(*other.budget) == Approx(0.667).epsilon(0.01));
  CHECK(idle_share(*summary.budget) == Approx(0.087).epsilon(0.03));
  REQUIRE(usual.budget->rows.size() == 4);  // with the step itself
  CHECK(usual.budget->rows[1].part == "forward");
  CHECK(usual.budget->rows[1].busy.count() == Approx(35 * 14.5));
  check_sums(summary);
}

TEST_CASE("kernels of a kind have their count and time in its steps, and their launching scope", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 4; ++i) made.step({{"forward", 2.0, 1.0 + 0.1 * i}, {"layer", 1.0, 0.5, 0}, {"layer", 1.0, 0.25, 1}});
  made.step({{"forward", 5.0, 4.0}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == 2);
  REQUIRE(summary.kinds[0].kernels.size() == 2);
  profkit::kind_kernel_summary const& forward = summary.kinds[0].kernels[0];
  CHECK(summary.gpu->kernels[forward.kernel].name == "forward");
  CHECK(forward.count == 4);
  CHECK(forward.total.count() == Approx(4.6));
  CHECK(forward.min.count() == Approx(1.0));
  CHECK(forward.max.count() == Approx(1.3));
  REQUIRE(forward.launched_in.size() == 1);
  CHECK(summary.scopes[*forward.launched_in[0].scope].path == "step/forward");
  profkit::kind_kernel_summary const& layer = summary.kinds[0].kernels[1];
  REQUIRE(layer.launched_in.size() == 2);
  CHECK(summary.scopes[*layer.launched_in[0].scope].path == "step/layer_0");
  CHECK(layer.launched_in[0].total.count() == Approx(2.0));
  CHECK(summary.scopes[*layer.launched_in[1].scope].path == "step/layer_1");
  REQUIRE(summary.kinds[1].kernels.size() == 1);
  CHECK(summary.kinds[1].kernels[0].kernel == forward.kernel);
  CHECK(summary.kinds[1].kernels[0].max.count() == Approx(4.0));
}

TEST_CASE("scope indices, order, counts, and scopes on other threads do not make another kind", "[step_kinds]") {
  made_kinds made;
  made.step({{"a"}, {"b"}, {"layer", 1.0, 0.5, 0}});
  made.step({{"b"}, {"layer", 1.0, 0.5, 1}, {"layer", 1.0, 0.5, 2}, {"a"}, {"a"}});
  double const begin = made.now();
  made.step({{"a"}, {"b"}, {"layer", 1.0, 0.5, 7}});
  made.scope(made.path_of(0, "load"), 1, begin + 0.2, begin + 0.3);
  made.scope(made.path_of(1, "inner"), 0, begin + 0.2, begin + 0.3);
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == 1);
  CHECK(summary.kinds[0].name == "usual");
  CHECK(summary.kinds[0].parts == part_names{"a", "b", "layer"});
  check_sums(summary);
}

TEST_CASE("if no kind has half of the steps, none is usual, and kinds are named by the parts that not all have", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 3; ++i) made.step({{"train"}, {"optimizer"}});
  for (int i = 0; i < 2; ++i) made.step({{"train"}});
  for (int i = 0; i < 2; ++i) made.step({{"train"}, {"a"}, {"b"}, {"c"}, {"d"}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == 3);
  for (profkit::step_kind_summary const& each : summary.kinds) CHECK_FALSE(each.is_usual);
  CHECK(summary.kinds[0].name == "3 steps with optimizer");
  CHECK(summary.kinds[1].name == "2 steps with only train");
  CHECK(summary.kinds[2].name == "2 steps with a, b and 2 more");
}

TEST_CASE("kinds are named by the parts that they add to the usual kind, or lack", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 9; ++i) made.step({{"forward"}, {"backward"}});
  for (int i = 0; i < 3; ++i) made.step({{"forward"}, {"backward"}, {"optimizer"}});
  for (int i = 0; i < 2; ++i) made.step({{"forward"}});
  made.step({});
  profkit::summary const summary = profkit::analyze(made.profile);
  part_names found;
  for (profkit::step_kind_summary const& each : summary.kinds) found.push_back(each.name);
  CHECK(found == part_names{"usual", "3 steps with optimizer", "2 steps without backward", "step 14"});
}

TEST_CASE("steps without scopes inside are one kind, and a session without steps has none", "[step_kinds]") {
  profkit::profile plain;
  for (std::uint64_t i = 0; i < 12; ++i) {
    double const begin = 2.0 * static_cast<double>(i);
    plain.steps.push_back({{at_ms(begin), at_ms(begin + 1.0)}, i, false, 1});
  }
  profkit::summary const summary = profkit::analyze(plain);
  REQUIRE(summary.kinds.size() == 1);
  CHECK(summary.kinds[0].name == "usual");
  CHECK(summary.kinds[0].steps == 12);
  CHECK(summary.kinds[0].parts.empty());
  CHECK_FALSE(summary.kinds[0].budget);
  CHECK(summary.listed_steps.size() == 12);

  profkit::profile without_steps = made_profile();
  without_steps.steps.clear();
  CHECK(profkit::analyze(without_steps).kinds.empty());
  CHECK(profkit::analyze(without_steps).listed_steps.empty());
}

TEST_CASE("if two kinds have half of the steps each, the first one is usual", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 10; ++i) made.step({{i % 2 == 0 ? "generator" : "discriminator"}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == 2);
  CHECK(summary.kinds[0].parts == part_names{"generator"});
  CHECK(summary.kinds[0].is_usual);
  CHECK_FALSE(summary.kinds[1].is_usual);
  CHECK(summary.kinds[1].name == "5 steps with discriminator");
}

TEST_CASE("kinds beyond the sixteenth are merged", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 60; ++i) made.step({{"part " + std::to_string(i % 20)}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == profkit::detail::kind_table::max_kinds + 1);
  CHECK(summary.kinds.back().name == "other");
  CHECK(summary.kinds.back().steps == 12);
  CHECK(summary.kinds.back().times.host.count == 12);
  CHECK(summary.kinds.back().parts.empty());
  check_sums(summary);
}

TEST_CASE("figures of kinds add up to those of all steps, and times of scopes to those of steps", "[step_kinds]") {
  for_each_made_profile(20, [](profkit::profile const& each, std::uint64_t) { check_sums(profkit::analyze(each)); });
  for (char const* const name : {"small-128-train-fp32", "small-128-train-fp32-graph", "small-128-train-fp32-without-bridge",
                                 "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    check_sums(profkit::analyze(profkit::load(std::string{TEST_DATA "/"} + name + ".profile")));
  }
  check_sums(profkit::analyze(loop_that_runs_ahead().profile));
}

TEST_CASE("steps whose work continues after them count in the budget of their own kind", "[step_kinds]") {
  // The host runs ahead: each step takes 1 ms on the host and 3 ms on the GPU, except two steps of 8 ms.
  made_kinds made;
  for (int i = 0; i < 20; ++i) made.step({{i % 8 == 5 ? "evaluate" : "train", 1.0, i % 8 == 5 ? 8.0 : 3.0}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.kinds.size() == 2);
  REQUIRE(summary.budget->is_of_gpu);
  REQUIRE(summary.kinds[1].budget);
  CHECK(summary.kinds[1].budget->wall.count() == Approx(16.0));
  CHECK(summary.kinds[1].times.step_time->mean.count() == Approx(8.0));
  CHECK(summary.kinds[1].times.gpu_period->is_longer);
}

TEST_CASE("the list of steps has warm-up and excluded steps, with their times", "[step_kinds]") {
  made_kinds made;
  for (int i = 0; i < 12; ++i) made.step({{i == 7 ? "save" : "train", 2.0 + i}}, i < 2, i == 5);
  made.profile.gpu_steps = {{0, 0, ns_of_ms(0.7)}, {6, 0, ns_of_ms(0.9)}};
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(summary.listed_steps.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) {
    profkit::listed_step const& each = summary.listed_steps[i];
    CHECK(each.index == i);
    CHECK(each.is_warmup == (i < 2));
    CHECK(each.is_excluded == (i == 5));
    CHECK(each.kind.has_value() == (i >= 2 && i != 5));
    CHECK(each.host.count() == Approx(2.01 + static_cast<double>(i)));
    CHECK(each.gpu.has_value() == (i != 5));
  }
  CHECK(summary.listed_steps[0].gpu->count() == Approx(0.7));
  CHECK(summary.listed_steps[6].gpu->count() == Approx(0.9));  // between CUDA events
  CHECK(summary.listed_steps[7].gpu->count() > 0.5);           // the GPU period
  CHECK(summary.kinds.at(*summary.listed_steps[7].kind).name == "step 7");
  CHECK(summary.kinds.at(*summary.listed_steps[8].kind).is_usual);
}

TEST_CASE("a long session has the series of each kind, and a sample of its steps in the list", "[step_kinds]") {
  if (repeats_less) SKIP("only many numbers");
  constexpr std::uint64_t count = profkit::detail::step_series::max_groups + 5000;
  profkit::profile whole;
  whole.paths = {step_path(), {0, "even", {}, "a.cpp", 1}, {0, "odd", {}, "a.cpp", 2}};
  whole.threads = {{100, "train"}};
  for (std::uint64_t i = 0; i < count; ++i) {
    double const begin = static_cast<double>(i) * 5.0;
    bool const is_odd = i % 2 == 1;
    profkit::interval const time{at_ms(begin), at_ms(begin + (is_odd ? 3.0 : 1.0) + static_cast<double>(i % 7) / 100.0)};
    whole.steps.push_back({time, i, i < 6, 2, 0.0, false, false});
    whole.scopes.push_back({time, is_odd ? 2U : 1U, 0});
    whole.scopes.push_back({time, 0, 0});
  }
  whole.time = {whole.steps.front().time.begin, whole.steps.back().time.end};
  profkit::summary const summary = profkit::analyze(whole);
  REQUIRE(summary.kinds.size() == 2);
  for (profkit::step_kind_summary const& each : summary.kinds) {
    CHECK(each.steps == count / 2 - 3);
    CHECK(each.times.host_samples.size() > 10'000);
    CHECK(each.times.items == 2.0 * static_cast<double>(each.steps));
    bool const is_odd = each.parts == part_names{"odd"};
    CHECK(each.times.host.mean->count() == Approx(is_odd ? 3.03 : 1.03).epsilon(1e-4));
    CHECK(each.times.host.standard_deviation->count() == Approx(0.02).epsilon(0.01));
    CHECK(each.times.host_samples.front().count() == Approx(is_odd ? 3.03 : 1.03).epsilon(0.03));
  }
  CHECK(summary.steps.host.standard_deviation->count() == Approx(1.0).epsilon(0.01));
  CHECK(summary.listed_steps.size() <= 4096 + 6);
  CHECK(summary.listed_steps.size() > 2000);
  for (profkit::listed_step const& each : summary.listed_steps) {
    REQUIRE(each.host.count() == Approx(profkit::detail::to_ms(whole.steps[each.index].time.duration()).count()));
    REQUIRE(each.is_warmup == (each.index < 6));
  }
}

TEST_CASE("kernels beyond the bound on pairs of name and scope are counted without their scope", "[step_kinds]") {
  profkit::detail::launched_kernels kernels;
  constexpr auto most = static_cast<std::uint32_t>(profkit::detail::launched_kernels::max_pairs);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t path = 0; path < most + 10; ++path) kernels.add(3, path, std::chrono::nanoseconds{path});
  }
  std::vector<profkit::detail::launched_kernels::row> rows;
  kernels.for_each([&](profkit::detail::launched_kernels::row const& each) { rows.push_back(each); });
  REQUIRE(rows.size() == most + 1);
  CHECK(rows.back().path == profkit::attribution::none);
  CHECK(rows.back().name == 3);
  CHECK(rows.back().count == 20);
  for (std::uint32_t path = 0; path < most; ++path) {
    CAPTURE(path);
    REQUIRE((rows[path].path == path && rows[path].name == 3 && rows[path].count == 2));
  }
}

TEST_CASE("the index of a row comes from its scopes, not from their name", "[step_kinds]") {
  made_kinds made;
  made.step({{"layer", 1.0, 0.5, 3}, {"block_4"}});
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(find_row(summary, "step/layer_3") != nullptr);
  CHECK(find_row(summary, "step/layer_3")->index == 3);
  CHECK_FALSE(find_row(summary, "step/block_4")->index);
}

TEST_CASE("validation steps recorded on an H200 are a separate kind and do not make the others uneven", "[step_kinds]") {
  profkit::summary const summary = profkit::analyze(profkit::load(TEST_DATA "/validation-steps.profile"));
  CHECK(summary.steps.host.count == 34);
  CHECK(summary.steps.host_verdict.verdict == profkit::step_verdict::uneven);
  REQUIRE(summary.kinds.size() == 2);
  profkit::step_kind_summary const& usual = summary.kinds[0];
  CHECK(usual.is_usual);
  CHECK(usual.parts == part_names{"forward", "backward", "optimizer", "loss"});
  CHECK(usual.steps == 30);
  CHECK(usual.times.host_verdict.verdict == profkit::step_verdict::stable);
  profkit::step_kind_summary const& validation = summary.kinds[1];
  CHECK(validation.name == "4 steps with validation");
  CHECK(validation.parts == part_names{"validation"});
  CHECK(validation.steps == 4);
  CHECK(validation.times.host.mean.value() > 1.4 * usual.times.host.mean.value());
  // Each validation step runs 6 batches of 4 layers with 2 kernels. A training step has 8 forward kernels, 4 backward kernels and those of
  // the optimizer.
  auto const kernels_of = [](profkit::step_kind_summary const& kind) {
    std::uint64_t count = 0;
    for (profkit::kind_kernel_summary const& each : kind.kernels) count += each.count;
    return count;
  };
  CHECK(kernels_of(usual) == 30 * 13);
  CHECK(kernels_of(validation) == 4 * 48);
  REQUIRE((usual.budget && validation.budget));
  CHECK(usual.budget->wall.count() + validation.budget->wall.count() == Approx(summary.budget->wall.count()));
}
