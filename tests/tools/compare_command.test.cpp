// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>
#include <profkit/version.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"
#include "decision.hpp"
#include "program_run.hpp"

namespace fs = std::filesystem;

namespace {

/// The hand-made profile, with the kernels of one scope `factor` times as long.
std::string made_report(double factor = 1.0) {
  profkit::profile profile = made_gpu_profile();
  for (profkit::gpu_operation_record& each : profile.gpu_operations) {
    if (each.name != 1) continue;  // the softmax, launched in "attention"
    each.time.end = each.time.begin + std::chrono::nanoseconds{static_cast<std::int64_t>(factor * 1e6)};
  }
  return profkit::report_json(profkit::analyze(profile));
}

/// Assumes that the noise between runs is small.
constexpr char const* quiet_options = " --gpu-noise 0.3% --host-noise 1%";

/// A real session whose steps compute for some time.
void record(fs::path const& directory) {
  profkit::session session{plain_options(1, 5)};
  for (profkit::step step : session) {
    PROF_SCOPE("work");
    auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds{300};
    while (std::chrono::steady_clock::now() < end) continue;
  }
  session.report().write(directory);
}

}  // namespace

TEST_CASE("profkit prints its version and its commands", "[program]") {
  program_folder const folder;
  CHECK(folder.run("--version").out == std::string{"profkit "} + profkit::version + "\n");
  auto const help = folder.run("compare --help");
  CHECK(help.code == 0);
  CHECK_THAT(help.out, ContainsSubstring("--fail-if-slower"));
  CHECK(folder.run("").code == 2);
  CHECK(folder.run("paint").code == 2);
}

TEST_CASE("a report of a real session equals itself, and can be compared with another", "[program]") {
  program_folder const folder;
  record(folder.path / "a");
  record(folder.path / "b");
  auto const same = folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "a" / "report.json") + " --host-noise 0.1%");
  CHECK(same.code == 0);
  CHECK_THAT(same.out, ContainsSubstring(" scopes, 0 kernels; with the step: 0 FASTER, 0 SLOWER") && ContainsSubstring("0 NEW, 0 GONE"));
  auto const other = folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "b") + " --format json");
  REQUIRE(other.code == 0);
  json const result = json::parse(other.out);
  REQUIRE(result["rows"].size() >= 3);  // a slow machine adds the time between steps
  CHECK(result["rows"][2]["name"] == "step/work");
  CHECK(result["rows"][2]["time"] == "host");
  CHECK(result["rows"][2]["a_ms"].get<double>() >= 0.3);
  CHECK(result["noise"] == "assumed");
  CHECK(result["failed"].is_null());
}

TEST_CASE("a slower scope is named, and fails a limit below its range", "[program]") {
  program_folder const folder;
  std::string const sides = quoted(folder.write("a", made_report())) + quoted(folder.write("b", made_report(1.2))) + quiet_options;
  auto const text = folder.run("compare" + sides);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, ContainsSubstring("SLOWER   scope   step/forward/attention") && ContainsSubstring("softmax_warp_forward"));
  CHECK_THAT(text.out, !ContainsSubstring("step/backward"));
  CHECK_THAT(folder.run("compare --all" + sides).out, ContainsSubstring("step/backward"));
  json const result = json::parse(folder.run("compare --format json --fail-if-slower 3%" + sides).out);
  CHECK(result["failed"] == true);
  for (json const& row : result["rows"]) {
    bool const is_slow = row["name"] == "step" || row["name"] == "step/forward" || row["name"] == "step/forward/attention" ||
                         row["name"].get<std::string>().find("softmax") != std::string::npos;
    CHECK((row["verdict"] == "SLOWER") == is_slow);
    if (row["name"] == "step/forward/attention") CHECK(row["change"].get<double>() == Approx(0.2 / 2.5));
  }
  auto const failed = folder.run("compare --fail-if-slower 3%" + sides);
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, ContainsSubstring("scope step/forward/attention is slower by "));
  CHECK_THAT(failed.out, ContainsSubstring("Fails: "));
  CHECK_THAT(result["reason"].get<std::string>(), ContainsSubstring(" is slower by "));
  CHECK(failed.err.find(result["reason"].get<std::string>()) != std::string::npos);
  CHECK(folder.run("compare --fail-if-slower 30% --scope step/forward" + sides).code == 0);
  CHECK(folder.run("compare --fail-if-slower 3% --scope step/backward" + sides).code == 0);
  auto const backwards = folder.run("compare --fail-if-slower 3% --scope step/forward" + quoted(folder.path / "b") +
                                    quoted(folder.path / "a") + quiet_options);
  CHECK(backwards.code == 0);
  CHECK_THAT(backwards.out, ContainsSubstring("FASTER"));
  CHECK_THAT(folder.run("compare --format markdown" + sides).out, ContainsSubstring("| SLOWER | scope | step/forward/attention | GPU |"));
}

TEST_CASE("medians and minima of runs can be compared", "[program]") {
  program_folder const folder;
  std::string const sides = quoted(folder.write("a", made_report())) + quoted(folder.write("b", made_report(1.2))) + quiet_options;
  for (std::string const statistic : {"mean", "median", "minimum"}) {
    auto const json_run = folder.run("compare --format json --statistic " + statistic + sides);
    REQUIRE(json_run.code == 0);
    json const result = json::parse(json_run.out);
    CHECK(result["statistic"] == statistic);
    CHECK(result["rows"][0]["figure"] == statistic);
    for (json const& row : result["rows"]) {
      if (row["of"] == "scope" && statistic != "mean") CHECK(row["time"] == "host");
    }
    CHECK_THAT(folder.run("compare --all --statistic " + statistic + sides).out, ContainsSubstring(statistic));
  }
  CHECK(folder.run("compare --statistic mode" + sides).code == 2);
}

TEST_CASE("an undecided comparison ends with exit code 3, and names the row and the number of runs that would decide", "[program]") {
  program_folder const folder;
  std::string const sides = quoted(folder.write("a", made_report())) + quoted(folder.write("b", made_report()));
  CHECK(folder.run("compare" + sides).code == 0);
  auto const undecided = folder.run("compare --fail-if-slower 3%" + sides);
  CHECK(undecided.code == 3);
  CHECK_THAT(undecided.out, ContainsSubstring("host speed: unknown, since a run has no probe"));
  CHECK_THAT(
      undecided.err,
      ContainsSubstring("undecided: these runs do not show whether B is slower by 3 % or more\n  step time: +0.0 %, 90 % interval ") &&
          ContainsSubstring("estimate: more than 1000 runs a side would decide"));
  // Screen and JSON have the same number of runs, and no other.
  CHECK_THAT(undecided.out, ContainsSubstring("Undecided: these runs do not show whether B is slower by 3 % or more.") &&
                                ContainsSubstring("Estimate: more than 1000 runs a side would decide") &&
                                !ContainsSubstring("would be needed"));
  // The shared part and the individual parts differ by 2.5 %.
  std::string const with_known_noise = "compare --fail-if-slower 3% --scope step/forward --gpu-noise 2.5%" + sides;
  auto const needed = profkit_program::runs_to_decide(0.025 * std::sqrt(2.0), 0.03);
  REQUIRE(needed);
  CHECK_THAT(folder.run(with_known_noise).err,
             ContainsSubstring("estimate: about " + std::to_string(*needed) +
                               " runs a side would decide (these rows differ by up to 3.5 % between runs, which is assumed; power 80 %)"));
  json const result = json::parse(folder.run(with_known_noise + " --format json").out);
  check_members(result,
                {{"failed", false}, {"outcome", "undecided"}, {"runs_needed", *needed}, {"/rows/0/undecided", true}, {"machine", nullptr}});
  // A regression that is large enough does not hide behind the noise.
  CHECK(folder.run("compare --fail-if-slower 3%" + quoted(folder.path / "a") + quoted(folder.write("c", made_report(3.0)))).code == 1);
}

TEST_CASE("a slower machine is reported, and is no slower program", "[program]") {
  program_folder const folder;
  auto const report = [](double step_factor, double probe_us, json const& waiting) {
    json result = json::parse(made_report());
    for (json& sample : result["steps"]["samples_ms"]) sample = sample.get<double>() * step_factor;
    result["environment"]["host_speed"] = {{"probe_before_us", probe_us}, {"probe_after_us", probe_us}, {"waiting_share", waiting}};
    return result.dump();
  };
  std::string const a = quoted(folder.write("a", report(1.0, 100.0, 0.0)));
  auto const same = folder.run("compare" + a + quoted(folder.write("same", report(1.0, 101.0, 0.0))));
  CHECK_THAT(same.out, ContainsSubstring("host speed: the machines are equally fast (probe +1.0 %, waiting for a processor +0.0 %)"));
  auto const slower = folder.run("compare --fail-if-slower 3%" + a + quoted(folder.write("slower", report(1.5, 120.0, 0.2))));
  CHECK(slower.code == 3);
  CHECK_THAT(slower.out,
             ContainsSubstring(
                 "host speed: the machine of B is 50.0 % slower (probe +20.0 %, waiting for a processor +25.0 %); the program is not "
                 "shown to be slower or faster: without the machine's part the step changed by +0.0 %"));
  CHECK_THAT(slower.err, ContainsSubstring("the machines differ by more than the limit: run A and B on one machine, in turns"));
  auto const program =
      folder.run("compare --fail-if-slower 3% --format json" + a + quoted(folder.write("program", report(2.0, 100.0, nullptr))));
  CHECK(program.code == 1);
  CHECK(json::parse(program.out)["machine"]["change"] == Approx(0.0));
  CHECK_THAT(folder.run("compare" + a + quoted(folder.write("faster", report(0.5, 50.0, 0.0)))).out,
             ContainsSubstring("host speed: the machine of B is faster, it takes 50.0 % less time"));
  auto const bad = folder.run("compare" + a + quoted(folder.write("bad", report(1.0, 100.0, 2.0))));
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, ContainsSubstring("bad/report.json: environment.host_speed.waiting_share is not a share"));
  CHECK(folder.run("compare" + a + quoted(folder.write("zero", report(1.0, 0.0, 0.0)))).code == 2);
}

TEST_CASE("a folder of runs is one side", "[program]") {
  program_folder const folder;
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(folder.write("a/" + std::to_string(i), made_report(1.0 + 0.001 * i)));
    static_cast<void>(folder.write("b/" + std::to_string(i), made_report(1.2 + 0.001 * i)));
  }
  auto const ran = folder.run("compare --format json" + quoted(folder.path / "a") + quoted(folder.path / "b"));
  REQUIRE(ran.code == 0);
  json const result = json::parse(ran.out);
  CHECK(result["noise"] == "measured");
  CHECK(result["a"]["reports"].size() == 5);
  CHECK(result["counts"]["SLOWER"] == 4);
}

TEST_CASE("reports that cannot be compared give one line with the file and the field, and exit code 2", "[program]") {
  program_folder const folder;
  fs::path const good = folder.write("good", made_report());
  auto const error_of = [&](std::string const& name, std::string const& content) {
    auto const result = folder.run("compare" + quoted(good) + quoted(folder.write(name, content)));
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find('\n') + 1 == result.err.size());
    CHECK_THAT(result.err, ContainsSubstring(name + "/report.json: "));
    return result.err;
  };
  auto const changed = [](auto change) {
    json report = json::parse(made_report());
    change(report);
    return report.dump();
  };
  CHECK_THAT(error_of("no_json", "<html>"), ContainsSubstring("is not JSON"));
  CHECK_THAT(folder.run("compare" + quoted(good) + " /dev/zero").err, ContainsSubstring("cannot open /dev/zero: it is not a regular file"));
  CHECK_THAT(error_of("list", "[]"), ContainsSubstring("schema is missing"));
  CHECK_THAT(error_of("schema", changed([](json& report) { report["schema"] = 2; })),
             ContainsSubstring("schema is 2, this program reads 1"));
  CHECK_THAT(error_of("no_steps", profkit::report_json(profkit::analyze({}))), ContainsSubstring("has no steps, unlike "));
  CHECK_THAT(error_of("one_step", changed([](json& report) { report["steps"]["samples_ms"] = {1.0}; })),
             ContainsSubstring("steps.samples_ms has 1 measured steps, at least 2 are needed"));
  CHECK_THAT(error_of("older", changed([](json& report) { report["scopes"][1].erase("per_step"); })),
             ContainsSubstring("scopes[1].per_step is missing: the report was written by an older profkit"));
  CHECK_THAT(error_of("text", changed([](json& report) { report["kernels"][0]["per_step"]["gpu_mean_ms"] = "long"; })),
             ContainsSubstring("kernels[0].per_step.gpu_mean_ms is not a number"));
  std::string const limit = "lists and objects are nested more than 100 levels deep, which is the limit";
  for (std::size_t const depth : {std::size_t{200'000}, std::size_t{1'000'000}}) {
    std::string const open(depth, '[');
    std::string const close(depth, ']');
    CHECK_THAT(error_of("brackets", open), ContainsSubstring(limit));
    CHECK_THAT(error_of("lists", open + close), ContainsSubstring(limit));
    CHECK_THAT(error_of("schema_list", "{\"schema\": " + open + close + "}"), ContainsSubstring(limit));
  }
  CHECK_THAT(error_of("text_with_brackets", changed([](json& report) { report["schema"] = "\\\"" + std::string(1000, '['); })),
             ContainsSubstring("schema is \""));
  CHECK_THAT(error_of("deep", changed([](json& report) { report["scopes"][1]["depth"] = 1'000'000; })),
             ContainsSubstring("scopes are nested more than 1024 levels deep, which is the limit"));
  CHECK_THAT(error_of("kind", changed([](json& report) { report["step_list"][0]["kind"] = 99; })),
             ContainsSubstring("a step has a kind that does not exist"));
  auto const missing = folder.run("compare" + quoted(good) + quoted(folder.path / "nowhere"));
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("nowhere: does not exist"));
  fs::create_directories(folder.path / "empty");
  CHECK_THAT(folder.run("compare" + quoted(good) + quoted(folder.path / "empty")).err,
             ContainsSubstring("no report.json and no summary.profkit in it"));
  CHECK_THAT(folder.run("compare --scope step/nothing" + quoted(good) + quoted(good)).err,
             ContainsSubstring("--scope step/nothing: no such scope"));
}

TEST_CASE("a summary.profkit is compared like the report.json of the same run", "[program]") {
  program_folder const folder;
  for (char const* const name : {"a", "b"}) {
    profkit::profile profile = made_gpu_profile();
    for (profkit::gpu_operation_record& each : profile.gpu_operations) {
      if (each.name == 1 && *name == 'b') each.time.end = each.time.begin + std::chrono::microseconds{1200};
    }
    profkit::report{std::make_shared<profkit::profile const>(profile)}.write((folder.path / name).string());
  }
  auto const rows_of = [&](char const* file) {
    auto const ran = folder.run(std::string{"compare --format json"} + quoted(folder.path / "a" / file) + quoted(folder.path / "b" / file) +
                                quiet_options);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["rows"];
  };
  json const rows = rows_of("summary.profkit");
  CHECK(rows.size() > 5);
  CHECK(rows == rows_of("report.json"));
  CHECK(rows[0]["name"] == "step time");
  fs::remove(folder.path / "a" / "report.json");
  CHECK(folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "b")).code == 0);
  std::ofstream{folder.path / "a" / "summary.profkit", std::ios::app} << "more";
  auto const damaged = folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "b"));
  CHECK(damaged.code == 2);
  CHECK_THAT(damaged.err, ContainsSubstring("a/summary.profkit: the summary is cut off or damaged"));
}

TEST_CASE("programs without steps are compared by the mean time of a scope", "[program]") {
  program_folder const folder;
  // A server with three kinds of scopes. In B, one takes twice as long, and another occurs more often.
  auto const report = [](std::int64_t slow_us, int parses) {
    profkit::profile profile;
    profile.paths = {{profkit::path_record::no_parent, "request", {}, "server.cpp", 1},
                     {0, "parse", {}, "server.cpp", 2},
                     {0, "answer", {}, "server.cpp", 3},
                     {0, "log", {}, "server.cpp", 4}};
    profile.threads = {{1, "main", profkit::path_record::no_parent}};
    profkit::timestamp now{std::chrono::seconds{1'700'000'000}};
    auto const add = [&](std::uint32_t path, std::int64_t us) {
      profile.scopes.push_back({{now, now + std::chrono::microseconds{us}}, path, 0});
      now += std::chrono::microseconds{us};
    };
    for (int i = 0; i < 40; ++i) {
      profkit::timestamp const begin = now;
      for (int k = 0; k < parses; ++k) add(1, 100 + i % 3);
      add(2, slow_us + i % 5);
      add(3, 50);
      profile.scopes.push_back({{begin, now}, 0, 0});
    }
    profile.time = {profkit::timestamp{std::chrono::seconds{1'700'000'000}}, now};
    return profkit::report_json(profkit::analyze(profile));
  };
  std::string const a = quoted(folder.write("a", report(200, 1)));
  auto const same = folder.run("compare --all" + a + a);
  CHECK(same.code == 0);
  CHECK_THAT(same.out, ContainsSubstring("(1 run, without steps)") && ContainsSubstring("4 scopes, 16 rows, no steps: 0 FASTER, 0 SLOWER"));
  CHECK_THAT(same.out, ContainsSubstring("the mean and quantiles of one scope"));
  CHECK(folder.run("compare --fail-if-slower 20%" + a + a).code == 3);
  auto const slower = folder.run("compare --format json" + a + quoted(folder.write("b", report(400, 3))));
  json const result = json::parse(slower.out);
  CHECK(result["covers"] == "session");
  auto const row_of = [&](json const& document, char const* name, char const* figure) {
    for (json const& each : document["rows"]) {
      if (each["name"] == name && each["figure"] == figure) return each;
    }
    return json{};
  };
  CHECK(result["rows"].size() == 16);
  json const parse = row_of(result, "request/parse", "mean");
  check_members(parse, R"({"a_count": 40, "b_count": 120})"_json);
  CHECK(parse["change"].get<double>() == Approx(0.0).margin(0.01));
  json const answer = row_of(result, "request/answer", "mean");
  check_members(answer, R"({"a_ms": 0.202, "b_ms": 0.402, "verdict": "SLOWER"})"_json);
  CHECK(row_of(result, "request/log", "mean")["verdict"] != "SLOWER");
  // The noise of a quantile is known only from several runs.
  json const p95 = row_of(result, "request/answer", "p95");
  check_members(p95, R"({"verdict": "UNSURE", "range": null})"_json);
  CHECK(p95["b_ms"].get<double>() == Approx(0.404).epsilon(0.011));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(folder.write("before/" + std::to_string(i), report(200 + i, 1)));
    static_cast<void>(folder.write("after/" + std::to_string(i), report(400 + i, 1)));
  }
  std::string const sides = quoted(folder.path / "before") + quoted(folder.path / "after");
  auto const failed = folder.run("compare --format json --fail-if-slower 50%" + sides);
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, ContainsSubstring("scope request/answer (p99) is slower by "));
  CHECK(row_of(json::parse(failed.out), "request/answer", "p50")["verdict"] == "SLOWER");
  CHECK(row_of(json::parse(failed.out), "request/log", "p99")["verdict"] != "SLOWER");
  CHECK_THAT(folder.run("compare" + sides).out, ContainsSubstring("host p95"));
  // With steps on one side only, the sides have no figure in common.
  auto const mixed = folder.run("compare" + a + quoted(folder.write("steps", made_report())));
  CHECK(mixed.code == 2);
  CHECK_THAT(mixed.err, ContainsSubstring("steps/report.json: has steps, unlike "));
}

TEST_CASE("bad arguments are named, with exit code 2", "[program]") {
  program_folder const folder;
  std::string const sides = quoted(folder.write("a", made_report())) + quoted(folder.path / "a");
  for (char const* const arguments :
       {" --fail-if-slower much", " --gpu-noise -1%", " --margin nan", " --metric watts", " --format xml", " --what"}) {
    auto const result = folder.run("compare" + sides + arguments);
    INFO(arguments);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, ContainsSubstring(std::string{arguments}.substr(1, 4)));
  }
  CHECK(folder.run("compare" + quoted(folder.path / "a")).code == 2);
}

TEST_CASE("GPU times that were not collected cannot be compared", "[program]") {
  program_folder const folder;
  profkit::profile profile = made_gpu_profile();
  profile.collectors.clear();
  fs::path const without = folder.write("a", profkit::report_json(profkit::analyze(profile)));
  auto const result = folder.run("compare --metric gpu" + quoted(without) + quoted(without));
  CHECK(result.code == 2);
  CHECK_THAT(result.err, ContainsSubstring("a/report.json: has no GPU times for --metric gpu"));
  CHECK_THAT(folder.run("compare" + quoted(without) + quoted(folder.write("b", made_report()))).out,
             ContainsSubstring("kernels were collected in B only: scopes are compared by host time"));
}
