// SPDX-License-Identifier: Apache-2.0
//
// The error rates of what a report says about step times: simulated series with a known truth. Prints the Markdown tables of
// docs/statistics.md. The seeds are fixed, so the same number of series gives the same tables.
//
// Prints each cell, then the worst cells of each kind of series.
//
// usage: profkit_series [SERIES [held|fit|stops|causes [NAME]]]   series per cell, 500 by default, a quarter of it for 1,000 steps and
// more. The thresholds were fixed on the kinds of `fit`. `held` has other kinds, with other seeds. `stops` is the table of steps=auto,
// `causes` that of measured causes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <profkit/impl/report/report_view.hpp>
#include <profkit/statistics.hpp>
#include <profkit/summary.hpp>

#include "../tests/support/judged_series.hpp"
#include "../tests/support/step_scenarios.hpp"

namespace {

double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
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

std::string text(char const* format, double value) {
  std::array<char, 32> result{};
  std::snprintf(result.data(), result.size(), format, value);
  return result.data();
}

void print_cell(std::string const& name, std::size_t steps, judged_cell const& cell) {
  auto const share = [&](std::size_t part) { return percent(part, cell.series); };
  std::printf("| %s | %zu | ", name.c_str(), steps);
  if (cell.has_mean)
    std::printf("%.0f | %.0f", share(cell.covered + cell.without_interval), share(cell.without_interval));
  else
    std::printf("- | -");
  std::printf(" | %.1f |", share(cell.any_false));
  for (std::size_t const each : cell.is_false) std::printf(" %.1f |", share(each));
  std::printf(" %s |\n", cell.can_find ? text("%.0f", share(cell.found)).c_str() : "-");
}

/// The worst figures of a kind over all numbers of steps.
class worst_cells {
 public:
  void add(std::size_t steps, judged_cell const& cell) {
    auto const share = [&](std::size_t part) { return percent(part, cell.series); };
    if (share(cell.any_false) >= false_) {
      false_ = share(cell.any_false);
      at_ = steps;
    }
    if (cell.has_mean && steps >= 100) coverage_ = (std::min)(coverage_, share(cell.covered + cell.without_interval));
    if (cell.has_mean && steps == 100) without_ = text("%.0f", share(cell.without_interval));
    if (steps == 30 || steps == 100 || steps == 1000) found_ += " " + (cell.can_find ? text("%.0f", share(cell.found)) : "-") + " |";
  }

  [[nodiscard]] std::string row(std::string const& name) const {
    std::string const coverage = coverage_ <= 100.0 ? text("%.0f", coverage_) : "-";
    return "| " + name + " | " + text("%.1f", false_) + " | " + (false_ > 0.0 ? std::to_string(at_) : "-") + " | " + coverage + " | " +
           without_ + " |" + found_ + "\n";
  }

 private:
  double false_ = 0.0;
  std::size_t at_ = 0;
  double coverage_ = 101.0;
  std::string without_ = "-";
  std::string found_;
};

/// A series of steps that wait for a processor: whether the report names that, and whether it is most of the noise.
std::pair<bool, bool> named_wait(normal_numbers& numbers, double deviation, double share, double piece) {
  profkit::summary with_waits;
  profkit::running_statistics alone;
  profkit::running_statistics both;
  profkit::timed_steps times;
  double waited = 0.0;
  double all = 0.0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    double const own = 20.0 * (std::max)(0.05, 1.0 + deviation * numbers.next());
    double wait = 0.0;
    for (double at = -std::log(numbers.uniform()); at < 20.0 * share / (1.0 - share) / piece; at -= std::log(numbers.uniform()))
      wait -= piece * std::log(numbers.uniform());
    times.add(step, false, profkit::milliseconds{own + wait});
    with_waits.steps.host_samples.emplace_back(own + wait);
    alone.add(own);
    both.add(own + wait);
    waited += wait;
    all += own + wait;
  }
  with_waits.steps.host_verdict = profkit::judge_steps(times);
  with_waits.environment.host_speed.emplace().waiting = waited / all;
  bool const is_named = profkit::detail::largest_noise_cause(with_waits, with_waits.steps, {}).has_value();
  // Independent parts add up by variance.
  return {is_named, 2.0 * std::pow(*alone.standard_deviation(), 2) < std::pow(*both.standard_deviation(), 2)};
}

/// Steps of 20 ms on average that wait 0.2 to 80 % of the time, in pieces of 1 to 20 ms on average.
void print_causes(std::size_t series) {
  std::printf("| own noise | series | most of the noise is waiting | of these named | of the others named |\n|---|---:|---:|---:|---:|\n");
  normal_numbers numbers{400};
  for (double const deviation : {0.0, 0.01, 0.03, 0.1}) {
    std::size_t count = 0;
    std::array<std::size_t, 2> is_most{};
    std::array<std::size_t, 2> named{};
    for (double const share : {0.002, 0.01, 0.03, 0.1, 0.3, 0.8}) {
      for (double const piece : {1.0, 4.0, 20.0}) {
        for (std::size_t each = 0; each < series; ++each) {
          ++count;
          auto const [is_named, is_true] = named_wait(numbers, deviation, share, piece);
          ++is_most[is_true ? 1 : 0];
          named[is_true ? 1 : 0] += is_named ? 1U : 0U;
        }
      }
    }
    std::printf("| %.0f %% | %zu | %zu | %.1f %% | %.1f %% |\n", 100.0 * deviation, count, is_most[1], percent(named[1], is_most[1]),
                percent(named[0], is_most[0]));
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t const series = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 500;
  char const* const half = count > 2 ? arguments[2] : "held";
  char const* const only = count > 3 ? arguments[3] : "";
  bool const is_fit = std::strcmp(half, "fit") == 0;
  if (series < 10) {
    std::fprintf(stderr, "usage: %s [SERIES [held|fit|stops|causes [NAME]]]\n", arguments[0]);
    return 1;
  }
  if (std::strcmp(half, "stops") == 0) {
    print_stops(series);
    return 0;
  }
  if (std::strcmp(half, "causes") == 0) {
    print_causes(series);
    return 0;
  }
  std::printf("| series | n | interval covers or n/a | n/a | false | stable | warm-up | drift | change | kinds, period, tail | found |\n");
  std::printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  std::string table =
      "\n| series | false, at most | at n | covers or n/a, at least | n/a at n = 100 | found, n = 30 | n = 100 | n = 1000 |\n";
  table += "|---|---:|---:|---:|---:|---:|---:|---:|\n";
  for (series_kind const& kind : is_fit ? series_catalogue() : held_out_series()) {
    if (kind.name.find(only) == std::string::npos) continue;
    worst_cells worst;
    for (std::size_t const steps : {10U, 20U, 30U, 50U, 100U, 300U, 1000U, 3000U}) {
      judged_cell const cell = judge_cell(kind, steps, steps < 1000 ? series : (series + 3) / 4, is_fit ? 2 : 1);
      print_cell(kind.name, steps, cell);
      worst.add(steps, cell);
    }
    table += worst.row(kind.name);
  }
  std::printf("%s", table.c_str());
  return 0;
}
