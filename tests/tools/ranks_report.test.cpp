// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/record_types.hpp>
#include <profkit/profile.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <nlohmann/json.hpp>

#include "../support/html_fault.hpp"
#include "../support/testing.hpp"
#include "program_run.hpp"

namespace {

/// The text without line breaks and double spaces.
std::string joined(std::string const& text) {
  std::istringstream words{text};
  std::string result;
  for (std::string word; words >> word;) result += word + " ";
  return result;
}

fs::path recorded_job(char const* name) { return fs::path{TEST_RANKS} / name; }

}  // namespace

TEST_CASE("profkit report of a folder of ranks says which rank holds the others up, and why", "[ranks_report]") {
  program_folder const folder;
  auto const report = [&](char const* name) {
    program_folder::result const run = folder.run("report" + quoted(recorded_job(name)));
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    CHECK(std::count(run.out.begin(), run.out.end(), '\n') <= 60);
    return joined(run.out);
  };
  CHECK_THAT(report("even"), ContainsSubstring("2 ranks step together in 8.62 ms, and no rank holds the others up."));
  CHECK_THAT(report("slowgpu"),
             ContainsSubstring("Rank 1 (vm) holds the others up by 3.01 ms (26 %, 3.00 to 3.01) of each 11.6 ms step: extra takes 3.01 ms "
                               "of GPU time a step there, on no other rank."));
  CHECK_THAT(report("slowhost"),
             ContainsSubstring("Rank 1 (vm) holds the others up by 7.11 ms (45 %, 6.60 to 7.62) of each 15.8 ms step: its GPU waits "
                               "7.11 ms a step while its host is in data; no other rank waits there."));
  std::string const four = report("four");
  CHECK_THAT(four, ContainsSubstring("4 ranks step together in 9.48 ms, and no rank holds the others up."));
  CHECK_THAT(four, ContainsSubstring("Rank 1 (vm) has the slowest host, which costs nothing yet: 6.17 ms a step, the others 3.03 ms; its "
                                     "data takes 3.07 ms, the others have none."));
}

TEST_CASE("the report of one rank of a job says how to see all ranks", "[ranks_report]") {
  program_folder const folder;
  std::string const of_rank = joined(folder.run("report" + quoted(recorded_job("even") / "rank0.profile")).out);
  CHECK_THAT(of_rank, ContainsSubstring("This is rank 0 of 2.") && ContainsSubstring("profkit report DIR shows all ranks"));
  CHECK_THAT(folder.run("report" + quoted(recorded_job("even"))).out, !ContainsSubstring("This is rank"));
}

TEST_CASE("profkit report of a folder writes a page and JSON", "[ranks_report]") {
  program_folder const folder;
  fs::path const page = folder.path / "ranks.html";
  program_folder::result const run = folder.run("report" + quoted(recorded_job("slowgpu")) + " --format json --html" + quoted(page));
  REQUIRE(run.code == 0);
  nlohmann::json const job = nlohmann::json::parse(run.out).at("job");
  CHECK(job.at("straggler").at("path") == "step/forward/extra");
  CHECK(job.at("ranks").size() == 2);
  CHECK(job.at("held_others_up").at("values_ms").at(1).size() == 25);
  double path = 0.0;
  for (nlohmann::json const& part : job.at("critical_path")) path += part.at("ms").get<double>();
  CHECK(path == Catch::Approx(job.at("step_ms").get<double>()).epsilon(0.002));
  nlohmann::json const& extra = job.at("critical_path").at(1);
  CHECK(extra.at("kind") == "GPU");
  CHECK(extra.at("position") == 1);
  CHECK(extra.at("path") == "step/forward/extra");
  CHECK(extra.at("ms").get<double>() == Catch::Approx(3.0).margin(0.05));
  std::string const html = text_of_file(page);
  CHECK(html_fault(html) == "");
  CHECK(html.size() < 100'000);
  CHECK_THAT(html, ContainsSubstring("class=\"heat\"") && ContainsSubstring("<h2>Collectives</h2>") &&
                       ContainsSubstring("<h2>Critical path</h2>"));
  CHECK_THAT(html, ContainsSubstring("title=\"exposed waiting: ") && ContainsSubstring("low\" style=\"left:0") &&
                       ContainsSubstring("title=\"communication beside computing: 0"));
  CHECK_THAT(html, ContainsSubstring("class=\"lanes\"") && ContainsSubstring("GPU time a step on rank 1 (vm), none on the others."));
}

TEST_CASE("profkit report finds what ranks write with journal=FILE, out=DIR and out=DIR/%r", "[ranks_report]") {
  program_folder const folder;
  for (char const* const layout : {"app.journal.rank", "rank", ""}) {
    CAPTURE(layout);
    fs::path const job = folder.path / ("job-" + std::string{layout});
    for (std::string const rank : {"0", "1"}) {
      fs::path const recorded = recorded_job("slowgpu") / ("rank" + rank + ".profile");
      fs::path const to = job / (layout + rank);
      bool const is_journal = std::string_view{layout}.size() > 4;
      fs::create_directories(is_journal ? job : to);
      if (is_journal) {
        fs::copy_file(recorded, to);
      } else {
        profkit::save_summary(profkit::analyze(profkit::load(recorded)), to / "summary.profkit");
      }
    }
    std::ofstream{job / "trace.rank0.json"} << "{}";
    fs::create_directories(job / "2026");  // no report
    program_folder::result const run = folder.run("report" + quoted(job));
    CHECK(run.code == 0);
    CHECK_THAT(run.out, ContainsSubstring("Rank 1 (vm) holds the others up by 3.01 ms") && ContainsSubstring("2 of 2 ranks"));
  }
}

TEST_CASE("the functions of sampled ranks are in the page and in JSON", "[ranks_report]") {
  program_folder const folder;
  fs::path const job_folder = folder.path / "job";
  fs::create_directories(job_folder);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    profkit::profile recorded = profkit::load((recorded_job("even") / ("rank" + std::to_string(rank) + ".profile")).string());
    recorded.functions = {{"decode", "program", ""}};
    recorded.sampling = profkit::sampling_record{"made", std::chrono::milliseconds{1}, 0, 1, 0, ""};
    for (profkit::step_record const& step : recorded.steps) {
      for (std::uint32_t i = 0; i < 20 * (rank + 1); ++i) {
        recorded.samples.push_back({step.time.begin + std::chrono::microseconds{10 * i}, profkit::path_record::no_parent, 0, 0, 100'000});
      }
    }
    profkit::save(recorded, (job_folder / ("rank" + std::to_string(rank) + ".profile")).string());
  }
  fs::path const page = folder.path / "ranks.html";
  program_folder::result const run = folder.run("report" + quoted(job_folder) + " --format json --html" + quoted(page));
  REQUIRE(run.code == 0);
  nlohmann::json const functions = nlohmann::json::parse(run.out).at("job").at("functions");
  REQUIRE(functions.size() == 1);
  CHECK(functions[0].at("name") == "decode");
  CHECK(functions[0].at("is_different") == true);
  CHECK_THAT(text_of_file(page),
             ContainsSubstring("<h2>Functions by host samples</h2>") && ContainsSubstring("outside any scope: decode takes"));
}

TEST_CASE("the trace of all ranks uses one clock", "[ranks_report]") {
  program_folder const folder;
  fs::path const file = folder.path / "ranks.json";
  REQUIRE(folder.run("report" + quoted(recorded_job("slowgpu")) + " --trace" + quoted(file)).code == 0);
  nlohmann::json const trace = nlohmann::json::parse(text_of_file(file));
  std::map<std::pair<int, std::string>, double> ends;  // of collectives, by rank
  std::map<int, double> waiting;                       // by rank
  std::set<std::string> names;
  for (nlohmann::json const& each : trace.at("traceEvents")) {
    std::string const name = each.at("name");
    int const rank = each.at("pid");
    if (name == "process_name") names.insert(each.at("args").at("name"));
    if (name.rfind("AllReduce", 0) == 0) ends[{rank, name}] = each.at("ts").get<double>() + each.at("dur").get<double>();
    if (name == "waiting") waiting[rank] += each.at("dur").get<double>();
  }
  CHECK(names == std::set<std::string>{"rank 0 (vm)", "rank 1 (vm)"});
  REQUIRE(ends.size() == 600);
  int apart = 0;
  for (auto const& [at, end] : ends) apart += at.first == 0 && std::abs(end - ends.at({1, at.second})) > 50.0 ? 1 : 0;
  CHECK(apart < 10);
  CHECK(waiting[0] > 20 * 4'000.0);
  program_folder::result const refused =
      folder.run("report" + quoted(recorded_job("slowgpu") / "rank0.profile") + " --trace" + quoted(file));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--trace needs a folder of ranks"));
}

TEST_CASE("the trace of all ranks has one file of each rank", "[ranks_report]") {
  program_folder const folder;
  fs::path const job = folder.path / "job";
  fs::create_directories(job);
  for (char const* const name : {"rank0.profile", "rank1.profile"}) fs::copy_file(recorded_job("slowgpu") / name, job / name);
  profkit::profile second = profkit::load((job / "rank1.profile").string());
  second.environment.rank = profkit::rank_record{1, 2};
  profkit::save(second, (job / "rank0.journal").string());  // left from another run: its content is of rank 1
  fs::path const file = folder.path / "ranks.json";
  program_folder::result const run = folder.run("report" + quoted(job) + " --trace" + quoted(file));
  CHECK(run.code == 0);
  CHECK_THAT(joined(run.out), ContainsSubstring("there is another file of this rank:"));
  std::map<int, int> processes;
  std::set<std::pair<int, std::string>> collectives;
  nlohmann::json const trace = nlohmann::json::parse(text_of_file(file));
  std::size_t count = 0;
  for (nlohmann::json const& each : trace.at("traceEvents")) {
    std::string const name = each.at("name");
    if (name == "process_name") ++processes[each.at("pid").get<int>()];
    if (name.rfind("AllReduce", 0) != 0) continue;
    ++count;
    collectives.emplace(each.at("pid").get<int>(), name);
  }
  CHECK(processes == std::map<int, int>{{0, 1}, {1, 1}});
  CHECK(count == 600);
  CHECK(collectives.size() == 600);
}

TEST_CASE("profkit report prints a folder as Markdown and as full text", "[ranks_report]") {
  program_folder const folder;
  std::string const markdown = folder.run("report" + quoted(recorded_job("four")) + " --format markdown").out;
  CHECK_THAT(markdown, ContainsSubstring("4 ranks step together in") && ContainsSubstring("## Collectives"));
  CHECK_THAT(folder.run("report" + quoted(recorded_job("four")) + " --full").out, ContainsSubstring("4 ranks step together in"));
}

TEST_CASE("profkit report reads the summaries of ranks, and names unusable ones", "[ranks_report]") {
  program_folder const folder;
  fs::path const job = folder.path / "job";
  for (int rank = 0; rank < 2; ++rank) {
    std::string const name = "rank" + std::to_string(rank);
    fs::create_directories(job / name);
    profkit::save_summary(profkit::analyze(profkit::load(recorded_job("slowgpu") / (name + ".profile"))), job / name / "summary.profkit");
  }
  fs::create_directories(job / "rank2");
  std::ofstream{job / "rank2" / "summary.profkit"} << "profkit-summary\ndamaged";
  program_folder::result const run = folder.run("report" + quoted(job));
  CHECK(run.code == 0);
  CHECK_THAT(joined(run.out), ContainsSubstring("Rank 1 (vm) holds the others up by 3.01 ms") &&
                                  ContainsSubstring("Not all ranks can be compared. rank 2 (") && ContainsSubstring("2 of 3 ranks"));
  // The folder of the damaged file is named, once.
  nlohmann::json const problems = nlohmann::json::parse(folder.run("report" + quoted(job) + " --format json").out).at("job").at("problems");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == "rank 2 (" + (job / "rank2" / "summary.profkit").string() + "): the file is cut off");
  fs::create_directories(folder.path / "of-four");
  for (char const* const name : {"rank0.profile", "rank1.profile", "rank2.profile"}) {
    fs::copy(recorded_job("four") / name, folder.path / "of-four" / name);
  }
  CHECK_THAT(joined(folder.run("report" + quoted(folder.path / "of-four")).out),
             ContainsSubstring("Not all ranks can be compared. rank 3 has no file.") && ContainsSubstring("3 of 4 ranks"));
  program_folder::result const none = folder.run("report" + quoted(folder.path));
  CHECK(none.code == 2);
  CHECK_THAT(none.err, ContainsSubstring("has no summary.profkit and no ranks"));
}

TEST_CASE("profkit report fails if no file of a job can be read, and writes nothing", "[ranks_report]") {
  program_folder const folder;
  fs::path const job = folder.path / "job";
  for (char const* const name : {"rank0", "rank1"}) {
    fs::create_directories(job / name);
    std::ofstream{job / name / "summary.profkit"} << "profkit-summary\ndamaged";
  }
  fs::path const page = folder.path / "page.html";
  program_folder::result const run = folder.run("report" + quoted(job) + " --html" + quoted(page));
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, ContainsSubstring("none of the files of the ranks can be read. Rank 0: " +
                                        (job / "rank0" / "summary.profkit").string() + ": the file is cut off"));
  CHECK_FALSE(fs::exists(page));
}

TEST_CASE("profkit report takes the ranks of a job as several paths: files, folders of reports, and folders of ranks", "[ranks_report]") {
  program_folder const folder;
  fs::path const job = recorded_job("slowgpu");
  std::string const wanted = folder.run("report" + quoted(job)).out;
  CHECK_THAT(wanted, ContainsSubstring("Rank 1 (vm) holds the others up by 3.01 ms"));
  CHECK(folder.run("report" + quoted(job / "rank1.profile") + quoted(job / "rank0.profile")).out == wanted);
  fs::create_directories(folder.path / "a" / "rank0");
  profkit::save_summary(profkit::analyze(profkit::load(job / "rank0.profile")), folder.path / "a" / "rank0" / "summary.profkit");
  CHECK(folder.run("report" + quoted(folder.path / "a" / "rank0") + quoted(job / "rank1.profile")).out == wanted);
  CHECK(folder.run("report" + quoted(folder.path / "a") + quoted(job / "rank1.profile")).out == wanted);
  // A name that tells nothing: the launcher's rank is in the file.
  profkit::profile second = profkit::load(job / "rank1.profile");
  second.environment.rank = profkit::rank_record{1, 2};
  profkit::save(second, folder.path / "second");
  CHECK(folder.run("report" + quoted(job / "rank0.profile") + quoted(folder.path / "second")).out == wanted);
  second.environment.rank.reset();
  profkit::save(second, folder.path / "third");
  std::string const first = quoted(job / "rank0.profile");
  auto const refused = [&](std::string const& others, char const* why) {
    program_folder::result const run = folder.run("report" + first + others);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, ContainsSubstring(why));
  };
  refused(quoted(folder.path / "third"), "third: its rank is unknown");
  refused(first, "both are rank 0. Several paths are the ranks of one job; profkit compare compares runs");
  refused(quoted(folder.path / "none"), "none: does not exist");
  refused(quoted(folder.path), "has no summary.profkit and no ranks");
  refused(quoted(job / "rank1.profile") + " --out x", "--out needs one process");
}

TEST_CASE("profkit report --json of several ranks has a row per rank, the straggler and the collectives", "[ranks_report]") {
  program_folder const folder;
  fs::path const file = folder.path / "ranks.json";
  auto const json_of = [&](char const* name) {
    program_folder::result const run = folder.run("report" + quoted(recorded_job(name)) + " --json" + quoted(file));
    CHECK(run.code == 0);
    CHECK_THAT(run.out, ContainsSubstring("FILES    " + file.string()));
    return nlohmann::json::parse(text_of_file(file));
  };
  nlohmann::json const job = json_of("slowgpu");
  CHECK(job.at("schema") == 1);
  CHECK(job.at("schema_minor") >= 1);
  CHECK(job.at("straggler") ==
        nlohmann::json{{"rank", 1}, {"scope", "step/forward/extra"}, {"ms", job.at("job").at("straggler").at("excess_ms")}});
  REQUIRE(job.at("ranks").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    nlohmann::json const& row = job.at("ranks").at(i);
    nlohmann::json const& all = job.at("job").at("ranks").at(i);
    CHECK(row.size() == 9);
    CHECK(row.at("rank") == i);
    CHECK(row.at("host") == "vm");
    CHECK(row.at("step_mean_ms") == all.at("step_ms"));
    CHECK(row.at("gpu_busy_ms").get<double>() + all.at("idle_ms").get<double>() == Catch::Approx(all.at("step_ms").get<double>()));
    CHECK(row.at("communication_ms") == all.at("communication_ms"));
    CHECK(row.at("exposed_ms").get<double>() > 0.2);
    CHECK(row.at("wait_ms") == all.at("waiting_ms"));
    CHECK(row.at("imposed_wait_ms") == all.at("held_others_up_ms"));
  }
  CHECK(job.at("ranks").at(1).at("arrived_last") == 1.0);
  CHECK(job.at("collectives") == job.at("job").at("collectives"));
  CHECK(job.at("collectives").at(0).at("function") == "AllReduce");
  CHECK(json_of("even").at("straggler").is_null());
}
