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
#include "../profile/validate.hpp"
#include "gpu/attribution.hpp"
#include "gpu/gpu_step_periods.hpp"
#include "gpu/gpu_summary.hpp"
#include "kinds/kind_table.hpp"
#include "memory/memory_sums.hpp"
#include "merge/trend_part.hpp"
#include "ranks/timeline_part.hpp"
#include "readings.hpp"
#include "samples/sample_rows.hpp"
#include "time/adopted_scopes.hpp"
#include "time/scope_rows.hpp"
#include "time/step_series.hpp"
#include "time/time_per_step.hpp"
#include "window.hpp"
#include "work/scope_work.hpp"

namespace profkit::detail {

/// The tables of a session and its single values, from the last window.
struct session_tables {
  profile values;  ///< without records

  /// @param window knows the tables of the session so far, or the first entries of them.
  void set(profile const& window) {
    for_each_element(tables, [&](auto table) {
      if ((values.*table).size() < (window.*table).size()) values.*table = window.*table;
    });
    for_each_element(others, [&](auto member) { values.*member = window.*member; });
  }

  template <class Archive>
  friend void fields(Archive& archive, session_tables& state) {
    auto const write_or_read = [&](auto member) { archive(state.values.*member); };
    for_each_element(tables, write_or_read);
    for_each_element(others, write_or_read);
    if constexpr (Archive::is_reader) record_check{}.tables(state.values);
  }

 private:
  static constexpr auto tables = std::tuple{&profile::paths, &profile::gpu_names, &profile::api_names, &profile::counter_names};
  static constexpr auto others =
      std::tuple{&profile::environment, &profile::time,    &profile::precision, &profile::measured_roofs, &profile::item_name,
                 &profile::collectors,  &profile::quality, &profile::stop,      &profile::sampling};
};

/// The figures that `analysis` accumulates.
struct analysis_parts {
  analyze_options options;      ///< rules for kernel classes
  std::optional<interval> own;  ///< the stretch of all windows that count
  bool has_steps = false;       ///< only measured steps count; false: the whole session
  session_tables session;
  scope_times scopes;
  counter_sums counters;
  reading_sums readings;
  clock_sums clocks;
  utilization_sums utilization;
  memory_sums memory;
  gpu_figures gpu;
  kind_table kinds;
  adopted_sums adopted;
  work_by_path work;
  sample_sums samples;
  std::set<std::int32_t> devices;
  step_list steps;
  time_per_step per_step;
  gpu_period_list gpu_periods;
  trend_part trend;
  timeline_part timeline;
};

template <class Archive>
void fields(Archive& archive, analysis_parts& all) {
  auto const each = [&](auto&... members) { ((archive.begin_amounts(), archive(members)), ...); };
  each(all.own, all.has_steps, all.session, all.scopes, all.counters, all.readings, all.clocks, all.utilization, all.memory, all.gpu,
       all.kinds, all.adopted, all.work, all.samples, all.devices, all.steps, all.per_step, all.gpu_periods, all.trend, all.timeline);
  if constexpr (Archive::is_reader) {
    profile const& tables = all.session.values;
    std::size_t const paths = tables.paths.size();
    archive.check(!all.own || all.own->begin <= all.own->end, "the windows end before they begin");
    archive.check(all.scopes.has_paths(paths), "not all paths have times");
    bool const is_right = all.memory.is_in(paths) && all.gpu.is_in(tables) && all.kinds.is_in(paths) && all.adopted.is_in(paths) &&
                          all.work.is_in(paths) && all.samples.is_in(paths) && all.timeline.is_in(paths) &&
                          all.counters.is_in(tables.counter_names.size());
    archive.check(is_right, "figures without a path, name or allocator");
    archive.check(all.per_step.is_in(paths, tables.gpu_names.size()), "a row refers to a missing path, name or step");
    archive.check(all.kinds.all_kernels([&](std::uint32_t name) { return all.gpu.has_kernel(name); }),
                  "a kind of step has unknown kernels");
    archive.check(all.gpu_periods.count() <= all.steps.host().count(), "more steps were made on devices than on the host");
  }
}

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
  /// Reads or writes the figures. Reading keeps the options, because the file does not contain them.
  template <class Archive>
  friend void fields(Archive& archive, analysis& state) {
    fields(archive, state.parts_);
  }

  detail::analysis_parts parts_;
};

}  // namespace profkit
