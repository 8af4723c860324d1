// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../profile/archive.hpp"
#include "analysis.hpp"

namespace profkit {

/// Names the members of an analysis for an archive. Reading keeps the options of the analysis that is read into: they are not in the file.
/// @throws profkit::error if what is read is not what an analysis can have.
template <class Archive>
void fields(Archive& archive, analysis& of) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(of.has_any_, of.has_steps_, of.header_, of.paths_, of.scopes_, of.counters_, of.readings_, of.clocks_, of.memory_, of.gpu_,
       of.budget_in_steps_, of.budget_in_gpu_windows_, of.adopted_, of.work_, of.devices_, of.stretches_);
  if constexpr (Archive::is_reader) {
    archive.check(of.scopes_.has_paths(of.paths_.size()), "not all paths have times");
    // Merging makes the tables and checks the positions.
    analysis whole{of.options_};
    whole.merge(of);
    of = std::move(whole);
  }
}

}  // namespace profkit
