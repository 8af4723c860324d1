// SPDX-License-Identifier: Apache-2.0
//
// The error rates of the verdicts on step times: simulated series with a known mean. Prints the Markdown tables of docs/statistics.md. The
// seeds are fixed, so the same number of series gives the same tables.
//
// usage: profkit_step_scenarios [SERIES]   series per row, 1000 by default
#include <profkit/impl/analyze/verdict/step_verdict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../tests/support/step_scenarios.hpp"

namespace {

using profkit::step_verdict;

profkit::verdict_summary judged(std::vector<double> const& ms, std::size_t warmup = 0) {
  profkit::timed_steps steps;
  for (std::size_t i = 0; i < ms.size(); ++i) steps.add(i, i < warmup, profkit::milliseconds{ms[i]});
  return profkit::judge_steps(steps);
}

double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// The results of the series of one row.
struct tally {
  std::size_t series = 0;
  std::size_t covered = 0;
  std::size_t wrongly_stable = 0;
  double half_widths = 0.0;
  std::array<std::size_t, 6> verdicts{};

  void add(profkit::verdict_summary const& found, double true_mean) {
    ++series;
    double const low = found.ci95_low->count();
    double const high = found.ci95_high->count();
    if (low <= true_mean && true_mean <= high) ++covered;
    half_widths += *found.relative_half_width;
    ++verdicts.at(static_cast<std::size_t>(found.verdict));
    double const mean = 0.5 * (low + high);
    if (found.verdict == step_verdict::stable && std::abs(true_mean - mean) > 0.01 * mean) ++wrongly_stable;
  }

  void print(std::string const& name, std::size_t count) const {
    std::printf("| %s | %zu | %.1f | %.2f |", name.c_str(), count, percent(covered, series),
                100.0 * half_widths / static_cast<double>(series));
    for (step_verdict const each :
         {step_verdict::stable, step_verdict::too_few, step_verdict::noisy, step_verdict::drifting, step_verdict::still_warming}) {
      std::printf(" %.1f |", percent(verdicts.at(static_cast<std::size_t>(each)), series));
    }
    std::printf(" %.1f |\n", percent(wrongly_stable, series));
  }
};

void print_scenarios(std::size_t series) {
  std::printf(
      "| scenario, noise 1 %% | n | coverage | +- %% | stable | too few | noisy | drifting | still warming | stable, off by > 1 %% |\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  std::uint64_t seed = 1;
  for (step_scenario const& scenario : step_scenarios(1.0)) {
    bool const is_rare = scenario.name == "1 % of steps doubled";
    for (std::size_t const count : {10U, 30U, 100U, 300U}) {
      normal_numbers numbers{seed++};
      tally all;
      tally seen;
      for (std::size_t i = 0; i < series; ++i) {
        std::vector<double> const ms = scenario.make(numbers, count);
        profkit::verdict_summary const found = judged(ms);
        all.add(found, scenario.mean);
        if (is_rare && std::any_of(ms.begin(), ms.end(), [](double each) { return each > 150.0; })) seen.add(found, scenario.mean);
      }
      all.print(scenario.name, count);
      if (is_rare) seen.print("... series with a doubled step", count);
    }
  }
}

void print_warmups(std::size_t series) {
  struct row {
    char const* name;
    std::size_t count;
    std::size_t given;
    std::size_t longer;  ///< number of longer steps at the beginning
    double factor;
    double noise;
  };
  std::printf("\n| warm-up | still warming, r = 0 | r = 0.5 | r = 0.9 |\n|---|---:|---:|---:|\n");
  for (row const& each : {row{"first of 30 steps 1.1 times as long, noise 1 %", 30, 0, 1, 1.1, 1.0},
                          row{"first of 30 steps 1.2 times as long, noise 1 %", 30, 0, 1, 1.2, 1.0},
                          row{"first of 30 steps twice as long, noise 1 %", 30, 0, 1, 2.0, 1.0},
                          row{"first of 30 steps twice as long, noise 3 %", 30, 0, 1, 2.0, 3.0},
                          row{"first of 30 steps 11 times as long, noise 1 %", 30, 0, 1, 11.0, 1.0},
                          row{"8 of 35 steps 11 times as long, 5 given, noise 1 %", 35, 5, 8, 11.0, 1.0},
                          row{"8 of 35 steps 1.1 times as long, 5 given, noise 3 %", 35, 5, 8, 1.1, 3.0}}) {
    std::printf("| %s |", each.name);
    for (double const autocorrelation : {0.0, 0.5, 0.9}) {
      normal_numbers numbers{100};
      std::size_t found = 0;
      for (std::size_t i = 0; i < series; ++i) {
        std::vector<double> ms = made_series(numbers, each.count, each.noise, autocorrelation);
        for (std::size_t step = 0; step < each.longer; ++step) ms[step] *= each.factor;
        if (judged(ms, each.given).verdict == step_verdict::still_warming) ++found;
      }
      std::printf(" %.1f %% |", percent(found, series));
    }
    std::printf("\n");
  }
}

void print_false_alarms(std::size_t series) {
  std::printf("\n| steps, 5 of them warm-up | verdict | r = 0 | 0.3 | 0.5 | 0.7 | 0.9 |\n|---:|---|---:|---:|---:|---:|---:|\n");
  for (std::size_t const count : {20U, 30U, 35U, 40U, 100U}) {
    std::string warming;
    std::string drifting;
    for (double const autocorrelation : {0.0, 0.3, 0.5, 0.7, 0.9}) {
      normal_numbers numbers{200 + count};
      std::array<std::size_t, 6> verdicts{};
      for (std::size_t i = 0; i < series; ++i) {
        ++verdicts.at(static_cast<std::size_t>(judged(made_series(numbers, count, 3.0, autocorrelation), 5).verdict));
      }
      auto const cell = [&](step_verdict verdict) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), " %.1f %% |", percent(verdicts.at(static_cast<std::size_t>(verdict)), series));
        return std::string{text.data()};
      };
      warming += cell(step_verdict::still_warming);
      drifting += cell(step_verdict::drifting);
    }
    std::printf("| %zu | still warming |%s\n| %zu | drifting |%s\n", count, warming.c_str(), count, drifting.c_str());
  }
}

/// A series that `stop_rule` ends.
std::pair<bool, std::size_t> stopped(step_scenario const& scenario, normal_numbers& numbers) {
  constexpr std::size_t most = 1000;
  profkit::stop_rule rule{0.01, 0, most};
  profkit::profile const no_gpu;
  std::vector<double> const ms = scenario.make(numbers, most);
  std::size_t taken = 0;
  do {
    rule.add(ms[taken++]);
  } while (!rule.look(no_gpu, false, profkit::milliseconds{1.0}));
  auto const interval = profkit::interval_of_mean({ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(taken)});
  return {std::abs(interval->mean - scenario.mean) <= interval->half_width, taken};
}

void print_stops(std::size_t series) {
  std::printf("\n| steps=auto:1%% | coverage, noise 1 %% | steps | coverage, noise 3 %% | steps |\n|---|---:|---:|---:|---:|\n");
  std::uint64_t seed = 300;
  std::vector<step_scenario> const quiet = step_scenarios(1.0);
  std::vector<step_scenario> const loud = step_scenarios(3.0);
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    if (quiet[i].name == "drift of 5 %") continue;  // depends on the number of steps taken
    std::printf("| %s |", quiet[i].name.c_str());
    for (step_scenario const* const scenario : {&quiet[i], &loud[i]}) {
      normal_numbers numbers{seed++};
      std::size_t covered = 0;
      std::size_t steps = 0;
      for (std::size_t each = 0; each < series; ++each) {
        auto const [is_covered, taken] = stopped(*scenario, numbers);
        if (is_covered) ++covered;
        steps += taken;
      }
      std::printf(" %.1f %% | %.0f |", percent(covered, series), static_cast<double>(steps) / static_cast<double>(series));
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t const series = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000;
  if (series < 10) {
    std::fprintf(stderr, "usage: %s [SERIES]   series per row, at least 10\n", arguments[0]);
    return 1;
  }
  print_scenarios(series);
  print_warmups(series);
  print_false_alarms(series);
  print_stops(series / 2);
  return 0;
}
