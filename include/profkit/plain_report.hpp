// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Reports without their figures and without fmt, for files that include `session.hpp` only.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "impl/profile/library_abi.hpp"
#include "impl/profile/own_memory.hpp"
#include "impl/report/report_code.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The first screen of a report, as in `report::text`. Also works for a loaded summary (`load_summary`).
[[nodiscard]] detail::own_string report_text(summary const& what);

/// @brief All tables of a summary as text, as in `report::full_text`.
[[nodiscard]] detail::own_string report_full_text(summary const& what);

/// @brief All tables in Markdown.
[[nodiscard]] detail::own_string report_markdown(summary const& what);

/// @brief The figures as JSON (RFC 8259): the content of `report.json`. Key names end in their unit; values that were not measured are
/// null.
[[nodiscard]] detail::own_string report_json(summary const& what);

/// @brief The report as one HTML file with pictures: the content of `report.html`. It needs no other file, no network and no scripts. Its
/// maximum size is 1 MB.
[[nodiscard]] detail::own_string report_html(summary const& what);

/// @brief A profile with its analysis. Cheap to copy (two shared pointers); immutable, so any thread may read it. Prints with fmt:
/// `fmt::print("{}\n", report)`.
class PROFKIT_TAGGED_TYPE report {
 public:
  /// @brief Analyses a profile. Takes as long as `analyze`.
  /// @param recorded the profile; not null.
  explicit report(std::shared_ptr<profkit::profile const> recorded)
      : profile_{std::move(recorded)}, summary_{detail::report_code::summarize(*profile_)} {}

  /// @brief Combines a profile with existing figures, such as those of a long session that did not keep all records.
  /// @param recorded the profile; not null.
  /// @param figures the summary; not null.
  report(std::shared_ptr<profkit::profile const> recorded, std::shared_ptr<profkit::summary const> figures)
      : profile_{std::move(recorded)}, summary_{std::move(figures)} {}

  /// @brief The recorded data.
  [[nodiscard]] profkit::profile const& profile() const noexcept { return *profile_; }
  /// @brief The figures of all tables and files, as values.
  [[nodiscard]] profkit::summary const& summary() const noexcept { return *summary_; }

  /// @brief The first screen: recommended actions and the figures behind them, in at most 60 lines of at most 120 characters, without
  /// colours. It contains block characters if the environment selects a UTF-8 locale.
  [[nodiscard]] detail::own_string text() const { return report_text(*summary_); }

  /// @brief All tables as text.
  [[nodiscard]] detail::own_string full_text() const { return report_full_text(*summary_); }

  /// @brief All tables in Markdown.
  [[nodiscard]] detail::own_string markdown() const { return report_markdown(*summary_); }

  /// @brief The report as one HTML file with pictures.
  [[nodiscard]] detail::own_string html() const { return report_html(*summary_); }

  /// @brief Writes all files of the report: `report.html`, `report.json`, `summary.profkit`, `report.md`, `scopes.csv`, `steps.csv`
  /// and `trace.json`; with kernels also `kernels.csv`.
  ///
  /// Each file is replaced atomically. Only files that an earlier report in this directory lists as its own (`profkit.files` of
  /// `report.json`) are replaced, or removed if this report does not have them. Other files with these names are errors.
  /// @param directory created if necessary. A relative path refers to the current directory of this call.
  /// @param trace_steps number of measured steps in the traces, counted from the end.
  /// @throws profkit::error that names each file that could not be written.
  void write(std::string const& directory, std::uint64_t trace_steps = 3) const {
    detail::report_code::write(*profile_, *summary_, directory, trace_steps);
  }

  /// @brief Writes a trace for https://ui.perfetto.dev in Chrome's trace event format.
  /// @param path the file; replaced atomically. A symbolic link stays a link: the file that it names is replaced.
  /// @param steps number of measured steps, counted from the end.
  /// @throws profkit::error that names the file and the reason.
  void write_trace(std::string const& path, std::uint64_t steps = 3) const { detail::report_code::write_trace(*profile_, path, steps); }

 private:
  std::shared_ptr<profkit::profile const> profile_;
  std::shared_ptr<profkit::summary const> summary_;
};

}  // namespace PROFKIT_NAMESPACE
