// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "analysis.hpp"

namespace profkit {

/// @brief Reads or writes the figures of an analysis. Reading keeps the options of the target, because the file does not contain them.
/// @param archive an `archive_writer` or an `archive_reader`.
/// @param state the analysis.
/// @throws profkit::error if the bytes are not the state of an analysis.
template <class Archive>
void fields(Archive& archive, analysis& state) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(state.has_any_, state.has_steps_, state.header_, state.paths_, state.scopes_, state.counters_, state.readings_, state.clocks_,
       state.memory_, state.gpu_, state.kinds_, state.adopted_, state.work_, state.devices_, state.stretches_);
  if constexpr (Archive::is_reader) {
    archive.check(state.scopes_.has_paths(state.paths_.size()), "not all paths have times");
    // Merging into an empty analysis rebuilds the lookup tables and validates all positions.
    analysis whole{state.options_};
    whole.merge(state);
    state = std::move(whole);
  }
}

}  // namespace profkit
