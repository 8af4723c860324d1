// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <profkit/error.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "stuck/process_view.hpp"
#include "stuck/rank_standing.hpp"
#include "stuck/stuck_document.hpp"
#include "stuck/stuck_words.hpp"
#include "watched_files.hpp"

namespace profkit_program {

namespace {

namespace fs = std::filesystem;

struct stuck_arguments {
  std::string what;
  bool as_json = false;
};

rank_standing read_rank(fs::path const& journal, std::uint64_t process) {
  rank_standing result{journal, read_standing(journal), {}};
  result.process = look_at_process(result.at.environment, result.at.time.begin, process);
  return result;
}

/// The journals of a folder: of several sessions of one rank the latest. A journal that cannot be read does not hide the others.
std::vector<rank_standing> read_job(fs::path const& folder) {
  std::vector<rank_standing> all;
  std::string problem;
  for (fs::path const& journal : journals_in(folder)) {
    try {
      all.push_back(read_rank(journal, 0));
    } catch (profkit::error const& failure) {
      problem = failure.what();
      fmt::print(stderr, "profkit: {}\n", problem);
    }
  }
  if (all.empty() && problem.empty()) throw profkit::error{folder.string() + ": has no journal; start programs with PROFKIT=journal=FILE"};
  if (all.empty()) throw profkit::error{folder.string() + ": none of its journals can be read"};
  auto const number = [](rank_standing const& each) { return each.at.environment.rank->rank; };
  std::stable_sort(all.begin(), all.end(), [&](rank_standing const& a, rank_standing const& b) {
    if (a.has_rank() != b.has_rank()) return a.has_rank();
    if (a.has_rank() && number(a) != number(b)) return number(a) < number(b);
    return a.at.time.begin > b.at.time.begin;
  });
  all.erase(
      std::unique(all.begin(), all.end(),
                  [&](rank_standing const& a, rank_standing const& b) { return a.has_rank() && b.has_rank() && number(a) == number(b); }),
      all.end());
  return all;
}

std::vector<rank_standing> read_all(std::string const& what) {
  std::error_code ignored;
  if (auto const process = number_in(what, std::uint64_t{1}, max_process)) return {read_rank(journal_of_process(*process), *process)};
  if (fs::is_directory(what, ignored)) return read_job(what);
  if (!fs::exists(what, ignored)) throw profkit::error{what + ": does not exist; pass a process id, a journal or a folder of journals"};
  detail::check_watched_path(what);
  return {read_rank(what, 0)};
}

int run_stuck(stuck_arguments const& given) {
  std::vector<rank_standing> ranks = read_all(given.what);
  job_clock::set_now(ranks);
  set_missing_usual(ranks);
  if (given.as_json) {
    fmt::print("{}", stuck_json(ranks));
  } else {
    fmt::print("{}", profkit::detail::report_code::full_text(stuck_document(ranks), false));
  }
  return worst_rank(ranks) == nullptr ? 0 : 1;
}

}  // namespace

void add_stuck_command(CLI::App& app, command& chosen) {
  CLI::App& stuck = *app.add_subcommand(
      "stuck", "Says where a program or a job hangs: open scopes, collectives, driver calls, and ranks that have not arrived");
  auto const given = std::make_shared<stuck_arguments>();
  stuck
      .add_option(
          "WHAT", given->what,
          "The id of a process with PROFKIT=journal=FILE, a journal, also of a program that was killed, or the folder with the journals "
          "of a job. A file named like a number needs ./ before it")
      ->required()
      ->type_name("");
  stuck.add_flag("--json", given->as_json, "Print JSON");
  stuck.footer(
      "Reads journals and /proc only; the programs do not take part.\n"
      "Exit codes: 0 if nothing hangs; 1 if a step takes more than ten times its usual time and more than 10 s; 2 for bad arguments or "
      "input.");
  stuck.callback([given, &chosen] { chosen = [given] { return run_stuck(*given); }; });
}

}  // namespace profkit_program
