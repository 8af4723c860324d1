// SPDX-License-Identifier: Apache-2.0
//
// Shared by the checks of tables: counting failures, reading the cells of a table, recorded runs.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.hpp"
#include "tables/tables.hpp"

namespace checks {

inline int failures = 0;

inline void check(bool holds, std::string_view what) {
  if (holds) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

inline void check_equal(std::string_view found, std::string_view expected, std::string_view what) {
  check(found == expected, fmt::format("{}: {} instead of {}", what, found, expected));
}

inline void check_close(double found, double expected, double tolerance, std::string_view what) {
  check(std::abs(found - expected) <= tolerance, fmt::format("{}: {} instead of {}", what, found, expected));
}

inline void check_contains(std::string_view text, std::string_view part, std::string_view what) {
  check(text.find(part) != text.npos, fmt::format("{}: no \"{}\" in \"{}\"", what, part, text));
}

/// The cells of a table by column; rows are named by their first columns, joined with ", ".
class cells {
 public:
  explicit cells(trainer::string_table const& table, std::size_t naming_columns = 1) {
    std::vector<std::vector<std::string>> const lines = parse(table.to_csv());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      std::string name = lines[i].front();
      for (std::size_t column = 1; column < naming_columns; ++column) name += ", " + lines[i][column];
      name.erase(0, name.find_first_not_of(' '));
      for (std::size_t column = 0; column < lines[i].size(); ++column) cells_.insert({{name, lines.front()[column]}, lines[i][column]});
      names_.push_back(std::move(name));
    }
  }

  [[nodiscard]] std::vector<std::string> const& names() const { return names_; }

  /// The cell of the first row with that name.
  [[nodiscard]] std::string at(std::string const& row, std::string const& column) const {
    auto const cell = cells_.find({row, column});
    if (cell != cells_.end()) return cell->second;
    check(false, fmt::format("there is no cell {} of {}", column, row));
    return {};
  }

  /// The number at the beginning of a cell; NaN for n/a, which compares as not close to any number.
  [[nodiscard]] double number(std::string const& row, std::string const& column) const {
    std::string const text = at(row, column);
    char* end = nullptr;
    double const result = std::strtod(text.c_str(), &end);
    return end == text.c_str() ? std::nan("") : result;
  }

  /// CSV as in RFC 4180.
  static std::vector<std::vector<std::string>> parse(std::string const& csv) {
    std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
    bool is_quoted = false;
    for (char const c : csv) {
      if (c == '"') {
        // Doubled quotes are read as end and begin of quotes, which would only lose quotes inside cells; no cell has one.
        is_quoted = !is_quoted;
      } else if (c == ',' && !is_quoted) {
        lines.back().emplace_back();
      } else if (c == '\n' && !is_quoted) {
        lines.emplace_back(1);
      } else {
        lines.back().back() += c;
      }
    }
    lines.pop_back();
    return lines;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::string> cells_;
  std::vector<std::string> names_;
};

/// Analyses through a report, whose code is compiled once for all checks.
inline profkit::summary summary_of(profkit::profile const& profile) {
  return profkit::report{std::make_shared<profkit::profile const>(profile)}.summary();
}

/// A run of the trainer recorded on an H200, from profkit's tests/data.
struct recorded_run {
  recorded_run(std::string const& folder, std::string const& name) : profile{profkit::load(folder + "/" + name + ".profile")} {
    config.size = trainer::model_sizes[1];
  }

  profkit::profile profile;
  profkit::summary summary = summary_of(profile);
  trainer::run_config config;
};

inline recorded_run training_run(std::string const& folder) {
  recorded_run run{folder, "small-128-train-fp32-without-bridge"};
  run.config.ctx = 128;
  return run;
}

inline recorded_run forward_run(std::string const& folder) {
  recorded_run run{folder, "small-512-fwd-fp32"};
  run.config.ctx = 512;
  run.config.mode = trainer::run_mode::forward;
  return run;
}

/// The run as it would be on a machine that cannot measure the GPU.
inline recorded_run without_gpu(recorded_run run, std::string const& reason) {
  run.profile.gpu_scopes.clear();
  run.profile.gpu_steps.clear();
  run.profile.gpu_operations.clear();
  run.profile.collectors = {{"kernels", "not collected", reason, profkit::collector_kind::kernels}};
  run.summary = summary_of(run.profile);
  return run;
}

}  // namespace checks
