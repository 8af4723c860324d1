// SPDX-License-Identifier: Apache-2.0
//
// The error rates of the rule for stragglers: simulated jobs with a known truth. docs/distributed.md has the worst rows of each job. The
// seeds are fixed, so the same number of jobs gives the same table.
//
// usage: profkit_jobs [JOBS] [NAME]   jobs per row, 200 by default; only scenarios whose name contains NAME
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../tests/support/simulated_jobs.hpp"

int main(int argc, char** argv) {
  std::size_t const jobs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200;
  std::string const wanted = argc > 2 ? argv[2] : "";
  std::printf(
      "| job | ranks | steps | right | wrong | nobody | size off | bound broken | path broken "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  std::uint64_t seed = 1;
  std::size_t even = 0, false_names = 0, slow = 0, wrong_names = 0;
  for (simulated::job_scenario const& scenario : simulated::job_scenarios()) {
    ++seed;
    if (scenario.name.find(wanted) == std::string::npos) continue;
    std::size_t const most = 40'000'000 / (scenario.ranks * scenario.steps) / 8;
    std::size_t const count = std::max<std::size_t>(10, std::min(jobs, most));
    std::size_t right = 0, wrong = 0, off = 0, broken = 0, broken_paths = 0;
    for (std::size_t i = 0; i < count; ++i) {
      simulated::simulated_job const job = simulated::job_simulator{scenario, 1000 * seed + i}.make();
      constexpr std::size_t max_paths = 10;
      if (i < max_paths) {
        simulated::checked_path const path = simulated::check_path(job);
        broken_paths += path.broken + path.broken_late + (std::abs(path.off) > 1e-3 ? 1 : 0);
      }
      simulated::found_straggler const found = simulated::find_straggler(scenario, job);
      if (found.ranks.empty()) continue;
      bool const is_right = found.is_right;
      ++(is_right ? right : wrong);
      if (is_right && (scenario.delay < found.low || scenario.delay > found.high)) ++off;
      if (is_right && found.bound && job.length - job.faster > *found.bound + 1e-9) ++broken;
    }
    (scenario.slow.empty() ? even : slow) += count;
    (scenario.slow.empty() ? false_names : wrong_names) += wrong;
    auto const percent = [&](std::size_t part) { return 100.0 * static_cast<double>(part) / static_cast<double>(count); };
    std::printf("| %s | %zu | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %zu |\n", scenario.name.c_str(), scenario.ranks, scenario.steps,
                percent(right), percent(wrong), percent(count - right - wrong), percent(off), percent(broken), broken_paths);
    std::fflush(stdout);
  }
  std::printf("\n%zu of %zu even jobs name a rank, %zu of %zu other jobs a wrong one.\n", false_names, even, wrong_names, slow);
}
