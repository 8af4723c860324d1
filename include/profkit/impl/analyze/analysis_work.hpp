// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "../../analyze.hpp"
#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "analysis.hpp"
#include "complete_summary.hpp"
#include "gpu/attribution.hpp"
#include "gpu/counted_operations.hpp"
#include "gpu/device_readings.hpp"
#include "gpu/gpu_step_periods.hpp"
#include "gpu/step_budget.hpp"
#include "kinds/kind_names.hpp"
#include "kinds/kind_table.hpp"
#include "kinds/step_kinds.hpp"
#include "memory/memory_sums.hpp"
#include "memory/scope_memory.hpp"
#include "merge/gpu_figures.hpp"
#include "merge/merged_counters.hpp"
#include "merge/merged_readings.hpp"
#include "merge/session_header.hpp"
#include "merge/stretch_figures.hpp"
#include "merge/trend_part.hpp"
#include "ranks/timeline_recorder.hpp"
#include "samples/sample_rows.hpp"
#include "time/adopted_scopes.hpp"
#include "time/measured_time.hpp"
#include "window.hpp"
#include "work/model_flops.hpp"
#include "work/scope_work.hpp"

namespace profkit::detail {

/// The operations of `analysis` on its parts.
class analysis_work {
 public:
  explicit analysis_work(analysis_parts& all) : all_{all} {}

  /// Implements `analyze`: one window with all records, and only the budget that the summary needs.
  static summary of_whole(profile const& records, analyze_options const& with) {
    analysis_parts result;
    result.options = with;
    analysis_work work{result};
    window_frame frame;
    frame.own = {timestamp::min(), timestamp::max()};
    frame.has_steps = measured_time::had_steps(records);
    std::optional<attribution> launched;
    if (needs_attribution(records)) launched = attribute(records);
    if (has_kernels(records)) frame.gpu_steps = gpu_step_period_finder{records, *launched}.find();
    std::optional<added_window> const added = work.add_all_but_budget(records, frame, launched ? &*launched : nullptr);
    summary figures = complete_summary(result, [&](kind_table& kinds, bool is_of_gpu) {
      std::optional<std::uint32_t> const steps_thread = thread_of_steps(records, added->steps.time);
      budget_basis const basis{records, *launched, steps_thread, added->counted, with.kernel_classes};
      wall_by_kind const gpu{parts_in(frame.gpu_steps.measured, frame.own)};
      kinds.add(basis, is_of_gpu ? gpu : added->steps);
    });
    // The figures cover the profile only, so records that no trace has are missing from them too.
    figures.quality.discarded_records += std::exchange(figures.quality.untraced_records, 0);
    return figures;
  }

  void add(profile const& records, window_frame const& frame, attribution const* launched) {
    std::optional<attribution> made;
    if (launched == nullptr && needs_attribution(records)) launched = &made.emplace(attribute(records));
    std::optional<added_window> const added = add_all_but_budget(records, frame, launched);
    if (!added || !frame.has_steps) return;
    budget_basis const basis{records, *launched, frame.steps_thread, added->counted, all_.options.kernel_classes};
    all_.kinds.add(basis, added->steps);
    all_.kinds.add(basis, wall_by_kind{frame.gpu_wall});
  }

 private:
  /// Intermediate results for a window with kernels collected.
  struct added_window {
    wall_by_kind steps;  ///< the window's own steps with kernels collected
    counted_operations counted;
  };

  static bool needs_attribution(profile const& records) {
    return has_kernels(records) || has_adopted(records.paths) || !records.collectives.empty();
  }

  /// @param launched null if `needs_attribution` is false.
  /// @return nothing if kernels were not collected, or if the window does not count.
  /// @throws profkit::error if the window begins before the end of the previous one.
  std::optional<added_window> add_all_but_budget(profile const& records, window_frame const& frame, attribution const* launched) {
    interval const& own = frame.own;
    interval const always{timestamp::min(), timestamp::max()};
    if (all_.own && own.begin < all_.own->end) throw error{"a window begins before the end of the previous one: add windows in time order"};
    if (!takes(frame.has_steps)) return std::nullopt;
    bool const is_first = !all_.own;
    all_.own = {is_first ? own.begin : all_.own->begin, own.end};
    measured_time const when = measured_time::of_window(records, own, frame.has_steps);
    measured_time const with_kernels = measured_time::of_window(records, own, frame.has_steps, true);
    std::optional<counted_operations> counted;
    if (has_kernels(records)) counted.emplace(records, *launched, with_kernels);
    counted_operations const* const operations = counted ? &*counted : nullptr;

    all_.paths.set(records.paths);
    all_.gpu.set_names(records.gpu_names);
    step_kinds const kinds{records, when};
    all_.kinds.enter(kinds.all(), frame.gpu_wall);
    all_.scopes.add(records, when);
    all_.counters.add(merged_counters{records, when});
    all_.clocks.add({records, own});
    all_.utilization.add({records, own});
    all_.readings.add(merged_readings{records, own, frame.has_steps});
    all_.work.add({records, operations != nullptr ? with_kernels : when});
    all_.samples.add(sample_sums{records, when, launched == nullptr ? nullptr : &launched->lanes});
    all_.devices.merge(used_devices(records));
    all_.header.set(records);
    if (operations != nullptr) all_.gpu.add(records, frame, *launched, *operations, with_kernels);
    if (has_adopted(records.paths)) {
      measured_time const earlier = measured_time::of_window(records, {timestamp::min(), own.begin}, frame.has_steps, true);
      all_.adopted.add({records, when, *launched, operations, earlier});
    }

    auto const kept = [&](kind_key kind) { return all_.kinds.kept(kind); };
    stretch_figures now;
    now.steps = {records, own, [&](timestamp begin) { return kept(kinds.of_step_at(begin)); }};
    kind_recorder kind_times{kinds, when, operations != nullptr ? &with_kernels : nullptr, all_.kinds, records.paths.size()};
    now.per_step = {records, when, with_kernels, operations, kind_times};
    if (operations != nullptr) now.gpu_periods = {records, frame.gpu_steps, kept};
    // Operations of other windows can run during the steps of this window.
    measured_time const around = measured_time::of_window(records, always, frame.has_steps, true);
    now.trend = {records, own, operations != nullptr ? &operations->all() : nullptr, [&](timed_operation const& each) {
                   return each.is_counted() || around.contains(launch_moment(records, *launched, each.record));
                 }};
    measured_time const measured_around = measured_time::of_window(records, always, frame.has_steps);
    scope_memory const memory{records, own, measured_around, frame.memory};
    now.balances = memory.crossing();
    if (launched != nullptr) now.timeline = timeline_recorder{records, frame, *launched, operations}.make();
    all_.memory.add(memory.allocators());
    if (is_first) {
      all_.stretch = std::move(now);
    } else {
      all_.stretch.append(now);
    }
    settle();

    if (!counted) return std::nullopt;
    return added_window{{kinds, with_kernels}, std::move(*counted)};
  }

  /// Counts the scopes that span several windows and end before the end of the last one.
  void settle() {
    all_.stretch.balances.settle(*all_.own, [&](std::uint32_t allocator, std::uint32_t path, scope_balance const& scope) {
      all_.memory.add(allocator, path, scope);
    });
    all_.gpu.settle(*all_.own);
  }

  /// A summary covers the measured steps, or the whole session if there was no step. So figures from before the first step are dropped when
  /// that step arrives.
  bool takes(bool has_steps) {
    if (all_.own && all_.has_steps && !has_steps) return false;
    if (all_.own && !all_.has_steps && has_steps) {
      memory_sums const before = std::move(all_.memory);
      analyze_options options = std::move(all_.options);
      all_ = analysis_parts{};
      all_.options = std::move(options);
      all_.memory.add_contradictions(before);
    }
    all_.has_steps = has_steps;
    return true;
  }

  analysis_parts& all_;
};

}  // namespace profkit::detail

namespace profkit {

[[gnu::used]] inline summary analyze(profile const& profile, analyze_options const& with) {
  return detail::analysis_work::of_whole(profile, with);
}

[[gnu::used]] inline void analysis::add(profile const& records, window_frame const& frame, attribution const* launched) {
  detail::analysis_work{parts_}.add(records, frame, launched);
}

[[gnu::used]] inline summary analysis::finish() const {
  detail::analysis_parts copy{parts_};
  return detail::complete_summary(copy, [](detail::kind_table&, bool) {});
}

}  // namespace profkit
