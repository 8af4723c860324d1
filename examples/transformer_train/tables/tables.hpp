// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <profkit/analyze/summary.hpp>
#include <profkit/profile/profile.hpp>
#include <string>
#include <vector>

#include "config.hpp"
#include "tables/string_table.hpp"

namespace trainer {

struct titled_table {
  std::string title;
  string_table content;
  std::vector<std::string> notes;  ///< what a reader must know to read the figures

  /// For a terminal.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string markdown() const;
};

/// T1: one row for the run. A figure that was not measured is n/a.
[[nodiscard]] titled_table step_summary_table(run_config const& config, profkit::summary const& summary);

/// T2: where the steps went, phase by phase, and the attention of the forward pass part by part.
[[nodiscard]] titled_table section_table(run_config const& config, profkit::summary const& summary);

/// T6: what the kernels say about the run: which take the time, the share of matrix products, softmax against matrix products.
/// @param profile the one that `summary` is of.
[[nodiscard]] titled_table questions_table(run_config const& config, profkit::profile const& profile, profkit::summary const& summary);

/// T8: the phases, and the forward pass layer by layer.
[[nodiscard]] titled_table layer_table(run_config const& config, profkit::summary const& summary);

/// T14: the backward pass by the scopes of the forward pass.
struct backward_tables {
  titled_table by_name;   ///< scopes that differ in a number only, such as that of the layer, in one row
  titled_table by_scope;  ///< a row each
};

/// @param profile the one that `summary` is of. None if no scope of it adopted another's backward (see libtorch_bridge.hpp).
[[nodiscard]] std::optional<backward_tables> backward_tables_of(profkit::profile const& profile, profkit::summary const& summary);

/// Which operations ran in which type, as the names of the kernels say.
[[nodiscard]] titled_table type_table(profkit::summary const& summary);

/// What `scaled_dot_product_attention` ran, in a run with it: "flash", "efficient", "cudnn", "math"; "unknown" for fused kernels of another
/// name. n/a without kernels.
[[nodiscard]] std::optional<std::string> sdpa_backend_of(profkit::summary const& summary);

}  // namespace trainer
