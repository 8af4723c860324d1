// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "../options.hpp"
#include "../report/document.hpp"
#include "../report/report.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Whether the end of a session prints or writes anything.
[[nodiscard]] inline bool has_outputs(options const& wanted) noexcept {
  return wanted.enabled && (wanted.print_report || wanted.full_report || wanted.trace || !wanted.output_directory.empty());
}

/// The name of a trace in the current directory, which the ranks of a run may share.
inline std::string trace_file_of(profile const& recorded) {
  std::optional<rank_record> const& rank = recorded.environment.rank;
  return rank && rank->size > 1 ? "trace.rank" + std::to_string(rank->rank) + ".json" : "trace.json";
}

/// Writes the files of a report. @return the last line of the first screen: the folder and the names of the files.
/// @param made `describe(last.summary())`.
inline std::string write_report_files(report const& last, document const& made, std::string const& directory, std::uint64_t trace_steps) {
  std::string text = directory + ":";
  for (std::string const& name : report_code<void>::write(last.profile(), last.summary(), made, directory, trace_steps)) text += " " + name;
  return text;
}

/// Writes the outputs of an ended session: first the files, then the report on standard output. Failures are reported on stderr and do not
/// prevent other outputs.
inline void write_outputs(report const& last, options const& wanted) noexcept {
  auto const attempt = [](auto&& output) {
    try {
      output();
    } catch (std::exception const& failure) {
      warn(failure.what());
    }
  };
  bool const has_directory = !wanted.output_directory.empty();
  std::optional<document> made;
  if (has_directory || wanted.full_report || wanted.print_report) attempt([&] { made = report_code<void>::describe(last.summary()); });
  std::string files;
  if (made && has_directory) attempt([&] { files = write_report_files(last, *made, wanted.output_directory, wanted.trace_steps); });
  if (wanted.trace && !has_directory) attempt([&] { last.write_trace(trace_file_of(last.profile()), wanted.trace_steps); });
  if (made && wanted.full_report) {
    attempt([&] { print_to_stdout(report_code<void>::full_text(*made, false) + "\n"); });
  } else if (made && wanted.print_report) {
    attempt([&] { print_to_stdout(report_code<void>::first_screen(*made, STDOUT_FILENO, files) + "\n"); });
  }
}

}  // namespace profkit::detail
