// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../profile/library_abi.hpp"  // declares profile and summary
#include "../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

struct document;

/// The beginning of a summary file.
inline constexpr std::string_view summary_magic = "profkit-summary\n";

/// What sessions and the program do with reports; `make_document.hpp`, `make_report.hpp` and `trace_json.hpp` define it.
struct report_code {
  static std::shared_ptr<summary const> summarize(profile const& profile);
  /// The document that the other functions print.
  static document describe(summary const& what);
  /// The content of `report.json` in a folder. @param files the files of the folder that belong to the report.
  static own_string json(summary const& what, std::vector<std::string> const& files);
  /// @param format as for `fmt::print`, with `report_text(what)` as the argument.
  static void print(std::string_view format, summary const& what);
  static void write(profile const& profile, summary const& what, std::string const& directory, std::uint64_t trace_steps);
  static void write_trace(profile const& profile, std::string const& path, std::uint64_t steps);
  /// The same, but replaces only files that profkit wrote, because the program did not choose the name.
  static void write_default_trace(profile const& profile, std::string const& path, std::uint64_t steps);

  /// The first screen. @param descriptor file descriptor of the output, which determines width and colours; -1: unknown. @param files the
  /// last line; may be empty.
  static own_string first_screen(document const& what, int descriptor, std::string const& files);
  static own_string full_text(document const& what, bool as_markdown);
  /// @param made `describe(what)`. @return the names of the files.
  static std::vector<std::string> write(profile const& profile, summary const& what, document const& made, std::string const& directory,
                                        std::uint64_t trace_steps);
  /// The content of `summary.profkit`.
  static own_string file_of(summary const& what);
  /// Writes the files that need only a summary.
  static std::vector<std::string> write(summary const& what, document const& made, std::string const& directory);
};

}  // namespace detail

}  // namespace PROFKIT_NAMESPACE
