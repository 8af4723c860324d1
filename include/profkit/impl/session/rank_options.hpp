// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "../../options.hpp"
#include "../profile/file_access.hpp"
#include "../profile/record_types.hpp"

namespace profkit::detail {

/// Replaces the placeholders of a path: "%p" by the process id, "%r" by the rank, "%h" by the host name. Slashes in the host name become
/// "_". The result is absolute, so that it stays the same if the program changes its directory.
inline std::string process_path(std::string_view pattern, std::uint32_t rank) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string result;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    char const what = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (what == 'p') {
      result += std::to_string(::getpid());
    } else if (what == 'r') {
      result += std::to_string(rank);
    } else if (what == 'h') {
      std::string name = host;
      std::replace(name.begin(), name.end(), '/', '_');
      result += name;
    } else {
      result += pattern[at];
      continue;
    }
    ++at;
  }
  return absolute_path(result);
}

/// Whether processes of one run that use this path get different paths.
[[nodiscard]] inline bool differs_by_process(std::string_view pattern) noexcept {
  return pattern.find("%p") != std::string_view::npos || pattern.find("%r") != std::string_view::npos;
}

/// The options of one process of a run: placeholders in paths are replaced, each rank has its own files, and only rank 0 prints.
inline options options_of_rank(options wanted, std::optional<rank_record> const& rank) {
  std::uint32_t const number = rank ? rank->rank : 0;
  std::string& directory = wanted.output_directory;
  std::string& journal = wanted.journal;
  std::string& trace = wanted.trace_file;
  if (trace.empty()) trace = "trace.json";
  if (rank && rank->size > 1) {
    std::string const name = "rank" + std::to_string(number);
    if (!directory.empty() && !differs_by_process(directory)) directory += (directory.back() == '/' ? "" : "/") + name;
    if (!differs_by_process(trace)) trace = std::filesystem::path{trace}.replace_extension(name + ".json").string();
    if (!journal.empty() && !differs_by_process(journal)) journal += "." + name;
    if (number != 0) {
      wanted.print_report = wanted.full_report = false;
      if (directory.empty()) {
        wanted.report_every = std::chrono::milliseconds{0};
        wanted.report_every_steps = 0;
      }
    }
  }
  directory = process_path(directory, number);
  journal = process_path(journal, number);
  trace = process_path(trace, number);
  return wanted;
}

}  // namespace profkit::detail
