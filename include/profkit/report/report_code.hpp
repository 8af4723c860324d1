// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../profile/code_elsewhere.hpp"
#include "../profile/own_memory.hpp"

namespace profkit {

struct profile;
struct summary;

namespace detail {

struct document;

/// The beginning of a summary file.
inline constexpr std::string_view summary_magic = "profkit-summary\n";

/// Declares the implementation of reports; `make_report.hpp` defines it. As a template, it is compiled only in translation units that use
/// it. Programs with many units can compile it in one of them: that unit includes `profkit/code.hpp`, and the others define
/// `PROFKIT_CODE_ELSEWHERE`.
template <class>
struct report_code {
  static std::shared_ptr<summary const> summarize(profile const& profile);
  /// The document that the other functions print.
  static document describe(summary const& what);

  static own_string text(summary const& what);
  static own_string full_text(summary const& what);
  static own_string markdown(summary const& what);
  static own_string html(summary const& what);
  static own_string json(summary const& what);
  /// The content of `report.json` in a folder. @param files the files of the folder that belong to the report.
  static own_string json(summary const& what, std::vector<std::string> const& files);
  /// @param format as for `fmt::print`, with `text(what)` as the argument.
  static void print(std::string_view format, summary const& what);
  static void write(profile const& profile, summary const& what, std::string const& directory, std::uint64_t trace_steps);
  static void write_trace(profile const& profile, std::string const& path, std::uint64_t steps);
  /// The same, but replaces only files that profkit wrote, because the program did not choose the name.
  static void write_default_trace(profile const& profile, std::string const& path, std::uint64_t steps);
  static bool is_summary(std::string const& path);
  static void save_summary(summary const& what, std::string const& path);
  static summary load_summary(std::string const& path);

  /// The first screen. @param descriptor file descriptor of the output, which determines width and colours; -1: unknown. @param files the
  /// last line; may be empty.
  static own_string first_screen(document const& what, int descriptor, std::string const& files);
  static own_string full_text(document const& what, bool as_markdown);
  static own_string html(document const& what);
  static own_string document_json(document const& what);
  /// @param made `describe(what)`. @return the names of the files.
  static std::vector<std::string> write(profile const& profile, summary const& what, document const& made, std::string const& directory,
                                        std::uint64_t trace_steps);
  /// Writes the files that need only a summary.
  static std::vector<std::string> write(summary const& what, document const& made, std::string const& directory);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct report_code<void>;
#endif

}  // namespace detail

}  // namespace profkit
