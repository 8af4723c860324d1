// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "analysis.hpp"

namespace profkit::detail {

template <class Archive>
void fields(Archive& archive, analysis_parts& all) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(all.has_any, all.has_steps, all.header, all.paths, all.scopes, all.counters, all.readings, all.clocks, all.utilization, all.memory,
       all.gpu, all.kinds, all.adopted, all.work, all.samples, all.devices, all.stretches);
  if constexpr (Archive::is_reader) archive.check(all.scopes.has_paths(all.paths.size()), "not all paths have times");
}

}  // namespace profkit::detail

namespace profkit {

/// @brief Reads or writes the figures of an analysis. Reading keeps the options of the target, because the file does not contain them.
/// @param archive an `archive_writer` or an `archive_reader`.
/// @param state the analysis.
/// @throws profkit::error if the bytes are not the state of an analysis.
template <class Archive>
void fields(Archive& archive, analysis& state) {
  detail::fields(archive, state.parts_);
  if constexpr (Archive::is_reader) {
    // Merging into an empty analysis rebuilds the lookup tables and validates all positions.
    analysis whole{state.parts_.options};
    whole.merge(state);
    state = std::move(whole);
  }
}

}  // namespace profkit
