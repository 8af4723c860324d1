// SPDX-License-Identifier: Apache-2.0
//
// The error rates of `profkit compare` on simulated runs: the tables of docs/compare.md, as Markdown. Seeds are fixed.
//
// usage: profkit_compare_power [TRIALS [gpu|host|stepless|layers]]      trials per cell, 1000 by default; one table, or all
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compare.hpp"
#include "decision.hpp"
#include "made_runs.hpp"

namespace {

using namespace profkit_program;

constexpr std::size_t run_counts[] = {1, 2, 3, 5, 10};
constexpr double limit = 0.03;

bool has_changed(comparison_row const& row) { return row.says == verdict::faster || row.says == verdict::slower; }

bool step_has_changed(comparison const& comparison) { return has_changed(comparison.rows.front()); }

bool other_has_changed(comparison const& comparison) {
  return std::any_of(comparison.rows.begin() + 1, comparison.rows.end(), has_changed);
}

bool step_is_slower(comparison const& comparison) { return comparison.rows.front().says == verdict::slower; }

bool slow_scope_is_found(comparison const& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [](comparison_row const& row) {
    return row.kind == row_kind::scope && row.says == verdict::slower && row.name == "step/group_2/part_27";
  });
}

decision::outcome outcome_of(comparison const& comparison) { return decide(comparison, "", limit).says(); }

bool fails(comparison const& comparison) { return outcome_of(comparison) == decision::outcome::fails; }

bool passes(comparison const& comparison) { return outcome_of(comparison) == decision::outcome::passes; }

/// A column: the properties of B, and the counted result of its comparison with A.
struct column {
  std::string title;
  std::function<void(made_program&)> change;
  std::function<bool(comparison const&)> counts;
};

void print_row(std::string const& name, std::size_t runs, made_program const& before, std::vector<column> const& columns, int trials) {
  std::mt19937_64 random{runs};
  std::vector<int> counts(columns.size());
  for (int trial = 0; trial < trials; ++trial) {
    auto const a = before.runs(runs, random);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      made_program after = before;
      columns[i].change(after);
      counts[i] += columns[i].counts(compare(a, after.runs(runs, random))) ? 1 : 0;
    }
  }
  std::printf("| %s | %zu |", name.c_str(), runs);
  for (int const count : counts) std::printf(" %.1f |", 100.0 * count / trials);
  std::printf("\n");
  std::fflush(stdout);
}

void print_head(std::vector<column> const& columns) {
  std::printf("| noise | runs a side |");
  for (column const& each : columns) std::printf(" %s |", each.title.c_str());
  std::printf("\n|---|---:|");
  for (std::size_t i = 0; i < columns.size(); ++i) std::printf("---:|");
  std::printf("\n");
}

std::string percent(double share) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%g %%", 100.0 * share));
  return text;
}

void print_gpu(int trials) {
  std::printf("GPU times: 45 scopes and 40 kernels, one scope slower. Percent of %d comparisons.\n\n", trials);
  auto const slower = [](double factor) {
    return [factor](made_program& program) {
      program.slow = 27;
      program.slow_factor = factor;
    };
  };
  auto const itself = [](made_program&) {};
  std::vector<column> const columns = {{"itself: a scope or kernel called changed", itself, other_has_changed},
                                       {"+2 % found", slower(1.02), slow_scope_is_found},
                                       {"+5 % found", slower(1.05), slow_scope_is_found},
                                       {"+10 % found", slower(1.1), slow_scope_is_found}};
  print_head(columns);
  for (bool const is_common : {false, true}) {
    for (double const level : {0.005, 0.01, 0.02}) {
      made_program program;
      program.gpu_own_noise = program.gpu_common_noise = 0.0005;
      (is_common ? program.gpu_common_noise : program.gpu_own_noise) = level;
      for (std::size_t const runs : run_counts)
        print_row((is_common ? "common " : "by scope ") + percent(level), runs, program, columns, trials);
    }
  }
}

void print_host(int trials) {
  std::printf(
      "\nHost times: 11 scopes, no GPU, the probe is right within 3 %%. \"Fails\" and \"passes\": --fail-if-slower 3%%. Percent of %d "
      "comparisons.\n\n",
      trials);
  auto const program_slower = [](double factor) { return [factor](made_program& program) { program.host_factor = factor; }; };
  auto const itself = [](made_program&) {};
  std::vector<column> const columns = {
      {"itself: step called changed", itself, step_has_changed},
      {"itself: a scope called changed", itself, other_has_changed},
      {"itself fails", itself, fails},
      {"itself passes", itself, passes},
      {"itself on a machine 50 % slower fails", [](made_program& program) { program.machine_factor = 1.5; }, fails},
      {"step +10 % found", program_slower(1.1), step_is_slower},
      {"step +20 % found", program_slower(1.2), step_is_slower},
      {"step +50 % found", program_slower(1.5), step_is_slower},
      {"x2 fails", program_slower(2.0), fails}};
  print_head(columns);
  for (bool const is_common : {false, true}) {
    for (double const level : {0.02, 0.05, 0.1, 0.2}) {
      if (!is_common && level > 0.15) continue;
      made_program program;
      program.has_gpu = false;
      program.groups = 2;
      program.parts = 4;
      program.probe_error = 0.03;
      program.host_own_noise = program.host_common_noise = 0.01;
      (is_common ? program.host_common_noise : program.host_own_noise) = level;
      for (std::size_t const runs : run_counts)
        print_row((is_common ? "machine " : "by scope ") + percent(level), runs, program, columns, trials);
    }
  }
}

/// A program whose layers have the same scopes, with and without an index: with it, a row is the sum of all layers.
void print_layers(int trials) {
  std::printf(
      "\nNumbered scopes: 24 layers with 6 scopes each, 4 other scopes, 10 kernels, GPU times. Without an index, each layer has its own "
      "rows; a change of all layers is found if one of them is. Percent of %d comparisons.\n\n",
      trials);
  // A row of all layers, or without an index the row of any layer.
  auto const all_are_slower = [](std::string const& inside) {
    return [inside](comparison const& comparison) {
      return std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](comparison_row const& row) {
        std::string const layer = "step/layer_";
        if (row.says != verdict::slower || row.name.compare(0, layer.size(), layer) != 0) return false;
        std::size_t const end = row.name.find_first_not_of("0123456789*", layer.size());
        return (end == std::string::npos ? std::string{} : row.name.substr(end)) == inside;
      });
    };
  };
  auto const layer_is_slower = [](comparison const& comparison) {
    auto const is_it = [](comparison_row const& row) { return row.says == verdict::slower && row.name == "step/layer_7"; };
    return std::any_of(comparison.rows.begin(), comparison.rows.end(), is_it) ||
           std::any_of(comparison.members.begin(), comparison.members.end(), [&](auto const& each) { return is_it(each.scope); });
  };
  auto const any_has_changed = [](comparison const& comparison) {
    return other_has_changed(comparison) || std::any_of(comparison.members.begin(), comparison.members.end(),
                                                        [](comparison_member const& each) { return has_changed(each.scope); });
  };
  auto const all_slower = [](double factor) { return [factor](made_program& program) { program.layers_factor = factor; }; };
  auto const kind_slower = [](double factor) {
    return [factor](made_program& program) {
      program.slow_kind = 2;
      program.slow_factor = factor;
    };
  };
  auto const layer_slower = [](double factor) {
    return [factor](made_program& program) {
      program.slow_layer = 7;
      program.slow_factor = factor;
    };
  };
  std::vector<column> const columns = {{"itself: a row or a layer called changed", [](made_program&) {}, any_has_changed},
                                       {"all layers +2 %", all_slower(1.02), all_are_slower("")},
                                       {"all layers +5 %", all_slower(1.05), all_are_slower("")},
                                       {"one scope of all layers +2 %", kind_slower(1.02), all_are_slower("/part_2")},
                                       {"one scope of all layers +5 %", kind_slower(1.05), all_are_slower("/part_2")},
                                       {"one layer +10 %", layer_slower(1.1), layer_is_slower},
                                       {"one layer x2", layer_slower(2.0), layer_is_slower}};
  print_head(columns);
  struct noise {
    double by_scope;
    double common;
  };
  constexpr double quiet = 0.0005;
  for (noise const& each : {noise{0.02, quiet}, noise{0.05, quiet}, noise{quiet, 0.01}}) {
    for (bool const has_index : {false, true}) {
      made_program program;
      program.is_layered = true;
      program.has_index = has_index;
      program.groups = 24;
      program.parts = 6;
      program.singles = 4;
      program.gpu_own_noise = each.by_scope;
      program.gpu_common_noise = each.common;
      std::string const name = each.by_scope > each.common ? "by scope " + percent(each.by_scope) : "common " + percent(each.common);
      for (std::size_t const runs : run_counts) print_row(name + (has_index ? ", index" : ", no index"), runs, program, columns, trials);
    }
  }
}

/// Programs without steps: the rows are scopes, and the speed of the machine is unknown.
void print_stepless(int trials) {
  std::printf("\nWithout steps: 11 scopes, host times. \"Fails\" and \"passes\": --fail-if-slower 20%%. Percent of %d comparisons.\n\n",
              trials);
  auto const one_slower = [](double factor) {
    return [factor](made_program& program) {
      program.slow = 5;
      program.slow_factor = factor;
    };
  };
  auto const all_slower = [](double factor) { return [factor](made_program& program) { program.host_factor = factor; }; };
  auto const itself = [](made_program&) {};
  auto const any_has_changed = [](comparison const& comparison) {
    return std::any_of(comparison.rows.begin(), comparison.rows.end(), has_changed);
  };
  auto const slow_is_found = [](char const* figure) {
    return [figure](comparison const& comparison) {
      return std::any_of(comparison.rows.begin(), comparison.rows.end(), [figure](comparison_row const& row) {
        return row.name == "step/group_1/part_5" && row.figure == figure && row.says == verdict::slower;
      });
    };
  };
  auto const outcome = [](decision::outcome which) {
    return [which](comparison const& comparison) { return decide(comparison, "", 0.2).says() == which; };
  };
  std::vector<column> const columns = {
      {"itself: a scope called changed", itself, any_has_changed},         {"itself fails", itself, outcome(decision::outcome::fails)},
      {"itself passes", itself, outcome(decision::outcome::passes)},       {"one scope +20 % found", one_slower(1.2), slow_is_found("")},
      {"one scope x2 found", one_slower(2.0), slow_is_found("")},          {"its p99 found", one_slower(2.0), slow_is_found("p99")},
      {"all x2 fails", all_slower(2.0), outcome(decision::outcome::fails)}};
  print_head(columns);
  for (bool const is_common : {false, true}) {
    for (double const level : {0.02, 0.05, 0.1, 0.2}) {
      if (!is_common && level > 0.15) continue;
      made_program program;
      program.has_gpu = program.has_steps = false;
      program.groups = 2;
      program.parts = 4;
      program.host_own_noise = program.host_common_noise = 0.01;
      (is_common ? program.host_common_noise : program.host_own_noise) = level;
      for (std::size_t const runs : run_counts)
        print_row((is_common ? "machine " : "by scope ") + percent(level), runs, program, columns, trials);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int const trials = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (trials <= 0) {
    static_cast<void>(std::fprintf(stderr, "usage: profkit_compare_power [TRIALS [gpu|host|stepless|layers]]\n"));
    return 2;
  }
  auto const is_wanted = [&](std::string const& table) { return argc < 3 || table == argv[2]; };
  if (is_wanted("gpu")) print_gpu(trials);
  if (is_wanted("host")) print_host(trials);
  if (is_wanted("stepless")) print_stepless(trials);
  if (is_wanted("layers")) print_layers(trials);
  return 0;
}
