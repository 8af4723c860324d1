// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/summary.hpp>
#include <profkit/report/table.hpp>
#include <string>
#include <vector>

#include "config.hpp"

namespace trainer {

struct titled_table {
  std::string title;
  profkit::table content;
  std::vector<std::string> notes;  ///< what a reader must know to read the figures

  /// For a terminal.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string markdown() const;
};

/// T1: one row for the run. A figure that was not measured is n/a.
[[nodiscard]] titled_table step_summary_table(run_config const& config, profkit::summary const& summary);

/// T2: where the steps went, phase by phase, and the attention of the forward pass part by part.
[[nodiscard]] titled_table section_table(run_config const& config, profkit::summary const& summary);

}  // namespace trainer
