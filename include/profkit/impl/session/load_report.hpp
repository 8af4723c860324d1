// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../load_report.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../report.hpp"
#include "../../save_load.hpp"
#include "../../summary.hpp"
#include "../analyze/time/measured_time.hpp"
#include "../analyze/windows/window_stream.hpp"
#include "../profile/file_access.hpp"
#include "../profile/journal_reader.hpp"

namespace profkit::detail {

/// The figures of a journal whose first file was deleted; n/a for a journal with all records.
/// @param content the loaded part of the journal.
inline std::optional<summary> figures_of_journal(std::filesystem::path const& path, profile const& content) {
  std::ifstream file{path, std::ios::binary};
  std::uint64_t const size = size_of(file);
  journal_file newest;
  profile waiting;
  if (!newest.read_beginning(file, size)) return std::nullopt;
  while (newest.read_frame(file, size, waiting)) continue;
  if (newest.number() == 0) return std::nullopt;
  newest.check_tables(waiting);
  waiting.quality = content.quality;
  waiting.collectors = content.collectors;
  bool const had_steps = measured_time::had_steps(waiting);
  window_stream windows;
  windows.resume(newest.take_figures(), std::move(waiting));
  windows.add_rest(windows.has_steps() || had_steps);
  return windows.sums().finish();
}

}  // namespace profkit::detail

namespace profkit {

[[gnu::used]] inline report load_report(std::string const& path) {
  auto const content = std::make_shared<profile const>(load(path));
  if (content->quality.untraced_records == 0 || !is_journal_file(path)) return report{content};
  try {
    std::optional<summary> figures = detail::figures_of_journal(path, *content);
    if (!figures) return report{content};
    return profkit::report{content, std::make_shared<summary const>(std::move(*figures))};
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace profkit
