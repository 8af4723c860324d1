// SPDX-License-Identifier: Apache-2.0
#include <profkit/report.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_work_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"

using profkit::precision;

namespace {

using made = made_work_profile;

json row_of(json const& rows, std::string const& path) {
  for (json const& row : rows) {
    if (row.at("path") == path) return row;
  }
  FAIL("there is no row " << path);
  return {};
}

}  // namespace

TEST_CASE("the report shows each scope as a share of the device peaks, forward and backward", "[work]") {
  made made;
  made.profile.measured_roofs = {
      {precision::bf16, 700e12, 0.0, "matrix product"}, {precision::unknown, 0.0, 4e12, "copy"}, {precision::unknown, 0.0, 3e12, "copy"}};
  std::string const text = squeezed(report_of(made.profile).full_text());
  CHECK_THAT(text, ContainsSubstring("Work and limits\n"));
  CHECK_THAT(text, ContainsSubstring(" scores declared bf16 GPU busy time 8.000 3958 2 494.8 250 1979 50.0 % compute 70.7 % 100.0 %\n"));
  CHECK_THAT(text, ContainsSubstring(" norm declared fp32 GPU busy time 4.000 2 4.8 0.5 1200 0.4167 25.0 % memory n/a 100.0 %\n"));
  CHECK_THAT(text, ContainsSubstring(" norm backward fp32 GPU busy time 2.000 3 7.2 1.5 3600 0.4167 75.0 % memory n/a n/a\n"));
  CHECK_THAT(text, ContainsSubstring("roof: NVIDIA H200, dense: fp64 67, fp32 67, tf32 494.5, fp16 989.5, bf16 989.5, fp8 1979 TFLOP/s; "
                                     "4800 GB/s (NVIDIA H200 data sheet)\n"));
  CHECK_THAT(text, ContainsSubstring("measured: bf16 700 TFLOP/s; 4000 GB/s (matrix product; copy)\n"));
  CHECK_THAT(text, ContainsSubstring("Work by name\n"));
  CHECK_THAT(text, !ContainsSubstring("is impossible"));
  CHECK_THAT(report_of(made.profile).markdown(),
             ContainsSubstring("## Work and limits\n") && ContainsSubstring("scores | declared | bf16 |"));
}

TEST_CASE("the line of the model states its denominator in full", "[work]") {
  made made;
  made.profile.measured_roofs = {{precision::bf16, 700e12, 0.0, "matrix product"}};
  for (profkit::step_record& step : made.profile.steps) step.model_flops = 10e12;
  CHECK_THAT(report_of(made.profile).full_text(),
             ContainsSubstring(
                 "model: 10000 GFLOP per step (given by the program), 100 TFLOP/s by wall time of the loop; MFU 10.1 % of 989.5 TFLOP/s: "
                 "NVIDIA H200, bf16 dense, NVIDIA H200 data sheet; 14.3 % of the 700 TFLOP/s measured here\n"));
}

TEST_CASE("without a denominator the report says why, and no share", "[work]") {
  made unknown_device;
  unknown_device.profile.environment.gpu = "NVIDIA X1";
  std::string const text = report_of(unknown_device.profile).full_text();
  CHECK_THAT(text, ContainsSubstring("MFU n/a, no dense peaks are known for \"NVIDIA X1\"\n"));
  CHECK_THAT(text, ContainsSubstring("roof: n/a, no dense peaks are known for \"NVIDIA X1\"\n"));
  made no_device;
  no_device.profile.environment.gpu.clear();
  CHECK_THAT(report_of(no_device.profile).full_text(), ContainsSubstring("MFU n/a, the device is not known\n"));
  made no_precision;
  no_precision.profile.precision = precision::unknown;
  CHECK_THAT(report_of(no_precision.profile).full_text(),
             ContainsSubstring("MFU n/a, the precision is not given (PROFKIT=precision=NAME)\n"));
  made no_rate;
  no_rate.profile.environment.gpu = "Tesla V100-SXM2-16GB";
  CHECK_THAT(report_of(no_rate.profile).full_text(),
             ContainsSubstring("MFU n/a, no dense peak is known for bf16 on Tesla V100-SXM2-16GB\n"));
}

TEST_CASE("a share above 100 % has a remark", "[work]") {
  made made;
  made.say(made::norm, 6, {0.0, 1e12, precision::unknown, 1.0F});
  for (profkit::step_record& step : made.profile.steps) step.model_flops = 125e12;
  std::string const text = report_of(made.profile).full_text();
  CHECK_THAT(text, ContainsSubstring("a share above 100 % is impossible: the work of step "));
  CHECK_THAT(text, ContainsSubstring(
                       "MFU 126.3 % of 989.5 TFLOP/s: NVIDIA H200, bf16 dense, NVIDIA H200 data sheet; more than 100 % is impossible: "
                       "the count or the precision is wrong\n"));
}

TEST_CASE("report.json has the work of each row, or null", "[work]") {
  made made;
  made.profile.measured_roofs = {{precision::bf16, 700e12, 4e12, "matrix product"}};
  json const all = json_of(made.profile);
  json const scores = row_of(all.at("scopes"), "step/forward/scores").at("work");
  check_members(scores, R"({"flops": 3.958e+12, "bytes": 2000000000.0, "precision": "bf16", "time_ms": 8.0, "basis": "GPU busy time",
                            "tflops_per_s": 494.75, "gb_per_s": 250.0, "intensity": 1979.0, "roof_share": 0.5, "bound": "compute",
                            "measured_roof_share": 0.706785714286, "measured_bound": "compute"})"_json);
  CHECK(scores.at("share_of_time_said") == 1.0);
  CHECK(row_of(all["scopes"], "step/forward/other").at("work").is_null());
  CHECK(row_of(all["scopes"], "step/forward").at("work").at("self_flops").is_null());
  CHECK(row_of(all["scopes"], "step/forward/norm")["work"]["measured_roof_share"].is_null());
  CHECK(row_of(all.at("adopted"), "step/forward/norm").at("work").at("roof_share").get<double>() == Approx(0.75));
  CHECK(row_of(all["adopted"], "step/forward/norm")["work"]["bound"] == "memory");
  bool is_named = false;
  for (json const& row : all.at("names")) {
    if (row.at("name") == "norm") is_named = row.at("work").at("gb_per_s").get<double>() == Approx(1200.0);
  }
  CHECK(is_named);
}

TEST_CASE("report.json has the model with its denominator, and the limits", "[work]") {
  made made;
  made.profile.measured_roofs = {{precision::unknown, 0.0, 4e12, "copy"}};
  json const all = json_of(made.profile);
  json const& model = all.at("model");
  double const flops = 3 * 1.979e12 + 2.5e9;
  check_members(model, {{"flops_per_step", flops},
                        {"flops_source", "declared by the scopes, with backward work"},
                        {"tflops_per_s", flops / 100e-3 / 1e12},
                        {"mfu", flops / 100e-3 / 989.5e12}});
  CHECK(model.at("peak_tflops") == 989.5);
  check_members(model, R"({"device": "NVIDIA H200", "precision": "bf16", "dense": true, "source": "NVIDIA H200 data sheet",
                           "measured_peak_tflops": null})"_json);
  json const& limits = all.at("limits");
  CHECK(limits.at("tflops_per_s").at("tf32") == 494.5);
  check_members(limits, R"({"gb_per_s": 4800, "/measured/0/precision": null, "/measured/0/tflops_per_s": null,
                            "/measured/0/gb_per_s": 4000, "/measured/0/how": "copy"})"_json);

  made.profile.environment.gpu = "NVIDIA X1";
  json const unknown = json_of(made.profile);
  check_members(unknown, R"({"/model/mfu": null, "/model/source": null, "/limits/tflops_per_s/bf16": null})"_json);
  CHECK(row_of(unknown.at("scopes"), "step/forward/scores").at("work").at("roof_share").is_null());
}

TEST_CASE("without declared work the report has no work tables", "[work]") {
  profkit::report const report = report_of(made_gpu_profile());
  CHECK_THAT(report.full_text(), !ContainsSubstring("Work and limits") && !ContainsSubstring("Work by name") && !ContainsSubstring("MFU") &&
                                     ContainsSubstring(" Not asked for: ") && ContainsSubstring("FLOPs.\n"));
  json const all = json_of(report);
  CHECK(all.at("model").is_null());
  for (json const& row : all.at("scopes")) CHECK(row.at("work").is_null());
}
