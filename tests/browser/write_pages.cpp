// SPDX-License-Identifier: Apache-2.0
//
// Writes the pages that check_pages.py opens in a browser. They show synthetic documents, recorded and synthetic profiles, comparisons of
// recorded runs, and recorded and synthetic jobs of many ranks.
//   usage: write_pages FOLDER
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/atomic_file.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/save_load.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/hostile_document.hpp"
#include "../support/hostile_profile.hpp"
#include "../support/huge_document.hpp"
#include "../support/made_document.hpp"
#include "../support/made_job.hpp"
#include "../support/made_kinds.hpp"
#include "../support/made_runs.hpp"
#include "compare.hpp"
#include "comparison_document.hpp"
#include "ranks/job_rank.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_document.hpp"
#include "summary_figures.hpp"

namespace {

using profkit_program::run_figures;

/// The profile as a session without a GPU would have recorded it.
profkit::profile without_gpu(profkit::profile what) {
  what.gpu_operations.clear();
  what.gpu_scopes.clear();
  what.gpu_steps.clear();
  what.api_calls.clear();
  what.device_clocks.clear();
  what.device_utilization.clear();
  what.environment.gpu.clear();
  what.collectors.clear();
  return what;
}

/// Multiplies all times of a run by a factor, and those of each scope and kernel by a further small one, like another run of the same
/// program.
void vary(run_figures& run, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  auto const noise = [&](double level) { return std::exp(level * normal(random)); };
  double const all = noise(0.01);
  auto const scale = [&](profkit_program::figures& figures) {
    double const factor = all * noise(0.003);
    figures.mean_ms *= factor;
    figures.std_ms *= factor;
  };
  scale(run.step);
  if (run.gpu_period) scale(*run.gpu_period);
  for (profkit_program::scope_figures& each : run.scopes) {
    scale(each.host);
    if (each.gpu) scale(*each.gpu);
  }
  if (run.budget) {
    run.budget->step_ms = 0.0;
    for (profkit_program::part_figures& each : run.budget->parts) {
      double const factor = all * noise(0.003);
      each.busy_ms *= factor;
      each.idle_ms *= factor;
      run.budget->step_ms += each.busy_ms + each.idle_ms;
    }
  }
  if (!run.kernels) return;
  for (profkit_program::kernel_figures& each : *run.kernels) scale(each.gpu);
}

/// Makes the multiplications of one layer take longer, with all scopes around them.
void slow_one_layer(std::vector<run_figures>& runs) {
  for (run_figures& run : runs) {
    std::map<std::string, profkit_program::scope_figures*> scopes;
    for (profkit_program::scope_figures& each : run.scopes) scopes.emplace(each.path, &each);
    std::string const slow = "step/forward/layer_3";
    auto const layer = scopes.find(slow);
    if (layer == scopes.end() || !layer->second->gpu) continue;
    double const more = 2.0 * layer->second->gpu->mean_ms;
    run.budget->step_ms += more;
    for (profkit_program::part_figures& each : run.budget->parts) each.busy_ms += each.name == "forward" ? more : 0.0;
    for (auto at = layer; at != scopes.end(); at = scopes.find(at->second->around)) at->second->gpu->mean_ms += more;
    run.step.mean_ms += more;
    if (run.gpu_period) run.gpu_period->mean_ms += more;
  }
}

/// Runs of a recorded program, with variations between several runs.
std::vector<run_figures> runs_of(profkit::profile const& recorded, std::size_t count, std::mt19937_64& random) {
  std::vector<run_figures> result(count, profkit_program::figures_of_run(profkit::analyze(recorded), "recorded"));
  for (run_figures& each : result) {
    if (count > 1) vary(each, random);
  }
  return result;
}

profkit::detail::document comparison_of(profkit::profile const& before, profkit::profile const& after, std::size_t runs,
                                        profkit_program::compare_options const& options = {}, bool has_slow_layer = false) {
  std::mt19937_64 random{7};
  std::vector<run_figures> const a = runs_of(before, runs, random);
  std::vector<run_figures> b = runs_of(after, runs, random);
  if (has_slow_layer) slow_one_layer(b);
  return profkit_program::make_comparison_document(profkit_program::compare(a, b, options), {"before", "after", a, b}, options);
}

/// The ranks of a recorded job.
profkit::detail::own_vector<profkit::job_rank> ranks_of(std::filesystem::path const& folder) {
  profkit::detail::own_vector<profkit::job_rank> result;
  for (std::uint32_t rank = 0;; ++rank) {
    std::string const name = "rank" + std::to_string(rank) + ".profile";
    if (!std::filesystem::exists(folder / name)) return result;
    result.push_back(profkit::job_rank_of(profkit::analyze(profkit::load(folder / name)), rank, name));
  }
}

/// More ranks and steps than a page shows individually.
profkit::detail::own_vector<profkit::job_rank> many_ranks() {
  made_job job;
  job.ranks = 80;
  job.steps = 130;
  job.slow_rank = 17;
  job.delay = std::chrono::milliseconds{1};
  return job.make();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::filesystem::path const folder = arguments[1];
  auto const write = [&](std::string const& name, profkit::detail::document const& what) {
    profkit::detail::write_file(folder / (name + ".html"), profkit::detail::html_page(what));
  };
  auto const report = [&](std::string const& name, profkit::profile const& profile) {
    write("report_" + name, profkit::detail::report_code::describe(profkit::analyze(profile)));
  };
  write("made", made_document());
  write("empty", {"a program", "", "The session took 3 s; no steps were marked", {}, {}, {}, "profkit 0.1.0"});
  write("huge", huge_document());
  for (std::uint32_t seed = 1; seed <= 3; ++seed) write("hostile_" + std::to_string(seed), hostile_document(seed));
  std::filesystem::path const data = TEST_DATA;
  for (auto const& each : std::filesystem::directory_iterator{data}) {
    if (each.path().extension() == ".profile") report(each.path().stem(), profkit::load(each.path()));
  }
  profkit::profile const recorded = profkit::load(data / "tiny-128-train-bf16.profile");
  report("host_only", without_gpu(recorded));
  report("hostile_names", hostile_profile(recorded));
  report("validation", training_with_one_validation());
  report("long_run", long_run());
  report("many_paths", run_of_many_paths());
  report("nothing", {});
  profkit::profile const eager = profkit::load(data / "small-128-train-fp32.profile");
  profkit::profile const graph = profkit::load(data / "small-128-train-fp32-graph.profile");
  write("compare_one", comparison_of(eager, graph, 1));
  write("compare_many", comparison_of(eager, graph, 8));
  write("compare_same", comparison_of(eager, eager, 8));
  profkit_program::compare_options by_host;
  by_host.time = profkit_program::time_kind::host;
  write("compare_layer", comparison_of(eager, eager, 8, {}, true));
  write("compare_host", comparison_of(eager, graph, 8, by_host));
  write("compare_kinds", comparison_of(training_with_one_validation(), training_with_one_validation(), 1));
  auto const job = [&](std::string const& name, profkit::detail::own_vector<profkit::job_rank> ranks) {
    write("ranks_" + name, profkit::detail::ranks_document(profkit::summarize_job(std::move(ranks))));
  };
  for (char const* const name : {"even", "four", "slowgpu", "slowhost"}) job(name, ranks_of(std::filesystem::path{TEST_RANKS} / name));
  job("many", many_ranks());
}
