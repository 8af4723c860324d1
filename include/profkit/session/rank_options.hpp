// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "../options.hpp"
#include "../profile/rank_record.hpp"
#include "process_path.hpp"

namespace profkit::detail {

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
