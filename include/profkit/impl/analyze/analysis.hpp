// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "../../analyze.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "gpu/attribution.hpp"
#include "gpu/device_readings.hpp"
#include "kinds/kind_table.hpp"
#include "memory/memory_sums.hpp"
#include "merge/gpu_figures.hpp"
#include "merge/merged_counters.hpp"
#include "merge/merged_readings.hpp"
#include "merge/session_header.hpp"
#include "merge/session_paths.hpp"
#include "merge/stretch_figures.hpp"
#include "samples/sample_rows.hpp"
#include "time/adopted_scopes.hpp"
#include "time/scope_rows.hpp"
#include "window.hpp"
#include "work/scope_work.hpp"

namespace profkit::detail {

/// The figures that `analysis` accumulates.
struct analysis_parts {
  analyze_options options;      ///< rules for kernel classes
  std::optional<interval> own;  ///< the stretch of all windows that count
  bool has_steps = false;       ///< only measured steps count; false: the whole session
  session_header header;
  session_paths paths;
  scope_times scopes;
  merged_counters counters;
  merged_readings readings;
  merged_clocks clocks;
  merged_utilization utilization;
  memory_sums memory;
  gpu_figures gpu;
  kind_table kinds;
  adopted_sums adopted;
  work_by_path work;
  sample_sums samples;
  std::set<std::int32_t> devices;
  stretch_figures stretch;
};

}  // namespace profkit::detail

namespace profkit {

/// @brief The figures of a session, computed window by window.
///
/// The summary does not depend on the borders of the windows, except for the rounding of floating-point sums (`work` and `model_flops`).
/// Memory is bounded by the number of paths, kernels and allocators, not by the length of the session. Not thread-safe. Performs no input
/// or output.
class analysis {
 public:
  /// @brief Creates an analysis without windows.
  /// @param with rules for kernel classes.
  explicit analysis(analyze_options with = {}) { parts_.options = std::move(with); }

  /// @brief Adds a window. The windows of a session are added in time order and do not overlap.
  /// @param each the window; takes time proportional to its records (n log n if they are out of order).
  /// @throws profkit::error if it begins before the end of the previous window.
  void add(window const& each) { add(each.records, each.frame); }

  /// @brief Adds a window without copying its records. The windows of a session are added in time order and do not overlap.
  /// @param records the records of the window.
  /// @param frame the stretch of time that the window owns.
  /// @param launched `attribute(records)`, if the caller has computed it; null: `add` computes it if needed.
  /// @throws profkit::error if it begins before the end of the previous window.
  void add(profile const& records, window_frame const& frame, attribution const* launched = nullptr);

  /// @brief The end of the last window; `timestamp::min()` without windows.
  [[nodiscard]] timestamp until() const noexcept { return parts_.own ? parts_.own->end : timestamp::min(); }

  /// @brief Computes the summary. Windows can be added afterwards.
  /// @return the figures of all windows so far.
  [[nodiscard]] summary finish() const;

 private:
  template <class Archive>
  friend void fields(Archive& archive, analysis& state);

  detail::analysis_parts parts_;
};

}  // namespace profkit

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
