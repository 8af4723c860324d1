// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis.hpp"

namespace profkit::detail {

template <class Archive>
void fields(Archive& archive, analysis_parts& all) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(all.own, all.has_steps, all.header, all.paths, all.scopes, all.counters, all.readings, all.clocks, all.utilization, all.memory,
       all.gpu, all.kinds, all.adopted, all.work, all.samples, all.devices, all.stretch);
  if constexpr (Archive::is_reader) {
    std::size_t const paths = all.paths.size();
    std::size_t const names = all.gpu.names().size();
    std::size_t const allocators = all.memory.size();
    archive.check(!all.own || all.own->begin <= all.own->end, "the windows end before they begin");
    archive.check(all.scopes.has_paths(paths), "not all paths have times");
    bool const is_right = all.memory.is_in(paths) && all.gpu.is_in(paths) && all.kinds.is_in(paths) && all.adopted.is_in(paths) &&
                          all.work.is_in(paths) && all.samples.is_in(paths) && all.stretch.is_in(paths, names, allocators);
    archive.check(is_right, "figures without a path, name or allocator");
    archive.check(all.kinds.all_kernels([&](std::uint32_t name) { return all.gpu.has_kernel(name); }),
                  "a kind of step has unknown kernels");
  }
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
}

}  // namespace profkit
