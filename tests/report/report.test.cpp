// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/quality_section.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/impl/report/scopes_section.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>

#include "../support/made_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

TEST_CASE("report.json has the fields of the interface with the summary's figures", "[report]") {
  json const report = json_of(made_profile());
  CHECK(report["schema"] == 1);
  CHECK(report["profkit"]["version"] == "0.1.0");
  CHECK(report["environment"]["gpu"] == "NVIDIA H200");
  CHECK(report["environment"]["command"] == json{"train", "--size", "tiny"});
  check_members(
      report,
      {{"/steps/warmup", 1}, {"/steps/measured", 2}, {"/steps/mean_ms", 15.0}, {"/steps/std_ms", 7.0710678}, {"/steps/gpu_mean_ms", 22.5}});
  CHECK(report["steps"]["samples_ms"].size() == 2);
  CHECK(report["steps"]["item_name"] == "tokens");
  REQUIRE(report["scopes"].size() == 5);
  json const& layer = report["scopes"][3];
  check_members(
      layer,
      {{"path", "step/forward/layer_1"}, {"name", "layer_1"}, {"depth", 2}, {"count", 2}, {"host_total_ms", 6.0}, {"host_self_ms", 6.0}});
  check_members(report, R"({"/scopes/1/gpu_event_total_ms": 22.5, "/memory/libtorch/allocated/peak_bytes": 15000,
                            "/quality/dropped_events": 0, "/quality/overhead/host_ns_per_scope": 25.0,
                            "/quality/collectors/1/reason": "no libcupti"})"_json);
}

TEST_CASE("in report.json a missing value is null, never 0", "[report]") {
  json const report = json_of(made_profile());
  for (char const* const name : {"kernels", "copies", "api", "budget"}) CHECK(report.at(name).is_null());
  for (char const* const name : {"gpu_kernel_ms", "gpu_busy_ms", "gpu_self_ms", "gpu_span_ms", "kernels", "peak_bytes"}) {
    CHECK(report["scopes"][0].at(name).is_null());
  }
  check_members(report, R"({"/memory/cuda device/used/peak_bytes": null, "/memory/cuda device/used/capacity_bytes": 8000,
                            "/memory/libtorch/allocated/capacity_bytes": null, "/quality/dropped_kernels": null})"_json);
  json const empty = json_of(profkit::analyze({}));
  for (char const* const name : {"mean_ms", "std_ms", "median_ms", "min_ms", "max_ms", "p95_ms", "items_per_second", "gpu_mean_ms"}) {
    CHECK(empty["steps"].at(name).is_null());
  }
  CHECK(empty["scopes"].empty());
  CHECK(empty["environment"]["gpu"].is_null());
}

TEST_CASE("report.json of one process has the members of a report of several ranks, as null", "[report]") {
  json const report = json_of(made_profile());
  CHECK(report["schema_minor"] == 4);
  for (char const* const name : {"ranks", "straggler", "collectives", "samples"}) {
    CAPTURE(name);
    REQUIRE(report.contains(name));
    CHECK(report[name].is_null());
  }
}

TEST_CASE("JSON can contain names of any bytes", "[report]") {
  profkit::profile profile = made_profile();
  profile.paths[1].name =
      "quote \" backslash \\ newline \n control \x01 valid \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 broken \xff\xc3 \xed\xa0\x80";
  json const report = json_of(profile);
  CHECK(report["scopes"][1]["name"] ==
        "quote \" backslash \\ newline \n control \x01 valid \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 broken "
        "\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("a number that is not finite becomes null", "[report]") {
  profkit::summary summary = profkit::analyze(made_profile());
  summary.steps.items_per_second = 1.0 / 0.0;
  CHECK(json_of(summary)["steps"]["items_per_second"].is_null());
}

TEST_CASE("the text shows host and GPU time of a scope side by side, and never a number that is not finite", "[report]") {
  std::string const text = report_of(made_profile()).full_text();
  CHECK_THAT(text, ContainsSubstring("    layer_1      2"));
  CHECK_THAT(text,
             ContainsSubstring("  forward        2         15.000    7.500   3.536   7.500   9.750   9.950    6.000     50.0 %    50.0 %"
                               "        22.500       11.250      11.250      14.625      14.925\n"));
  CHECK_THAT(text, ContainsSubstring("1 warm-up steps excluded"));
  CHECK_THAT(text,
             ContainsSubstring("571 tokens/s by wall time of the loop; 90.000 ms between steps, 78.6 % of the wall time of the loop"));
  CHECK_THAT(squeezed(text), ContainsSubstring("\nkernels not collected no libcupti\n"));
  CHECK_THAT(text, ContainsSubstring("overhead: 25.0 ns per scope"));
  CHECK_THAT(text, !ContainsSubstring("nan") && !ContainsSubstring("inf"));
}

TEST_CASE("a report of a program without a GPU says in one line what it did not ask for, and nothing else about it", "[report]") {
  profkit::profile profile;
  profile.paths = {step_path(), {0, "work", {}, "a.cpp", 1}};
  profile.threads = {{100, "main"}};
  double begin = 0.0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    double const end = begin + 10.0 + 0.01 * static_cast<double>(i % 7);
    profile.scopes.push_back({{at_ms(begin), at_ms(end - 1.0)}, 1, 0});
    profile.scopes.push_back({{at_ms(begin), at_ms(end)}, 0, 0});
    profile.steps.push_back({{at_ms(begin), at_ms(end)}, i, false, 0});
    begin = end;
  }
  profile.time = {at_ms(0.0), at_ms(900.0)};
  profkit::report const report = report_of(profile);
  CHECK_THAT(report.text(), !ContainsSubstring("n/a") && ContainsSubstring(" of it in work.\n"));
  for (std::string const& text : {std::string{report.full_text()}, std::string{report.markdown()}, std::string{report.html()}}) {
    CAPTURE(text);
    CHECK_THAT(text, ContainsSubstring("Not asked for: GPU operations, GPU clocks, memory, items, FLOPs."));
    for (char const* const other : {"n/a:", "n/a (", "Where the step went", "SM clock", "no collector", "id=\"kernels\"", "Kernels"})
      CHECK_THAT(text, !ContainsSubstring(other));
  }
  for (profkit::detail::section const& section : profkit::detail::report_code::describe(report.summary()).sections) {
    for (profkit::detail::block const& block : section.blocks) {
      auto const* const table = std::get_if<profkit::detail::data_table>(&block);
      if (table == nullptr) continue;
      CAPTURE(table->name);
      CHECK_FALSE((table->name == "scope_tree" && table->columns.back().heading == "each"));  // no siblings differ in their index only
      for (std::size_t i = 0; i < table->columns.size(); ++i) {
        if (table->columns[i].use == profkit::detail::column_use::file) continue;
        CAPTURE(table->columns[i].heading);
        auto const is_unknown = [&](auto const& row) { return std::holds_alternative<std::monostate>(row.cells.at(i).value); };
        CHECK_FALSE(std::all_of(table->rows.begin(), table->rows.end(), is_unknown));
      }
    }
  }
}

TEST_CASE("a report of a program without steps has its elapsed time, its threads, and shares of the sum over them", "[report]") {
  profkit::profile profile;
  constexpr std::uint32_t none = profkit::path_record::no_parent;
  profile.paths = {{none, "solve", {}, "a.cpp", 1}, {0, "sweep", {}, "a.cpp", 2}, {none, "load", {}, "b.cpp", 3}};
  profile.threads = {{100, "main"}, {101, "loader"}, {101, "loader", 2}};  // the loader has a default scope since some time
  profile.scopes = {{{at_ms(10.0), at_ms(40.0)}, 1, 0}, {{at_ms(0.0), at_ms(100.0)}, 0, 0}, {{at_ms(0.0), at_ms(60.0)}, 2, 1}};
  profile.time = {at_ms(0.0), at_ms(120.0)};
  profkit::report const report = report_of(profile);
  std::string const text = squeezed(report.text());
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("\nThe session took 120 ms on 2 threads; scopes took 160 ms in all, 44 % of it in solve itself.\n") &&
                       ContainsSubstring("SCOPES (% of the sum over 2 threads) calls host ms % ") &&
                       ContainsSubstring("\nsolve 1 100.00 62.5 ") && ContainsSubstring("\n sweep 1 30.00 18.8 ") &&
                       ContainsSubstring("\nload 1 60.00 37.5 ") && ContainsSubstring(" 2 threads, no steps\n"));
  for (std::string const& each : {std::string{report.text()}, std::string{report.full_text()}, std::string{report.markdown()}}) {
    CAPTURE(each);
    for (char const* const other : {"per step", "a step", "of step", "measured steps", "no step was measured", "between steps"})
      CHECK_THAT(each, !ContainsSubstring(other));
  }
  CHECK_THAT(report.full_text(), ContainsSubstring("\nSession\n=======\n\n120 ms on 2 threads, without steps.\n") &&
                                     ContainsSubstring("\nsession: 120.00 ms (2 threads, no steps)\n") &&
                                     !ContainsSubstring("\nlongest call:"));
  profile.scopes.push_back({{at_ms(100.0), at_ms(115.0)}, 2, 1});
  CHECK_THAT(report_of(profile).full_text(), ContainsSubstring("\nlongest call: 60.00 ms (of 2 of load)\n"));
  CHECK_THAT(report.html(), ContainsSubstring(">longest"));
  check_members(json_of(report), R"({"/covers": "session", "/elapsed_ms": 120.0, "/threads": 2})"_json);
}

TEST_CASE("if no scope was timed between CUDA events, the text has no columns for that; scopes.csv always has them", "[report]") {
  profkit::profile profile = made_profile();
  profile.gpu_scopes.clear();
  profkit::report const report = report_of(profile);
  CHECK_THAT(report.full_text(), ContainsSubstring("p99 ms") && !ContainsSubstring("GPU p50 ms"));
  CHECK_THAT(report_of(made_profile()).full_text(), ContainsSubstring("GPU p50 ms"));
  CHECK(fmt::format("{}", report) == report.text());
  CHECK_THAT(profkit::detail::csv_of(profkit::detail::scope_table(report.summary())), ContainsSubstring("GPU p50 ms"));
}

TEST_CASE("report.json has p50, p95 and p99 of every scope, also without steps", "[report]") {
  profkit::profile profile = made_profile();
  json const with_steps = json_of(profile)["scopes"][1];
  check_members(with_steps, R"({"path": "step/forward", "host_p50_ms": 7.5, "host_p95_ms": 9.75, "host_p99_ms": 9.95,
                                "gpu_event_p50_ms": 11.25, "gpu_event_p99_ms": 14.925, "gpu_span_p50_ms": null})"_json);
  profile.steps.clear();
  profile.gpu_steps.clear();
  json const without_steps = json_of(profile);
  for (json const& scope : without_steps["scopes"]) {
    INFO(scope["path"]);
    CHECK(scope["host_p50_ms"].is_number());
    CHECK(scope["host_p99_ms"].is_number());
  }
}

TEST_CASE("the report says why events were dropped, and which scopes ended in the wrong place", "[report]") {
  profkit::profile profile = made_profile();
  profile.quality.dropped_events = 10;
  profile.quality.events_without_memory = 4;
  profile.quality.events_without_log = 3;
  profile.quality.interrupting_events = 2;
  profile.quality.misnested_scopes = 6;
  profile.quality.unmatched_ends = 5;
  profile.quality.wrong_ends = {{"load (a.cpp:40) ended on another thread than it began", 5}};
  profkit::summary const summary = profkit::analyze(profile);
  std::string const text = profkit::detail::quality_text(summary);
  CHECK_THAT(text, ContainsSubstring("1 scopes and counters were dropped: a thread's log was full (log=SIZE)\n"));
  CHECK_THAT(text, ContainsSubstring("4 scopes and counters were dropped: the system gave no memory for a thread's log\n"));
  CHECK_THAT(text, ContainsSubstring("3 scopes and counters were dropped: more than 16,384 threads had logs, or the thread was ending\n"));
  CHECK_THAT(text, ContainsSubstring("2 scopes and counters of signal handlers were dropped"));
  CHECK_THAT(text, ContainsSubstring("6 scopes were left without their destructors"));
  CHECK_THAT(text, ContainsSubstring("5 ends of scopes were dropped"));
  CHECK_THAT(text, ContainsSubstring("\n  5 times: load (a.cpp:40) ended on another thread than it began\n"));
  auto const quality = json_of(summary)["quality"];
  check_members(quality, R"({"events_without_memory": 4, "events_without_log": 3, "interrupting_events": 2, "misnested_scopes": 6,
                             "unmatched_ends": 5, "/wrong_ends/0/what": "load (a.cpp:40) ended on another thread than it began",
                             "/wrong_ends/0/count": 5})"_json);
}

TEST_CASE("the report of a snapshot states that the session continues, and what is missing", "[report]") {
  profkit::profile profile = made_profile();
  profkit::summary const of_all = profkit::analyze(profile);
  CHECK_THAT(profkit::detail::quality_text(of_all), !ContainsSubstring("snapshot"));
  CHECK(json_of(of_all)["quality"]["snapshot"].is_null());
  profile.quality.snapshot = profkit::snapshot_record{true, true, 12, 34};
  profile.quality.open_scopes = 2;
  profkit::summary const summary = profkit::analyze(profile);
  std::string const text = profkit::detail::quality_text(summary);
  CHECK_THAT(text, ContainsSubstring("snapshot of a running session; the open step is not in the report\n"));
  CHECK_THAT(text, ContainsSubstring("the latest records may be missing: the logs were not read within a second\n"));
  CHECK_THAT(text, ContainsSubstring("12 launching calls have no GPU operation yet; GPU figures exclude them\n"));
  CHECK_THAT(text, ContainsSubstring("34 steps have no time between CUDA events yet\n"));
  CHECK_THAT(text, ContainsSubstring("2 scopes were open and are not in the report\n"));
  CHECK_THAT(report_of(profile).full_text(), ContainsSubstring("Snapshot of a running session"));
  auto const snapshot = json_of(summary)["quality"]["snapshot"];
  check_members(snapshot, R"({"step_open": true, "behind": true, "missing_operations": 12, "untimed_steps": 34})"_json);
}

TEST_CASE("losses are reported with their number", "[report]") {
  profkit::profile profile = made_profile();
  profile.quality.dropped_events = 17;
  profile.quality.discarded_records = 23;
  profile.quality.collapsed_scopes = 31;
  profile.quality.untimed_gpu_scopes = 4;
  std::string const text = profkit::detail::quality_text(profkit::analyze(profile));
  CHECK_THAT(text, ContainsSubstring("17 scopes and counters were dropped"));
  CHECK_THAT(text, ContainsSubstring("23 scopes, GPU operations and other records exceed records=N"));
  CHECK_THAT(text, ContainsSubstring("31 scopes exceed the maximum number of paths"));
  CHECK_THAT(text, ContainsSubstring("4 GPU scopes could not be timed"));
  CHECK_THAT(text, !ContainsSubstring("nothing dropped"));
}

TEST_CASE("write creates the directory and its files", "[report]") {
  temporary_folder const folder{"report"};
  std::filesystem::path const directory = folder.path / "deep";
  report_of(made_profile()).write(directory);
  std::ifstream file{directory / "report.json"};
  CHECK(json::parse(file)["steps"]["measured"] == 2);
  for (char const* const name : {"report.html", "report.md", "scopes.csv", "steps.csv"})
    CHECK(std::filesystem::file_size(directory / name) > 100);
}

TEST_CASE("a report removes only the files of an earlier report from its folder", "[report]") {
  temporary_folder const folder{"again"};
  std::filesystem::path const& directory = folder.path;
  std::filesystem::create_directories(directory / "kernels");
  for (char const* const name : {"cuda_api_sum.csv", "trace.pftrace", "mine.csv", "kernels.csv.old", "kernels/kernels.csv"}) {
    std::ofstream{directory / name} << "of the user";
  }
  // With kernels and memory by scope.
  profkit::report const first = report_of(profkit::load(TEST_DATA "/tiny-128-train-bf16.profile"));
  for (int i = 0; i < 2; ++i) first.write(directory);
  REQUIRE(std::filesystem::exists(directory / "scope_memory.csv"));
  REQUIRE(std::filesystem::exists(directory / "kernels.csv"));
  std::ifstream file{directory / "report.json"};
  json const listed = json::parse(file)["profkit"]["files"];
  CHECK(std::set<std::string>(listed.begin(), listed.end()).count("kernels.csv") == 1);
  for (std::string const name : listed) CHECK(std::filesystem::exists(directory / name));
  report_of(made_profile()).write(directory);
  std::set<std::string> names;
  for (auto const& each : std::filesystem::recursive_directory_iterator{directory}) names.insert(each.path().lexically_relative(directory));
  CHECK(names == std::set<std::string>{"cuda_api_sum.csv", "kernels", "kernels.csv.old", "kernels/kernels.csv", "mine.csv", "report.html",
                                       "report.json", "report.md", "scopes.csv", "steps.csv", "summary.profkit", "trace.json",
                                       "trace.pftrace"});
}

TEST_CASE("write names the file that it cannot write", "[report]") {
  CHECK_THROWS_MATCHES(report_of(made_profile()).write("/dev/null/out"), profkit::error,
                       MessageMatches(ContainsSubstring("/dev/null/out")));
}

TEST_CASE("the report has the speed of the host, if it was measured", "[report]") {
  profkit::profile profile = made_profile();
  CHECK(profkit::detail::quality_text(profkit::analyze(profile)).find("host speed") == std::string::npos);
  CHECK(json_of(profile)["environment"]["host_speed"].is_null());
  profile.environment.host_speed = profkit::host_speed_record{std::chrono::nanoseconds{104'200}, {}, {}};
  CHECK_THAT(profkit::detail::quality_text(profkit::analyze(profile)),
             ContainsSubstring("host speed: the probe took 104.2 us before the measured steps\n"));
  json const before = json_of(profile)["environment"]["host_speed"];
  CHECK(before == json{{"probe_before_us", 104.2}, {"probe_after_us", nullptr}, {"waiting_share", nullptr}});
  profile.environment.host_speed = profkit::host_speed_record{std::chrono::nanoseconds{104'200}, std::chrono::nanoseconds{105'500}, 0.125};
  CHECK_THAT(
      profkit::detail::quality_text(profkit::analyze(profile)),
      ContainsSubstring("host speed: the probe took 104.2 us before the measured steps, 105.5 us after them; the step thread waited for a "
                        "processor 12.5 % of the time\n"));
  profile.environment.host_use =
      profkit::host_use_record{std::chrono::milliseconds{120}, std::chrono::milliseconds{135}, {}, 24, 0, 6, 2, 4};
  CHECK(json_of(profile)["environment"]["host_use"] ==
        R"({"elapsed_ms": 120.0, "user_ms": 135.0, "system_ms": 0.0, "minor_faults": 24, "major_faults": 0,
            "voluntary_switches": 6, "involuntary_switches": 2, "processors": 4})"_json);
}
