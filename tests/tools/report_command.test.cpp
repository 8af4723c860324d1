// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/impl/profile/path_table.hpp>
#include <profkit/load_report.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "../support/made_gpu_profile.hpp"
#include "../support/report_text.hpp"
#include "nsys/nsys_csv.hpp"
#include "program_run.hpp"
#include "traces/pftrace.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

profkit::report report_of(profkit::profile const& what) { return profkit::report{std::make_shared<profkit::profile const>(what)}; }

profkit::summary summary_of(fs::path const& file) {
  return profkit::is_summary_file(file) ? profkit::load_summary(file) : profkit::load_report(file).summary();
}

}  // namespace

TEST_CASE("profkit report prints the report of a saved profile, in each format", "[report_command]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "saved";
  profkit::save(made_gpu_profile(), file);
  profkit::report const wanted = report_of(made_gpu_profile());
  CHECK(folder.run("report" + quoted(file)).out == wanted.text());
  CHECK(folder.run("report" + quoted(file) + " --full").out == wanted.full_text());
  CHECK(folder.run("report" + quoted(file) + " --format markdown").out == wanted.markdown());
  CHECK(folder.run("report" + quoted(file) + " --format json").out == profkit::report_json(wanted.summary()));
}

TEST_CASE("profkit report prints the report of a summary, and says that it has no single events", "[report_command]") {
  temporary_folder const folder;
  profkit::report const wanted = report_of(made_gpu_profile());
  wanted.write((folder.path() / "out").string());
  std::string const file = quoted(folder.path() / "out" / "summary.profkit");
  CHECK(folder.run("report" + file).out == wanted.text());
  CHECK(folder.run("report --full" + file).out == wanted.full_text());
  CHECK(folder.run("report" + file + " --format markdown").out == wanted.markdown());
  CHECK(folder.run("report" + file + " --format json").out == profkit::report_json(wanted.summary()));
}

TEST_CASE("profkit report --pftrace writes the compact trace of a profile, not of a summary or of ranks", "[report_command][pftrace]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "saved";
  fs::path const trace = folder.path() / "all.pftrace";
  profkit::save(made_gpu_profile(), file);
  temporary_folder::result const run = folder.run("report" + quoted(file) + " --pftrace" + quoted(trace) + " --trace-steps 2");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, ContainsSubstring(trace.string()));
  CHECK(content_of(trace) == profkit::trace_pftrace(made_gpu_profile(), 2));
  REQUIRE(folder.run("report" + quoted(file) + " --pftrace" + quoted(trace)).code == 0);
  CHECK(content_of(trace) == profkit::trace_pftrace(made_gpu_profile(), 3));
  report_of(made_gpu_profile()).write((folder.path() / "out").string());
  temporary_folder::result const of_summary = folder.run("report" + quoted(folder.path() / "out") + " --pftrace" + quoted(trace));
  CHECK(of_summary.code == 2);
  CHECK_THAT(of_summary.err, ContainsSubstring("a summary, which has no single events"));
  temporary_folder::result const of_ranks = folder.run("report" + quoted(file) + quoted(file) + " --pftrace" + quoted(trace));
  CHECK(of_ranks.code == 2);
  temporary_folder::result const nowhere = folder.run("report" + quoted(file) + " --pftrace /nowhere/a.pftrace");
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, ContainsSubstring("/nowhere/a.pftrace"));
}

TEST_CASE("profkit report --nsys writes the tables of nsys stats of a profile or a journal, not of a summary or of ranks",
          "[report_command]") {
  temporary_folder const folder;
  fs::path const tables = folder.path() / "deep" / "tables";
  fs::path const file = folder.path() / "saved";
  auto const is_written = [&](profkit::profile const& what, bool has_kernels) {
    for (fs::path const& name : {file, folder.path() / "journal"}) {
      CAPTURE(name);
      temporary_folder::result const run = folder.run("report" + quoted(name) + " --nsys" + quoted(tables));
      CHECK(run.code == 0);
      CHECK_THAT(run.out, ContainsSubstring("FILES    " + tables.string() + ":"));
      std::size_t files = 0;
      for (profkit::detail::named_csv const& each : profkit::nsys_csv(profkit::summarize_like_nsys(what), has_kernels)) {
        CAPTURE(each.name);
        CHECK(content_of(tables / each.name) == each.content);
        ++files;
      }
      CHECK(static_cast<std::size_t>(std::distance(fs::directory_iterator{tables}, {})) == files);
    }
    fs::remove_all(tables);
  };
  for (bool const has_kernels : {true, false}) {
    profkit::profile const what = has_kernels ? made_gpu_profile(true) : made_profile();
    profkit::save(what, file);
    profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
    profkit::detail::journal_encoder{}.append(what, true, bytes);
    std::ofstream{folder.path() / "journal", std::ios::binary} << bytes;
    is_written(what, has_kernels);
  }
  report_of(made_gpu_profile()).write((folder.path() / "out").string());
  temporary_folder::result const of_summary = folder.run("report" + quoted(folder.path() / "out") + " --nsys" + quoted(tables));
  CHECK(of_summary.code == 2);
  CHECK_THAT(of_summary.err, ContainsSubstring("a summary, which has no single events; --nsys needs"));
  temporary_folder::result const of_ranks = folder.run("report" + quoted(fs::path{TEST_RANKS} / "four") + " --nsys" + quoted(tables));
  CHECK(of_ranks.code == 2);
  CHECK_THAT(of_ranks.err, ContainsSubstring("--nsys needs one process"));
  CHECK_FALSE(fs::exists(tables));
  temporary_folder::result const nowhere = folder.run("report" + quoted(file) + " --nsys" + quoted(file / "tables"));
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, ContainsSubstring("cannot create the directory " + (file / "tables").string()));
}

TEST_CASE("profkit report --out of a summary writes the files that need no single events, and names the others", "[report_command]") {
  temporary_folder const folder;
  fs::path const first = folder.path() / "out";
  fs::path const again = folder.path() / "again";
  report_of(made_gpu_profile()).write(first.string());
  temporary_folder::result const run = folder.run("report" + quoted(first / "summary.profkit") + " --out" + quoted(again));
  REQUIRE(run.code == 0);
  auto const figures_in = [](fs::path const& folder_of_report) {
    nlohmann::json result = nlohmann::json::parse(content_of(folder_of_report / "report.json"));
    result["profkit"].erase("files");
    return result;
  };
  CHECK(figures_in(again) == figures_in(first));
  for (char const* const name : {"summary.profkit", "report.html", "report.md", "scopes.csv", "steps.csv", "kernels.csv"}) {
    CAPTURE(name);
    CHECK(content_of(again / name) == content_of(first / name));
    CHECK_THAT(run.out, ContainsSubstring(name));
  }
  CHECK_THAT(run.out, ContainsSubstring("not from a summary: traces"));
  CHECK_FALSE(fs::exists(again / "trace.json"));
  // In the folder of the report itself, it keeps files that it cannot write again.
  REQUIRE(folder.run("report" + quoted(first / "summary.profkit") + " --out" + quoted(first)).code == 0);
  CHECK(fs::exists(first / "trace.json"));
}

TEST_CASE("profkit report and compare read the deepest scopes of a report, and report refuses deeper ones and deep JSON",
          "[report_command]") {
  constexpr std::uint32_t max_depth = profkit::detail::path_table::max_depth_in_files;
  temporary_folder const folder;
  auto const saved = [&](std::uint32_t depth) {
    profkit::profile profile;
    profile.threads.push_back({1, "main"});
    profile.paths.push_back({profkit::path_record::no_parent, "step", {}, "a.cpp", 1});
    profile.paths.back().is_step = true;
    for (std::uint32_t i = 1; i < depth; ++i) profile.paths.push_back({i - 1, "s", {}, "a.cpp", 2});
    std::int64_t const length = 3 * std::int64_t{depth};
    auto const at = [](std::int64_t us) { return profkit::timestamp{std::chrono::microseconds{us}}; };
    for (std::uint64_t step = 0; step < 3; ++step) {
      std::int64_t const begin = static_cast<std::int64_t>(step) * length;
      profile.steps.push_back({{at(begin), at(begin + length)}, step});
      for (std::uint32_t i = depth; i-- > 0;) profile.scopes.push_back({{at(begin + i), at(begin + length - i)}, i, 0});
    }
    profile.time = {at(0), at(3 * length)};
    fs::path file = folder.path() / "saved";
    profkit::save(profile, file);
    return file;
  };
  fs::path const out = folder.path() / "out";
  REQUIRE(folder.run("report" + quoted(saved(max_depth)) + " --full --out" + quoted(out)).code == 0);
  CHECK(summary_of(out / "summary.profkit").scopes.size() == max_depth);
  CHECK(folder.run("report --full" + quoted(out / "summary.profkit")).code == 0);
  temporary_folder::result const equal = folder.run("compare" + quoted(out) + quoted(out));
  CHECK(equal.code == 0);
  for (std::uint32_t const depth : {10'000U, 1'000'000U}) {
    temporary_folder::result const run = folder.run("report" + quoted(saved(depth)));
    CHECK(run.code == 2);
    CHECK_THAT(run.err,
               ContainsSubstring("saved: ") && ContainsSubstring("scopes are nested more than 1024 levels deep, which is the limit"));
  }
  fs::path const brackets = folder.write("json", std::string(1'000'000, '[')) / "report.json";
  temporary_folder::result const run = folder.run("report" + quoted(brackets));
  CHECK(run.code == 2);
  CHECK_THAT(run.err, ContainsSubstring("report.json"));
}

TEST_CASE("profkit report --format document prints the document of a profile and of ranks as JSON", "[report_command]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "saved";
  profkit::save(made_gpu_profile(), file);
  nlohmann::json const made = nlohmann::json::parse(folder.run("report" + quoted(file) + " --format document").out);
  CHECK(made.at("sections").at(0).at("title") == "Steps");
  CHECK_FALSE(made.at("headline").get<std::string>().empty());
  nlohmann::json const job = nlohmann::json::parse(folder.run("report" + quoted(fs::path{TEST_RANKS} / "four") + " --format document").out);
  CHECK(job.at("headline") == "4 ranks step together in 9.48\u00a0ms, and no rank holds the others up");
  CHECK(job.at("sections").at(0).at("tables").at(0).at("rows").size() == 5);
  CHECK(folder.run("report" + quoted(file) + " --format document --full").code == 2);
}

TEST_CASE("profkit report reads the journal of a session that did not end, and says so", "[report_command]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "journal";
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(made_gpu_profile(), false, bytes);
  std::ofstream{file, std::ios::binary} << bytes << "part of a frame";
  temporary_folder::result const found = folder.run("report --full" + quoted(file) + " --out" + quoted(folder.path() / "out"));
  CHECK(found.code == 0);
  CHECK_THAT(squeezed(found.out), ContainsSubstring("\njournal recovered the session did not end"));
  CHECK_THAT(found.out, ContainsSubstring("15 bytes behind that are not whole"));
  auto const written = nlohmann::json::parse(content_of(folder.path() / "out" / "report.json"));
  CHECK(written["quality"]["collectors"].back()["status"] == "recovered");
}

TEST_CASE("profkit report writes the page of a profile, of a summary and of a journal", "[report_command]") {
  temporary_folder const folder;
  profkit::report const wanted = report_of(made_gpu_profile());
  wanted.write((folder.path() / "out").string());
  CHECK(content_of(folder.path() / "out" / "report.html") == wanted.html());
  profkit::save(made_gpu_profile(), folder.path() / "saved");
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(made_gpu_profile(), true, bytes);
  std::ofstream{folder.path() / "journal", std::ios::binary} << bytes;
  for (char const* const name : {"out/summary.profkit", "saved", "journal"}) {
    INFO(name);
    fs::path const page = folder.path() / "page.html";
    temporary_folder::result const found = folder.run("report" + quoted(folder.path() / name) + " --html" + quoted(page));
    CHECK(found.code == 0);
    CHECK_THAT(found.out, ContainsSubstring("A step takes"));
    CHECK(content_of(page) == profkit::report_html(summary_of(folder.path() / name)));
    fs::remove(page);
  }
  temporary_folder::result const refused =
      folder.run("report" + quoted(folder.path() / "saved") + " --html" + quoted(folder.path() / "none" / "page.html"));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("page.html: No such file or directory"));
}

TEST_CASE("profkit report --json writes report.json of a profile, of a summary, of the folder of a report and of a journal",
          "[report_command]") {
  temporary_folder const folder;
  report_of(made_gpu_profile()).write((folder.path() / "out").string());
  profkit::save(made_gpu_profile(), folder.path() / "saved");
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(made_gpu_profile(), true, bytes);
  std::ofstream{folder.path() / "journal", std::ios::binary} << bytes;
  for (char const* const name : {"out", "out/summary.profkit", "saved", "journal"}) {
    INFO(name);
    fs::path const file = folder.path() / "figures.json";
    temporary_folder::result const found = folder.run("report" + quoted(folder.path() / name) + " --json" + quoted(file));
    CHECK(found.code == 0);
    CHECK_THAT(found.out, ContainsSubstring("A step takes") && ContainsSubstring("FILES    " + file.string()));
    fs::path const source = folder.path() / name;
    CHECK(content_of(file) == profkit::report_json(summary_of(fs::is_directory(source) ? source / "summary.profkit" : source)));
    fs::remove(file);
  }
}

TEST_CASE("profkit report --full with JSON is refused: report.json always has all figures", "[report_command]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "saved";
  profkit::save(made_gpu_profile(), file);
  temporary_folder::result const refused = folder.run("report --full --format json" + quoted(file));
  CHECK(refused.code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, ContainsSubstring("--full is for text; --format json always has all figures. Remove --full"));
  CHECK(folder.run("report --full --format markdown" + quoted(file)).code == 0);
}

TEST_CASE("profkit report names a file that it cannot read", "[report_command]") {
  temporary_folder const folder;
  fs::path const file = folder.path() / "none";
  CHECK(folder.run("report" + quoted(file)).code == 2);
  CHECK_THAT(folder.run("report" + quoted(file)).err, ContainsSubstring("cannot open " + file.string()));
  std::ofstream{file} << "{}";
  CHECK(folder.run("report" + quoted(file)).code == 2);
  CHECK_THAT(folder.run("report" + quoted(file)).err, ContainsSubstring(file.string() + " is not a profkit profile"));
  CHECK(folder.run("report").code == 2);
}
