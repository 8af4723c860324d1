// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/profile/atomic_file.hpp>
#include <profkit/impl/profile/file_access.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/session/session_ending.hpp>
#include <profkit/load_report.hpp>
#include <profkit/profile.hpp>
#include <profkit/report.hpp>
#include <profkit/summary.hpp>
#include <profkit/summary_file.hpp>
#include <string>
#include <utility>
#include <vector>

#include "document_json.hpp"
#include "nsys/nsys_csv.hpp"
#include "ranks_report.hpp"
#include "traces/pftrace.hpp"

namespace profkit_program {

namespace {

enum class report_format { text, json, markdown, document };

struct report_arguments {
  std::vector<std::string> paths;
  std::string directory;
  std::string html;     ///< file of the page; empty: none
  std::string json;     ///< file of the figures as JSON; empty: none
  std::string trace;    ///< file of the trace of all ranks; empty: none
  std::string pftrace;  ///< file of the compact trace; empty: none
  std::string nsys;     ///< folder of the tables in the format of `nsys stats`; empty: none
  std::uint64_t trace_steps = 3;
  report_format format = report_format::text;
  bool is_full = false;
};

std::string content_of(profkit::summary const& what, profkit::detail::document const& made, report_arguments const& given,
                       std::string const& files) {
  using code = profkit::detail::report_code;
  switch (given.format) {
    case report_format::json:
      return profkit::report_json(what);
    case report_format::markdown:
      return code::full_text(made, true);
    case report_format::document:
      return profkit::detail::json_printer{made}.print();
    case report_format::text:
      break;
  }
  return given.is_full ? code::full_text(made, false) : code::first_screen(made, STDOUT_FILENO, files);
}

void write_page_and_json(profkit::summary const& what, profkit::detail::document const& made, report_arguments const& given) {
  if (!given.html.empty()) profkit::detail::write_file(given.html, profkit::detail::html_page(made));
  if (!given.json.empty()) profkit::detail::write_file(given.json, profkit::report_json(what));
}

/// Writes the files that a summary has all figures of. @return the last line of the first screen, which names them and those that need
/// single events.
std::string write_files(profkit::summary const& what, profkit::detail::document const& made, std::string const& directory) {
  std::string text = directory + ":";
  for (std::string const& name : profkit::detail::report_code::write(what, made, directory)) text += " " + name;
  return text + "; not from a summary: traces";
}

/// @return the folder and the names of the files.
std::string write_nsys_files(profkit::report const& what, profkit::attribution const& launched, std::string const& directory) {
  std::string text = profkit::detail::shown_path(directory) + ":";
  for (std::string const& name : profkit::write_nsys_csv(what.profile(), launched, what.summary().gpu.has_value(), directory))
    text += " " + name;
  return text;
}

/// The last line of the first screen. @param tables, others the files in folders.
std::string files_line(report_arguments const& given, std::string const& tables, std::string const& others) {
  std::string line;
  for (std::string const* const each : {&given.html, &given.json, &given.pftrace, &tables, &others}) {
    if (!each->empty()) line += (line.empty() ? "" : "  ") + *each;
  }
  return line;
}

int report_ranks(std::vector<std::pair<std::uint32_t, std::filesystem::path>> const& files, report_arguments const& given) {
  if (!given.directory.empty())
    throw profkit::error{"--out needs one process, not " + given.paths.front() + "; --html and --json are for ranks"};
  if (!given.pftrace.empty())
    throw profkit::error{"--pftrace needs one process, not " + given.paths.front() +
                         ": write a trace of each rank, and concatenate them; --trace is for ranks"};
  if (!given.nsys.empty()) throw profkit::error{"--nsys needs one process, not " + given.paths.front() + ": write the tables of each rank"};
  std::vector<std::filesystem::path> inputs;
  inputs.reserve(files.size());
  for (auto const& each : files) inputs.push_back(each.second);
  check_outputs(inputs, {given.html, given.json, given.trace});
  ranks_output wanted{given.html, given.json, given.trace, ranks_output::format::text};
  if (given.is_full) wanted.printed = ranks_output::format::full_text;
  if (given.format == report_format::json) wanted.printed = ranks_output::format::json;
  if (given.format == report_format::document) wanted.printed = ranks_output::format::document;
  if (given.format == report_format::markdown) wanted.printed = ranks_output::format::markdown;
  fmt::print("{}", ranks_report(files, wanted));
  return 0;
}

int run_report(report_arguments const& given) {
  if (given.is_full && (given.format == report_format::json || given.format == report_format::document))
    throw profkit::error{"--full is for text; --format json always has all figures. Remove --full"};
  if (given.paths.size() > 1) return report_ranks(rank_files(given.paths), given);
  std::optional<std::filesystem::path> const file = file_of_process(given.paths.front());
  if (!file) return report_ranks(rank_files(std::filesystem::path{given.paths.front()}), given);
  if (!given.trace.empty())
    throw profkit::error{file->string() + ": is one process; --trace needs a folder of ranks, --out writes its traces"};
  check_outputs({*file}, {given.html, given.json, given.pftrace});
  if (profkit::is_summary_file(*file)) {
    if (!given.pftrace.empty())
      throw profkit::error{file->string() + ": is a summary, which has no single events; --pftrace needs a saved profile or a journal"};
    if (!given.nsys.empty())
      throw profkit::error{file->string() + ": is a summary, which has no single events; --nsys needs a saved profile or a journal"};
    profkit::summary const what = profkit::load_summary(*file);
    profkit::detail::document const made = profkit::detail::report_code::describe(what);
    write_page_and_json(what, made, given);
    std::string const files = given.directory.empty() ? std::string{} : write_files(what, made, given.directory);
    fmt::print("{}", content_of(what, made, given, files_line(given, {}, files)));
    return 0;
  }
  profkit::report const what = profkit::load_report(file->string());
  profkit::detail::document const made = profkit::detail::report_code::describe(what.summary());
  write_page_and_json(what.summary(), made, given);
  std::string files;
  if (!given.directory.empty()) {
    files = profkit::detail::write_report_files(what, made, given.directory, given.trace_steps);
  }
  std::string tables;
  if (!given.pftrace.empty() || !given.nsys.empty()) {
    profkit::attribution const launched = profkit::attribute(what.profile());
    if (!given.pftrace.empty()) profkit::write_pftrace(what.profile(), launched, given.trace_steps, given.pftrace);
    if (!given.nsys.empty()) tables = write_nsys_files(what, launched, given.nsys);
  }
  fmt::print("{}", content_of(what.summary(), made, given, files_line(given, tables, files)));
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, command& chosen) {
  CLI::App& report = *app.add_subcommand(
      "report",
      "Prints the report of a saved profile, of a summary, or of a journal, also of a program that was killed; or of all ranks of a job");
  auto const given = std::make_shared<report_arguments>();
  report
      .add_option(
          "PATH", given->paths,
          "What profkit::save or PROFKIT=journal=FILE wrote, summary.profkit or the folder of a report, or a folder with rank0, rank1, "
          "...; several are the ranks of one job")
      ->required()
      ->type_name("");
  std::map<std::string, report_format> const formats = {{"text", report_format::text},
                                                        {"json", report_format::json},
                                                        {"markdown", report_format::markdown},
                                                        {"document", report_format::document}};
  report.add_option("--format", given->format, "What to print; json is that of report.json, document is the text with its tables as JSON")
      ->transform(CLI::CheckedTransformer{formats})
      ->type_name("")
      ->option_text("text|json|markdown|document [text]");
  report.add_flag("--full", given->is_full, "Print all tables instead of the first screen");
  report.add_option("--html", given->html, "Also write the report as one HTML file, with pictures")->type_name("FILE");
  report.add_option("--json", given->json, "Also write all figures as JSON, like report.json")->type_name("FILE");
  report.add_option("--trace", given->trace, "Of several ranks: also write steps and collectives of all ranks as a trace, on one clock")
      ->type_name("FILE");
  report
      .add_option("--pftrace", given->pftrace,
                  "Of a profile or a journal: also write trace.json's content in Perfetto's own format, at a tenth of its size")
      ->type_name("FILE");
  report.add_option("--nsys", given->nsys, "Of a profile or a journal: also write tables there as CSV, in the format of nsys stats")
      ->type_name("DIR");
  report.add_option("--trace-steps", given->trace_steps, "Measured steps in the traces of --pftrace and --out, counted from the end")
      ->check(number_from(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  report
      .add_option("--out", given->directory,
                  "Also write the files there that a session writes with out=DIR; of a summary those that need no single events")
      ->type_name("DIR");
  report.footer("Returns 0; 2 for bad arguments or input. Of a journal whose session did not end, \"Data quality\" says how far it goes.");
  report.callback([given, &chosen] { chosen = [given] { return run_report(*given); }; });
}

}  // namespace profkit_program
