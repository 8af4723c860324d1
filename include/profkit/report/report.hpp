// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "../analyze/summary.hpp"
#include "../profile/error.hpp"
#include "../profile/profile.hpp"
#include "report_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "make_report.hpp"  // IWYU pragma: export
#endif

namespace profkit {

/// @brief The tables of a summary, for a terminal: those of `report::text`, also of a summary that was loaded.
[[nodiscard]] inline std::string report_text(summary const& what) { return detail::report_code<void>::text(what, false); }

/// @brief The same tables in Markdown.
[[nodiscard]] inline std::string report_markdown(summary const& what) { return detail::report_code<void>::text(what, true); }

/// A profile and what it comes to. Cheap to copy; prints with fmt: `fmt::print("{}\n", report)`.
class report {
 public:
  /// Analyses the profile, which takes as long as `analyze`.
  explicit report(std::shared_ptr<profkit::profile const> recorded)
      : profile_{std::move(recorded)}, summary_{detail::report_code<void>::summarize(*profile_)} {}

  /// With figures of more than the records of the profile: those of a long session, which does not keep all records.
  report(std::shared_ptr<profkit::profile const> recorded, std::shared_ptr<profkit::summary const> figures)
      : profile_{std::move(recorded)}, summary_{std::move(figures)} {}

  /// What was measured.
  [[nodiscard]] profkit::profile const& profile() const noexcept { return *profile_; }
  /// What it comes to: all that the tables and files show, as values.
  [[nodiscard]] profkit::summary const& summary() const noexcept { return *summary_; }

  /// Tables for a terminal.
  [[nodiscard]] std::string text() const { return report_text(*summary_); }

  /// The same tables in Markdown.
  [[nodiscard]] std::string markdown() const { return report_markdown(*summary_); }

  /// Writes `report.json`, `summary.profkit`, `report.md`, `scopes.csv`, `steps.csv`, `trace.json` and `nvtx_pushpop_sum.csv`; where
  /// kernels were collected `kernels.csv` and the other summaries of Nsight Systems, too; with `<profkit/perfetto.hpp>` in the program
  /// `trace.pftrace`. Makes the directory if need be. Each file is there as a whole or not at all; files of an earlier report that this one
  /// does not have are removed.
  /// @param directory where to.
  /// @param trace_steps how many of the last measured steps are in the traces.
  /// @throws profkit::error that names the file.
  void write(std::string const& directory, std::uint64_t trace_steps = 3) const {
    detail::report_code<void>::write(*profile_, *summary_, directory, trace_steps);
  }

  /// Writes what `trace_json` gives. Open it in https://ui.perfetto.dev. With `<profkit/perfetto.hpp>` in the program, the compact trace is
  /// written beside it, with `.pftrace` for the path's extension.
  /// @throws profkit::error that names the file.
  void write_trace(std::string const& path, std::uint64_t steps = 3) const {
    detail::report_code<void>::write_trace(*profile_, path, steps);
  }

 private:
  std::shared_ptr<profkit::profile const> profile_;
  std::shared_ptr<profkit::summary const> summary_;
};

}  // namespace profkit

/// @cond  doxygen does not find fmt
template <>
struct fmt::formatter<profkit::report> : fmt::formatter<std::string> {
  template <class Context>
  auto format(profkit::report const& report, Context& context) const {
    return fmt::formatter<std::string>::format(report.text(), context);
  }
};
/// @endcond
