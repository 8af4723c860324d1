// SPDX-License-Identifier: Apache-2.0
//
// The report of a host that runs ahead of the GPU.
#include <profkit/analyze.hpp>
#include <profkit/report.hpp>

#include "../support/made_loop.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"

TEST_CASE("the report says that the host runs ahead, by how many steps, and which time a step takes", "[run_ahead]") {
  std::string const text = report_of(loop_that_runs_ahead().profile).full_text();
  CHECK_THAT(text, ContainsSubstring("The host runs ahead of the GPU by up to 28 steps (median 14.5): step time is the GPU's, 10.000 ms "
                                     "(host 1.990 ms).\n"));
  CHECK_THAT(text, ContainsSubstring("409600 tokens/s by GPU step time (kernels)"));
  CHECK_THAT(squeezed(text), ContainsSubstring("\nGPU (kernels) 30 10.000 "));
  CHECK_THAT(text, ContainsSubstring("\nGPU (kernels): stable: "));
  CHECK_THAT(text, ContainsSubstring("the GPU idles 2.0 % of the step."));
  CHECK_THAT(text, ContainsSubstring("2.0 % of the measured steps' 300.000 ms"));
}

TEST_CASE("the report of a host that waits for the GPU does not mention running ahead", "[run_ahead]") {
  std::string const text = report_of(loop_that_waits().profile).full_text();
  CHECK_THAT(text, !ContainsSubstring("runs ahead") && !ContainsSubstring("GPU (kernels)"));
  CHECK_THAT(text, ContainsSubstring("tokens/s by wall time of the loop"));
}

TEST_CASE("a single step without later steps has no lead", "[run_ahead]") {
  made_loop made;
  made.launch(0.1, 10.0);
  made.step(0.0, 2.0);
  CHECK_THAT(report_of(made.profile).full_text(),
             ContainsSubstring("The host does not wait for the GPU within a step: step time is the GPU's, 10.110 ms (host 2.000 ms).\n"));
}

TEST_CASE("report.json has the GPU's period, the lead and the step time that follows", "[run_ahead]") {
  json const ahead = json_of(loop_that_runs_ahead().profile);
  json const& steps = ahead["steps"];
  CHECK(steps["gpu_period_count"] == 30);
  CHECK(steps["gpu_period_mean_ms"].get<double>() == Approx(10.0));
  CHECK(steps["gpu_period_samples_ms"].size() == 30);
  CHECK(steps["gpu_period_verdict"] == "stable");
  CHECK(steps["host_runs_ahead"] == true);
  CHECK(steps["run_ahead_max_steps"] == 28.0);
  CHECK(steps["run_ahead_median_steps"] == 14.5);
  check_members(steps, R"json({"step_time_ms": 10.0, "step_time_basis": "GPU step time (kernels)", "step_time_verdict": "stable",
                               "mean_ms": 1.99, "gpu_mean_ms": null})json"_json);
  CHECK(ahead["budget"]["wall_of"] == "GPU step time (kernels)");
  CHECK(ahead["budget"]["steps"] == 30);
  double shares = 0.0;
  for (json const& part : ahead["budget"]["parts"]) shares += part["share"].get<double>();
  CHECK(shares == Approx(1.0));

  json const waiting = json_of(loop_that_waits().profile);
  check_members(waiting,
                {{"/steps/host_runs_ahead", false}, {"/steps/step_time_basis", "host step time"}, {"/budget/wall_of", "host step time"}});

  profkit::profile without_kernels = loop_that_waits().profile;
  without_kernels.collectors.clear();
  json const without = json_of(without_kernels);
  check_members(without, R"({"/steps/gpu_period_mean_ms": null, "/steps/gpu_period_verdict": null, "/steps/host_runs_ahead": null,
                             "/steps/run_ahead_max_steps": null})"_json);
}

TEST_CASE("if steps=auto stopped by host times although the GPU takes longer, the report says so", "[run_ahead]") {
  profkit::profile profile = loop_that_runs_ahead().profile;
  profile.stop = profkit::stop_record{0.01, 0.001, false, 1000};
  std::string const text = report_of(profile).full_text();
  CHECK_THAT(text, ContainsSubstring("stopped after 30 measured steps: the mean host step time is known to +-0.1 %, wanted +-1 %; the GPU "
                                     "takes longer: collect profkit::cuda_step_timer to stop by its time\n"));
  profkit::profile waiting = loop_that_waits().profile;
  waiting.stop = profile.stop;
  CHECK_THAT(report_of(waiting).full_text(), ContainsSubstring("wanted +-1 %\n"));
}
