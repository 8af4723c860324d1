// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "../options.hpp"
#include "../report/process_path.hpp"
#include "../report/report.hpp"
#include "console.hpp"

namespace profkit::detail {

/// Whether the end of a session prints or writes anything.
[[nodiscard]] inline bool has_outputs(options const& wanted) noexcept {
  return wanted.enabled && (wanted.print_report || wanted.trace || !wanted.output_directory.empty());
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
  if (has_directory) attempt([&] { last.write(process_path(wanted.output_directory), wanted.trace_steps); });
  if (wanted.trace && !has_directory) attempt([&] { last.write_trace("trace.json", wanted.trace_steps); });
  if (wanted.print_report) attempt([&] { print_to_stdout(last.text() + "\n"); });
}

}  // namespace profkit::detail
