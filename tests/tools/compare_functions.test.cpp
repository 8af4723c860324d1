// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/save_load.hpp>

#include <nlohmann/json.hpp>

#include "../support/profile_with_samples.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"
#include "compare.hpp"
#include "comparison_document.hpp"
#include "decision.hpp"
#include "summary_figures.hpp"

using namespace profkit_program;

namespace {

/// 100 steps of 10 ms, sampled each 0.1 ms of processor time.
run_figures sampled_run(std::vector<std::pair<std::string, std::uint64_t>> const& functions) {
  run_figures run;
  run.file = "sampled";
  run.step = {100, 10.0, 0.1, 0.0};
  run.scopes = {{"step", run.step, {}, 0.0}, {"step/softmax", {100, 8.0, 0.1, 0.0}, {}, 0.0}};
  run.functions.emplace();
  run.sampling_interval_us = 100.0;
  run.sample_ms = 0.001;
  for (auto const& [name, samples] : functions) {
    double const mean = 0.001 * static_cast<double>(samples);
    run.functions->push_back(
        {"step/softmax: " + name, "step/softmax", {100, mean, mean * std::sqrt(100.0 / static_cast<double>(samples)), 0.0}, samples});
  }
  return run;
}

/// The machine is known to be quiet.
compare_options of_quiet_machine() {
  compare_options options;
  options.host_noise = 0.01;
  options.is_host_noise_known = true;
  return options;
}

std::vector<comparison_row> rows_of_functions(comparison const& comparison) {
  std::vector<comparison_row> result;
  std::copy_if(comparison.rows.begin(), comparison.rows.end(), std::back_inserter(result),
               [](comparison_row const& each) { return each.kind == row_kind::function; });
  return result;
}

bool has_note(comparison const& comparison, std::string_view words) {
  return std::any_of(comparison.notes.begin(), comparison.notes.end(),
                     [&](std::string const& note) { return note.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a slower function is named, and so is one that is gone", "[compare][samples]") {
  std::vector<run_figures> const a{sampled_run({{"exp_loop", 3000}, {"sum", 2000}, {"copy", 1000}, {"old", 500}})};
  std::vector<run_figures> const b{sampled_run({{"exp_loop", 4500}, {"sum", 2010}, {"copy", 990}})};
  comparison const found = compare(a, b, of_quiet_machine());
  std::vector<comparison_row> const rows = rows_of_functions(found);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].name == "step/softmax: exp_loop");
  CHECK(rows[0].says == verdict::slower);
  CHECK(*rows[0].change == Approx(0.5));
  CHECK(rows[0].range->first < 0.5);
  CHECK(rows[0].range->second > 0.5);
  CHECK_FALSE(rows[0].effect);
  CHECK((rows[1].says == verdict::same || rows[1].says == verdict::unsure));
  CHECK((rows[2].says == verdict::same || rows[2].says == verdict::unsure));
  CHECK(rows[3].says == verdict::gone);
  compared_sides const sides{"before", "after", a, b};
  std::string const text = comparison_text(make_comparison_document(found, sides, of_quiet_machine()), false);
  CHECK(text.find("step/softmax: exp_loop") != std::string::npos);
  CHECK(text.find("2 scopes, 0 kernels, 4 functions") != std::string::npos);
  CHECK(comparison_json(found, sides, of_quiet_machine(), nullptr).find("\"of\": \"function\"") != std::string::npos);
  // Its scope determines the verdict.
  CHECK(decide(found, "", 0.03).too_slow.empty());
}

TEST_CASE("the finding of a slower scope names the function that causes it", "[compare][samples]") {
  std::vector<run_figures> const a{sampled_run({{"exp_loop", 3000}, {"sum", 2000}, {"copy", 1000}})};
  std::vector<run_figures> b{sampled_run({{"exp_loop", 4500}, {"sum", 2000}, {"copy", 1000}})};
  b.front().step.mean_ms = 11.5;
  b.front().scopes = {{"step", b.front().step, {}, 0.0}, {"step/softmax", {100, 9.5, 0.1, 0.0}, {}, 0.0}};
  comparison const found = compare(a, b, of_quiet_machine());
  auto const document = make_comparison_document(found, {"before", "after", a, b}, of_quiet_machine());
  REQUIRE(!document.findings.empty());
  CHECK(document.findings.front().headline.rfind("Slower: softmax", 0) == 0);
  CHECK(document.findings.front().text.find("In it exp_loop: +1.5") != std::string::npos);
}

TEST_CASE("functions with few samples are not compared, and neither are runs if one has no samples", "[compare][samples]") {
  std::vector<run_figures> const a{sampled_run({{"exp_loop", 29}, {"sum", 30}})};
  std::vector<run_figures> b{sampled_run({{"sum", 30}, {"other", 29}})};
  comparison const few = compare(a, b, of_quiet_machine());
  REQUIRE(rows_of_functions(few).size() == 1);
  CHECK(rows_of_functions(few).front().name == "step/softmax: sum");
  CHECK(few.notes.empty());
  b.front().sampling_interval_us = 1000.0;
  CHECK(has_note(compare(a, b, of_quiet_machine()), "different rates"));
  b.front().functions.reset();
  comparison const one_side = compare(a, b, of_quiet_machine());
  CHECK(rows_of_functions(one_side).empty());
  CHECK(has_note(one_side, "in all runs of A only: functions are not compared"));
}

TEST_CASE("a function is new or gone only if the other side would have shown it", "[compare][samples]") {
  std::vector<run_figures> const a{sampled_run({{"exp_loop", 3000}, {"sum", 40}})};
  std::vector<run_figures> b{sampled_run({{"exp_loop", 3000}})};
  REQUIRE(rows_of_functions(compare(a, b, of_quiet_machine())).size() == 2);
  CHECK(rows_of_functions(compare(a, b, of_quiet_machine())).back().says == verdict::gone);
  CHECK(rows_of_functions(compare(b, a, of_quiet_machine())).back().says == verdict::added);
  b.front().sample_ms = 0.01;  // 4 samples would have been in `sum`
  CHECK(rows_of_functions(compare(a, b, of_quiet_machine())).size() == 1);
  CHECK(rows_of_functions(compare(b, a, of_quiet_machine())).size() == 1);
  b.front().sample_ms = 0.001;
  b.front().cut_scopes.emplace_back("step/softmax");
  CHECK(rows_of_functions(compare(a, b, of_quiet_machine())).size() == 1);
}

TEST_CASE("only functions in the requested scope are compared", "[compare][samples]") {
  std::vector<run_figures> a{sampled_run({{"exp_loop", 3000}})};
  a.front().functions->push_back({"step: load", "step", {100, 1.0, 0.1, 0.0}, 1000});
  compare_options options = of_quiet_machine();
  CHECK(rows_of_functions(compare(a, a, options)).size() == 2);
  options.scope = "step/softmax";
  CHECK(rows_of_functions(compare(a, a, options)).size() == 1);
}

TEST_CASE("samples of an unchanged program rarely show a change of a function", "[compare][samples]") {
  if (repeats_less) SKIP("only many numbers");
  std::mt19937_64 random{11};
  auto const run = [&] {
    std::vector<std::pair<std::string, std::uint64_t>> functions;
    for (int i = 0; i < 20; ++i) {
      std::poisson_distribution<std::uint64_t> samples{20.0 * std::pow(1.35, i)};
      if (std::uint64_t const count = samples(random); count > 0) functions.emplace_back("function_" + std::to_string(i), count);
    }
    return std::vector<run_figures>{sampled_run(functions)};
  };
  int wrong = 0;
  constexpr int comparisons = 400;
  compare_options options = of_quiet_machine();
  options.host_noise = 1e-6;  // nothing varies except the sampling
  for (int i = 0; i < comparisons; ++i) {
    std::vector<comparison_row> const rows = rows_of_functions(compare(run(), run(), options));
    wrong += std::any_of(rows.begin(), rows.end(),
                         [](comparison_row const& each) { return each.says != verdict::same && each.says != verdict::unsure; })
                 ? 1
                 : 0;
  }
  CHECK(wrong <= comparisons / 20);
}

TEST_CASE("the figures of functions come from the summary of a run", "[compare][samples]") {
  profkit::profile profile = profile_with_samples();
  profile.steps[0].warmup = false;
  run_figures const found = figures_of_run(profkit::analyze(profile), "made");
  REQUIRE(found.functions);
  auto const at = std::find_if(found.functions->begin(), found.functions->end(),
                               [](auto const& each) { return each.name == "step/softmax: exp_loop"; });
  REQUIRE(at != found.functions->end());
  CHECK(at->path == "step/softmax");
  CHECK(at->samples == 21);
  CHECK(at->host.steps == 2);
  CHECK(at->host.mean_ms == Approx(10.5));
  CHECK(at->host.std_ms >= 10.5 * std::sqrt(2.0 / 21.0));
  CHECK(found.sampling_interval_us == Approx(1000.0));
  CHECK(std::any_of(found.functions->begin(), found.functions->end(),
                    [](auto const& each) { return each.name == "outside any scope: libc.so.6, called by load"; }));
  profile.sampling.reset();
  profile.samples.clear();
  CHECK_FALSE(figures_of_run(profkit::analyze(profile), "made").functions);
}

TEST_CASE("functions of numbered scopes are merged as the scopes are, with the samples of all", "[compare][samples]") {
  auto const run_with = [](std::uint64_t samples) {
    run_figures run = sampled_run({});
    for (std::int64_t i = 0; i < 4; ++i) {
      std::string const layer = "step/layer_" + std::to_string(i);
      run.scopes.push_back({layer, {100, 1.0, 0.0, 0.0}, {}, 0.0});
      run.scopes.back().around = "step";
      run.scopes.back().number = numbered_name{"layer_*", i};
      double const mean = 0.001 * static_cast<double>(samples);
      double const spread = 0.02;  // between steps
      double const sampling = std::sqrt(100.0 / static_cast<double>(samples));
      run.functions->push_back({layer + ": exp_loop", layer, {100, mean, mean * std::hypot(sampling, spread), 0.0}, samples});
    }
    return run;
  };
  run_figures const a = run_with(20);  // fewer than a function of one scope needs
  comparison const result = compare({a}, {run_with(200)}, of_quiet_machine());
  std::vector<comparison_row> const rows = rows_of_functions(result);
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().name == "step/layer_*: exp_loop");
  CHECK(rows.front().a_ms == Approx(4 * 0.02));
  CHECK(rows.front().b_ms == Approx(4 * 0.2));
  CHECK(rows.front().says == verdict::slower);
  // 80 samples: 1 / sqrt(80) of the time, where one layer has 1 / sqrt(20).
  REQUIRE(rows.front().own);
  double const share = std::log1p(rows.front().own->second) - std::log1p(*rows.front().change);
  CHECK(share == Approx(1.645 * std::sqrt(1.0 / 80.0 + 1.0 / 800.0)).epsilon(0.1));
}

TEST_CASE("JSON has the numbered scopes of a row beside the rows", "[compare]") {
  run_figures run = sampled_run({});
  for (std::int64_t i = 0; i < 3; ++i) {
    run.scopes.push_back({"step/layer_" + std::to_string(i), {100, 1.0, 0.0, 0.0}, {}, 0.0});
    run.scopes.back().around = "step";
    run.scopes.back().number = numbered_name{"layer_*", i};
  }
  std::vector<run_figures> const side{run};
  comparison const result = compare(side, side, of_quiet_machine());
  auto const parsed = nlohmann::json::parse(comparison_json(result, {"a", "b", side, side}, of_quiet_machine(), nullptr));
  REQUIRE(parsed.at("members").size() == 3);
  CHECK(parsed.at("members").at(2).at("name") == "step/layer_2");
  CHECK(parsed.at("members").at(2).at("row") == "step/layer_*");
  auto const& rows = parsed.at("rows");
  auto const found = std::find_if(rows.begin(), rows.end(), [](auto const& each) { return each.at("name") == "step/layer_*"; });
  REQUIRE(found != rows.end());
  CHECK(found->at("scopes") == 3);
  CHECK(rows.front().at("scopes") == 1);
}

TEST_CASE("indices, scopes around scopes and the parts of a step come from the summary of a run", "[compare]") {
  profkit::profile const profile = profkit::load(std::string{TEST_DATA} + "/small-128-train-fp32.profile");
  run_figures const run = figures_of_run(profkit::analyze(profile), "recorded");
  auto const scope = [&](std::string const& path) -> scope_figures const& {
    auto const found = std::find_if(run.scopes.begin(), run.scopes.end(), [&](scope_figures const& each) { return each.path == path; });
    REQUIRE(found != run.scopes.end());
    return *found;
  };
  CHECK(scope("step/forward/layer_3").around == "step/forward");
  REQUIRE(scope("step/forward/layer_3").number);
  CHECK(scope("step/forward/layer_3").number->pattern == "layer_*");
  CHECK(scope("step/forward/layer_3").number->index == 3);
  CHECK_FALSE(scope("step/forward/layer_3/ffn_sublayer").number);
  // A scope that adopts one inside a numbered scope has its index.
  scope_figures const& adopting = scope("step/backward/forward/layer_7/ffn_sublayer/swiglu (backward)");
  REQUIRE(adopting.number);
  CHECK(adopting.number->pattern == "forward/layer_*/ffn_sublayer/swiglu (backward)");
  CHECK(adopting.number->index == 7);
  CHECK(adopting.around == "step/backward");
  REQUIRE(run.budget);
  double sum = 0.0;
  for (part_figures const& each : run.budget->parts) sum += each.busy_ms + each.idle_ms;
  CHECK(sum == Approx(run.budget->step_ms));
  CHECK(run.budget->step_ms > 0.0);
  // 314 scopes, 12 layers.
  comparison const result = compare({run}, {run});
  auto const has = [&](std::string const& name) {
    return std::any_of(result.rows.begin(), result.rows.end(), [&](comparison_row const& each) { return each.name == name; });
  };
  CHECK(has("step/forward/layer_*/ffn_sublayer/swiglu"));
  CHECK(has("step/backward/forward/layer_*/ffn_sublayer/swiglu (backward)"));
  CHECK_FALSE(has("step/forward/layer_3"));
  CHECK(std::count_if(result.rows.begin(), result.rows.end(), [](comparison_row const& each) { return each.kind == row_kind::scope; }) <
        45);
}

TEST_CASE("the use of the GPU is shown for both sides, without a verdict", "[compare]") {
  std::vector<run_figures> a{sampled_run({})};
  std::vector<run_figures> b = a;
  a.front().utilization = unit_shares{{"SMs active", 0.75}, {"fp64 pipes", 0.0}, {"DRAM bandwidth", 0.2}};
  CHECK(compare(a, b).notes.empty());
  b.front().utilization = unit_shares{{"SMs active", 0.6}, {"fp64 pipes", 0.0}};
  CHECK(has_note(compare(a, b), "GPU utilization: SMs active 75.0 % in A, 60.0 % in B (-15.0)"));
  CHECK_FALSE(has_note(compare(a, b), "fp64"));
  CHECK_FALSE(has_note(compare(a, b), "DRAM"));
  b.front().utilized_devices = 2;
  CHECK(has_note(compare(a, b), "GPU utilization, mean of all devices: SMs active"));
}

TEST_CASE("the energy of a step is compared meter by meter, without a verdict", "[compare]") {
  std::vector<run_figures> a{sampled_run({}), sampled_run({})};
  std::vector<run_figures> b = a;
  a[0].energy = unit_shares{{"GPU 0", 20.0}, {"GPU 1", 5.0}};
  a[1].energy = unit_shares{{"GPU 0", 30.0}};
  CHECK_FALSE(has_note(compare(a, b), "Energy"));
  for (run_figures& each : b) each.energy = unit_shares{{"package-0", 3.0}, {"GPU 0", 20.0}};
  CHECK(has_note(compare(a, b), "Energy of a step: GPU 0 25 J in A, 20 J in B (-20.0 %)"));
  CHECK_FALSE(has_note(compare(a, b), "GPU 1"));
}

TEST_CASE("the use of several GPUs is the mean of those that measured a unit", "[compare]") {
  profkit::profile profile = profile_with_samples();
  profile.steps[0].warmup = false;
  profkit::summary summary = profkit::analyze(profile);
  summary.utilization.resize(3);
  summary.utilization[0].sm_active = profkit::share_of_unit{0.8, 0.8, 0.8};
  summary.utilization[2].sm_active = profkit::share_of_unit{0.2, 0.2, 0.2};
  run_figures const found = figures_of_run(summary, "made");
  CHECK(found.utilized_devices == 3);
  REQUIRE(found.utilization);
  REQUIRE(found.utilization->size() == 1);
  CHECK(found.utilization->front().first == "SMs active");
  CHECK(std::abs(found.utilization->front().second - 0.5) < 1e-12);
}
