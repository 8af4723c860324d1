// SPDX-License-Identifier: Apache-2.0
#include "ranks_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <profkit/document.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/profile/atomic_file.hpp>
#include <profkit/impl/profile/record_types.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/impl/report/text_width.hpp>
#include <profkit/load_report.hpp>
#include <profkit/summary.hpp>
#include <profkit/summary_file.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "document_json.hpp"
#include "ranks/job_rank.hpp"
#include "ranks/job_summary.hpp"
#include "ranks/make_job.hpp"
#include "ranks/ranks_document.hpp"
#include "ranks/ranks_json.hpp"
#include "ranks/ranks_screen.hpp"
#include "ranks/ranks_trace.hpp"

namespace profkit_program {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_digits = 7;  ///< of the number of a rank

/// The number in "rank12", "rank12.profile".
std::optional<std::uint32_t> rank_in(std::string const& name) {
  constexpr std::size_t prefix = 4;
  if (name.rfind("rank", 0) != 0) return std::nullopt;
  std::size_t const end = std::min(name.find_first_not_of("0123456789", prefix), name.size());
  if (end == prefix || end > prefix + max_digits) return std::nullopt;
  std::string const rest = name.substr(end);
  bool const is_known = rest.empty() || rest == ".profile" || rest == ".journal" || rest == ".profkit";
  return is_known ? std::optional{static_cast<std::uint32_t>(std::stoul(name.substr(prefix, end - prefix)))} : std::nullopt;
}

/// The number in "app.journal.rank12": what a rank writes with `journal=FILE`.
std::optional<std::uint32_t> rank_after(std::string const& name) {
  std::size_t const dot = name.rfind(".rank");
  return dot == std::string::npos || dot == 0 ? std::nullopt : rank_in(name.substr(dot + 1));
}

/// The number in "12": the folder that a rank writes with `out=DIR/%r`.
std::optional<std::uint32_t> number_of_folder(std::string const& name) {
  bool const is_number = !name.empty() && name.size() <= max_digits && name.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::optional{static_cast<std::uint32_t>(std::stoul(name))} : std::nullopt;
}

profkit::summary summary_of(fs::path const& file) {
  return profkit::is_summary_file(file) ? profkit::load_summary(file) : profkit::load_report(file).summary();
}

profkit::job_rank read_rank(std::uint32_t rank, fs::path const& file) {
  try {
    profkit::summary content = summary_of(file);
    if (content.environment.rank) rank = content.environment.rank->rank;
    return profkit::job_rank_of(std::move(content), rank, file.string());
  } catch (std::exception const& failure) {
    profkit::job_rank result;
    result.rank = rank;
    result.source = file.string();
    result.problem = failure.what();
    result.is_read = false;
    std::string const prefix = result.source + ": ";  // of most messages
    if (result.problem.rfind(prefix, 0) == 0) result.problem.erase(0, prefix.size());
    return result;
  }
}

/// The rank of a file: by its name, by that of its folder, or by its content.
std::uint32_t rank_of_file(fs::path const& file) {
  for (std::string const& name : {file.filename().string(), fs::absolute(file).parent_path().filename().string()}) {
    for (auto const rank_of : {rank_in, rank_after}) {
      if (std::optional<std::uint32_t> const named = rank_of(name)) return *named;
    }
  }
  if (std::optional<profkit::rank_record> const recorded = summary_of(file).environment.rank) return recorded->rank;
  throw profkit::error{file.string() +
                       ": its rank is unknown, because the program ran without a launcher. Several paths are the ranks of "
                       "one job: name the files rank0.profile, rank1.profile, ..., or report each alone"};
}

}  // namespace

std::vector<std::pair<std::uint32_t, fs::path>> rank_files(fs::path const& folder) {
  std::vector<std::pair<std::uint32_t, fs::path>> result;
  for (auto const rank_of : {rank_in, rank_after}) {
    std::error_code ignored;
    for (fs::directory_entry const& each : fs::directory_iterator{folder, ignored}) {
      std::optional<std::uint32_t> const rank = rank_of(each.path().filename().string());
      if (rank) result.emplace_back(*rank, each.is_directory(ignored) ? each.path() / "summary.profkit" : each.path());
    }
    if (!result.empty()) break;
  }
  if (result.empty()) {
    std::error_code ignored;
    for (fs::directory_entry const& each : fs::directory_iterator{folder, ignored}) {
      std::optional<std::uint32_t> const rank = number_of_folder(each.path().filename().string());
      fs::path const file = each.path() / "summary.profkit";
      if (rank && fs::exists(file, ignored)) result.emplace_back(*rank, file);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::optional<fs::path> file_of_process(fs::path const& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  if (!rank_files(path).empty()) return std::nullopt;
  if (fs::exists(path / "summary.profkit", ignored)) return path / "summary.profkit";
  throw profkit::error{path.string() +
                       ": has no summary.profkit and no ranks: no rank0/summary.profkit, rank0.profile, FILE.rank0 or 0/summary.profkit"};
}

profkit::detail::own_vector<profkit::job_rank> read_ranks(std::vector<std::pair<std::uint32_t, fs::path>> const& files) {
  profkit::detail::own_vector<profkit::job_rank> result;
  result.reserve(files.size());
  for (auto const& [rank, file] : files) result.push_back(read_rank(rank, file));
  return result;
}

std::vector<std::pair<std::uint32_t, fs::path>> rank_files(std::vector<std::string> const& paths) {
  std::vector<std::pair<std::uint32_t, fs::path>> result;
  for (std::string const& each : paths) {
    std::error_code ignored;
    if (!fs::exists(each, ignored)) throw profkit::error{each + ": does not exist"};
    if (std::optional<fs::path> const file = file_of_process(each)) {
      result.emplace_back(rank_of_file(*file), *file);
    } else {
      std::vector<std::pair<std::uint32_t, fs::path>> const inside = rank_files(fs::path{each});
      result.insert(result.end(), inside.begin(), inside.end());
    }
  }
  std::sort(result.begin(), result.end());
  auto const same = std::adjacent_find(result.begin(), result.end(), [](auto const& a, auto const& b) { return a.first == b.first; });
  if (same == result.end()) return result;
  throw profkit::error{same->second.string() + " and " + std::next(same)->second.string() + ": both are rank " +
                       std::to_string(same->first) + ". Several paths are the ranks of one job; profkit compare compares runs"};
}

std::string ranks_report(std::vector<std::pair<std::uint32_t, fs::path>> const& files, ranks_output const& wanted) {
  profkit::detail::own_vector<profkit::job_rank> ranks = read_ranks(files);
  if (std::none_of(ranks.begin(), ranks.end(), [](profkit::job_rank const& each) { return each.is_read; }))
    throw profkit::error{fmt::format("none of the files of the ranks can be read. Rank {}: {}: {}", ranks.front().rank,
                                     ranks.front().source, ranks.front().problem)};
  if (!wanted.trace.empty()) profkit::detail::write_file(wanted.trace, profkit::ranks_trace(ranks));
  profkit::job_summary const job = profkit::summarize_job(std::move(ranks));
  profkit::detail::document made = profkit::detail::ranks_document(job);
  if (!wanted.html.empty()) profkit::detail::write_file(wanted.html, profkit::detail::html_page(made));
  if (!wanted.json.empty()) profkit::detail::write_file(wanted.json, profkit::ranks_json(job));
  switch (wanted.printed) {
    case ranks_output::format::json:
      return profkit::ranks_json(job);
    case ranks_output::format::markdown:
      return profkit::detail::report_code::full_text(made, true);
    case ranks_output::format::document:
      return profkit::detail::json_printer{made}.print();
    case ranks_output::format::full_text:
      return profkit::detail::report_code::full_text(made, false);
    case ranks_output::format::text:
      break;
  }
  std::string written;
  for (std::string const* const file : {&wanted.html, &wanted.json, &wanted.trace}) {
    if (!file->empty()) written += (written.empty() ? "" : "  ") + *file;
  }
  return profkit::detail::ranks_screen{std::move(made), profkit::detail::style_of(STDOUT_FILENO)}.text(written);
}

}  // namespace profkit_program
