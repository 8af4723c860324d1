// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>

#include "../support/made_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"

TEST_CASE("warm-up steps are excluded from every figure of the steps", "[analyze]") {
  profkit::step_summary const steps = profkit::analyze(made_profile()).steps;
  CHECK(steps.warmup == 1);
  CHECK(steps.host.count == 2);
  CHECK(steps.host.mean->count() == Approx(15.0));
  CHECK(steps.host.standard_deviation->count() == Approx(7.0710678));
  CHECK(steps.host.median->count() == Approx(15.0));
  CHECK(steps.host.p95->count() == Approx(19.5));
  CHECK(steps.host.p99->count() == Approx(19.9));
  CHECK(steps.host.min->count() == Approx(10.0));
  CHECK(steps.host.max->count() == Approx(20.0));
  CHECK(steps.host_samples.size() == 2);
  CHECK(steps.gpu->mean->count() == Approx(22.5));
  CHECK(steps.items == 120);
}

TEST_CASE("items per second are counted over the slower of loop and GPU", "[analyze]") {
  profkit::profile profile = made_profile();
  profile.gpu_steps[1].duration = ns_of_ms(220.0);  // the loop takes 15 ms a step, and 90 ms between steps
  profkit::step_summary steps = profkit::analyze(profile).steps;
  CHECK(*steps.items_per_second == Approx(60.0 / 0.125));
  CHECK(steps.items_per_second_basis == "GPU step time");
  profile.gpu_steps.clear();
  steps = profkit::analyze(profile).steps;
  CHECK(*steps.items_per_second == Approx(60.0 / 0.105));
  CHECK(steps.items_per_second_basis == "wall time of the loop");
  CHECK_FALSE(steps.gpu);
  profile.steps.erase(profile.steps.begin() + 1);  // a step alone
  steps = profkit::analyze(profile).steps;
  CHECK(*steps.items_per_second == Approx(60.0 / 0.020));
  CHECK(steps.items_per_second_basis == "host step time");
}

TEST_CASE("a sum of items above 2^64 does not wrap", "[analyze]") {
  profkit::profile profile = made_profile();
  profile.gpu_steps.clear();
  for (profkit::step_record& step : profile.steps) step.items = ~std::uint64_t{0};
  profkit::step_summary const steps = profkit::analyze(profile).steps;
  CHECK(steps.items == Approx(0x1p65));
  CHECK(*steps.items_per_second == Approx(0x1p64 / 0.105));
}

TEST_CASE("the time between steps is known between two measured steps that follow each other", "[analyze]") {
  profkit::profile profile;
  profile.threads = {{1, "main"}};
  auto const step = [&](double begin, double end) -> profkit::step_record& {
    std::uint64_t const index = profile.steps.empty() ? 0 : profile.steps.back().index + 1;
    return profile.steps.emplace_back(profkit::step_record{{at_ms(begin), at_ms(end)}, index});
  };
  step(0, 10).warmup = true;
  step(15, 20);
  step(30, 32);
  step(37, 40);
  step(100, 200).is_excluded = true;
  step(300, 301);
  step(310, 311).index = 7;  // step 6 was abandoned
  step(312, 313);
  profkit::duration_summary const between = profkit::analyze(profile).steps.between;
  CHECK(between.count == 3);
  CHECK(between.total.count() == Approx(10.0 + 5.0 + 1.0));
  CHECK(between.median->count() == Approx(5.0).epsilon(0.01));
  CHECK(between.max->count() == Approx(10.0));
}

TEST_CASE("rows are in the order in which scopes first ran, independent of the recording order", "[analyze]") {
  profkit::profile profile = made_profile();
  // The log of a thread can be read before the log of the thread that handed the work to it.
  profile.paths.push_back({0, "second", {}, "a.cpp", 1});
  profile.paths.push_back({0, "first", {}, "a.cpp", 2});
  auto const second = static_cast<std::uint32_t>(profile.paths.size() - 2);
  for (profkit::step_record const& step : profile.steps) {
    auto const middle = step.time.begin + step.time.duration() / 2;
    profile.scopes.push_back({{middle, step.time.end}, second, 0});
    profile.scopes.push_back({{step.time.begin, middle}, second + 1, 0});
  }
  profkit::summary const summary = profkit::analyze(profile);
  profkit::scope_summary const* const first = find_row(summary, "step/first");
  REQUIRE(first != nullptr);
  CHECK(first < find_row(summary, "step/second"));
  REQUIRE(summary.kinds.size() == 1);
  CHECK(summary.kinds[0].parts == std::vector<std::string>{"first", "forward", "second"});
}

TEST_CASE("a mean over zero measured steps is n/a, and so is everything else", "[analyze]") {
  profkit::profile profile = made_profile();
  for (profkit::step_record& step : profile.steps) step.warmup = true;
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.steps.warmup == 3);
  CHECK(summary.steps.host.count == 0);
  CHECK_FALSE(summary.steps.host.mean);
  CHECK_FALSE(summary.steps.host.p95);
  CHECK_FALSE(summary.steps.gpu);
  CHECK_FALSE(summary.steps.items_per_second);
  CHECK(summary.scopes.empty());
  CHECK(summary.counters.empty());
  CHECK(summary.memory.empty());
}

TEST_CASE("scopes count only in the step in which they began, on any thread", "[analyze]") {
  profkit::summary const summary = profkit::analyze(made_profile());
  REQUIRE(find_row(summary, "load") != nullptr);
  CHECK(find_row(summary, "load")->host.count == 2);  // without the one in the warm-up and the one between the steps
  CHECK(find_row(summary, "step/forward")->host.count == 2);
  CHECK(summary.scopes_recorded == 10);
}

TEST_CASE("the tree has parents before children, with depth, self time and shares", "[analyze]") {
  profkit::summary const summary = profkit::analyze(made_profile());
  std::vector<std::string> paths;
  for (auto const& row : summary.scopes) paths.push_back(row.path);
  CHECK(paths == std::vector<std::string>{"step", "step/forward", "step/forward/layer_0", "step/forward/layer_1", "load"});
  profkit::scope_summary const& forward = summary.scopes[1];
  CHECK(forward.name == "forward");
  CHECK(forward.depth == 1);
  CHECK(forward.parent == 0);
  CHECK(forward.source == "train.cpp:10");
  CHECK(forward.host.total.count() == Approx(15.0));
  CHECK(forward.host.mean->count() == Approx(7.5));
  CHECK(forward.host_self.count() == Approx(6.0));
  CHECK(*forward.share_of_parent == Approx(0.5));
  CHECK(*forward.share_of_steps == Approx(0.5));
  CHECK(forward.gpu_events->mean->count() == Approx(11.25));
  CHECK(forward.gpu_events->count == 2);
  CHECK_FALSE(summary.scopes[2].gpu_events);
  CHECK(summary.scopes[2].depth == 2);
  CHECK_FALSE(summary.scopes[0].share_of_parent);
  CHECK(*summary.scopes[0].share_of_steps == Approx(1.0));
}

TEST_CASE("self time is the time outside the scopes directly inside, also if they begin in steps that do not count", "[analyze]") {
  profkit::profile profile;
  profile.paths = {step_path(),
                   {profkit::path_record::no_parent, "server", {}, "a.cpp", 1},
                   {1, "request", {}, "a.cpp", 2},
                   {2, "read", {}, "a.cpp", 3}};
  profile.threads = {{1, "main"}, {2, "server"}};
  profile.steps = {{{at_ms(0), at_ms(10)}, 0, true},
                   {{at_ms(10), at_ms(20)}, 1},
                   {{at_ms(20), at_ms(30)}, 2},
                   {{at_ms(30), at_ms(40)}, 3},
                   {{at_ms(40), at_ms(50)}, 4}};
  profile.steps[2].is_excluded = true;
  auto const scope = [&](std::uint32_t path, double begin, double end) { profile.scopes.push_back({{at_ms(begin), at_ms(end)}, path, 1}); };
  scope(2, 12, 14);
  scope(2, 15, 16);
  scope(1, 5, 18);  // begins in the warm-up
  scope(3, 21, 22);
  scope(2, 21, 25);  // in the excluded step
  scope(2, 31, 33);
  scope(1, 19, 35);
  scope(2, 41, 42);  // in a scope that is open at the end
  auto const check = [](profkit::profile const& records) {
    profkit::summary const summary = profkit::analyze(records);
    profkit::scope_summary const& server = *find_row(summary, "server");
    CHECK(server.host.total.count() == Approx(16.0));
    CHECK(server.host_self.count() == Approx(10.0));
    profkit::scope_summary const& request = *find_row(summary, "server/request");
    CHECK(request.host.count == 4);
    CHECK(request.host_self.count() == Approx(6.0));
    CHECK(request.share_of_parent == 6.0 / 16.0);
    REQUIRE(summary.kinds.size() == 1);
    CHECK(summary.kinds[0].scopes.at(0).host_self.count() == Approx(10.0));
  };
  check(profile);
  profile.scopes.erase(profile.scopes.begin() + 6);
  profkit::summary const without = profkit::analyze(profile);
  CHECK(find_row(without, "server")->host.count == 0);
  CHECK(find_row(without, "server")->host_self.count() == 0.0);
  CHECK_FALSE(find_row(without, "server/request")->share_of_parent);
  profile.scopes.insert(profile.scopes.begin(), {{at_ms(19), at_ms(35)}, 1, 1});  // kept steps need not be in order
  check(profile);
}

TEST_CASE("self times of a tree sum to the total of its root", "[analyze]") {
  profkit::summary const summary = profkit::analyze(made_profile());
  double self = 0.0;
  for (auto const& row : summary.scopes) {
    if (row.path.rfind("step", 0) == 0) self += row.host_self.count();
  }
  CHECK(self == Approx(summary.scopes[0].host.total.count()));
}

TEST_CASE("memory covers the measured steps, and a missing peak stays n/a", "[analyze]") {
  profkit::summary const summary = profkit::analyze(made_profile());
  REQUIRE(summary.memory.size() == 2);
  profkit::memory_summary const& allocated = summary.memory[0];
  CHECK(allocated.samples == 2);
  CHECK(allocated.first_bytes == 2000);
  CHECK(allocated.last_bytes == 3000);
  CHECK(allocated.max_sample_bytes == 3000);
  CHECK(allocated.peak_bytes == 15000);
  CHECK(summary.memory[1].max_sample_bytes == 6999);
  CHECK_FALSE(summary.memory[1].peak_bytes);
  CHECK(summary.memory[1].capacity_bytes == 8000);
  CHECK_FALSE(allocated.capacity_bytes);
}

TEST_CASE("the memory of a step that was abandoned does not count", "[analyze]") {
  profkit::profile profile = made_profile();
  profile.memory.push_back({"libtorch", "allocated", 3, 1'000'000, 1'000'000, "measured steps"});
  CHECK(profkit::analyze(profile).memory[0].samples == 2);
  CHECK(profkit::analyze(profile).memory[0].peak_bytes == 15000);
}

TEST_CASE("counters cover the measured steps", "[analyze]") {
  profkit::summary const summary = profkit::analyze(made_profile());
  REQUIRE(summary.counters.size() == 1);
  CHECK(summary.counters[0].count == 2);
  CHECK(summary.counters[0].last == 5.0);
  CHECK(summary.counters[0].mean == Approx(6.0));
  CHECK(summary.counters[0].min == 5.0);
  CHECK(summary.counters[0].max == 7.0);
}

TEST_CASE("the mean of a counter with huge values is finite", "[analyze]") {
  profkit::profile profile = made_profile();
  constexpr double huge = 1.7e308;
  for (std::size_t i = 0; i < profile.counters.size(); ++i) profile.counters[i].value = i % 2 == 0 ? huge : -huge;
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(summary.counters.at(0).count == 2);
  CHECK(summary.counters[0].mean == 0.0);
  CHECK(summary.counters[0].min == -huge);
  CHECK(summary.counters[0].max == huge);
}

TEST_CASE("without steps the whole session counts", "[analyze]") {
  profkit::profile profile = made_profile();
  profile.steps.clear();
  profkit::summary const summary = profkit::analyze(profile);
  CHECK_FALSE(summary.covers_steps);
  CHECK(find_row(summary, "load")->host.count == 4);
  CHECK_FALSE(find_row(summary, "load")->share_of_steps);
}

TEST_CASE("an empty profile has an empty summary", "[analyze]") {
  profkit::summary const summary = profkit::analyze({});
  CHECK(summary.scopes.empty());
  CHECK_FALSE(summary.steps.host.mean);
}
