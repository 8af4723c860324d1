// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <profkit/profile.hpp>
#include <profkit/summary.hpp>
#include <string>
#include <vector>

#include "config.hpp"
#include "tables/string_table.hpp"

namespace trainer {

struct titled_table {
  std::string title;
  string_table content;
  std::vector<std::string> notes;  ///< what a reader must know to read the figures

  /// Formatted for a terminal.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string markdown() const;
};

/// T1: one row for the run. Figures that were not measured are n/a.
[[nodiscard]] titled_table step_summary_table(run_config const& config, profkit::summary const& summary);

/// T2: where the time of the steps went, by phase, and by part for the attention of the forward pass.
[[nodiscard]] titled_table section_table(run_config const& config, profkit::summary const& summary);

/// T6: answers about the kernels: which take the most time, the share of matrix products, softmax compared with matrix products.
/// @param profile the profile that `summary` summarises.
[[nodiscard]] titled_table questions_table(run_config const& config, profkit::profile const& profile, profkit::summary const& summary);

/// T8: the phases, and the forward pass layer by layer.
[[nodiscard]] titled_table layer_table(run_config const& config, profkit::summary const& summary);

/// T14: the backward pass by scope of the forward pass.
struct backward_tables {
  titled_table by_name;   ///< scopes that differ only in an index, such as that of the layer, share a row
  titled_table by_scope;  ///< one row per scope
};

/// @param profile the profile that `summary` summarises. Empty if no scope adopted a forward scope (see libtorch_bridge.hpp).
[[nodiscard]] std::optional<backward_tables> backward_tables_of(profkit::profile const& profile, profkit::summary const& summary);

/// The types of the operations, according to the names of the kernels.
[[nodiscard]] titled_table type_table(profkit::summary const& summary);

/// The backend that `scaled_dot_product_attention` used: "flash", "efficient", "cudnn" or "math"; "unknown" for fused kernels with another
/// name. n/a without kernels.
[[nodiscard]] std::optional<std::string> sdpa_backend_of(profkit::summary const& summary);

}  // namespace trainer
