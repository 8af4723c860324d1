// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"
#include <profkit/analyze.hpp>

#include "../support/made_profile.hpp"
#include "../support/made_series.hpp"
#include "../support/testing.hpp"

#include "change_estimate.hpp"
#include "compared_rows.hpp"
#include "decision.hpp"
#include "machine_speed.hpp"
#include "row_family.hpp"
#include "summary_figures.hpp"

using namespace profkit_program;

namespace {

/// One run with one scope and its kernel; all steps take the same time.
run_figures plain_run(double scope_ms, double std_ms = 0.0) {
  figures const gpu{30, scope_ms, std_ms, 0.0};
  run_figures run;
  run.file = "plain";
  run.step = {30, 10.0, 0.0, 0.0};
  run.scopes = {{"step", run.step, gpu, 0.0}, {"step/work", {30, 1.0, 0.0, 0.0}, gpu, 0.0}};
  run.scopes.back().around = "step";
  run.kernels = {{{"work()", "_Z4workv", gpu}}};
  return run;
}

comparison_row const& find(comparison const& in, std::string_view name) {
  auto const found = std::find_if(in.rows.begin(), in.rows.end(), [&](comparison_row const& row) { return row.name == name; });
  REQUIRE(found != in.rows.end());
  return *found;
}

/// Assumes that the noise of GPU times is small.
compare_options quiet() {
  compare_options options;
  options.gpu_noise = 0.002;
  return options;
}

figures described(std::vector<double> const& ms, run_statistic which = run_statistic::mean) {
  std::vector<profkit::milliseconds> steps;
  for (double const each : ms) steps.emplace_back(each);
  return figures_of_steps(steps, which);
}

}  // namespace

TEST_CASE("with one run per side the interval combines the spread of steps with the assumed noise between runs", "[compare]") {
  side_of_row const a{{{100, 1.0, 0.1, 0.0}}};
  side_of_row const b{{{100, 1.0, 0.1, 0.5}}};
  double const effective = 100.0 * (1.0 - 51.0 / 96.0) / (1.0 + 51.0 / 96.0);  // Kendall's correction of 0.5 is (100 * 0.5 + 1) / 96
  double const effective_of_none = 100.0 * (1.0 - 1.0 / 96.0) / (1.0 + 1.0 / 96.0);
  CHECK(a.within() == Approx(0.01 / effective_of_none));
  CHECK(b.within() == Approx(0.01 / effective));
  run_noise noise;
  noise.assumed = 0.0001;
  // 1.96 of the normal distribution if nothing is estimated.
  CHECK(half_width(noise, 0.05) == Approx(1.95996 * std::sqrt(0.0002)).epsilon(1e-4));
  noise.within = a.within() + b.within();
  CHECK(half_width(noise, 0.05) == Approx(1.95996 * std::sqrt(0.0002 + noise.within)).epsilon(1e-4));
}

TEST_CASE("with several runs the interval is the narrower one of the assumed and the observed", "[compare]") {
  run_noise noise;
  noise.assumed = 0.0001;
  noise.runs_freedom = noise.freedom = 4.0;  // three runs a side
  noise.both = 2.0 / 3.0;
  SECTION("few runs that differ little by chance are treated with Student's long tails") {
    noise.variance = 0.000001;
    // 96 % of Student's distribution with 4 degrees of freedom: a fifth of the 5 % belongs to the assumption.
    CHECK(half_width(noise, 0.05) == Approx(2.99853 * std::sqrt(0.000001 * noise.both)).epsilon(1e-4));
  }
  SECTION("runs that differ as assumed use the assumption") {
    noise.variance = 0.0001;
    CHECK(half_width(noise, 0.05) == Approx(2.57583 * std::sqrt(0.0001 * noise.both)).epsilon(1e-4));
  }
  SECTION("runs that differ by much more refute the assumption") {
    noise.variance = 0.0003;  // chi-square over 4 is 3: beyond 2.37
    CHECK(noise.refutes_assumption());
    CHECK(half_width(noise, 0.05) == Approx(2.99853 * std::sqrt(0.0003 * noise.both)).epsilon(1e-4));
  }
  SECTION("what the steps in the runs show is not hidden by runs that agree") {
    noise.variance = 0.0;
    noise.within = 0.01;
    CHECK(half_width(noise, 0.05) >= 1.96 * 0.1);
  }
  CHECK(half_width(noise, 0.01) > half_width(noise, 0.05));
}

TEST_CASE("fewer than 6 runs that agree are not trusted in what all rows share", "[compare]") {
  run_noise noise;
  noise.assumed = 0.01;
  noise.is_shared = true;
  noise.runs_freedom = noise.freedom = 2.0;  // two runs a side
  noise.both = 1.0;
  // Student's distribution with 4 degrees of freedom; the assumed variance counts like two runs.
  CHECK(half_width(noise, 0.05) == Approx(2.77645 * std::sqrt(0.5 * 0.01)).epsilon(1e-4));
  noise.variance = 0.03;
  CHECK(half_width(noise, 0.05) == Approx(2.77645 * std::sqrt(0.5 * (0.01 + 0.03))).epsilon(1e-4));
  noise.runs_freedom = noise.freedom = 4.0;
  noise.both = 2.0 / 3.0;
  noise.variance = 0.0001;
  CHECK(half_width(noise, 0.05) == Approx(2.99853 * std::sqrt(0.0001 * noise.both)).epsilon(1e-4));
  noise.within = std::numeric_limits<double>::infinity();  // the runs themselves are all that is known
  CHECK(half_width(noise, 0.05) == Approx(2.99853 * std::sqrt(0.0001 * noise.both)).epsilon(1e-4));
  noise.runs_freedom = noise.freedom = 2.0;
  CHECK(std::isinf(half_width(noise, 0.05)));
}

TEST_CASE("a step whose mean is not known is UNSURE with few runs, and open for a limit", "[compare]") {
  run_figures run = plain_run(1.0);
  run.probe_us = 100.0;
  run.step.slow = std::numeric_limits<double>::infinity();
  run.step.std_ms = 1.0;
  run_figures twice = run;
  twice.step.mean_ms = 20.0;
  comparison const few = compare({run}, {twice});
  CHECK(find(few, "step time").says == verdict::unsure);
  CHECK_FALSE(find(few, "step time").range);
  CHECK(decide(few, "", 0.03).says() == decision::outcome::undecided);
  comparison const more = compare({3, run}, {3, twice});
  CHECK(find(more, "step time").says == verdict::slower);
}

TEST_CASE("two groups of runs are no change with two runs per side, nor is a scope that some runs have", "[compare]") {
  auto const run = [](double factor, double rare_ms) {
    run_figures result = plain_run(factor);
    result.probe_us = 100.0;
    for (scope_figures& scope : result.scopes) scope.host.mean_ms *= factor;
    result.step.mean_ms *= factor;
    auto const add = [&](std::string name, double ms) {
      result.scopes.push_back({"step/" + name, {30, ms, 0.001, 0.0}, std::nullopt, 0.0});
      result.scopes.back().around = "step";
    };
    for (int i = 0; i < 6; ++i) add("part_" + std::to_string(i), factor);
    add("rare", rare_ms);
    for (scope_figures& scope : result.scopes) scope.gpu.reset();
    result.kernels.reset();
    return result;
  };
  comparison const groups = compare({run(1.0, 1.0), run(1.001, 1.0)}, {run(1.15, 1.15), run(1.151, 1.15)});
  for (comparison_row const& each : groups.rows) CHECK(each.says == verdict::unsure);
  comparison const rare = compare({run(1.0, 1.0), run(1.001, 0.0)}, {run(1.0, 1.0), run(1.001, 1.0)});
  CHECK(find(rare, "step/rare").says == verdict::unsure);
}

TEST_CASE("the description of its steps says how well the mean of a run is known", "[compare]") {
  normal_numbers numbers{3};
  std::vector<double> const white = made_series(numbers, 300, 1.0);
  CHECK(described(white).slow < 1.3);
  std::vector<double> slow = made_series(numbers, 300, 1.0, 0.98);
  for (double& each : slow) each += 1.5 * numbers.next();
  CHECK(described(slow).slow > 2.0);
  std::vector<double> changed = white;
  for (std::size_t i = 150; i < changed.size(); ++i) changed[i] *= 1.2;
  CHECK(std::isinf(described(changed).slow));
  CHECK(figures_of_part({30, 1.0, 0.1, 0.0}, described(changed)).slow == 1.0);
  CHECK(figures_of_part({30, 1.0, 0.1, 0.0}, described(slow)).slow == described(slow).slow);
}

TEST_CASE("rare long steps move the mean of a run, and neither its median nor its minimum", "[compare]") {
  normal_numbers numbers{3};
  std::vector<double> const white = made_series(numbers, 300, 1.0);
  std::vector<double> with_spikes = white;
  for (std::size_t i = 7; i < with_spikes.size(); i += 50) with_spikes[i] *= 10.0;
  CHECK(described(with_spikes, run_statistic::mean).mean_ms > 110.0);
  CHECK(described(with_spikes, run_statistic::median).mean_ms == Approx(described(white, run_statistic::median).mean_ms).epsilon(0.005));
  CHECK(described(with_spikes, run_statistic::minimum).mean_ms == *std::min_element(white.begin(), white.end()));
  CHECK(described(white, run_statistic::median).std_ms == Approx(1.2533).epsilon(0.2));
}

TEST_CASE("the prior of variances is estimated from many variances", "[compare]") {
  std::mt19937_64 random{1};
  constexpr double freedom = 4.0;
  std::chi_squared_distribution<double> sample{freedom};
  SECTION("of rows that all have one variance") {
    std::vector<double> variances;
    for (int i = 0; i < 4000; ++i) variances.push_back(0.25 * sample(random) / freedom);
    variance_prior const prior = fit_variance_prior(variances, freedom);
    CHECK(prior.variance == Approx(0.25).epsilon(0.05));
    CHECK(prior.freedom > 50.0);
  }
  SECTION("of rows whose variances differ") {
    constexpr double of_prior = 6.0;
    std::chi_squared_distribution<double> draw{of_prior};
    std::vector<double> variances;
    for (int i = 0; i < 4000; ++i) variances.push_back(0.25 * of_prior / draw(random) * sample(random) / freedom);
    variance_prior const prior = fit_variance_prior(variances, freedom);
    CHECK(prior.variance == Approx(0.25).epsilon(0.05));
    CHECK(prior.freedom == Approx(of_prior).epsilon(0.2));
  }
  SECTION("two rows give no prior, nor do rows without variance") {
    CHECK(fit_variance_prior({0.1, 0.2}, freedom).freedom == 0.0);
    CHECK(fit_variance_prior({0.0, 0.0, 0.0}, freedom).freedom == 0.0);
  }
}

TEST_CASE("a row's variance is shrunk towards the prior, weighted by degrees of freedom", "[compare]") {
  variance_prior const own = moderate(0.4, 2.0, {0.1, 4.0}, 100.0);
  CHECK(own.variance == Approx((4.0 * 0.1 + 2.0 * 0.4) / 6.0));
  CHECK(own.freedom == Approx(6.0));
  CHECK(moderate(0.4, 2.0, {0.1, 4.0}, 5.0).freedom == Approx(5.0));  // limited by the degrees of freedom of all rows together
  CHECK(moderate(0.4, 2.0, {}, 100.0).variance == Approx(0.4));
  CHECK(moderate(0.4, 2.0, {0.1, std::numeric_limits<double>::infinity()}, 100.0).variance == Approx(0.1));
  // Unless it refutes the prior.
  CHECK(moderate(4.0, 2.0, {0.1, std::numeric_limits<double>::infinity()}, 100.0).variance == Approx(4.0));
  CHECK(moderate(40.0, 2.0, {0.1, 8.0}, 100.0).freedom == Approx(2.0));
}

TEST_CASE("Hedges' g is the difference divided by the spread of steps, with a correction for few steps", "[compare]") {
  CHECK(hedges_g({{30, 10.0, 2.0, 0.0}}, {{30, 11.0, 2.0, 0.0}}).value() == Approx(0.5 * (1.0 - 3.0 / (4.0 * 58.0 - 1.0))));
  CHECK_FALSE(hedges_g({{30, 10.0, 0.0, 0.0}}, {{30, 11.0, 0.0, 0.0}}));
}

TEST_CASE("a scope that takes 5 % more is SLOWER, one that takes 5 % less FASTER, and so are its kernel and its enclosing scopes",
          "[compare]") {
  comparison const slower = compare({plain_run(1.0, 0.01)}, {plain_run(1.05, 0.01)}, quiet());
  for (char const* const name : {"step", "step/work", "work()"}) {
    CHECK(find(slower, name).says == verdict::slower);
    CHECK(find(slower, name).change.value() == Approx(0.05));
    CHECK(find(slower, name).range->first > 0.0);
  }
  CHECK(find(slower, "step time").says == verdict::unsure);  // more noise is assumed of it
  CHECK(find(compare({plain_run(1.05, 0.01)}, {plain_run(1.0, 0.01)}, quiet()), "step/work").says == verdict::faster);
}

TEST_CASE("with one run per side and unknown noise, 5 % more is UNSURE", "[compare]") {
  CHECK(find(compare({plain_run(1.0)}, {plain_run(1.05)}), "step/work").says == verdict::unsure);
  CHECK(find(compare({plain_run(1.0)}, {plain_run(1.001)}), "step/work").says == verdict::unsure);
  CHECK(find(compare({plain_run(1.0)}, {plain_run(2.0)}), "step/work").says == verdict::slower);
}

TEST_CASE("a change that is certainly near 0 is SAME, one that may be large is UNSURE", "[compare]") {
  compare_options options;
  options.gpu_noise = 0.002;
  CHECK(find(compare({plain_run(1.0)}, {plain_run(1.001)}, options), "step/work").says == verdict::same);
  options.gpu_noise = 0.05;
  CHECK(find(compare({plain_run(1.0)}, {plain_run(1.001)}, options), "step/work").says == verdict::unsure);
  // Significantly different from 0, but irrelevant.
  options.gpu_noise = 0.0005;
  comparison const small = compare({plain_run(1.0)}, {plain_run(1.01)}, options);
  CHECK(find(small, "step/work").range->first > 0.0);
  CHECK(find(small, "step/work").says == verdict::same);
}

TEST_CASE("a change that is a negligible share of the step does not matter", "[compare]") {
  run_figures a = plain_run(1.0);
  run_figures b = plain_run(1.0);
  for (run_figures* const run : {&a, &b}) {
    run->scopes.push_back({"step/tiny", {}, figures{30, run == &a ? 0.00001 : 0.00004, 0.0, 0.0}, 0.0});
    run->scopes.push_back({"step/small", {}, figures{30, run == &a ? 0.0001 : 0.00014, 0.0, 0.0}, 0.0});
    run->scopes.push_back({"step/enough", {}, figures{30, run == &a ? 0.001 : 0.0012, 0.0, 0.0}, 0.0});
  }
  comparison const result = compare({a}, {b}, quiet());
  CHECK(find(result, "step/tiny").says == verdict::same);
  CHECK_FALSE(find(result, "step/tiny").range);
  CHECK(find(result, "step/small").says == verdict::same);
  CHECK(find(result, "step/enough").says == verdict::slower);
}

TEST_CASE("copies from and to the host may differ a lot", "[compare]") {
  run_figures a = plain_run(1.0);
  run_figures b = plain_run(1.0);
  a.scopes.push_back({"step/data", {}, figures{30, 0.5, 0.0, 0.0}, 0.5});
  b.scopes.push_back({"step/data", {}, figures{30, 0.6, 0.0, 0.0}, 0.6});
  CHECK(find(compare({a}, {b}, quiet()), "step/data").says == verdict::unsure);
  a.scopes.back().host_copies_ms = b.scopes.back().host_copies_ms = 0.0;
  CHECK(find(compare({a}, {b}, quiet()), "step/data").says == verdict::slower);
}

TEST_CASE("a scope that only one side has is NEW or GONE, in its place", "[compare]") {
  run_figures a = plain_run(1.0);
  run_figures b = plain_run(1.0);
  a.scopes.insert(a.scopes.begin() + 1, {"step/old", {}, figures{30, 0.5, 0.0, 0.0}, 0.0});
  b.scopes.insert(b.scopes.begin() + 1, {"step/new", {}, figures{30, 0.5, 0.0, 0.0}, 0.0});
  a.scopes[1].around = b.scopes[1].around = "step";
  comparison const result = compare({a}, {b});
  CHECK(find(result, "step/old").says == verdict::gone);
  CHECK(find(result, "step/new").says == verdict::added);
  CHECK_FALSE(find(result, "step/new").change);
  std::vector<std::string> names;
  for (comparison_row const& row : result.rows) names.push_back(row.name);
  CHECK(names == std::vector<std::string>{"step time", "step", "step/new", "step/old", "step/work", "work()"});
  CHECK_FALSE(is_slower_by(find(result, "step/new"), 0.0));
}

TEST_CASE("a run without a scope counts with time 0 for it", "[compare]") {
  run_figures without = plain_run(1.0);
  without.scopes.pop_back();
  comparison const result = compare({plain_run(1.0), without}, {plain_run(1.0), plain_run(1.0)});
  CHECK(find(result, "step/work").a_ms == Approx(0.5));
  CHECK(find(result, "step/work").b_ms == Approx(1.0));
}

TEST_CASE("GPU work that only one side has is NEW or GONE, and decides no limit itself", "[compare]") {
  comparison const result = compare({plain_run(0.0)}, {plain_run(1.0)});
  CHECK(find(result, "step/work").says == verdict::added);
  CHECK_FALSE(find(result, "step/work").change);
  CHECK(decide(result, "", 0.03).too_slow.empty());
  CHECK(find(compare({plain_run(1.0)}, {plain_run(0.0)}), "step/work").says == verdict::gone);
  // The scope that was asked for is open, like a step without time.
  compare_options of_work;
  of_work.scope = "step/work";
  CHECK(decide(compare({plain_run(0.0)}, {plain_run(1.0)}, of_work), "step/work", 0.03).says() == decision::outcome::undecided);
  run_figures no_time = plain_run(1.0);
  no_time.step.mean_ms = 0.0;
  CHECK(find(compare({no_time}, {plain_run(1.0)}), "step time").says == verdict::unsure);
  CHECK(decide(compare({no_time}, {plain_run(1.0)}), "", 0.03).says() == decision::outcome::undecided);
  CHECK(decide(compare({no_time}, {no_time}), "", 0.03).too_slow.empty());
}

TEST_CASE("what only some runs of a side have is UNSURE", "[compare]") {
  std::vector<run_figures> const never(2, plain_run(0.0));
  std::vector<run_figures> const sometimes{plain_run(0.0), plain_run(1.0)};
  CHECK(find(compare(never, sometimes), "step/work").says == verdict::unsure);
  CHECK(find(compare(sometimes, never), "step/work").says == verdict::unsure);
  CHECK(find(compare(never, {2, plain_run(1.0)}), "step/work").says == verdict::added);
}

TEST_CASE("scopes are compared by GPU time if both sides have it, otherwise by host time, or as requested", "[compare]") {
  compare_options options;
  CHECK(find(compare({plain_run(1.0)}, {plain_run(1.0)}), "step/work").is_gpu);
  run_figures without = plain_run(1.0);
  without.kernels.reset();
  for (scope_figures& scope : without.scopes) scope.gpu.reset();
  comparison const mixed = compare({plain_run(1.0)}, {without});
  CHECK_FALSE(find(mixed, "step/work").is_gpu);
  CHECK(mixed.notes.size() == 1);
  options.time = time_kind::host;
  comparison const host = compare({plain_run(1.0)}, {plain_run(2.0)}, options);
  CHECK_FALSE(find(host, "step/work").is_gpu);
  CHECK(find(host, "step/work").says != verdict::slower);
  CHECK(std::none_of(host.rows.begin(), host.rows.end(), [](comparison_row const& row) { return row.kind == row_kind::kernel; }));
  options.time = time_kind::gpu;
  comparison const gpu = compare({plain_run(1.0)}, {plain_run(1.0)}, options);
  CHECK(std::all_of(gpu.rows.begin(), gpu.rows.end(), [](comparison_row const& row) { return row.is_gpu; }));
}

TEST_CASE("one scope can be compared with the scopes inside it, and nothing else", "[compare]") {
  run_figures run = plain_run(1.0);
  run.scopes.push_back({"step/work/part", run.scopes.back().host, run.scopes.back().gpu, 0.0});
  run.scopes.push_back({"step/workshop", run.scopes.back().host, run.scopes.back().gpu, 0.0});
  compare_options options;
  options.scope = "step/work";
  comparison const result = compare({run}, {run}, options);
  REQUIRE(result.rows.size() == 2);
  CHECK(result.rows[1].name == "step/work/part");
}

TEST_CASE("different machines are reported", "[compare]") {
  run_figures a = plain_run(1.0);
  run_figures b = plain_run(1.0);
  a.gpu = "NVIDIA A100";
  b.gpu = "NVIDIA H200";
  b.doubts = {"7 dropped_kernels"};
  comparison const result = compare({a}, {b});
  REQUIRE(result.notes.size() == 2);
  CHECK(result.notes[0] == "the runs are not of one GPU: NVIDIA A100 in A, NVIDIA H200 in B");
  CHECK(result.notes[1] == "plain: 7 dropped_kernels");
  // A doubt about several runs is one note.
  std::vector<run_figures> const side(5, b);
  CHECK(compare(side, side).notes.back() == "10 of 10 runs: 7 dropped_kernels (plain, plain, plain and 7 more)");
}

TEST_CASE("a difference explained by the machine's speed is no change of the program", "[compare]") {
  auto const run = [](double step_ms, double probe_us, double waiting) {
    run_figures result = plain_run(1.0);
    result.step.mean_ms = step_ms;
    result.probe_us = probe_us;
    result.waiting = waiting;
    return result;
  };
  auto const says = [&](run_figures const& b) { return find(compare({run(10.0, 100.0, 0.0)}, {b}), "step time").says; };
  CHECK(says(run(20.0, 100.0, 0.0)) == verdict::slower);
  CHECK(says(run(20.0, 200.0, 0.0)) == verdict::unsure);
  CHECK(says(run(20.0, 100.0, 0.5)) == verdict::unsure);  // it waited for a processor for half of the time
  CHECK(says(run(10.0, 200.0, 0.0)) == verdict::unsure);  // it may wait for a GPU and thus not depend on the machine
  CHECK(says(run(40.0, 200.0, 0.0)) == verdict::slower);
  CHECK(says(run(10.0, 50.0, 0.0)) == verdict::unsure);
  CHECK(says(run(20.0, 50.0, 0.0)) == verdict::slower);
  run_figures unknown_machine = run(20.0, 100.0, 0.0);
  unknown_machine.probe_us.reset();
  CHECK(says(unknown_machine) == verdict::unsure);
  unknown_machine.step.mean_ms = 30.0;
  CHECK(says(unknown_machine) == verdict::slower);
  CHECK_FALSE(compare({run(10.0, 100.0, 0.0)}, {unknown_machine}).machine);
  // Unless the noise of the machine is known.
  compare_options known_machine;
  known_machine.host_noise = 0.02;
  known_machine.is_host_noise_known = true;
  unknown_machine.step.mean_ms = 12.0;
  CHECK(find(compare({run(10.0, 100.0, 0.0)}, {unknown_machine}, known_machine), "step time").says == verdict::slower);
}

TEST_CASE("without a GPU, a step that is no longer although it waited for a processor is FASTER", "[compare]") {
  run_figures a = plain_run(1.0);
  for (scope_figures& scope : a.scopes) scope.gpu.reset();
  a.kernels.reset();
  a.probe_us = 100.0;
  a.waiting = 0.0;
  run_figures b = a;
  b.waiting = 0.5;
  CHECK(find(compare({a}, {b}), "step time").says == verdict::faster);
  b.step.mean_ms = 20.0;
  CHECK(find(compare({a}, {b}), "step time").says == verdict::unsure);
  comparison const twice = compare({a}, {b});
  CHECK(find(twice, "step time").range->first == Approx(std::expm1(-1.95996 * 0.1 * std::sqrt(2.0))).epsilon(1e-3));
  // The change is also that of the program alone, so it lies in its range.
  CHECK(find(twice, "step time").change.value() == Approx(0.0).margin(1e-12));
  CHECK(find(twice, "step time").b_ms == 20.0);
  for (comparison_row const& each : twice.rows) {
    CHECK((each.range->first <= *each.change && *each.change <= each.range->second));
    CHECK((each.own->first <= *each.change && *each.change <= each.own->second));
  }
  b.step.mean_ms = 40.0;
  CHECK(find(compare({a}, {b}), "step time").says == verdict::slower);
}

TEST_CASE("the machine's change combines the probe and the waiting for processors", "[compare]") {
  std::vector<run_figures> a(2);
  std::vector<run_figures> b(1);
  a[0].probe_us = 100.0;
  a[1].probe_us = 400.0;
  b[0].probe_us = 300.0;
  CHECK(find_machine_change(a, b)->log_ratio() == Approx(std::log(1.5)));  // the geometric mean of A is 200
  CHECK(find_machine_change(a, b)->probe_deviations[1] == Approx(std::log(2.0)));
  a[0].waiting = a[1].waiting = 0.0;
  CHECK(find_machine_change(a, b)->waiting == 0.0);  // not known for all runs
  b[0].waiting = 0.5;
  CHECK(find_machine_change(a, b)->waiting == Approx(std::log(2.0)));
  CHECK(find_machine_change(a, b)->log_ratio() == Approx(std::log(3.0)));
  CHECK(find_machine_change(a, b)->max_waiting == 0.5);
  // Without a GPU, waiting for a processor makes the step longer by as much; with a GPU it may be hidden.
  CHECK(find_machine_change(a, b)->effect().low == Approx(std::log(2.0)));
  CHECK(find_machine_change(a, b)->effect().high == Approx(std::log(3.0)));
  b[0].kernels.emplace();
  CHECK(find_machine_change(a, b)->effect().low == 0.0);
  a[1].probe_us.reset();
  CHECK_FALSE(find_machine_change(a, b));
}

TEST_CASE("a limit passes, fails, or cannot be decided", "[compare]") {
  auto const outcome = [](double b_ms, compare_options const& options, double limit) {
    run_figures a = plain_run(1.0);
    run_figures b = plain_run(b_ms);
    a.probe_us = b.probe_us = 100.0;
    b.step.mean_ms = 10.0 * b_ms;
    return decide(compare({a}, {b}, options), options.scope, limit).says();
  };
  compare_options options = quiet();
  options.host_noise = 0.002;
  CHECK(outcome(1.0, options, 0.03) == decision::outcome::passes);
  CHECK(outcome(1.1, options, 0.03) == decision::outcome::fails);
  CHECK(outcome(1.03, options, 0.03) == decision::outcome::undecided);
  CHECK(outcome(1.1, options, 0.2) == decision::outcome::passes);
  CHECK(outcome(1.0, {}, 0.03) == decision::outcome::undecided);
  CHECK(outcome(2.0, {}, 0.03) == decision::outcome::fails);
  options.scope = "step/work";
  CHECK(outcome(1.0, options, 0.03) == decision::outcome::passes);
  CHECK(outcome(1.03, options, 0.03) == decision::outcome::undecided);
}

TEST_CASE("a noisy scope leaves a limit undecided only if it could make the step slower by the limit", "[compare]") {
  auto const open_with = [](double share) {
    run_figures run = plain_run(1.0);
    run.probe_us = 100.0;
    run.kernels->front().gpu.mean_ms = 1.0;
    figures const noisy{30, share, 0.4 * share, 0.0};
    run.scopes.push_back({"step/noisy", {}, noisy, 0.0});
    compare_options options = quiet();
    options.host_noise = 0.002;
    comparison const compared = compare({run}, {run}, options);  // the decision points into it
    decision const result = decide(compared, "", 0.03);
    return result.open.empty() ? std::string{} : result.open.front()->name;
  };
  CHECK(open_with(0.3) == "step/noisy");
  CHECK(open_with(0.01).empty());
  // So many runs are needed as keep the scope from making the step slower by the limit, not the scope itself.
  comparison result = compare({plain_run(1.0)}, {plain_run(1.0)});
  comparison_row& work = result.rows[2];
  REQUIRE(work.name == "step/work");
  result.rows = {work};
  result.rows[0].own = std::pair{-0.9, 1.0};
  result.rows[0].spread = 0.3;
  result.gpu_total_ms = 5.0;
  decision const of_part = decide(result, "", 0.1);
  CHECK(of_part.runs == runs_to_decide(0.3, 0.5));
}

TEST_CASE("the number of runs that would decide comes from a power calculation", "[compare]") {
  // By hand: 10 runs per side have 18 degrees of freedom, t = 1.734; (1.734 + 0.842) * 0.025 * sqrt(2 / 10) = 0.0288, log 1.03 = 0.0296.
  CHECK(runs_to_decide(0.025, 0.03) == 10U);
  CHECK(runs_to_decide(0.001, 0.03) == 2U);
  CHECK_FALSE(runs_to_decide(10.0, 0.03));
  CHECK_FALSE(runs_to_decide(0.01, 0.0));
  run_figures run = plain_run(1.0);
  run.probe_us = 100.0;
  decision const one_run = decide(compare({run}, {run}), "", 0.1);
  CHECK(one_run.runs == runs_to_decide(0.1, 0.1));
  CHECK_FALSE(one_run.do_machines_differ);
  run_figures slower_machine = run;
  slower_machine.probe_us = 150.0;
  CHECK(decide(compare({run}, {slower_machine}), "", 0.1).do_machines_differ);
}

namespace {

scope_figures numbered(std::string const& pattern, std::int64_t index, double ms, std::string const& around = "step") {
  scope_figures result{
      around + "/" + pattern.substr(0, pattern.size() - 1) + std::to_string(index), {30, 1.0, 0.0, 0.0}, figures{30, ms, 0.0, 0.0}, 0.0};
  result.around = around;
  result.number = numbered_name{pattern, index};
  return result;
}

scope_figures inside(std::string const& around, std::string const& name, double ms) {
  scope_figures result{around + "/" + name, {30, 1.0, 0.0, 0.0}, figures{30, ms, 0.0, 0.0}, 0.0};
  result.around = around;
  return result;
}

/// A step with layers, each with one scope inside that has all of its time.
run_figures run_of_layers(std::vector<double> const& times) {
  run_figures run = plain_run(1.0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    run.scopes.push_back(numbered("layer_*", static_cast<std::int64_t>(i), times[i]));
    run.scopes.push_back(inside(run.scopes.back().path, "attention", times[i]));
  }
  run.kernels->front().gpu.mean_ms = 10.0;
  return run;
}

comparison_row const& member(comparison const& in, std::string_view name) {
  auto const found =
      std::find_if(in.members.begin(), in.members.end(), [&](comparison_member const& each) { return each.scope.name == name; });
  REQUIRE(found != in.members.end());
  return found->scope;
}

std::vector<std::string> names_of(comparison const& in) {
  std::vector<std::string> result;
  for (comparison_row const& each : in.rows) {
    if (each.kind == row_kind::scope) result.push_back(each.name);
  }
  return result;
}

}  // namespace

TEST_CASE("three or more numbered siblings are one row with their sum, and so is what is inside them", "[compare]") {
  comparison const result = compare({run_of_layers({1.0, 2.0, 3.0})}, {run_of_layers({1.0, 2.0, 3.0})});
  CHECK(names_of(result) == std::vector<std::string>{"step", "step/work", "step/layer_*", "step/layer_*/attention"});
  CHECK(find(result, "step/layer_*").a_ms == Approx(6.0));
  CHECK(find(result, "step/layer_*").siblings == 3);
  CHECK(find(result, "step/layer_*/attention").b_ms == Approx(6.0));
  CHECK(find(result, "step/layer_*/attention").siblings == 1);
  CHECK(find(result, "step/layer_*/attention").scopes == 3);
  CHECK(result.members.size() == 6);
  CHECK(result.judged == 5);  // four scopes and a kernel
  CHECK(result.judged_members == 6);
  CHECK(row_error_rate(result, {}) == Approx(0.04));

  // Two siblings stay two rows, and all of the error rate belongs to the rows.
  comparison const two = compare({run_of_layers({1.0, 2.0})}, {run_of_layers({1.0, 2.0})});
  CHECK(names_of(two) ==
        std::vector<std::string>{"step", "step/work", "step/layer_0", "step/layer_0/attention", "step/layer_1", "step/layer_1/attention"});
  CHECK(two.members.empty());
  CHECK(row_error_rate(two, {}) == Approx(0.05));
  // Siblings of both sides count together.
  comparison const more = compare({run_of_layers({1.0, 2.0})}, {run_of_layers({1.0, 2.0, 4.0})});
  CHECK(find(more, "step/layer_*").a_ms == Approx(3.0));
  CHECK(find(more, "step/layer_*").b_ms == Approx(7.0));
  CHECK(member(more, "step/layer_2").says == verdict::added);
  CHECK(member(more, "step/layer_1").says != verdict::added);
}

TEST_CASE("digits in names mean nothing, and numbered scopes inside numbered scopes are merged with them", "[compare]") {
  run_figures run = plain_run(1.0);
  for (char const* const name : {"stage_0", "stage_1", "stage_2", "layer_*"}) run.scopes.push_back(inside("step", name, 1.0));
  for (std::int64_t i = 0; i < 3; ++i) {
    run.scopes.push_back(numbered("layer_*", i, 3.0));
    std::string const layer = run.scopes.back().path;
    for (std::int64_t k = 0; k < 4; ++k) run.scopes.push_back(numbered("head_*", k, 0.5, layer));
    for (std::int64_t k = 0; k < 2; ++k) run.scopes.push_back(numbered("half_*", k, 0.5, layer));
  }
  comparison const result = compare({run}, {run});
  CHECK(names_of(result) == std::vector<std::string>{"step", "step/work", "step/stage_0", "step/stage_1", "step/stage_2", "step/layer_*",
                                                     "step/layer_* #2", "step/layer_* #2/head_*", "step/layer_* #2/half_0",
                                                     "step/layer_* #2/half_1"});
  CHECK(find(result, "step/layer_* #2/head_*").a_ms == Approx(6.0));
  CHECK(find(result, "step/layer_* #2/head_*").siblings == 4);
  CHECK(find(result, "step/layer_* #2/half_1").a_ms == Approx(1.5));
}

TEST_CASE("one slower layer is found, and fails a limit, though the sum of all changed by less", "[compare]") {
  std::vector<double> times(48, 0.2);
  run_figures a = run_of_layers(times);
  times[7] = 0.4;
  run_figures b = run_of_layers(times);
  a.probe_us = b.probe_us = 100.0;
  comparison const result = compare({a}, {b}, quiet());
  CHECK(find(result, "step/layer_*").change.value() == Approx(1.0 / 48.0));
  CHECK(member(result, "step/layer_7").says == verdict::slower);
  CHECK(member(result, "step/layer_7").range->first > 0.9);
  CHECK(member(result, "step/layer_7/attention").says == verdict::slower);
  CHECK(member(result, "step/layer_6").says == verdict::same);
  decision const decided = decide(result, "", 0.5);
  REQUIRE(decided.says() == decision::outcome::fails);
  CHECK(decided.too_slow.front()->name == "step/layer_7");
  // The noise of a layer counts for the limit, as that of any scope does.
  compare_options loud;
  times[7] = 0.2;
  times[3] = 40.0;
  comparison const large = compare({run_of_layers(times)}, {run_of_layers(times)}, loud);
  decision const open = decide(large, "", 0.03);
  CHECK(std::any_of(open.open.begin(), open.open.end(), [](comparison_row const* row) { return row->name == "step/layer_3"; }));
}

TEST_CASE("a row of numbered scopes can be asked for, and one of its scopes", "[compare]") {
  run_figures const run = run_of_layers({1.0, 2.0, 3.0});
  compare_options options;
  options.scope = "step/layer_*";
  CHECK(names_of(compare({run}, {run}, options)) == std::vector<std::string>{"step/layer_*", "step/layer_*/attention"});
  options.scope = "step/layer_1";
  comparison const one = compare({run}, {run}, options);
  CHECK(names_of(one) == std::vector<std::string>{"step/layer_1", "step/layer_1/attention"});
  CHECK(one.members.empty());
  options.scope = "step/layer";
  CHECK(names_of(compare({run}, {run}, options)).empty());
}

TEST_CASE("a part of the step is slower or faster beyond the noise of all parts", "[compare]") {
  auto const run_with = [](std::vector<part_figures> parts) {
    run_figures run = plain_run(1.0);
    run.probe_us = 100.0;
    run.budget = budget_figures{false, 10.0, std::move(parts)};
    return run;
  };
  run_figures const a = run_with({{"forward", 2.0, 1.0}, {"backward", 3.0, 1.0}, {"old", 1.0, 0.0}, {"update", 1.0, 1.0}});
  run_figures const b = run_with({{"forward", 2.0, 7.0}, {"backward", 0.5, 0.5}, {"new", 0.0, 1.0}, {"update", 1.1, 1.0}});
  comparison const result = compare({a}, {b});
  REQUIRE(result.budget);
  std::vector<std::pair<std::string, verdict>> says;
  for (comparison_part const& each : result.budget->parts) says.emplace_back(each.name, each.says);
  CHECK(says == std::vector<std::pair<std::string, verdict>>{{"forward", verdict::slower},
                                                             {"backward", verdict::faster},
                                                             {"new", verdict::added},
                                                             {"old", verdict::gone},
                                                             {"update", verdict::unsure}});
  CHECK(result.budget->parts.front().busy_difference_ms == Approx(0.0));
  compare_options options;
  options.time = time_kind::host;
  CHECK_FALSE(compare({a}, {b}, options).budget);
}

TEST_CASE("time between steps is a row of a comparison", "[compare]") {
  auto const loop = [](double pause_ms) {
    profkit::profile profile;
    double at = 0.0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      profile.steps.push_back({{at_ms(at), at_ms(at + 2.0)}, i, false, 0});
      at += 2.0 + pause_ms * (i == 10 ? 3.0 : 1.0);
    }
    return profkit::analyze(profile);
  };
  auto const run = [&](double pause_ms, run_statistic which) { return figures_of_run(loop(pause_ms), "loop", which); };
  auto const which = GENERATE(run_statistic::mean, run_statistic::median, run_statistic::minimum);
  comparison const slower = compare({3, run(1.0, which)}, {3, run(4.0, which)});
  comparison_row const& pause = find(slower, "between steps");
  CHECK(pause.a_ms == Approx(which == run_statistic::mean ? 31.0 / 29.0 : 1.0).epsilon(0.01));
  CHECK(pause.b_ms == Approx(4.0 * pause.a_ms).epsilon(0.02));
  CHECK(pause.says == verdict::slower);
  comparison const short_ones = compare({run(0.01, which)}, {run(0.01, which)});
  CHECK(
      std::none_of(short_ones.rows.begin(), short_ones.rows.end(), [](comparison_row const& row) { return row.name == "between steps"; }));
}

TEST_CASE("the minimum of runs with other numbers of steps is unsure", "[compare]") {
  auto const run = [](std::uint64_t steps, double ms) {
    run_figures result = plain_run(1.0);
    result.kernels.reset();
    result.step = {steps, ms, 0.0, 0.0};
    result.scopes = {{"step", result.step, std::nullopt, 0.0}, {"step/work", {steps, 0.5 * ms, 0.0, 0.0}, std::nullopt, 0.0}};
    return result;
  };
  auto const sides = [&](std::uint64_t steps, run_statistic which) {
    compare_options options;
    options.statistic = which;
    return compare({run(30, 10.0), run(30, 10.01), run(30, 10.02)}, {run(steps, 8.0), run(steps, 8.01), run(steps, 8.02)}, options);
  };
  for (comparison_row const& each : sides(300, run_statistic::minimum).rows) {
    CHECK(each.says == verdict::unsure);
    CHECK_FALSE(each.range);
  }
  CHECK_THAT(sides(300, run_statistic::minimum).notes.back(), ContainsSubstring("the minimum of more steps is smaller"));
  CHECK(sides(33, run_statistic::minimum).rows.front().says == verdict::faster);
  CHECK(sides(300, run_statistic::median).rows.front().says == verdict::faster);
}

TEST_CASE("rows that all differ more than is assumed show that one run a side knows less", "[compare]") {
  normal_numbers numbers{5};
  auto const run = [&](double noise) {
    run_figures result = plain_run(1.0);
    result.scopes = {{"step", result.step, figures{30, 100.0, 0.0, 0.0}, 0.0}};
    result.kernels.emplace();
    for (int i = 0; i < 50; ++i) {
      result.scopes.push_back(
          {"step/part_" + std::to_string(i), {30, 0.1, 0.0, 0.0}, figures{30, 2.0 * std::exp(noise * numbers.next()), 0.0, 0.0}, 0.0});
      result.scopes.back().around = "step";
    }
    return result;
  };
  std::size_t changed = 0;
  std::size_t found = 0;
  for (int i = 0; i < 40; ++i) {
    comparison const loud = compare({run(0.05)}, {run(0.05)});
    changed += loud.count(verdict::faster) + loud.count(verdict::slower) > 0 ? 1U : 0U;
    run_figures slower = run(0.01);
    slower.scopes[20].gpu->mean_ms *= 1.5;
    found += find(compare({run(0.01)}, {slower}), "step/part_19").says == verdict::slower ? 1U : 0U;
  }
  CHECK(changed <= 4);
  CHECK(found == 40);
}

TEST_CASE("a median that lies on one of two levels knows the other level, below or above", "[compare]") {
  auto const spread = [](double min, double p95) {
    profkit::duration_summary calls;
    calls.count = 100;
    calls.min = profkit::milliseconds{min};
    calls.median = profkit::milliseconds{10.0};
    calls.p95 = profkit::milliseconds{p95};
    return figures_of_calls(calls, 100, run_statistic::median).std_ms;
  };
  CHECK(spread(10.0, 10.0) == 0.0);
  CHECK(spread(10.0, 15.0) == Approx(1.2533 * 5.0 / 1.6449));
  CHECK(spread(5.0, 10.0) == Approx(1.2533 * 5.0 / (0.8 * std::sqrt(2.0 * std::log(100.0)))));
  figures const levels{100, 10.0, 1.0, 0.0, std::numeric_limits<double>::infinity()};
  CHECK(std::isinf(figures_of_part({100, 1.0, 0.1, 0.0}, levels, run_statistic::median).slow));
  CHECK(figures_of_part({100, 1.0, 0.1, 0.0}, levels).slow == 1.0);
}
