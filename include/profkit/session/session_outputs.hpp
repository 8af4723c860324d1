// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "../options.hpp"
#include "../profile/file_access.hpp"
#include "../profile/profile.hpp"
#include "../report/document.hpp"
#include "../report/earlier_report.hpp"
#include "../report/report.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Whether the end of a session prints or writes anything.
[[nodiscard]] inline bool has_outputs(options const& wanted) noexcept {
  return wanted.enabled && (wanted.print_report || wanted.full_report || wanted.trace || !wanted.output_directory.empty());
}

/// Writes the files of a report. @return the last line of the first screen: the folder and the names of the files.
/// @param made `describe(last.summary())`.
inline std::string write_report_files(report const& last, document const& made, std::string const& directory, std::uint64_t trace_steps) {
  std::string text = shown_path(directory) + ":";
  for (std::string const& name : report_code::write(last.profile(), last.summary(), made, directory, trace_steps)) text += " " + name;
  return text;
}

/// Says that the report in the folder, which this one is about to replace, is of another program, or was written while this one ran.
inline void warn_of_other_report(report const& last, std::string const& directory) {
  environment_record const& own = last.profile().environment;
  std::optional<earlier_report> const there = read_report_head(std::filesystem::path{directory} / report_file_names.front());
  if (!there || there->process_id == 0 || there->process_id == own.process_id) return;
  bool const is_recent = there->written && *there->written >= last.profile().time.begin;
  bool const is_other = !there->program.empty() && !own.command.empty() && there->program != without_blanks(own.command.front());
  if (!is_recent && !is_other) return;
  warn("replacing the report of another process in " + shown_path(directory) + ": process " + std::to_string(there->process_id) + ", " +
       there->program + ". To keep both, choose another out=DIR");
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
  if (has_directory || wanted.full_report || wanted.print_report) attempt([&] { made = report_code::describe(last.summary()); });
  std::string files;
  if (made && has_directory) attempt([&] { warn_of_other_report(last, wanted.output_directory); });
  if (made && has_directory) attempt([&] { files = write_report_files(last, *made, wanted.output_directory, wanted.trace_steps); });
  if (wanted.trace && !has_directory) {
    attempt([&] {
      std::string const file = wanted.trace_file.empty() ? "trace.json" : wanted.trace_file;
      report_code::write_default_trace(last.profile(), file, wanted.trace_steps);
    });
  }
  if (made && wanted.full_report) {
    attempt([&] { print_to_stdout(report_code::full_text(*made, false) + "\n"); });
  } else if (made && wanted.print_report) {
    attempt([&] { print_to_stdout(report_code::first_screen(*made, STDOUT_FILENO, files) + "\n"); });
  }
}

}  // namespace profkit::detail
