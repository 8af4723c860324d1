// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "../../analyze.hpp"
#include "../../csv_printer.hpp"
#include "../../error.hpp"
#include "../../markdown_printer.hpp"
#include "../../plain_report.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../summary_file.hpp"
#include "../../text_printer.hpp"
#include "../analyze/check_summary.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/archive_reader.hpp"
#include "../profile/archive_writer.hpp"
#include "../profile/archived_state.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/byte_output.hpp"
#include "../profile/file_access.hpp"
#include "../profile/input_file.hpp"
#include "../profile/journal_format.hpp"
#include "../profile/own_memory.hpp"
#include "first_screen.hpp"
#include "html_page.hpp"
#include "json_printer.hpp"
#include "make_document.hpp"
#include "report_code.hpp"
#include "report_folder.hpp"
#include "summary_json_writer.hpp"
#include "text_width.hpp"
#include "trace_json.hpp"

namespace profkit::detail {

/// Writes the magic, the `state_layout` of this version, a checksum of the rest, and the members of the summary.
inline void write_summary(summary const& what, byte_output& to) {
  own_string content;
  string_output content_output{content};
  archive_writer content_archive{content_output};
  content_archive(what);
  content_archive.flush();
  checksum sum;
  sum.add(content);
  to.write(summary_magic);
  archive_writer archive{to};
  archive(state_layout<summary>());
  archive(sum.value());
  archive.flush();
  to.write(content);
}

/// @return the checksum of the rest of the stream.
inline std::uint32_t checksum_of_rest(std::istream& from) {
  checksum sum;
  char piece[1U << 14U];
  while (from.read(piece, sizeof piece) || from.gcount() > 0) sum.add({piece, static_cast<std::size_t>(from.gcount())});
  return sum.value();
}

inline summary read_summary(std::istream& file, std::uint64_t size) {
  if (!reads_magic(file, summary_magic)) throw error{"it is not a profkit summary"};
  std::uint32_t layout = 0;
  std::uint32_t checksum = 0;
  archive_reader header{file, std::min<std::uint64_t>(size - summary_magic.size(), sizeof layout + sizeof checksum)};
  header(layout);
  header(checksum);
  if (layout != state_layout<summary>()) {
    throw error{"the summary was written by another version of profkit, whose summaries have other members"};
  }
  std::streamoff const begin = file.tellg();
  if (checksum_of_rest(file) != checksum) throw error{"the summary is cut off or damaged: its checksum is wrong"};
  file.clear();
  file.seekg(begin);
  archive_reader archive{file, size - static_cast<std::uint64_t>(begin)};
  summary result;
  archive(result);
  if (!archive.at_end()) throw error{"the summary is damaged: unexpected bytes after the end"};
  summary_check{}(result);
  return result;
}

[[gnu::used]] inline std::shared_ptr<summary const> report_code::summarize(profile const& profile) {
  return std::make_shared<summary const>(analyze(profile));
}

[[gnu::used]] inline document report_code::describe(summary const& what) { return make_document(what); }

[[gnu::used]] inline void report_code::print(std::string_view format, summary const& what) {
  own_string const text = report_text(what);
  fmt::vprint({format.data(), format.size()}, fmt::make_format_args(text));
}

[[gnu::used]] inline own_string report_code::first_screen(document const& what, int descriptor, std::string const& files) {
  text_style const style = descriptor < 0 ? plain_style() : style_of(descriptor);
  return detail::first_screen{what, style}.text(files);
}

[[gnu::used]] inline own_string report_code::full_text(document const& what, bool as_markdown) {
  return as_markdown ? markdown_printer{what}.print() : text_printer{what, plain_style()}.print();
}

/// The tables of a document that a report writes as CSV files.
inline own_vector<named_csv> csv_files(document const& made) {
  constexpr std::array<std::string_view, 4> names{"scopes", "scope_memory", "steps", "kernels"};
  own_vector<named_csv> result;
  for (section const& from : made.sections) {
    for (block const& each : from.blocks) {
      auto const* const table = std::get_if<data_table>(&each);
      if (table != nullptr && std::find(names.begin(), names.end(), table->name) != names.end())
        result.push_back({table->name + ".csv", csv_of(*table)});
    }
  }
  return result;
}

/// Writes the files that need only a summary.
/// @param others names of further files that the caller writes.
inline void write_summary_files(summary const& what, document const& made, std::vector<std::string> const& others, report_folder& folder) {
  own_vector<named_csv> const tables = csv_files(made);
  std::vector<std::string> names{"report.json", "summary.profkit", "report.html", "report.md"};
  for (named_csv const& each : tables) names.push_back(each.name);
  names.insert(names.end(), others.begin(), others.end());
  std::vector<std::string> const own = folder.begin(names, !others.empty());
  folder.write_first(report_code::json(what, own), html_page(made), own);
  folder.write("summary.profkit", [&](std::filesystem::path const& path, replacing mode) {
    atomic_file file{path, mode};
    write_summary(what, file);
    file.finish();
  });
  folder.write_text("report.md", markdown_printer{made}.print());
  for (named_csv const& each : tables) folder.write_text(each.name, each.content);
}

[[gnu::used]] inline std::vector<std::string> report_code::write(profile const& profile, summary const& what, document const& made,
                                                                 std::string const& directory, std::uint64_t trace_steps) {
  report_folder folder{directory};
  write_summary_files(what, made, {"trace.json"}, folder);
  folder.write("trace.json",
               [&](std::filesystem::path const& path, replacing) { write_trace_json(profile, attribute(profile), trace_steps, path); });
  return std::move(folder).finish();
}

[[gnu::used]] inline void report_code::write(profile const& profile, summary const& what, std::string const& directory,
                                             std::uint64_t trace_steps) {
  write(profile, what, make_document(what), directory, trace_steps);
}

[[gnu::used]] inline std::vector<std::string> report_code::write(summary const& what, document const& made, std::string const& directory) {
  report_folder folder{directory};
  write_summary_files(what, made, {}, folder);
  return std::move(folder).finish();
}

[[gnu::used]] inline own_string report_code::document_json(document const& what) { return json_printer{what}.print(); }

[[gnu::used]] inline void report_code::write_trace(profile const& profile, std::string const& path, std::uint64_t steps) {
  write_trace_json(profile, attribute(profile), steps, absolute_path(path));
}

[[gnu::used]] inline void report_code::write_default_trace(profile const& profile, std::string const& path, std::uint64_t steps) {
  std::filesystem::path const place = absolute_path(path);
  std::error_code failure;
  std::filesystem::file_status const there = std::filesystem::symlink_status(place, failure);
  if (std::filesystem::exists(there) && !(is_trace_json(path) && std::filesystem::is_regular_file(there))) {
    throw error{"cannot write " + shown_path(place.string()) + ": it exists and is not a trace of profkit. Remove it, or use out=DIR",
                EEXIST};
  }
  write_trace_json(profile, attribute(profile), steps, place);
}

[[gnu::used]] inline own_string report_code::json(summary const& what, std::vector<std::string> const& files) {
  return summary_json_writer{what, files}.write();
}

}  // namespace profkit::detail

namespace profkit {

[[gnu::used]] inline detail::own_string report_text(summary const& what) {
  return detail::report_code::first_screen(detail::make_document(what), -1, {});
}

[[gnu::used]] inline detail::own_string report_full_text(summary const& what) {
  return detail::report_code::full_text(detail::make_document(what), false);
}

[[gnu::used]] inline detail::own_string report_markdown(summary const& what) {
  return detail::report_code::full_text(detail::make_document(what), true);
}

[[gnu::used]] inline detail::own_string report_html(summary const& what) { return detail::html_page(detail::make_document(what)); }

[[gnu::used]] inline detail::own_string report_json(summary const& what) { return detail::report_code::json(what, {}); }

[[gnu::used]] inline bool is_summary_file(std::string const& path) { return detail::begins_with(path, detail::summary_magic); }

[[gnu::used]] inline void save_summary(summary const& what, std::string const& path) {
  detail::atomic_file file{path};
  detail::write_summary(what, file);
  file.finish();
}

[[gnu::used]] inline summary load_summary(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path};
  std::uint64_t const size = detail::size_of(file);
  try {
    return detail::read_summary(file, size);
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace profkit
