// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "../../analyze.hpp"
#include "../../csv_printer.hpp"
#include "../../error.hpp"
#include "../../markdown_printer.hpp"
#include "../../plain_report.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../summary_file.hpp"
#include "../../text_printer.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/archive_reader.hpp"
#include "../profile/archive_writer.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/file_access.hpp"
#include "../profile/journal_format.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "earlier_report.hpp"
#include "first_screen.hpp"
#include "html_page.hpp"
#include "report_code.hpp"
#include "summary_json.hpp"
#include "text_width.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Writes several files. If one file fails, the others are still written.
class file_attempts {
 public:
  /// @param write writes one file; may throw `profkit::error`.
  template <class Write>
  void operator()(Write&& write) {
    try {
      write();
    } catch (error const& failure) {
      if (failures_.empty()) code_ = failure.code();
      failures_ += (failures_.empty() ? "" : "; ") + std::string{failure.what()};
    }
  }

  /// Reports failures. To be called at the end.
  /// @throws profkit::error that names each file that could not be written; its code is the code of the first failure.
  void finish() const {
    if (!failures_.empty()) throw error{failures_, code_};
  }

 private:
  std::string failures_;
  int code_ = 0;
};

/// A folder into which a report is written. Replaces and removes only files that an earlier report in this folder lists as its own: in
/// `report.json`, or in another place if that file cannot be written (`write_first`). Does not touch any other file, pipe, device or link.
class report_folder {
 public:
  /// Creates the folder.
  /// @throws profkit::error that names the folder and says why it cannot be created.
  explicit report_folder(std::string const& directory) : folder_{absolute_path(directory)} {
    std::error_code failure;
    std::filesystem::create_directories(folder_, failure);
    if (failure || !std::filesystem::is_directory(folder_, failure)) {
      if (!failure) failure = std::make_error_code(std::errc::not_a_directory);
      throw error{"cannot create the directory " + shown_path(folder_.string()) + ": " + failure.message(), failure.value()};
    }
    if (std::optional<earlier_report> earlier = read_report_head(folder_ / json_name())) {
      owned_ = std::move(earlier->files);
      owned_.push_back(json_name());
    }
    for (char const* const list : {"report.html", file_list_name}) {
      for (std::string& name : read_file_list(folder_ / list)) owned_.push_back(std::move(name));
    }
  }

  /// Removes the files of an earlier report that this report does not have.
  /// @param names the files of this report.
  /// @param is_complete false: a trace and files of earlier versions stay, because they may be from the same run.
  /// @return the names for the list in `report.json`.
  std::vector<std::string> begin(std::vector<std::string> const& names, bool is_complete) {
    names_ = names;
    std::vector<std::string> result;
    for (std::string const& name : names) {
      if (!why_not(name)) result.push_back(name);
    }
    for (std::size_t i = 0; i < report_file_names.size(); ++i) {
      std::string const name{report_file_names[i]};
      if (!owns(name) || std::find(names.begin(), names.end(), name) != names.end()) continue;
      bool const is_table = name == "scope_memory.csv" || name == "kernels.csv";
      if (i >= first_occasional_file && (is_complete || is_table)) {
        attempt_([&] { remove(name); });
      } else if (is_there(name)) {
        result.push_back(name);
      }
    }
    return result;
  }

  /// Writes one file. Failures are kept and thrown by `finish`.
  /// @param writer called with the path and whether a file there may be replaced; may throw `profkit::error`.
  template <class Writer>
  void write(std::string const& name, Writer&& writer) {
    attempt_([&] {
      std::filesystem::path const path = folder_ / name;
      if (auto const reason = why_not(name)) {
        throw error{"cannot write " + shown_path(path.string()) + ": " + reason->text, reason->code};
      }
      writer(path, owns(name) ? replacing::any_file : replacing::nothing);
      written_.push_back(name);
    });
  }

  void write_text(std::string const& name, std::string_view content) {
    write(name, [&](std::filesystem::path const& path, replacing mode) { write_file(path, content, mode); });
  }

  /// Writes `report.json` and `report.html`, before the other files. If the first one fails, the names of the files of this report are kept
  /// in the second one, or in a file of their own.
  /// @param names what `begin` returned.
  void write_first(std::string_view json, std::string_view page, std::vector<std::string> const& names) {
    std::filesystem::path const alone = folder_ / file_list_name;
    bool const has_list = !read_file_list(alone).empty();
    write_text(json_name(), json);
    std::string list;
    if (written_.empty()) {
      std::vector<std::string> all = names;
      all.insert(all.end(), owned_.begin(), owned_.end());
      list = file_list(all);
    }
    if (list.empty()) {
      write_text("report.html", page);
    } else {
      write_text("report.html", own_string{page} + "<!-- " + list + "-->\n");
    }
    if (!written_.empty() && has_list) ::unlink(alone.c_str());
    if (!written_.empty()) return;
    try {
      write_file(alone, list, has_list ? replacing::any_file : replacing::nothing);
    } catch (error const&) {  // the failure of `report.json` is reported
    }
  }

  /// @return the names of the files.
  /// @throws profkit::error that names each file that could not be written or removed.
  std::vector<std::string> finish() && {
    attempt_.finish();
    return std::move(names_);
  }

 private:
  struct refusal {
    std::string text;
    int code;
  };

  static std::string json_name() { return std::string{report_file_names.front()}; }

  [[nodiscard]] bool owns(std::string const& name) const { return std::find(owned_.begin(), owned_.end(), name) != owned_.end(); }

  [[nodiscard]] bool is_there(std::string const& name) const {
    struct ::stat found {};
    return ::lstat((folder_ / name).c_str(), &found) == 0;
  }

  /// Why a file must not be written.
  [[nodiscard]] std::optional<refusal> why_not(std::string const& name) const {
    struct ::stat found {};
    if (::lstat((folder_ / name).c_str(), &found) != 0) return std::nullopt;
    if (S_ISDIR(found.st_mode)) return refusal{std::generic_category().message(EISDIR), EISDIR};
    if (!S_ISREG(found.st_mode)) return refusal{"it exists and is not a regular file", EEXIST};
    if (owns(name)) return std::nullopt;
    return refusal{"it exists, and no report of profkit in this folder contains it. Remove it, or choose another folder", EEXIST};
  }

  void remove(std::string const& name) {
    std::filesystem::path const path = folder_ / name;
    struct ::stat found {};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || ::unlink(path.c_str()) == 0) return;
    std::error_code const failure{errno, std::generic_category()};
    throw error{"cannot remove " + shown_path(path.string()) + " of an earlier report: " + failure.message(), failure.value()};
  }

  std::filesystem::path folder_;
  std::vector<std::string> owned_;  ///< names of files of earlier reports
  std::vector<std::string> names_;  ///< of the files of this report
  std::vector<std::string> written_;
  file_attempts attempt_;
};

/// Begins the checksum of a summary: it covers the version of the format, and all bytes after itself.
inline checksum checksum_of_format(std::uint32_t format) {
  checksum result;
  char bytes[sizeof format];
  std::memcpy(bytes, &format, sizeof format);
  result.add({bytes, sizeof bytes});
  return result;
}

/// Writes the magic, `summary_format`, a checksum, and the members of the summary.
inline void write_summary(summary const& what, byte_output& to) {
  own_string content;
  string_output content_output{content};
  archive_writer content_archive{content_output};
  content_archive(what);
  content_archive.flush();
  checksum sum = checksum_of_format(summary_format.in_file());
  sum.add(content);
  to.write(summary_magic);
  archive_writer archive{to};
  archive(summary_format.in_file());
  archive(sum.value());
  archive.flush();
  to.write(content);
}

/// @param sum the checksum of the preceding bytes.
/// @return the checksum including the rest of the stream.
inline std::uint32_t checksum_of_rest(std::istream& from, checksum sum) {
  char piece[1U << 14U];
  while (from.read(piece, sizeof piece) || from.gcount() > 0) sum.add({piece, static_cast<std::size_t>(from.gcount())});
  return sum.value();
}

inline summary read_summary(std::istream& file, std::uint64_t size) {
  if (!reads_magic(file, summary_magic)) throw error{"it is not a profkit summary"};
  std::uint32_t format = 0;
  std::uint32_t checksum = 0;
  archive_reader header{file, std::min<std::uint64_t>(size - summary_magic.size(), sizeof format + sizeof checksum)};
  header(format);
  header(checksum);
  format_version const found = check_format(format, summary_format);
  std::streamoff const begin = file.tellg();
  if (checksum_of_rest(file, checksum_of_format(format)) != checksum)
    throw error{"the summary is cut off or damaged: its checksum is wrong"};
  file.clear();
  file.seekg(begin);
  archive_reader archive{file, size - static_cast<std::uint64_t>(begin)};
  archive.set_format(found, summary_format);
  summary result;
  archive(result);
  archive.skip_the_rest();
  summary_check{}(result);
  add_format_words(found, summary_format, result.collectors);
  return result;
}

[[gnu::used]] inline std::shared_ptr<summary const> report_code::summarize(profile const& profile) {
  return std::make_shared<summary const>(analyze(profile));
}

[[gnu::used]] inline void report_code::print(std::string_view format, summary const& what) {
  own_string const text = report_text(what);
  fmt::vprint({format.data(), format.size()}, fmt::make_format_args(text));
}

[[gnu::used]] inline own_string report_code::first_screen(document const& what, int descriptor, std::string const& files) {
  usual_arithmetic const arithmetic;
  text_style const style = descriptor < 0 ? plain_style() : style_of(descriptor);
  return detail::first_screen{what, style}.text(files);
}

[[gnu::used]] inline own_string report_code::full_text(document const& what, bool as_markdown) {
  usual_arithmetic const arithmetic;
  return as_markdown ? markdown_of(what) : text_of(what, plain_style());
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
  folder.write_text("report.md", markdown_of(made));
  for (named_csv const& each : tables) folder.write_text(each.name, each.content);
}

[[gnu::used]] inline std::vector<std::string> report_code::write(profile const& profile, summary const& what, document const& made,
                                                                 std::string const& directory, std::uint64_t trace_steps) {
  usual_arithmetic const arithmetic;
  report_folder folder{directory};
  write_summary_files(what, made, {"trace.json"}, folder);
  folder.write("trace.json", [&](std::filesystem::path const& path, replacing) { write_trace(profile, path.string(), trace_steps); });
  return std::move(folder).finish();
}

[[gnu::used]] inline void report_code::write(profile const& profile, summary const& what, std::string const& directory,
                                             std::uint64_t trace_steps) {
  write(profile, what, describe(what), directory, trace_steps);
}

[[gnu::used]] inline std::vector<std::string> report_code::write(summary const& what, document const& made, std::string const& directory) {
  report_folder folder{directory};
  write_summary_files(what, made, {}, folder);
  return std::move(folder).finish();
}

[[gnu::used]] inline own_string report_code::file_of(summary const& what) {
  own_string bytes;
  string_output to{bytes};
  write_summary(what, to);
  return bytes;
}

[[gnu::used]] inline own_string report_code::json(summary const& what, std::vector<std::string> const& files) {
  usual_arithmetic const arithmetic;
  return summary_json_writer{what, files}.write();
}

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline detail::own_string report_text(summary const& what) {
  return detail::report_code::first_screen(detail::report_code::describe(what), -1, {});
}

[[gnu::used]] inline detail::own_string report_full_text(summary const& what) {
  return detail::report_code::full_text(detail::report_code::describe(what), false);
}

[[gnu::used]] inline detail::own_string report_markdown(summary const& what) {
  return detail::report_code::full_text(detail::report_code::describe(what), true);
}

[[gnu::used]] inline detail::own_string report_html(summary const& what) {
  detail::usual_arithmetic const arithmetic;
  return detail::html_page(detail::report_code::describe(what));
}

[[gnu::used]] inline detail::own_string report_json(summary const& what) { return detail::report_code::json(what, {}); }

[[gnu::used]] inline bool is_summary_file(std::string const& path) { return detail::begins_with(path, detail::summary_magic); }

[[gnu::used]] inline void save_summary(summary const& what, std::string const& path) {
  detail::atomic_file file{path};
  detail::write_summary(what, file);
  file.finish();
}

[[gnu::used]] inline summary load_summary(std::string const& path) {
  std::ifstream file = detail::readable_file(path);
  std::uint64_t const size = detail::size_of(file);
  try {
    return detail::read_summary(file, size);
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace PROFKIT_NAMESPACE
