// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/json_text.hpp>
#include <profkit/impl/report/kernels_section.hpp>
#include <profkit/impl/report/quality_section.hpp>
#include <profkit/report.hpp>

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../support/made_gpu_profile.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

profkit::report gpu_report(profkit::profile const& profile = made_gpu_profile()) {
  return profkit::report{std::make_shared<profkit::profile const>(profile)};
}

json gpu_json(profkit::profile const& profile = made_gpu_profile()) { return json::parse(profkit::report_json(profkit::analyze(profile))); }

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
  json const report = gpu_json();
  json const& forward = find(report["scopes"], "path", "step/forward");
  CHECK(forward["gpu_operations"] == 6);
  CHECK(forward["kernels"] == 6);
  CHECK(forward["gpu_kernel_ms"].get<double>() == Approx(9.0));
  CHECK(forward["gpu_self_ms"].get<double>() == Approx(4.0));
  CHECK(forward["gpu_busy_ms"].get<double>() == Approx(6.0));
  CHECK(forward["gpu_span_ms"].get<double>() == Approx(6.0));
  CHECK(forward["launch_latency_mean_us"].get<double>() == Approx((200.0 + 1650.0 + 300.0) / 3.0));
  CHECK(forward["launch_latency_p95_us"].get<double>() == Approx(1650.0).epsilon(0.01));
  CHECK(forward["peak_bytes"].is_null());
  json const& attention = find(report["names"], "name", "attention");
  CHECK(attention["count"] == 4);
  CHECK(attention["gpu_kernel_ms"].get<double>() == Approx(5.0));
  CHECK(report["gpu"]["gpu_kernel_ms"].get<double>() == Approx(13.1));
}

TEST_CASE("report.json has the GPU idle time of the steps and by scope", "[report]") {
  json const report = gpu_json();
  CHECK(report["gpu"]["gpu_idle_ms"].get<double>() == Approx(10.9));
  CHECK(report["gpu"]["gpu_idle_self_ms"] == 0.0);
  json const& step = find(report["scopes"], "path", "step");
  CHECK(step["gpu_idle_ms"].get<double>() == Approx(10.9));
  CHECK(step["gpu_idle_self_ms"].get<double>() == Approx(7.9));
  CHECK(find(report["scopes"], "path", "step/backward")["gpu_idle_ms"].get<double>() == Approx(2.0));
  CHECK(find(report["names"], "name", "backward")["gpu_idle_self_ms"].get<double>() == Approx(2.0));
  json const& other_thread = find(report["scopes"], "path", "load");
  CHECK(other_thread["gpu_idle_ms"].is_null());
  CHECK(other_thread["gpu_idle_self_ms"].is_null());
}

TEST_CASE("report.json has the kernels, their classes, and the copies", "[report]") {
  json const report = gpu_json();
  profkit::gpu_name_record const matmul = made_gpu_profile().gpu_names[0];
  REQUIRE(report["kernels"].size() == 4);
  json const& first = report["kernels"][0];
  CHECK(first["name"] == matmul.name);
  CHECK(first["mangled"] == matmul.mangled);
  CHECK(first["class"] == "matmul");
  CHECK(first["count"] == 4);
  CHECK(first["total_ms"].get<double>() == Approx(6.0));
  CHECK(first["mean_us"].get<double>() == Approx(1500.0));
  CHECK(first["median_us"].get<double>() == Approx(1500.0).epsilon(0.01));
  CHECK(first["min_us"].get<double>() == Approx(1000.0));
  CHECK(first["max_us"].get<double>() == Approx(2000.0));
  CHECK(first["std_us"].get<double>() == Approx(577.350269));
  CHECK(first["share"].get<double>() == Approx(6.0 / 11.9));
  double classes = 0.0;
  for (json const& each : report["kernel_classes"]) classes += each["total_ms"].get<double>();
  CHECK(classes == Approx(11.9));
  CHECK(find(report["copies"], "name", "[CUDA memcpy Host-to-Device]")["bytes"] == 2U << 20U);
  CHECK(report["api"].is_null());
  json const with_api = gpu_json(made_gpu_profile(true));
  CHECK(find(with_api["api"], "name", "cudaDeviceSynchronize_v3020")["count"] == 2);
}

TEST_CASE("report.json counts lost GPU operations", "[report]") {
  profkit::profile profile = made_gpu_profile();
  json const nothing = gpu_json(profile);
  CHECK(nothing["quality"]["dropped_kernels"] == 0);
  CHECK(nothing["quality"]["invalid_kernels"] == 0);
  CHECK(nothing["quality"]["unattributed_kernels"] == 3);
  CHECK(nothing["quality"]["unattributed_operations"] == 3);
  CHECK(nothing["quality"]["unknown_launches"] == 1);
  profile.quality.dropped_operations = 5;
  profile.quality.invalid_operations = 6;
  CHECK(gpu_json(profile)["quality"]["dropped_kernels"] == 5);
  std::string const text = profkit::detail::quality_text(profkit::analyze(profile));
  CHECK_THAT(text, ContainsSubstring("5 records of GPU operations and API calls were dropped"));
  CHECK_THAT(text, ContainsSubstring("6 GPU operations had no valid time"));
  CHECK_THAT(text, ContainsSubstring("3 GPU operations (3 of them kernels; 0.900 ms) were launched outside any scope"));
}

TEST_CASE("the text has the GPU's work by scope, kernels, classes and copies", "[report]") {
  std::string const text = gpu_report().full_text();
  CHECK_THAT(section(text, "GPU work by scope"), ContainsSubstring("  forward") && ContainsSubstring("9.000    4.000    6.000    6.000"));
  std::string const kernels = section(text, "All kernels");
  CHECK_THAT(kernels, ContainsSubstring("void cutlass::Kernel2<") && ContainsSubstring("matmul") && ContainsSubstring("50.4 %"));
  CHECK_THAT(kernels, ContainsSubstring("of all kernels"));
  CHECK_THAT(text, ContainsSubstring("GPU in 2 measured steps: 15 operations, 11 of them kernels; 13.1 ms in all"));
  CHECK_THAT(section(text, "Kernel classes"), ContainsSubstring("matmul"));
  CHECK_THAT(section(text, "Copies and memsets"), ContainsSubstring("[CUDA memset]"));
  CHECK_THAT(text, !ContainsSubstring("API calls\n"));
  CHECK_THAT(gpu_report(made_gpu_profile(true)).full_text(), ContainsSubstring("cudaDeviceSynchronize"));
}

TEST_CASE("the text has the GPU idle time and the time that it is a part of", "[report]") {
  std::string const text = gpu_report().full_text();
  CHECK_THAT(text, ContainsSubstring("idle: no operation ran on any device for 10.900 ms, 54.5 % of the measured steps' 20.000 ms"));
  CHECK_THAT(text, !ContainsSubstring("ms to none"));
  std::string const scopes = section(text, "GPU work by scope");
  CHECK_THAT(scopes, ContainsSubstring("   10.900         7.900\n"));  // step
  CHECK_THAT(scopes, ContainsSubstring("      n/a           n/a"));    // load, on another thread
  CHECK_THAT(section(text, "By name"), ContainsSubstring("    2.000\n"));

  profkit::profile profile = made_gpu_profile();
  profile.scopes.clear();
  CHECK_THAT(gpu_report(profile).full_text(),
             ContainsSubstring("of the step thread, or to a scope that adopted it on another thread, 10.900 ms outside any scope\n"));
  profile.steps.clear();
  CHECK_THAT(gpu_report(profile).full_text(), ContainsSubstring("idle: n/a, no step was measured\n"));
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
  profkit::report const report = gpu_report(profile);
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

TEST_CASE("if kernels were not collected, the report says why and every figure of them is n/a", "[report]") {
  profkit::profile profile = made_gpu_profile();
  profile.collectors = {{"kernels", "not collected", "another tool holds CUPTI", profkit::collector_kind::kernels}};
  profkit::report const report = gpu_report(profile);
  CHECK_THAT(report.full_text(), ContainsSubstring("Kernels\n=======\n\nn/a: another tool holds CUPTI.\n"));
  CHECK_THAT(section(report.full_text(), "By name"), ContainsSubstring("n/a"));
  json const written = json::parse(profkit::report_json(report.summary()));
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
  CHECK(gpu_json(profile)["gpu"]["steps"] == 2);
  profile.steps[2].has_kernels = false;
  json const written = gpu_json(profile);
  CHECK(written["steps"]["measured"] == 2);
  CHECK(written["gpu"]["steps"] == 1);
  CHECK(written["budget"]["steps"] == 1);
  json const& per_step = find(written["scopes"], "path", "step/forward").at("per_step");
  CHECK(per_step["steps"] == 2);
  CHECK(per_step["gpu_steps"] == 1);
  CHECK(written["kernels"][0]["per_step"]["steps"] == 1);
}

TEST_CASE("write creates the list of kernels only if they were collected", "[report]") {
  std::filesystem::path const directory = std::filesystem::temp_directory_path() / ("profkit-gpu-report-" + std::to_string(::getpid()));
  std::vector<std::string> const always{"trace.json", "report.md"};
  gpu_report(made_gpu_profile(true)).write(directory / "with");
  for (auto const& name : always) CHECK(std::filesystem::exists(directory / "with" / name));
  CHECK(std::filesystem::exists(directory / "with" / "kernels.csv"));
  std::ifstream file{directory / "with" / "trace.json"};
  CHECK(json::parse(file)["traceEvents"].size() > 20);
  gpu_report(made_profile()).write(directory / "without");
  for (auto const& name : always) CHECK(std::filesystem::exists(directory / "without" / name));
  CHECK_FALSE(std::filesystem::exists(directory / "without" / "kernels.csv"));
  std::filesystem::remove_all(directory);
}
