// SPDX-License-Identifier: Apache-2.0
//
// How often `profkit compare` calls a program changed that is compared with itself: simulated runs of known kinds. Prints the Markdown
// table of docs/compare.md. The seeds are fixed, so the same number of comparisons gives the same table.
//
// usage: profkit_comparisons [COMPARISONS [held|fit [NAME [mean|median|minimum [SEED]]]]]   COMPARISONS per cell, 200 by default; only
// kinds whose name contains NAME; SEED is added to all seeds. The rules were fixed on the kinds of `fit`. `held` has other kinds and sizes,
// with other seeds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../tests/support/series_catalogue.hpp"
#include "compare.hpp"
#include "decision.hpp"
#include "summary_figures.hpp"

namespace {

using namespace profkit_program;

constexpr std::array<std::size_t, 5> run_counts{1, 2, 3, 5, 10};
constexpr std::size_t scopes = 9;

/// How runs differ: a factor of all times of each run, of A, then of B. `machine` is the part that the probe of the host's speed sees.
struct run_factors {
  std::vector<double> program;
  std::vector<double> machine;
};

/// Runs of one program, and how they differ.
struct run_kind {
  std::string name;
  std::function<known_series(normal_numbers&, std::size_t)> steps;
  std::function<void(normal_numbers&, run_factors&)> differ;
  double appears = 0.0;  ///< probability of a run in which one step has an additional scope
  double rare_ms = 0.0;  ///< time of that scope
  bool has_gpu = false;
};

std::vector<profkit::milliseconds> samples_of(std::vector<double> const& ms) {
  std::vector<profkit::milliseconds> result;
  for (double const each : ms) result.emplace_back(each);
  return result;
}

/// The figures of a scope with at most one call a step. @param ms by step; 0: no call.
figures figures_of_scope(std::vector<double> ms, run_statistic which) {
  if (which == run_statistic::mean) return figures_of_samples(samples_of(ms));
  std::size_t const steps = ms.size();
  ms.erase(std::remove(ms.begin(), ms.end(), 0.0), ms.end());
  if (ms.empty()) return figures_of_calls({}, steps, which);
  std::sort(ms.begin(), ms.end());
  auto const at = [&](double share) { return profkit::milliseconds{ms[static_cast<std::size_t>(share * static_cast<double>(ms.size()))]}; };
  profkit::duration_summary calls;
  calls.count = ms.size();
  calls.min = at(0.0);
  calls.median = at(0.5);
  calls.p95 = at(0.95);
  return figures_of_calls(calls, steps, which);
}

/// @param trial makes 30 or 100 steps, whose variation is that of one scope or of all.
run_figures make_run(run_kind const& kind, normal_numbers& numbers, double factor, double machine, std::size_t trial, run_statistic which) {
  std::size_t const count = trial % 4 < 2 ? 30 : 100;
  bool const is_in_one_scope = trial % 2 == 0;
  std::vector<double> ms = kind.steps(numbers, count).ms;
  for (double& each : ms) each *= factor * machine;
  std::array<std::vector<double>, scopes> parts;
  for (double const each : ms) {
    double rest = each;
    for (std::size_t i = 0; i + 1 < scopes; ++i) {
      double const usual = is_in_one_scope ? 100.0 * factor * machine : each;
      parts[i].push_back(usual / static_cast<double>(scopes) * (1.0 + 0.01 * numbers.next()));
      rest -= parts[i].back();
    }
    parts.back().push_back((std::max)(rest, 0.1));
  }
  run_figures run;
  run.file = "made";
  run.probe_us = 100.0 * machine * std::exp(0.03 * numbers.next());
  run.waiting = 0.0;
  run.step = figures_of_steps(samples_of(ms), which);
  if (kind.has_gpu) run.kernels.emplace();
  scope_figures whole;
  whole.path = "step";
  whole.host = run.step;
  if (kind.has_gpu) whole.gpu = run.step;
  run.scopes.push_back(whole);
  auto const add = [&](std::string const& name, figures const& times) {
    scope_figures scope;
    scope.path = "step/" + name;
    scope.around = "step";
    scope.host = times;
    if (kind.has_gpu) {
      scope.gpu = times;
      run.kernels->push_back({name, name, times});
    }
    run.scopes.push_back(scope);
  };
  for (std::size_t i = 0; i < scopes; ++i)
    add("part_" + std::to_string(i), figures_of_part(figures_of_scope(parts[i], which), run.step, which));
  if (kind.appears > 0.0) {
    std::vector<double> rare(count, 0.0);
    if (numbers.uniform() < kind.appears) rare[count / 2] = kind.rare_ms;
    add("rare", figures_of_part(figures_of_scope(rare, which), run.step, which));
  }
  return run;
}

/// The kinds of `held`, which are reported, or those of `fit`.
std::vector<run_kind> run_kinds(bool is_reported) {
  std::vector<run_kind> all;
  auto const white = [](normal_numbers& n, std::size_t count) { return known_series{made_series(n, count, 1.0)}; };
  auto const add = [&](std::string name, std::function<void(normal_numbers&, run_factors&)> differ) {
    all.push_back({std::move(name), white, std::move(differ)});
  };
  auto const each_run = [](auto value) {
    return [=](normal_numbers& n, run_factors& factors) {
      for (double& each : factors.program) each = value(n);
    };
  };
  auto const text = [](double share) { return std::to_string(static_cast<int>(std::lround(100.0 * share))) + " %"; };
  for (double const noise : is_reported ? std::array{0.01, 0.05, 0.1} : std::array{0.02, 0.03, 0.08})
    add("runs differ by " + text(noise), each_run([=](normal_numbers& n) { return std::exp(noise * n.next()); }));
  for (double const apart : is_reported ? std::array{0.05, 0.2} : std::array{0.1, 0.15})
    add("runs in two groups, " + text(apart) + " apart",
        each_run([=](normal_numbers& n) { return n.uniform() < 0.5 ? 1.0 : 1.0 + apart; }));
  double const odd = is_reported ? 0.25 : 0.1;
  add("1 run in " + std::to_string(static_cast<int>(1.0 / odd)) + " takes 20 % longer",
      each_run([=](normal_numbers& n) { return n.uniform() < odd ? 1.2 : 1.0; }));
  add(is_reported ? "runs have heavy tails, 2 %" : "runs have heavy tails, 3 %", each_run([=](normal_numbers& n) {
        double const normal = n.next();
        return std::exp((is_reported ? 0.02 : 0.03) * normal /
                        std::sqrt(-2.0 * std::log(n.uniform()) / 2.0));  // Student's t, 2 degrees of freedom
      }));
  double const slower = is_reported ? 1.3 : 1.5;
  add("the machine of B is slower by " + text(slower - 1.0), [=](normal_numbers& n, run_factors& factors) {
    for (std::size_t i = 0; i < factors.machine.size(); ++i)
      factors.machine[i] = (i < factors.machine.size() / 2 ? 1.0 : slower) * std::exp(0.02 * n.next());
  });
  for (bool const is_alternated : {true, false}) {
    double const decay = is_reported ? 0.9 : 0.8;
    add(std::string{"the machine drifts, sides "} + (is_alternated ? "alternated" : "one after the other"),
        [=](normal_numbers& n, run_factors& factors) {
          double level = n.next();
          for (std::size_t i = 0; i < factors.machine.size(); ++i) {
            factors.machine[is_alternated ? i / 2 + i % 2 * factors.machine.size() / 2 : i] = std::exp(0.05 * level);
            level = decay * level + std::sqrt(1.0 - decay * decay) * n.next();
          }
        });
  }
  for (double const appears : is_reported ? std::array{0.02, 0.3, 0.9} : std::array{0.1, 0.5, 0.7}) {
    for (bool const has_gpu : {false, true}) {
      add("a " + std::string{has_gpu ? "GPU " : ""} + "scope in " + text(appears) + " of runs",
          each_run([](normal_numbers& n) { return std::exp(0.005 * n.next()); }));
      all.back().appears = appears;
      all.back().rare_ms = is_reported ? 0.5 : 60.0;
      all.back().has_gpu = has_gpu;
    }
  }
  auto const quiet = each_run([](normal_numbers& n) { return std::exp(0.005 * n.next()); });
  for (series_kind const& kind : is_reported ? series_catalogue() : held_out_series())
    all.push_back({"steps: " + kind.name, kind.make, quiet});
  return all;
}

bool has_changed(comparison_row const& row) { return row.says == verdict::faster || row.says == verdict::slower; }

bool is_outside(comparison_row const& row) {
  return row.change && ((row.range && (*row.change < row.range->first || *row.change > row.range->second)) ||
                        (row.own && (*row.change < row.own->first || *row.change > row.own->second)));
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t const trials = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 200;
  bool const is_reported = count < 3 || std::strcmp(arguments[2], "fit") != 0;
  char const* const only = count > 3 ? arguments[3] : "";
  compare_options options;
  for (std::size_t i = 0; count > 4 && i < statistic_names.size(); ++i) {
    if (std::strcmp(arguments[4], statistic_names[i]) == 0) options.statistic = static_cast<run_statistic>(i);
  }
  std::uint64_t const more = count > 5 ? std::strtoull(arguments[5], nullptr, 10) : 0;
  std::printf(
      "| runs | step changed: 1 | 2 | 3 | 5 | 10 runs | another row: 1 | 2 | 3 | 5 | 10 runs | exit code 1, at most | x2 fails, 2 | 3 "
      "|\n|---|");
  for (int i = 0; i < 13; ++i) std::printf("---:|");
  std::printf("\n");
  std::uint64_t seed = is_reported ? 1 : 5001;
  std::size_t outside = 0;
  for (run_kind const& kind : run_kinds(is_reported)) {
    ++seed;
    if (kind.name.find(only) == std::string::npos) continue;
    std::array<std::vector<double>, 4> shares;  // step, rows, exit code 1, twice the time
    for (std::size_t const runs : run_counts) {
      normal_numbers numbers{1000 * seed + runs + more};
      std::array<std::size_t, 4> found{};
      for (std::size_t trial = 0; trial < trials; ++trial) {
        run_factors factors{std::vector<double>(2 * runs, 1.0), std::vector<double>(2 * runs, 1.0)};
        kind.differ(numbers, factors);
        std::array<std::vector<run_figures>, 2> sides;
        for (std::size_t i = 0; i < 2 * runs; ++i)
          sides[i / runs].push_back(make_run(kind, numbers, factors.program[i], factors.machine[i], trial, options.statistic));
        comparison const result = compare(sides[0], sides[1], options);
        found[0] += has_changed(result.rows.front()) ? 1U : 0U;
        found[1] += std::any_of(result.rows.begin() + 1, result.rows.end(), has_changed) ? 1U : 0U;
        found[2] += decide(result, "", 0.03).says() == decision::outcome::fails ? 1U : 0U;
        outside += std::any_of(result.rows.begin(), result.rows.end(), is_outside) ? 1U : 0U;
        sides[1].clear();
        for (std::size_t i = runs; i < 2 * runs; ++i)
          sides[1].push_back(make_run(kind, numbers, 2.0 * factors.program[i], factors.machine[i], trial, options.statistic));
        found[3] += decide(compare(sides[0], sides[1], options), "", 0.03).says() == decision::outcome::fails ? 1U : 0U;
      }
      for (std::size_t i = 0; i < found.size(); ++i)
        shares[i].push_back(100.0 * static_cast<double>(found[i]) / static_cast<double>(trials));
    }
    std::printf("| %s |", kind.name.c_str());
    for (std::size_t const which : {0U, 1U})
      for (double const each : shares[which]) std::printf(" %.1f |", each);
    std::printf(" %.1f | %.0f | %.0f |\n", *std::max_element(shares[2].begin(), shares[2].end()), shares[3][1], shares[3][2]);
    std::fflush(stdout);
  }
  std::printf("\n%zu comparisons of a program with itself had a value outside its range.\n", outside);
  return 0;
}
