// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../profile/archive.hpp"
#include "analysis.hpp"

namespace profkit {

/// Names the members of an analysis for an archive. Reading keeps the options of the analysis that is read into: they are not in the file.
/// @throws profkit::error if what is read is not what an analysis can have.
template <class Archive>
void fields(Archive& archive, analysis& state) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(state.has_any_, state.has_steps_, state.header_, state.paths_, state.scopes_, state.counters_, state.readings_, state.clocks_,
       state.memory_, state.gpu_, state.budget_in_steps_, state.budget_in_gpu_windows_, state.adopted_, state.work_, state.devices_,
       state.stretches_);
  if constexpr (Archive::is_reader) {
    archive.check(state.scopes_.has_paths(state.paths_.size()), "not all paths have times");
    // Merging makes the tables and checks the positions.
    analysis whole{state.options_};
    whole.merge(state);
    state = std::move(whole);
  }
}

}  // namespace profkit
