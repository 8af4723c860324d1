// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../../error.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/file_access.hpp"
#include "../profile/own_memory.hpp"
#include "earlier_report.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
