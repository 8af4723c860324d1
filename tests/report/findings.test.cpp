// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/report/findings.hpp>
#include <profkit/impl/report/first_screen.hpp>
#include <profkit/impl/report/folded_scopes.hpp>
#include <profkit/impl/report/kernels_section.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/impl/report/scopes_section.hpp>

#include "../support/made_summary.hpp"
#include "../support/testing.hpp"

using profkit::milliseconds;
using profkit::detail::finding;
using profkit::detail::folded_scope;
using profkit::detail::folded_tree;

namespace {

/// Sentences with blanks for no-break spaces.
std::string plain(std::string text) {
  for (std::size_t at = text.find("\xc2\xa0"); at != std::string::npos; at = text.find("\xc2\xa0")) text.replace(at, 2, " ");
  return text;
}

std::string headline_of(profkit::summary const& what) { return plain(profkit::detail::report_code::describe(what).headline); }

std::vector<std::string> findings_of(profkit::summary const& what) {
  std::vector<std::string> result;
  for (finding const& each : profkit::detail::report_code::describe(what).findings)
    result.push_back(plain(each.headline + " " + each.text + " > " + each.action));
  return result;
}

folded_tree tree_of(profkit::summary const& what) { return folded_tree{what, profkit::detail::report_kinds{what}.main()}; }

std::vector<std::string> names_of(folded_tree const& tree) {
  std::vector<std::string> result;
  for (folded_scope const& each : tree.rows()) result.push_back(std::string(2 * each.depth, ' ') + each.name);
  return result;
}

}  // namespace

TEST_CASE("for a busy GPU, the headline states that only kernels help, and the first finding has the maximum saving on the host",
          "[findings]") {
  made_summary made{35, 46.32};
  made.budget({{"forward", 13.61, 0.10, 0.0, 0.01, 0.04, 0.34}, {"backward", 31.16, 0.07, 0.09, 0.02, 0.12, 0.76}});
  CHECK(headline_of(made.get()) ==
        "A step takes 46.3 ms and keeps the GPU busy for 97 % of it: only faster or fewer kernels make it shorter");
  CHECK(findings_of(made.get()) ==
        std::vector<std::string>{"The GPU sets the pace. It works 44.8 of 46.3 ms. All its idle time is 1.55 ms (3.3 %), 1.10 ms of that "
                                 "between queued operations. > Do not tune the host: a CUDA graph, "
                                 "or fewer and larger operations, can save 1.27 ms (2.7 %) at most."});
}

TEST_CASE("time between steps is a finding from 5 % of the loop on", "[findings]") {
  made_summary made{40, 2.0};
  profkit::duration_summary& between = made.get().steps.between;
  between.count = 39;
  between.mean = between.median = between.max = milliseconds{10.0};
  between.total = milliseconds{390.0};
  CHECK_THAT(headline_of(made.get()), Catch::Matchers::EndsWith("; 83 % of the loop's wall time is between steps"));
  CHECK(findings_of(made.get()).at(0) ==
        "83 % of the loop's wall time is between steps. 10.0 ms pass between two steps; a step takes 2.00 ms. > Do this work, such as "
        "loading data, during the step, or inside it to see it in the report: at most 10.0 ms a step (83 %) can be saved.");
  profkit::detail::document const document = profkit::detail::report_code::describe(made.get());
  auto const screen = profkit::detail::first_screen{document, profkit::detail::text_style{}}.text("");
  CHECK_THAT(std::string(screen.data(), screen.size()), Catch::Matchers::ContainsSubstring("between steps  39  10.00"));
  between.median = milliseconds{0.01};
  between.max = milliseconds{380.0};
  made.get().quality.bookkeeping = std::chrono::milliseconds{100};
  CHECK(
      findings_of(made.get()).at(0) ==
      "83 % of the loop's wall time is between steps. On average, 10.0 ms pass between two steps; a step takes 2.00 ms. The median is "
      "10.0 \xc2\xb5s, the longest 380 ms. profkit itself needs 100 ms between all steps. > Look at what the program does in these pauses, "
      "such as evaluation or checkpoints: at most 10.0 ms a step (83 %) can be saved.");
  between.mean = milliseconds{0.1};
  CHECK(findings_of(made.get()).empty());
  CHECK_THAT(headline_of(made.get()), !Catch::Matchers::ContainsSubstring("between"));
}

TEST_CASE("an operation of a CUDA graph counts less overhead than a launch, and no overhead is longer than the step", "[findings]") {
  auto const answer_of = [](std::uint64_t operations, double step, bool of_graphs) {
    made_summary made{40, step};
    made.budget({{"forward", 0.9 * step, 0.1 * step}}).kernel("node", "other", 0.9 * step, operations);
    if (of_graphs) made.get().gpu->operations_of_graphs = made.get().gpu->all.operations;
    return plain(profkit::detail::report_code::describe(made.get()).sections.back().answer);
  };
  CHECK_THAT(answer_of(1000, 6.0, false), Catch::Matchers::ContainsSubstring("; overhead at most 50 % of a step"));
  CHECK_THAT(answer_of(1000, 2.4, true), Catch::Matchers::ContainsSubstring("; overhead at most 50 % of a step"));
  CHECK_THAT(answer_of(1000, 1.1, true), Catch::Matchers::ContainsSubstring("; overhead n/a: its upper bound is longer than the step"));
}

TEST_CASE("merged scopes of warm-up steps are not added to those of measured steps", "[findings]") {
  made_summary made;
  made.scope(0, "step", 10.0).scope(1, profkit::detail::path_table::merged_name, 10.0);
  made.get().quality.collapsed_scopes = 900;
  auto const answer = [&] { return plain(profkit::detail::report_code::describe(made.get()).sections.back().answer); };
  CHECK_THAT(answer(), Catch::Matchers::ContainsSubstring(
                           "nothing lost of 100 scopes; 900 of the whole session, deeper than 512 levels, are merged"));
  made.get().steps.warmup = 0;
  CHECK_THAT(answer(), Catch::Matchers::ContainsSubstring("nothing lost of 1,000 scopes; 900 of them, deeper than 512 levels, are merged"));
}

TEST_CASE("only a full log is a reason for a larger one", "[findings]") {
  made_summary made;
  made.get().quality.dropped_events = 5;
  CHECK_THAT(findings_of(made.get()).back(), Catch::Matchers::ContainsSubstring("log=SIZE"));
  made.get().quality.interrupting_events = 3;
  made.get().quality.events_without_log = 2;
  CHECK_THAT(findings_of(made.get()).back(),
             Catch::Matchers::ContainsSubstring("5 scopes and counters dropped") && !Catch::Matchers::ContainsSubstring("log=SIZE"));
}

TEST_CASE("less than 1 % of idle time is no finding", "[findings]") {
  made_summary made;
  made.budget({{"forward", 9.95, 0.05}});
  CHECK(findings_of(made.get()).empty());
}

TEST_CASE("each cause of idle time has its headline, its advice and its maximum saving", "[findings]") {
  auto const check = [](made_summary::part const& part, char const* headline, char const* finding_text) {
    made_summary made;
    made.budget({part});
    INFO(headline);
    CHECK_THAT(headline_of(made.get()), ContainsSubstring(headline));
    REQUIRE(findings_of(made.get()).size() == 1);
    CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring(finding_text));
  };
  check({"load", 6.0, 4.0}, "A step takes 10.0 ms; the GPU idles for 40 % of it, mostly because launching is too slow",
        "can save 4.00 ms (40 %) at most");
  check({"load", 6.0, 1.0, 0.0, 0.0, 0.0, 3.0}, "mostly in the gaps between queued operations",
        "The GPU waits between queued operations. The GPU works 6.00 of 10.0 ms; 1.00 ms are launch-bound, 3.00 ms between queued "
        "operations. > A CUDA graph, or fewer and larger operations, can save 4.00 ms (40 %) at most.");
  check({"load", 6.0, 0.0, 4.0}, "mostly while the host is in load",
        "Speed up load or move its work to another thread: at most 4.00 ms (40 %) can be saved.");
  check({"load", 6.0, 0.0, 0.0, 4.0}, "mostly because the host waits for the GPU in load",
        "Remove calls that need a result on the host: at most 4.00 ms (40 %)");
  check({"load", 6.0, 0.0, 0.0, 0.0, 4.0}, "mostly because of copies in load",
        "Use pinned memory and a stream of their own: at most 4.00 ms (40 %)");
}

TEST_CASE("a headline names a scope or says mostly only for at least half of the idle time", "[findings]") {
  made_summary spread;
  spread.budget({{"load", 3.0, 0.0, 1.6}, {"decode", 2.0, 0.0, 1.2}, {"augment", 1.0, 0.0, 1.2}});
  CHECK(headline_of(spread.get()) ==
        "A step takes 10.0 ms; the GPU idles for 40 % of it, mostly while the host does other work than launching");
  CHECK_THAT(findings_of(spread.get()).front(),
             ContainsSubstring("waits 4.00 ms (40 %) for the host, 1.60 ms of that in load.") &&
                 ContainsSubstring("> Speed up load or move its work to another thread: at most 1.60 ms (16 %) can be saved."));
  made_summary mixed;
  mixed.budget({{"load", 6.0, 1.2, 1.6, 1.2}});
  CHECK(headline_of(mixed.get()) == "A step takes 10.0 ms; the GPU idles for 40 % of it, above all while the host is in load");
}

TEST_CASE("a program that uses CUDA graphs is not advised to use them", "[findings]") {
  made_summary made;
  made.budget({{"load", 6.0, 4.0}});
  made.get().gpu = profkit::gpu_summary{};
  made.get().gpu->operations_of_graphs = 1;
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("> Fewer and larger operations can save 4.00 ms (40 %) at most."));
}

TEST_CASE("if most of the step is outside any scope, the advice is to add scopes", "[findings]") {
  made_summary made;
  made.budget({{"forward", 3.0}, {profkit::outside_any_scope, 7.0}});
  made.scope(0, "step", 10.0).gpu_time(3.0, 0.0).scope(1, "forward", 3.0).gpu_time(3.0, 0.0).kernel("gemm", "matmul", 10.0, 1);
  REQUIRE(findings_of(made.get()).size() == 1);
  CHECK_THAT(findings_of(made.get()).front(),
             ContainsSubstring("> Add scopes first: 7.00 ms (70 %) of the step are in operations that were launched outside any scope."));
}

TEST_CASE("exposed communication bounds the step if it is more than the idle time", "[findings]") {
  made_summary made;
  made.budget({{"forward", 9.7, 0.3}});
  made.get().budget->communication = {milliseconds{100.0}, milliseconds{60.0}};
  CHECK(headline_of(made.get()) == "A step takes 10.0 ms; 15 % of it is communication that does not overlap with other work");
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("at most 1.50 ms (15 %) can be saved"));
  made.get().budget->communication.exposed = milliseconds{10.0};
  CHECK_THAT(headline_of(made.get()), ContainsSubstring("keeps the GPU busy for 97 %"));
}

TEST_CASE("a time that is not stable is the first finding, with its reason and advice, and the headline says about", "[findings]") {
  made_summary made;
  made.budget({{"forward", 9.0, 1.0}});
  profkit::verdict_summary& verdict = made.get().steps.host_verdict;
  verdict.verdict = profkit::step_verdict::noisy;
  verdict.relative_half_width = 0.041;
  CHECK_THAT(headline_of(made.get()), ContainsSubstring("A step takes about 10.0 ms"));
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("These times are not reliable yet. Noisy: the mean is known to \xc2\xb1"
                                                                "4.1 %; n = 40") &&
                                                  ContainsSubstring("> Measure more steps (steps=auto)."));
  verdict.verdict = profkit::step_verdict::still_warming;
  verdict.steady_from = 12;
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("> Use at least 12 warm-up steps (warmup=12)."));
}

TEST_CASE("a measured cause that can explain most of the noise comes before the advice to measure more", "[findings]") {
  made_summary made;  // a step is 20 % from the median on average
  for (int i = 0; i < 40; ++i) made.get().steps.host_samples.emplace_back(i % 2 == 0 ? 8.0 : 12.0);
  made.get().steps.host_verdict.verdict = profkit::step_verdict::noisy;
  made.get().environment.host_speed.emplace().waiting = 0.84;
  CHECK(findings_of(made.get()).front() ==
        "The step thread waited 84 % of the time for a processor. These times are not reliable: noisy, the mean is known to \xc2\xb1"
        "0.1 %; n = 40 (effective 40), 0 outliers. > Stop other programs, or use fewer threads than processors: more steps do not help.");
  CHECK_THAT(plain(profkit::detail::report_code::describe(made.get()).sections.front().answer),
             ContainsSubstring(" Verdict: noisy: the step thread waited 84 % of the time for a processor; no significant drift"));
  for (profkit::step_verdict const other :
       {profkit::step_verdict::too_few, profkit::step_verdict::still_warming, profkit::step_verdict::throttled}) {
    made.get().steps.host_verdict.verdict = other;
    CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("These times are not reliable yet."));
  }
  made.get().steps.host_verdict.verdict = profkit::step_verdict::drifting;
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("The step thread waited 84 %"));
  made.get().environment.host_speed->waiting = 0.17;  // less than 90 % of that
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("These times are not reliable yet. Drifting: "));
}

TEST_CASE("of the measured causes of noise, the largest is named, and only as far as the step depends on it", "[findings]") {
  made_summary made;
  made.budget({{"forward", 9.0, 1.0}});
  for (int i = 0; i < 40; ++i) made.get().steps.host_samples.emplace_back(i % 2 == 0 ? 8.0 : 12.0);
  made.get().steps.host_verdict.verdict = profkit::step_verdict::noisy;
  made.get().environment.host_speed.emplace().waiting = 0.12;
  profkit::clock_summary clock;
  clock.readings = 10;
  clock.min_mhz = 1200;
  clock.mean_mhz = 1500.0;
  clock.max_mhz = 2000;
  made.get().steps.clocks = {clock};
  CHECK_THAT(findings_of(made.get()).front(),
             ContainsSubstring("The SM clock of device 0 changed between 1200 and 2000 MHz, and was 25 % below the highest on average.") &&
                 ContainsSubstring("> Lock the clocks (nvidia-smi -lgc)"));
  made.get().environment.host_speed->waiting = 0.5;
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("The step thread waited 50 %"));
  // Of a GPU step, waiting can take only the idle time: 10 %.
  made.get().steps.gpu = made.get().steps.host;
  made.get().steps.gpu_samples = made.get().steps.host_samples;
  made.get().steps.gpu_verdict = made.get().steps.host_verdict;
  made.get().steps.step_time->basis = "GPU step time";
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("The SM clock of device 0"));
  made_summary host_only;
  host_only.get().steps.host_samples = made.get().steps.host_samples;
  host_only.get().steps.host_verdict.verdict = profkit::step_verdict::noisy;
  host_only.get().steps.clocks = {clock};
  CHECK_THAT(findings_of(host_only.get()).front(), ContainsSubstring("> Measure more steps (steps=auto)."));
}

TEST_CASE("the largest lever is named by classes of kernels, the longest kernel, and the place to begin with", "[findings]") {
  made_summary made;
  made.budget({{"forward", 10.0}});
  made.scope(0, "step", 10.0)
      .gpu_time(10.0, 0.0)
      .scope(1, "forward", 10.0)
      .gpu_time(10.0, 0.0)
      .scope(2, "attention", 3.0)
      .gpu_time(3.0, 0.0)
      .scope(3, "softmax", 1.0)
      .gpu_time(1.0, 0.0);
  made.kernel("void softmax_kernel<float>(float*)", "softmax", 3.0, 12).kernel("gemm", "matmul", 6.0, 2).kernel("odd", "other", 1.0, 1);
  std::vector<std::string> const found = findings_of(made.get());
  REQUIRE(found.size() == 1);
  CHECK(found.front() ==
        "Kernel time is 60 % matmul, 30 % softmax. Longest: softmax_kernel<float>, 3.00 ms (30 %), 12 launches. > Begin with forward "
        "itself, without the scopes in it: 7.00 ms (70 %).");
  CHECK(profkit::detail::report_code::describe(made.get()).findings.front().scope == "forward");
  made.kernel("mine", "other", 20.0, 1);
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("Most kernel time is in kernels without a class. Longest: "));
}

TEST_CASE("host time of other threads is no part of the step, and scopes with the same name are distinguished", "[findings]") {
  made_summary made;
  made.get().environment.gpu = {};
  made.scope(0, "step", 10.0)
      .scope(1, "forward", 4.0)
      .scope(2, "multiply", 2.0)
      .scope(1, "backward", 6.0)
      .scope(2, "multiply", 5.0)
      .scope(0, "render (tile)", 20.0);
  CHECK(headline_of(made.get()) == "A step takes 10.0 ms on the host, 50 % of it in multiply in backward");
  CHECK(findings_of(made.get()) == std::vector<std::string>{"multiply in backward takes 5.00 ms (50 %) of host time a step. It runs once a "
                                                            "step, 5.00 ms each. > Begin there: it is the innermost scope with over a "
                                                            "quarter of the step."});
  folded_tree const tree = tree_of(made.get());
  CHECK(tree.rows()[tree.by_time(tree.roots()).back()].name == "render (tile)");
}

TEST_CASE("headline, finding and picture name one place: the longest of the innermost scopes or of their own code", "[findings]") {
  auto const check = [](made_summary made, std::string const& place, std::string const& found, char const* scope) {
    CHECK_THAT(headline_of(made.get()), ContainsSubstring("A step takes 10.0 ms on the host, " + place));
    REQUIRE(findings_of(made.get()).size() == 1);
    CHECK(findings_of(made.get()).front() == found);
    profkit::detail::document const document = profkit::detail::report_code::describe(made.get());
    CHECK(document.findings.front().scope == scope);
    auto const is_picture = [](profkit::detail::section const& each) { return each.id == "picture"; };
    auto const picture = std::find_if(document.sections.begin(), document.sections.end(), is_picture);
    REQUIRE(picture != document.sections.end());
    std::size_t const of_it = place.find(" of it in ");
    CHECK(plain(picture->answer) == "Largest: " + place.substr(of_it + 10) + ", " + place.substr(0, of_it) + " of the step.");
  };
  made_summary own;  // 3.6 ms of "force" are in none of the scopes inside
  own.scope(0, "step", 10.0).scope(1, "force", 7.0).scope(2, "stress", 1.5).scope(2, "hourglass", 1.9).scope(1, "move", 2.0);
  check(own, "36 % of it in force itself",
        "force itself takes 3.60 ms (36 %) of host time a step. It runs once a step; the scopes in it take 3.40 ms more. > Begin with its "
        "own code, outside the scopes in it.",
        "force");
  made_summary branch;  // no part of "load" has a quarter of the step
  branch.scope(0, "step", 10.0).scope(1, "load", 4.5).scope(2, "read", 2.3).scope(2, "decode", 2.2).scope(1, "train", 4.0);
  check(branch, "45 % of it in load",
        "load takes 4.50 ms (45 %) of host time a step. It runs once a step, 4.50 ms each. > Begin there: it is the innermost scope with "
        "over a quarter of the step.",
        "load");
  made_summary even;  // no scope has a quarter of the step, and no part of "sum" half of it
  even.scope(0, "step", 10.0).scope(1, "sum", 2.2).scope(2, "pairs", 1.0).scope(2, "rest", 1.0);
  for (int i = 0; i < 4; ++i) even.scope(1, "other" + std::string(1, static_cast<char>('a' + i)), 1.9);
  check(even, "22 % of it in sum",
        "sum takes 2.20 ms (22 %) of host time a step. It runs once a step, 2.20 ms each. > Begin there: it is the longest innermost "
        "scope.",
        "sum");
  made_summary bare;
  bare.scope(0, "step", 10.0).scope(1, "log", 1.0);
  check(bare, "90 % of it in code outside any scope",
        "Code outside any scope takes 9.00 ms (90 %) of host time a step. No scope tells what it does. > Add scopes to the step "
        "(PROF_SCOPE).",
        "");
  made_summary launched;
  launched.budget({{"step itself", 9.0}, {"log", 1.0}});
  launched.scope(0, "step", 10.0).gpu_time(10.0, 0.0).scope(1, "log", 1.0).gpu_time(1.0, 0.0).kernel("gemm", "matmul", 10.0, 1);
  CHECK_THAT(findings_of(launched.get()).front(),
             ContainsSubstring("> Add scopes first: 9.00 ms (90 %) of the step are outside the scopes in it."));
}

TEST_CASE("outliers that move the mean by 1 % are a finding, with their numbers and their effect on the mean", "[findings]") {
  made_summary made{8, 10.0};
  made.get().steps.host_verdict.outliers = 6;
  made.get().steps.host.median = milliseconds{9.0};
  made.get().steps.host.max = milliseconds{30.0};
  for (std::uint64_t i = 0; i < 20; ++i) {
    profkit::listed_step step;
    step.index = i;
    step.host = milliseconds{i < 6 ? 30.0 : 9.0 + 0.01 * static_cast<double>(i % 3)};
    made.get().listed_steps.push_back(step);
  }
  REQUIRE(findings_of(made.get()).size() == 1);
  CHECK(findings_of(made.get()).front() ==
        "6 of 8 steps are outliers. The median step takes 9.00 ms, the longest 30.0 ms; step 0 30.0 ms, step 1 30.0 ms, step 2 30.0 ms, "
        "step 3 30.0 ms, step 4 30.0 ms, and 1 more. > Look at them in a trace (keep=slowest:5): the mean is 1.00 ms above the median.");
}

TEST_CASE("without steps, or with warm-up steps only, the finding says how to get figures", "[findings]") {
  profkit::summary none;
  none.covers_steps = false;
  CHECK_THAT(findings_of(none).front(), ContainsSubstring("for (profkit::step step : session). Under profkit run: --step"));
  profkit::summary warm;
  warm.steps.warmup = 3;
  CHECK_THAT(findings_of(warm).front(), ContainsSubstring("lower warmup=N"));
}

TEST_CASE("steps of another kind that take 1 % of the time are a finding, with the parts that only they have", "[findings]") {
  made_summary made{35, 46.32};
  made.budget({{"forward", 46.0, 0.32}}).scope(0, "step", 46.32).gpu_time(46.0, 0.32).scope(1, "forward", 46.32).gpu_time(46.0, 0.32);
  made.other_kind("step 40", {"generation", "validation"}, 1, 151.04);
  made.get().kinds[1].budget = made_summary::budget_of({{"generation", 38.9, 74.5, 0.2, 0.0, 3.0, 19.1}, {"validation", 14.6, 0.7}}, 1);
  CHECK_THAT(headline_of(made.get()), ContainsSubstring("A usual step takes 46.3 ms"));
  std::vector<std::string> const found = findings_of(made.get());
  REQUIRE_FALSE(found.empty());
  CHECK_THAT(found.back(), ContainsSubstring("Step 40 is not a usual step. It took 151 ms, 3.26 times the usual step, with generation (136 "
                                             "ms) and validation (15.3 ms) and none of the usual parts."));
  CHECK_THAT(found.back(), ContainsSubstring("The GPU idles 65 % of their time: a CUDA graph can save 94.3 ms per step at most."));
  made.get().kinds[1].times = made_summary::times(1, 0.4);
  CHECK(findings_of(made.get()).empty());
}

TEST_CASE("if no kind of step is usual, the headline is about all steps", "[findings]") {
  made_summary made;
  made.budget({{"forward", 10.0}}).scope(0, "step", 10.0).gpu_time(10.0, 0.0).other_kind("10 steps with a", {"a"}, 10, 20.0);
  made.get().kinds[0].is_usual = false;
  CHECK_THAT(headline_of(made.get()), ContainsSubstring("A step takes 10.0 ms"));
}

TEST_CASE("a launch that leaves most of the GPU unused is a finding, with the most that a better one can save", "[findings]") {
  struct launch_case {
    char const* kernel_class;
    std::uint64_t blocks;
    std::uint32_t resident;
    double occupancy;
    char const* limited_by;
    char const* wanted;  ///< empty: no finding
  };
  auto const sentence = [](launch_case const& each, double ms) {
    made_summary made;
    made.one_part(10.0, 0.0);
    made.get().gpu->kernels.front().time.total = milliseconds{(10.0 - ms) * 40};
    made.kernel("void reduce<float>(float*)", each.kernel_class, ms, 1);
    profkit::launch_summary launch;
    launch.blocks = each.blocks;
    launch.multiprocessors = 132;
    launch.blocks_per_multiprocessor = each.resident;
    launch.threads = 128;
    launch.registers = 255;
    launch.shared_bytes = 100U << 10U;
    launch.occupancy = each.occupancy;
    launch.limited_by = each.limited_by;
    launch.waves = static_cast<double>(each.blocks) / (132.0 * each.resident);
    launch.last_wave = launch.waves - std::max(0.0, std::ceil(launch.waves) - 1.0);
    made.get().gpu->kernels.back().median_launch = made.get().gpu->kernels.back().worst_launch = launch;
    std::string result;
    for (std::string const& each_finding : findings_of(made.get())) {
      if (each_finding.rfind("reduce<float>: ", 0) == 0) result = each_finding;
    }
    return result;
  };
  std::vector<launch_case> const cases{
      {"reduction", 12, 8, 1.0, "",
       "reduce<float>: 12 blocks on 132 SMs. It takes 4.00 ms (40 %). 120 SMs have none of its work. > Give it more and smaller blocks, "
       "unless other kernels run beside it: at most 3.64 ms (36 %) can be saved."},
      {"reduction", 264, 2, 0.125, "registers",
       "reduce<float>: 255 registers a thread, occupancy 12.5 %. It takes 4.00 ms (40 %). An SM runs 2 of its blocks at the same time, "
       "limited by registers. > Try a shape with more warps (__launch_bounds__, less shared memory, other blocks), unless other kernels "
       "run "
       "beside it: at most 3.50 ms (35 %) can be saved."},
      {"reduction", 264, 2, 0.125, "shared memory", "reduce<float>: 100 KiB of shared memory a block, occupancy 12.5 %."},
      {"reduction", 264, 2, 0.125, "blocks", "reduce<float>: 128 threads a block, occupancy 12.5 %."},
      {"reduction", 300, 2, 1.0, "",
       "reduce<float>: the last of 2 waves of blocks fills 14 % of the GPU. It takes 4.00 ms (40 %). 264 fit at the same time, and it has "
       "300. > Choose another number or size of blocks, unless other kernels run beside it: at most 1.73 ms (17 %) can be saved."},
      {"matmul", 264, 2, 0.125, "registers", ""},    // such kernels need few warps
      {"communication", 12, 8, 1.0, "", ""},         // NCCL chooses few blocks
      {"reduction", 1320, 2, 0.5, "registers", ""},  // half of the warps are enough
      {"reduction", 2641, 2, 1.0, "", ""},           // the last of many waves
  };
  for (launch_case const& each : cases) {
    std::string const found = sentence(each, 4.0);
    CAPTURE(each.kernel_class, each.blocks, found);
    CHECK(found.empty() == std::string{each.wanted}.empty());
    CHECK(found.rfind(each.wanted, 0) == 0);
    CHECK(sentence(each, 0.1).empty());  // 1 % of kernel time
  }
}

TEST_CASE("a kernel that waits for pages of unified memory is a finding, with what prefetching can save", "[findings]") {
  made_summary made{40, 100.0};
  made.one_part(70.0, 30.0);
  made.get().gpu->kernels.front().name = "void matrix_vector<float>(float*)";
  CHECK(findings_of(made.get()).size() == 2);
  profkit::unified_memory_place place;
  place.kernel = made.get().gpu->kernels.front().name;
  place.bytes_to_device = std::uint64_t{40} * (128U << 20U);
  place.waiting = milliseconds{40 * 21.5};
  made.get().unified_memory.emplace().places = {place, place};
  CHECK(
      findings_of(made.get()).at(2) ==
      "matrix_vector<float> waits 43.0 of 70.0 ms for 256 MiB of pages. These are figures of a step. Pages of unified memory migrate while "
      "the kernel runs. The counters that show it make such kernels about twice as slow, and see only a part of the bytes. > Prefetch "
      "them (cudaMemPrefetchAsync): at most 43.0 ms (43 %) can be saved.");
  for (auto& each : made.get().unified_memory->places) each.waiting = milliseconds{40 * 0.5};
  CHECK(findings_of(made.get()).size() == 2);  // 1 % of the step
}

TEST_CASE("a data loss is always a finding with its number, and displaces the last one", "[findings]") {
  made_summary made;
  made.one_part(5.0, 5.0);
  made.get().steps.host_verdict.verdict = profkit::step_verdict::noisy;
  REQUIRE(findings_of(made.get()).size() == 3);
  made.get().quality.dropped_events = 300;
  std::vector<std::string> const found = findings_of(made.get());
  REQUIRE(found.size() == 3);
  CHECK(found.back() ==
        "Data is missing. 300 scopes and counters dropped of 400 (75 %). > Give the logs of threads more memory (log=SIZE), or open fewer "
        "scopes.");
}

TEST_CASE("memory of at least 90 % of the device is a finding, and less is none", "[findings]") {
  constexpr std::uint64_t gib = 1U << 30U;
  made_summary made;
  made.get().memory = {{"host", "resident", 10, gib, gib, gib, {}, {}, {}},
                       {"cuda device", "used", 10, gib, gib, 89 * gib, {}, {}, 100 * gib}};
  CHECK(findings_of(made.get()).empty());
  made.get().memory[1].peak_bytes = 90 * gib;
  CHECK(findings_of(made.get()) ==
        std::vector<std::string>{"Memory is nearly full. cuda device used: 90.00 GiB of 100.00 GiB (90 %). > Find the scopes that need it "
                                 "(memory=scopes) before you raise the batch size."});
  made.get().allocators.emplace_back();
  CHECK_THAT(findings_of(made.get()).front(), ContainsSubstring("> The section Memory has the scopes that need most of it."));
  made.get().memory[1].capacity_bytes.reset();
  CHECK(findings_of(made.get()).empty());
}

TEST_CASE("three or more siblings that differ only in their index are one row, and so are their children", "[folded_scopes]") {
  made_summary made;
  made.scope(0, "step", 10.0);
  for (int i = 0; i < 3; ++i) made.scope(1, "layer", 2.0 + i, i).scope(2, "attention", 1.0).scope(2, i == 1 ? "dense_7" : "norm_3", 0.5);
  made.scope(1, "head", 0.5, 0).scope(1, "head", 0.5, 1).scope(1, "tail_1", 0.1).scope(1, "tail_2", 0.1).scope(1, "tail_3", 0.1);
  folded_tree const tree = tree_of(made.get());
  CHECK(names_of(tree) ==
        std::vector<std::string>{"layer_*", "  attention", "  norm_3", "  dense_7", "head_0", "head_1", "tail_1", "tail_2", "tail_3"});
  folded_scope const& layer = tree.rows().front();
  CHECK(layer.folded == 3);
  CHECK(layer.time == Approx(9.0));
  CHECK(layer.count == Approx(3.0));
  REQUIRE(layer.siblings.size() == 3);
  CHECK(layer.siblings[2].each == Approx(4.0));
  CHECK(tree.rows()[1].time == Approx(3.0));
  REQUIRE(tree.step());
  CHECK(tree.step()->time == Approx(10.0));
}

TEST_CASE("work for scopes with an index is folded like them", "[folded_scopes]") {
  made_summary made;
  made.scope(0, "step", 10.0).scope(1, "forward", 3.0);
  for (int i = 0; i < 4; ++i) made.scope(2, "layer", 0.5, i).scope(3, "softmax", 0.25);
  made.scope(1, "backward", 6.0);
  for (int i = 3; i >= 0; --i) made.scope(2, "forward/layer_" + std::to_string(i) + "/softmax (backward)", 1.0);
  CHECK(names_of(tree_of(made.get())) ==
        std::vector<std::string>{"forward", "  layer_*", "    softmax", "backward", "  forward/layer_*/softmax (backward)"});
}

TEST_CASE("siblings that are far from the others are named, and the range is that of the others", "[folded_scopes]") {
  made_summary made;
  made.scope(0, "step", 30.0);
  for (int i = 0; i < 12; ++i) made.scope(1, "layer", i == 1 ? 18.58 : 1.5 + 0.1 * i, i);
  folded_tree const tree = tree_of(made.get());
  profkit::detail::range_cell const range = profkit::detail::siblings_cell(tree.rows().front());
  CHECK(range.low == Approx(1.5));
  CHECK(range.high == Approx(2.6));
  CHECK(plain(range.remark) == "_1: 18.6 ms");
}

TEST_CASE("numbers in sentences have three digits, two below 1, and a unit that fits", "[sentence_numbers]") {
  using profkit::detail::share_words;
  using profkit::detail::time_words;
  auto const time = [](double ms) { return plain(time_words(milliseconds{ms})); };
  CHECK(time(46.321) == "46.3 ms");
  CHECK(time(151.04) == "151 ms");
  CHECK(time(999.4) == "999 ms");
  CHECK(time(1234.0) == "1.23 s");
  CHECK(time(0.4217) == "0.42 ms");
  CHECK(time(0.0247) == "24.7 \xc2\xb5s");
  CHECK(time(0.0) == "0 ms");
  CHECK(plain(share_words(0.9671)) == "97 %");
  CHECK(plain(share_words(0.0334)) == "3.3 %");
  CHECK(plain(share_words(0.0002)) == "<0.1 %");
  CHECK(plain(share_words(0.0)) == "0 %");
  CHECK(plain(profkit::detail::part_words(milliseconds{44.77}, milliseconds{46.32})) == "44.8 of 46.3 ms");
  CHECK(plain(profkit::detail::part_words(milliseconds{0.05}, milliseconds{46.32})) == "50.0 \xc2\xb5s of 46.3 ms");
  CHECK(plain(profkit::detail::rate_words(353'712.0)) == "354 k");
}

TEST_CASE("kernel names are shown without arguments, namespaces and long template arguments", "[kernel_words]") {
  using profkit::detail::short_kernel_name;
  CHECK(short_kernel_name("softmax_kernel5(float*, int)") == "softmax_kernel5");
  CHECK(short_kernel_name("void at::native::(anonymous namespace)::fill<float>(float*)") == "fill<float>");
  CHECK(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
                          "at::native::FillFunctor<float>)") ==
        "vectorized_elementwise_kernel<4, FillFunctor<float>, array<ch\xe2\x80\xa6>");
  CHECK(short_kernel_name("void op::operator()(int)") == "operator()");
  CHECK(short_kernel_name("") == "");
  CHECK(short_kernel_name(")") == ")");
  CHECK(short_kernel_name("(x)") == "(x)");
}
