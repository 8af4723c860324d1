// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/error.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "watched_journal.hpp"

namespace profkit_program {

namespace detail {

enum class file_content { nothing_yet, journal, profile, summary, other };

/// What a file holds, by its first bytes.
inline file_content content_of_file(std::filesystem::path const& path) {
  std::ifstream file = profkit::detail::open_to_read(path);
  std::array<char, profkit::detail::journal_magic.size()> bytes{};
  file.read(bytes.data(), bytes.size());
  std::string_view const begin{bytes.data(), static_cast<std::size_t>(file.gcount())};
  if (begin == profkit::detail::journal_magic.substr(0, begin.size()))
    return begin.size() == bytes.size() ? file_content::journal : file_content::nothing_yet;
  if (begin.substr(0, profkit::detail::profile_magic.size()) == profkit::detail::profile_magic) return file_content::profile;
  return profkit::is_summary_file(path) ? file_content::summary : file_content::other;
}

/// @throws profkit::error if the path is there and cannot become a journal.
inline void check_watched_path(std::filesystem::path const& path) {
  std::error_code ignored;
  std::filesystem::file_status const status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) return;
  if (!std::filesystem::is_regular_file(status)) throw profkit::error{path.string() + ": is neither a file nor a folder"};
  switch (content_of_file(path)) {
    case file_content::nothing_yet:
    case file_content::journal:
      return;
    case file_content::profile:
      throw profkit::error{path.string() + ": is a saved profile and not a journal; profkit report prints it"};
    case file_content::summary:
      throw profkit::error{path.string() + ": is the summary of a report and not a journal; profkit report prints it"};
    case file_content::other:
      throw profkit::error{path.string() +
                           ": is not a journal; profkit watch reads the file that a program with PROFKIT=journal=FILE writes"};
  }
}

/// Names that a session gives to files beside its journal.
inline bool is_beside_journal(std::string_view name) {
  auto const ends_with = [&](std::string_view end) { return name.size() > end.size() && name.substr(name.size() - end.size()) == end; };
  return ends_with(".1") || ends_with(".before") || ends_with(".next");
}

}  // namespace detail

/// The journals in a folder, in the order of their names.
inline std::vector<std::filesystem::path> journals_in(std::filesystem::path const& folder) {
  std::vector<std::filesystem::path> result;
  std::error_code failed;
  for (std::filesystem::directory_iterator each{folder, failed}, end; !failed && each != end; each.increment(failed)) {
    std::error_code ignored;
    if (!detail::is_beside_journal(each->path().filename().string()) && each->is_regular_file(ignored) &&
        detail::content_of_file(each->path()) == detail::file_content::journal)
      result.push_back(each->path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The journals that `profkit watch` was given: files, and all journals of folders, which may come later.
class watched_files {
 public:
  /// @throws profkit::error for a path that is there and is neither a journal nor a folder.
  explicit watched_files(std::vector<std::string> const& paths) {
    for (std::string const& each : paths) {
      detail::check_watched_path(each);
      paths_.emplace_back(each);
    }
    look();
  }

  /// Adds journals that are new in folders. Journals stay, whatever becomes of their files.
  void look() {
    for (std::filesystem::path const& path : paths_) {
      std::error_code failed;
      if (!std::filesystem::is_directory(path, failed)) {
        // A single path is shown before there is a file.
        add(path);
        continue;
      }
      std::vector<std::filesystem::path> found;
      for (std::filesystem::directory_iterator each{path, failed}, end; !failed && each != end; each.increment(failed)) {
        if (is_new_journal(*each)) found.push_back(each->path());
      }
      std::sort(found.begin(), found.end());
      for (std::filesystem::path const& file : found) add(file);
    }
  }

  /// In the order in which they were given or found; addresses stay.
  [[nodiscard]] std::list<watched_journal>& journals() noexcept { return journals_; }

 private:
  void add(std::filesystem::path const& file) {
    if (known_.insert(file).second) journals_.emplace_back(file);
  }

  /// Files that are no journals are opened once, unless their size changes.
  bool is_new_journal(std::filesystem::directory_entry const& entry) {
    std::error_code failed;
    if (known_.count(entry.path()) > 0 || detail::is_beside_journal(entry.path().filename().string()) || !entry.is_regular_file(failed))
      return false;
    std::uintmax_t const size = entry.file_size(failed);
    if (failed) return false;
    auto const [seen, is_new] = others_.try_emplace(entry.path(), size);
    if (!is_new && std::exchange(seen->second, size) == size) return false;
    if (detail::content_of_file(entry.path()) != detail::file_content::journal) return false;
    others_.erase(seen);
    return true;
  }

  std::vector<std::filesystem::path> paths_;
  std::set<std::filesystem::path> known_;
  std::list<watched_journal> journals_;
  std::map<std::filesystem::path, std::uintmax_t> others_;  ///< files in folders that are no journals, and their sizes
};

}  // namespace profkit_program
