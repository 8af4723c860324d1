// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <profkit/impl/report/kernels_section.hpp>
#include <profkit/impl/report/quality_section.hpp>
#include <profkit/report.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

namespace {

json const& find(json const& list, char const* key, std::string_view value) {
  auto const found = std::find_if(list.begin(), list.end(), [&](json const& each) { return each.at(key) == value; });
  REQUIRE(found != list.end());
  return *found;
}

/// The part of a text from a heading to the empty line after its table.
std::string section(std::string const& text, std::string const& heading) {
  std::size_t const begin = text.find(heading + "\n\n");
  REQUIRE(begin != std::string::npos);
  std::size_t const body = begin + heading.size() + 2;
  return text.substr(body, text.find("\n\n", body) - body);
}

}  // namespace

TEST_CASE("report.json has the GPU's work by scope and by name", "[report]") {
  json const report = json_of(made_gpu_profile());
  json const& forward = find(report["scopes"], "path", "step/forward");
  check_members(forward, R"({"gpu_operations": 6, "kernels": 6, "gpu_kernel_ms": 9.0, "gpu_self_ms": 4.0, "gpu_busy_ms": 6.0,
                             "gpu_span_ms": 6.0, "launch_latency_mean_us": 716.666666667, "peak_bytes": null})"_json);
  CHECK(forward["launch_latency_p95_us"].get<double>() == Approx(1650.0).epsilon(0.01));
  json const& attention = find(report["names"], "name", "attention");
  CHECK(attention["count"] == 4);
  CHECK(attention["gpu_kernel_ms"].get<double>() == Approx(5.0));
  CHECK(report["gpu"]["gpu_kernel_ms"].get<double>() == Approx(13.1));
}

TEST_CASE("report.json has the GPU idle time of the steps and by scope", "[report]") {
  json const report = json_of(made_gpu_profile());
  CHECK(report["gpu"]["gpu_idle_ms"].get<double>() == Approx(10.9));
  CHECK(report["gpu"]["gpu_idle_self_ms"] == 0.0);
  json const& step = find(report["scopes"], "path", "step");
  CHECK(step["gpu_idle_ms"].get<double>() == Approx(10.9));
  CHECK(step["gpu_idle_self_ms"].get<double>() == Approx(7.9));
  CHECK(find(report["scopes"], "path", "step/forward")["gpu_idle_self_ms"].get<double>() == Approx(1.0));
  CHECK(find(report["scopes"], "path", "step/forward/attention")["gpu_idle_ms"] == 0.0);
  CHECK(find(report["scopes"], "path", "step/backward")["gpu_idle_ms"].get<double>() == Approx(2.0));
  CHECK(find(report["names"], "name", "backward")["gpu_idle_self_ms"].get<double>() == Approx(2.0));
  json const& other_thread = find(report["scopes"], "path", "load");
  CHECK(other_thread["gpu_idle_ms"].is_null());
  CHECK(other_thread["gpu_idle_self_ms"].is_null());
}

TEST_CASE("report.json has the kernels, their classes, and the copies", "[report]") {
  json const report = json_of(made_gpu_profile());
  profkit::gpu_name_record const matmul = made_gpu_profile().gpu_names[0];
  REQUIRE(report["kernels"].size() == 4);
  json const& first = report["kernels"][0];
  check_members(first, {{"name", matmul.name},
                        {"mangled", matmul.mangled},
                        {"class", "matmul"},
                        {"count", 4},
                        {"total_ms", 6.0},
                        {"mean_us", 1500.0},
                        {"min_us", 1000.0},
                        {"max_us", 2000.0},
                        {"p95_us", 2000.0},
                        {"std_us", 577.350269},
                        {"share", 6.0 / 11.9}});
  CHECK(first["median_us"].get<double>() == Approx(1500.0).epsilon(0.01));
  double classes = 0.0;
  double share = 0.0;
  std::vector<std::string> in_order;
  for (json const& each : report["kernel_classes"]) classes += each["total_ms"].get<double>();
  for (json const& each : report["kernels"]) {
    in_order.push_back(each["class"]);
    share += each["share"].get<double>();
  }
  CHECK(classes == Approx(11.9));
  CHECK(share == Approx(1.0));
  CHECK(in_order == std::vector<std::string>{"matmul", "elementwise", "softmax", "other"});  // none from the warm-up
  CHECK(find(report["kernel_classes"], "class", "elementwise")["count"] == 4);
  CHECK(find(report["kernel_classes"], "class", "elementwise")["share"].get<double>() == Approx(3.4 / 11.9));
  REQUIRE(report["copies"].size() == 2);
  CHECK(find(report["copies"], "name", "[CUDA memcpy Host-to-Device]")["bytes"] == 2U << 20U);
  CHECK(find(report["copies"], "name", "[CUDA memcpy Host-to-Device]")["total_ms"].get<double>() == Approx(1.0));
  CHECK(find(report["copies"], "name", "[CUDA memset]")["bytes"] == 8192);
  CHECK(report["api"].is_null());
  json const with_api = json_of(made_gpu_profile(true));
  CHECK(with_api["api"].size() == 4);
  CHECK(find(with_api["api"], "name", "cudaLaunchKernel_v7000")["count"] == 10);
  CHECK(find(with_api["api"], "name", "cudaDeviceSynchronize_v3020")["count"] == 2);
  CHECK(find(with_api["api"], "name", "cudaDeviceSynchronize_v3020")["total_ms"].get<double>() == Approx(1.0));
}

TEST_CASE("report.json counts lost GPU operations", "[report]") {
  profkit::profile profile = made_gpu_profile();
  json const nothing = json_of(profile);
  check_members(nothing, R"({"/quality/dropped_kernels": 0, "/quality/invalid_kernels": 0, "/quality/unattributed_kernels": 3,
                             "/quality/unattributed_operations": 3, "/quality/unknown_launches": 1})"_json);
  profile.quality.dropped_operations = 5;
  profile.quality.invalid_operations = 6;
  CHECK(json_of(profile)["quality"]["dropped_kernels"] == 5);
  std::string const text = profkit::detail::quality_text(profkit::analyze(profile));
  CHECK_THAT(text, ContainsSubstring("5 records of GPU operations and API calls were dropped"));
  CHECK_THAT(text, ContainsSubstring("6 GPU operations had no valid time"));
  CHECK_THAT(text, ContainsSubstring("3 GPU operations (3 of them kernels; 0.900 ms) were launched outside any scope"));
}

TEST_CASE("the text has the GPU's work by scope, kernels, classes and copies", "[report]") {
  std::string const text = report_of(made_gpu_profile()).full_text();
  CHECK_THAT(section(text, "GPU work by scope"), ContainsSubstring("  forward") && ContainsSubstring("9.000    4.000    6.000    6.000"));
  std::string const kernels = section(text, "All kernels");
  CHECK_THAT(kernels, ContainsSubstring("void cutlass::Kernel2<") && ContainsSubstring("matmul") && ContainsSubstring("50.4 %"));
  CHECK_THAT(kernels, ContainsSubstring("of all kernels"));
  CHECK_THAT(text, ContainsSubstring("GPU in 2 measured steps: 15 operations, 11 of them kernels; 13.1 ms in all"));
  CHECK_THAT(section(text, "Kernel classes"), ContainsSubstring("matmul"));
  CHECK_THAT(section(text, "Copies and memsets"), ContainsSubstring("[CUDA memset]"));
  CHECK_THAT(text, !ContainsSubstring("API calls\n"));
  CHECK_THAT(report_of(made_gpu_profile(true)).full_text(), ContainsSubstring("cudaDeviceSynchronize"));
}

TEST_CASE("the text has the GPU idle time and the time that it is a part of", "[report]") {
  std::string const text = report_of(made_gpu_profile()).full_text();
  CHECK_THAT(text, ContainsSubstring("idle: no operation ran on any device for 10.900 ms, 54.5 % of the measured steps' 20.000 ms"));
  CHECK_THAT(text, !ContainsSubstring("ms to none"));
  std::string const scopes = section(text, "GPU work by scope");
  CHECK_THAT(scopes, ContainsSubstring("   10.900         7.900\n"));  // step
  CHECK_THAT(scopes, ContainsSubstring("      n/a           n/a"));    // load, on another thread
  CHECK_THAT(section(text, "By name"), ContainsSubstring("    2.000\n"));

  profkit::profile profile = made_gpu_profile();
  profile.scopes.clear();
  CHECK_THAT(report_of(profile).full_text(),
             ContainsSubstring("of the step thread, or to a scope that adopted it on another thread, 10.900 ms outside any scope\n"));
  for (profkit::step_record& each : profile.steps) each.warmup = true;
  CHECK_THAT(report_of(profile).full_text(), ContainsSubstring("idle: n/a, no step was measured\n"));
}

TEST_CASE("names of kernels are shortened in text and complete in kernels.csv, and omitted rows are counted", "[report]") {
  profkit::profile profile = made_gpu_profile();
  for (std::uint32_t i = 0; i < 30; ++i) {
    profkit::gpu_operation_record operation = profile.gpu_operations.back();
    operation.name = static_cast<std::uint32_t>(profile.gpu_names.size());
    operation.time.end = operation.time.begin + std::chrono::microseconds{i + 1};
    profile.gpu_operations.push_back(operation);
    profile.gpu_names.push_back({"void long_name<" + std::string(300, 'x') + ">::number_" + std::to_string(i), {}});
  }
  profkit::report const report = report_of(profile);
  CHECK_THAT(report.full_text(), ContainsSubstring("and 14 more with 0.105 ms, in kernels.csv"));
  CHECK_THAT(report.full_text(), ContainsSubstring("xxx...xxx") && !ContainsSubstring(std::string(101, 'x')));
  REQUIRE(report.summary().gpu.has_value());
  std::string const csv = profkit::detail::csv_of(profkit::detail::kernel_table(*report.summary().gpu));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 35);
  CHECK_THAT(csv, ContainsSubstring(profile.gpu_names.back().name));
  CHECK_THAT(csv, ContainsSubstring("\"void operator\"\"\"\" _scaled<float, 2>(float*, int)\""));
}

TEST_CASE("a name is cut between characters", "[report]") {
  std::string name = "k";
  for (int i = 0; i < 100; ++i) name += "\xe2\x82\xac";
  for (std::size_t width = 10; width < 40; ++width) {
    std::string const cut = profkit::detail::shortened(name, width);
    CHECK(cut.size() <= width);
    CHECK(json::parse(profkit::detail::json_string(cut)).get<std::string>() == cut);
  }
  CHECK(profkit::detail::shortened("short", 10) == "short");
}

TEST_CASE("if kernels could not be collected, a finding says why, and every figure of them is null in JSON", "[report]") {
  profkit::profile profile = made_gpu_profile();
  profile.collectors = {{"kernels", "not collected", "another tool holds CUPTI", profkit::collector_kind::kernels}};
  profkit::report const report = report_of(profile);
  CHECK_THAT(report.full_text(), ContainsSubstring("A collector failed. kernels: not collected (another tool holds CUPTI).") &&
                                     ContainsSubstring("\nGPU busy: n/a (another tool holds CUPTI)\n") &&
                                     !ContainsSubstring("\nKernels\n"));
  CHECK_THAT(section(report.full_text(), "By name"), !ContainsSubstring("n/a"));
  json const written = json_of(report);
  for (char const* const name : {"kernels", "kernel_classes", "copies", "api", "gpu"}) CHECK(written.at(name).is_null());
  for (char const* const name : {"dropped_kernels", "invalid_kernels", "unattributed_kernels", "unattributed_operations"}) {
    CHECK(written["quality"].at(name).is_null());
  }
  for (char const* const name : {"gpu_kernel_ms", "gpu_busy_ms", "gpu_self_ms", "gpu_span_ms", "kernels", "gpu_operations",
                                 "launch_latency_mean_us", "launch_latency_p95_us", "gpu_idle_ms", "gpu_idle_self_ms"}) {
    CHECK(written["scopes"][0].at(name).is_null());
    CHECK(written["names"][0].at(name).is_null());
  }
}

TEST_CASE("report.json has the number of steps that GPU figures cover", "[report]") {
  profkit::profile profile = made_gpu_profile();
  CHECK(json_of(profile)["gpu"]["steps"] == 2);
  profile.steps[2].has_kernels = false;
  json const written = json_of(profile);
  check_members(written, R"({"/steps/measured": 2, "/gpu/steps": 1, "/budget/steps": 1})"_json);
  json const& per_step = find(written["scopes"], "path", "step/forward").at("per_step");
  CHECK(per_step["steps"] == 2);
  CHECK(per_step["gpu_steps"] == 1);
  CHECK(written["kernels"][0]["per_step"]["steps"] == 1);
}

TEST_CASE("write creates the list of kernels only if they were collected", "[report]") {
  temporary_folder const folder{"gpu-report"};
  std::filesystem::path const& directory = folder.path;
  std::vector<std::string> const always{"trace.json", "report.md"};
  report_of(made_gpu_profile(true)).write(directory / "with");
  for (auto const& name : always) CHECK(std::filesystem::exists(directory / "with" / name));
  CHECK(std::filesystem::exists(directory / "with" / "kernels.csv"));
  std::ifstream file{directory / "with" / "trace.json"};
  CHECK(json::parse(file)["traceEvents"].size() > 20);
  report_of(made_profile()).write(directory / "without");
  for (auto const& name : always) CHECK(std::filesystem::exists(directory / "without" / name));
  CHECK_FALSE(std::filesystem::exists(directory / "without" / "kernels.csv"));
}
