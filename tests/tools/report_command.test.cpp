// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/journal_encoder.hpp>
#include <profkit/impl/profile/path_table.hpp>
#include <profkit/load_report.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <sys/stat.h>

#include "../support/made_gpu_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/report_text.hpp"
#include "../support/testing.hpp"
#include "nsys/nsys_csv.hpp"
#include "program_run.hpp"
#include "traces/pftrace.hpp"

namespace {

profkit::summary summary_of(fs::path const& file) {
  return profkit::is_summary_file(file) ? profkit::load_summary(file) : profkit::load_report(file).summary();
}

/// @param is_complete whether the session ended.
void write_journal(fs::path const& file, profkit::profile const& what, bool is_complete = true, char const* tail = "") {
  profkit::detail::own_string bytes = profkit::detail::journal_encoder::beginning();
  profkit::detail::journal_encoder{}.append(what, is_complete, bytes);
  std::ofstream{file, std::ios::binary} << bytes << tail;
}

}  // namespace

TEST_CASE("profkit report prints the report of a saved profile and of a summary, in each format", "[report_command]") {
  program_folder const folder;
  profkit::report const wanted = report_of(made_gpu_profile());
  profkit::save(made_gpu_profile(), folder.path / "saved");
  wanted.write((folder.path / "out").string());
  for (char const* const name : {"saved", "out/summary.profkit"}) {
    INFO(name);
    std::string const file = quoted(folder.path / name);
    CHECK(folder.run("report" + file).out == wanted.text());
    CHECK(folder.run("report --full" + file).out == wanted.full_text());
    CHECK(folder.run("report" + file + " --format markdown").out == wanted.markdown());
    CHECK(folder.run("report" + file + " --format json").out == profkit::report_json(wanted.summary()));
  }
}

TEST_CASE("profkit report --pftrace writes the compact trace of a profile, not of a summary or of ranks", "[report_command][pftrace]") {
  program_folder const folder;
  fs::path const file = folder.path / "saved";
  fs::path const trace = folder.path / "all.pftrace";
  profkit::save(made_gpu_profile(), file);
  program_folder::result const run = folder.run("report" + quoted(file) + " --pftrace" + quoted(trace) + " --trace-steps 2");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, ContainsSubstring(trace.string()));
  CHECK(text_of_file(trace) == profkit::trace_pftrace(made_gpu_profile(), 2));
  REQUIRE(folder.run("report" + quoted(file) + " --pftrace" + quoted(trace)).code == 0);
  CHECK(text_of_file(trace) == profkit::trace_pftrace(made_gpu_profile(), 3));
  report_of(made_gpu_profile()).write((folder.path / "out").string());
  program_folder::result const of_summary = folder.run("report" + quoted(folder.path / "out") + " --pftrace" + quoted(trace));
  CHECK(of_summary.code == 2);
  CHECK_THAT(of_summary.err, ContainsSubstring("a summary, which has no single events"));
  program_folder::result const of_ranks = folder.run("report" + quoted(file) + quoted(file) + " --pftrace" + quoted(trace));
  CHECK(of_ranks.code == 2);
  program_folder::result const nowhere = folder.run("report" + quoted(file) + " --pftrace /nowhere/a.pftrace");
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, ContainsSubstring("/nowhere/a.pftrace"));
}

TEST_CASE("profkit report --nsys writes the tables of nsys stats of a profile or a journal, not of a summary or of ranks",
          "[report_command]") {
  program_folder const folder;
  fs::path const tables = folder.path / "deep" / "tables";
  fs::path const file = folder.path / "saved";
  auto const is_written = [&](profkit::profile const& what, bool has_kernels) {
    for (fs::path const& name : {file, folder.path / "journal"}) {
      CAPTURE(name);
      program_folder::result const run = folder.run("report" + quoted(name) + " --nsys" + quoted(tables));
      CHECK(run.code == 0);
      CHECK_THAT(run.out, ContainsSubstring("FILES    " + tables.string() + ":"));
      std::size_t files = 0;
      for (profkit::detail::named_csv const& each : profkit::nsys_csv(profkit::summarize_like_nsys(what), has_kernels)) {
        CAPTURE(each.name);
        CHECK(text_of_file(tables / each.name) == each.content);
        ++files;
      }
      CHECK(static_cast<std::size_t>(std::distance(fs::directory_iterator{tables}, {})) == files);
    }
    fs::remove_all(tables);
  };
  for (bool const has_kernels : {true, false}) {
    profkit::profile const what = has_kernels ? made_gpu_profile(true) : made_profile();
    profkit::save(what, file);
    write_journal(folder.path / "journal", what);
    is_written(what, has_kernels);
  }
  report_of(made_gpu_profile()).write((folder.path / "out").string());
  program_folder::result const of_summary = folder.run("report" + quoted(folder.path / "out") + " --nsys" + quoted(tables));
  CHECK(of_summary.code == 2);
  CHECK_THAT(of_summary.err, ContainsSubstring("a summary, which has no single events; --nsys needs"));
  program_folder::result const of_ranks = folder.run("report" + quoted(fs::path{TEST_RANKS} / "four") + " --nsys" + quoted(tables));
  CHECK(of_ranks.code == 2);
  CHECK_THAT(of_ranks.err, ContainsSubstring("--nsys needs one process"));
  CHECK_FALSE(fs::exists(tables));
  program_folder::result const nowhere = folder.run("report" + quoted(file) + " --nsys" + quoted(file / "tables"));
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, ContainsSubstring("cannot create the directory " + (file / "tables").string()));
}

TEST_CASE("profkit report --out of a summary writes the files that need no single events, and names the others", "[report_command]") {
  program_folder const folder;
  fs::path const first = folder.path / "out";
  fs::path const again = folder.path / "again";
  report_of(made_gpu_profile()).write(first.string());
  program_folder::result const run = folder.run("report" + quoted(first / "summary.profkit") + " --out" + quoted(again));
  REQUIRE(run.code == 0);
  auto const figures_in = [](fs::path const& folder_of_report) {
    nlohmann::json result = nlohmann::json::parse(text_of_file(folder_of_report / "report.json"));
    result["profkit"].erase("files");
    return result;
  };
  CHECK(figures_in(again) == figures_in(first));
  for (char const* const name : {"summary.profkit", "report.html", "report.md", "scopes.csv", "steps.csv", "kernels.csv"}) {
    CAPTURE(name);
    CHECK(text_of_file(again / name) == text_of_file(first / name));
    CHECK_THAT(run.out, ContainsSubstring(name));
  }
  CHECK_THAT(run.out, ContainsSubstring("not from a summary: traces"));
  CHECK_FALSE(fs::exists(again / "trace.json"));
  // In the folder of the report itself, it keeps files that it cannot write again.
  REQUIRE(folder.run("report" + quoted(first / "summary.profkit") + " --out" + quoted(first)).code == 0);
  CHECK(fs::exists(first / "trace.json"));
}

TEST_CASE("profkit report --format document prints the document of a profile and of ranks as JSON", "[report_command]") {
  program_folder const folder;
  fs::path const file = folder.path / "saved";
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
  program_folder const folder;
  fs::path const file = folder.path / "journal";
  write_journal(file, made_gpu_profile(), false, "part of a frame");
  program_folder::result const found = folder.run("report --full" + quoted(file) + " --out" + quoted(folder.path / "out"));
  CHECK(found.code == 0);
  CHECK_THAT(squeezed(found.out), ContainsSubstring("\njournal recovered the session did not end"));
  CHECK_THAT(found.out, ContainsSubstring("15 bytes behind that are not whole"));
  auto const written = nlohmann::json::parse(text_of_file(folder.path / "out" / "report.json"));
  CHECK(written["quality"]["collectors"].back()["status"] == "recovered");
}

TEST_CASE("profkit report writes the page and report.json of a profile, of a summary, of the folder of a report and of a journal",
          "[report_command]") {
  program_folder const folder;
  profkit::report const wanted = report_of(made_gpu_profile());
  wanted.write((folder.path / "out").string());
  CHECK(text_of_file(folder.path / "out" / "report.html") == wanted.html());
  profkit::save(made_gpu_profile(), folder.path / "saved");
  write_journal(folder.path / "journal", made_gpu_profile());
  for (char const* const name : {"out", "out/summary.profkit", "saved", "journal"}) {
    INFO(name);
    fs::path const source = folder.path / name;
    profkit::summary const summary = summary_of(fs::is_directory(source) ? source / "summary.profkit" : source);
    fs::path const page = folder.path / "page.html";
    fs::path const file = folder.path / "figures.json";
    program_folder::result const found = folder.run("report" + quoted(source) + " --html" + quoted(page) + " --json" + quoted(file));
    CHECK(found.code == 0);
    CHECK_THAT(found.out, ContainsSubstring("A step takes") && ContainsSubstring("FILES    ") && ContainsSubstring(file.string()));
    CHECK(text_of_file(page) == profkit::report_html(summary));
    CHECK(text_of_file(file) == profkit::report_json(summary));
    fs::remove(page);
    fs::remove(file);
  }
  program_folder::result const refused =
      folder.run("report" + quoted(folder.path / "saved") + " --html" + quoted(folder.path / "none" / "page.html"));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("page.html: No such file or directory"));
}

TEST_CASE("profkit report --full with JSON is refused: report.json always has all figures", "[report_command]") {
  program_folder const folder;
  fs::path const file = folder.path / "saved";
  profkit::save(made_gpu_profile(), file);
  program_folder::result const refused = folder.run("report --full --format json" + quoted(file));
  CHECK(refused.code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, ContainsSubstring("--full is for text; --format json always has all figures. Remove --full"));
  CHECK(folder.run("report --full --format markdown" + quoted(file)).code == 0);
}

TEST_CASE("profkit report names a file that it cannot read", "[report_command]") {
  program_folder const folder;
  fs::path const file = folder.path / "none";
  CHECK(folder.run("report" + quoted(file)).code == 2);
  CHECK_THAT(folder.run("report" + quoted(file)).err, ContainsSubstring("cannot open " + file.string()));
  std::ofstream{file} << "{}";
  CHECK(folder.run("report" + quoted(file)).code == 2);
  CHECK_THAT(folder.run("report" + quoted(file)).err, ContainsSubstring(file.string() + " is not a profkit profile"));
  CHECK(folder.run("report").code == 2);
}

TEST_CASE("a pipe or a device is no file to read, wherever it is", "[report_command]") {
  program_folder const folder;
  fs::path const pipe = folder.path / "report.json";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_directories(folder.path / "ranks" / "rank0");
  REQUIRE(::mkfifo((folder.path / "ranks" / "rank0" / "summary.profkit").c_str(), 0600) == 0);
  std::string const why = "cannot open " + pipe.string() + ": it is not a regular file";
  for (std::string const& command : {"report" + quoted(pipe), "compare" + quoted(pipe) + quoted(pipe)}) {
    auto const found = folder.run(command);  // nobody writes into the pipe
    CHECK(found.code == 2);
    CHECK_THAT(found.err, ContainsSubstring(why));
  }
  CHECK_THAT(folder.run("report /dev/zero").err, ContainsSubstring("cannot open /dev/zero: it is not a regular file"));
  CHECK_THAT(folder.run("report" + quoted(folder.path / "ranks")).err, ContainsSubstring("it is not a regular file"));
}

TEST_CASE("process ids and other numbers of options are decimal and in range", "[report_command]") {
  program_folder const folder;
  for (char const* const text : {"-1", "0", "+5", "''", "12abc", "0x10", "1e99", "99999999999999999999", "4294967296", "nan", "' 5'"}) {
    CAPTURE(text);
    program_folder::result const run = folder.run(std::string{"snapshot "} + text);
    CHECK(run.code == 2);
    CHECK_THAT(run.err,
               ContainsSubstring("PID: \"") && ContainsSubstring("\" is not a whole number from 1 to 2147483647; see profkit --help"));
  }
  for (char const* const text : {"-1", "0", "99999999999999999999"}) {
    CAPTURE(text);
    program_folder::result const run = folder.run(std::string{"capture "} + text + " --out" + quoted(folder.path / "out"));
    CHECK(run.code == 2);
    CHECK_THAT(run.err, ContainsSubstring(std::string{"capture: \""} + text + "\" is not a process id from 1 to 2147483647, nor a folder"));
    CHECK_THAT(folder.run(std::string{"stuck "} + text).err, ContainsSubstring("pass a process id"));
  }
  for (char const* const arguments :
       {"snapshot 1 --timeout nan", "snapshot 1 --timeout 0x10", "watch . --interval nan", "capture 1 --out x --timeout nan",
        "capture 1 --out x --steps -1", "capture 1 --out x --from -1", "report x --trace-steps -1", "report x --trace-steps 1e99"}) {
    CAPTURE(arguments);
    program_folder::result const run = folder.run(arguments);
    CHECK(run.code == 2);
    CHECK_THAT(run.err, ContainsSubstring(" number from "));
  }
}

TEST_CASE("an output never replaces an input", "[report_command]") {
  program_folder const folder;
  fs::path const input = folder.path / "run.profile";
  profkit::save(made_gpu_profile(), input);
  fs::path const folder_of_report = folder.path / "report";
  REQUIRE(folder.run("report" + quoted(input) + " --out" + quoted(folder_of_report)).code == 0);
  fs::path const figures = folder_of_report / "report.json";
  for (auto const& [arguments, file] :
       std::vector<std::pair<std::string, fs::path>>{{"report" + quoted(input) + " --html", input},
                                                     {"report" + quoted(input) + " --json", input},
                                                     {"report" + quoted(input) + " --pftrace", input},
                                                     {"compare" + quoted(figures) + quoted(figures) + " --html", figures}}) {
    CAPTURE(arguments);
    std::string const before = text_of_file(file);
    program_folder::result const run = folder.run(arguments + quoted(file));
    CHECK(run.code == 2);
    CHECK_THAT(run.err, ContainsSubstring(file.string() + ": is an input; choose another output"));
    CHECK(text_of_file(file) == before);
  }
}

TEST_CASE("the program ends with an exit code if standard error is closed or full, and fails if it cannot print its version",
          "[report_command]") {
  program_folder const folder;
  std::string const program = std::string{"'"} + PROFKIT_PROGRAM + "' ";
  auto const code_of = [](std::string const& line) {
    int const status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(code_of(program + "report nothing 2>&-") == 2);
  CHECK(code_of(program + "report nothing 2>/dev/full") == 2);
  CHECK(code_of(program + "--version >&- 2>&-") == 2);
  CHECK(code_of(program + "--version >/dev/full 2>/dev/null") == 2);
  CHECK(code_of(program + "run ./nothing 2>/dev/full") == 127);
  std::string const long_name = "/" + std::string(300, 'a');
  CHECK_THAT(folder.run("run " + long_name).err, ContainsSubstring("cannot find the program"));
  program_folder::result const capture = folder.run("capture " + long_name + " --out x");
  CHECK_THAT(capture.err, ContainsSubstring(long_name + ": File name too long") && !ContainsSubstring("filesystem"));
}
