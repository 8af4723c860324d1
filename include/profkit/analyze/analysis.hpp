// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "analyze_code.hpp"
#include "analyze_options.hpp"
#include "gpu/attribution.hpp"
#include "gpu/counted_operations.hpp"
#include "gpu/device_clocks.hpp"
#include "gpu/gpu_idle.hpp"
#include "gpu/gpu_step_windows.hpp"
#include "gpu/gpu_sums.hpp"
#include "gpu/gpu_work.hpp"
#include "gpu/step_budget.hpp"
#include "kinds/kind_recorder.hpp"
#include "kinds/kind_rows.hpp"
#include "kinds/kind_table.hpp"
#include "kinds/step_kinds.hpp"
#include "kinds/wall_by_kind.hpp"
#include "memory/memory_sums.hpp"
#include "memory/scope_memory.hpp"
#include "merge/gpu_figures.hpp"
#include "merge/gpu_period_list.hpp"
#include "merge/joined_stretches.hpp"
#include "merge/merged_counters.hpp"
#include "merge/merged_paths.hpp"
#include "merge/merged_readings.hpp"
#include "merge/moved.hpp"
#include "merge/session_header.hpp"
#include "merge/step_list.hpp"
#include "merge/stretch_figures.hpp"
#include "merge/trend_part.hpp"
#include "summary.hpp"
#include "time/adopted_scopes.hpp"
#include "time/adopted_sums.hpp"
#include "time/adoption_rows.hpp"
#include "time/measured_time.hpp"
#include "time/path_tree.hpp"
#include "time/run_trend.hpp"
#include "time/scope_rows.hpp"
#include "time/scope_times.hpp"
#include "time/step_times.hpp"
#include "window.hpp"
#include "work/model_flops.hpp"
#include "work/scope_work.hpp"

namespace profkit {

/// @brief The figures of a session, computed window by window. Two analyses can be merged.
///
/// The summary does not depend on where the session was cut into windows, nor on the order in which windows and analyses are merged, except
/// for the rounding of floating-point sums (`work` and `model_flops`). Memory is bounded by the number of paths, kernels and allocators,
/// not by the length of the session. Not thread-safe. Performs no input or output.
class analysis {
 public:
  /// @brief Creates an analysis without windows.
  /// @param with rules for kernel classes; the same for all analyses that are merged.
  explicit analysis(analyze_options with = {}) : options_{std::move(with)} {}

  /// @brief Adds a window. The windows of a session must not overlap; they may come in any order.
  /// @param each the window; takes time proportional to its records (n log n if they are out of order).
  void add(window const& each) { add(each.records, each.frame); }

  /// @brief Adds a window without copying its records. The windows of a session must not overlap; they may come in any order.
  /// @param records the records of the window.
  /// @param frame the stretch of time that the window owns.
  /// @param launched `attribute(records)`, if the caller has computed it; null: `add` computes it if needed.
  void add(profile const& records, window_frame const& frame, attribution const* launched = nullptr) {
    std::optional<attribution> made;
    if (launched == nullptr && needs_attribution(records)) launched = &made.emplace(attribute(records));
    std::optional<added_window> const added = add_all_but_budget(records, frame, launched);
    if (!added || !frame.has_steps) return;
    detail::budget_basis const basis{records, *launched, frame.steps_thread, added->counted, options_.kernel_classes};
    kinds_.add(basis, added->steps, added->path_of);
    kinds_.add(basis, detail::wall_by_kind{frame.gpu_wall}, added->path_of);
  }

  /// @brief Merges another analysis: the result is as if its windows had been added here.
  /// @param other figures of windows that overlap none of those here; created with the same options.
  void merge(analysis const& other) {
    if (!other.has_any_) return;
    if (!takes(other.has_steps_)) {
      memory_.add_contradictions(other.memory_);
      return;
    }
    has_any_ = true;
    std::vector<std::uint32_t> const path_of = paths_.add(other.paths_);
    std::vector<std::uint32_t> const name_of = gpu_.add_names(other.gpu_.names());
    std::vector<std::uint32_t> const allocator_of = memory_.add(other.memory_, path_of);
    scopes_.add(other.scopes_, path_of);
    counters_.add(other.counters_);
    clocks_.add(other.clocks_);
    readings_.add(other.readings_);
    gpu_.add(other.gpu_, path_of, name_of);
    if (kinds_.add(other.kinds_, path_of, name_of)) rename_kinds();
    adopted_.add(other.adopted_, path_of);
    work_.add(other.work_, path_of);
    devices_.insert(other.devices_.begin(), other.devices_.end());
    header_.add(other.header_);
    other.stretches_.for_each([&](interval const& time, detail::stretch_figures figures) {
      figures.move(path_of, name_of, allocator_of);
      figures.rename_kinds(kinds_.names());
      join(time, std::move(figures));
    });
    gpu_.settle([&](interval const& time) { return stretches_.covers(time); });
  }

  /// @brief Computes the summary. Windows can be added afterwards.
  /// @return the figures of all windows so far.
  [[nodiscard]] summary finish() const {
    return analysis{*this}.complete([](detail::kind_table&, bool) {});
  }

 private:
  template <class>
  friend struct detail::analyze_code;

  template <class Archive>
  friend void fields(Archive& archive, analysis& state);  // in analysis_state.hpp

  /// Intermediate results for a window with kernels collected.
  struct added_window {
    std::vector<std::uint32_t> path_of;  ///< maps paths of the window to paths of this analysis
    detail::wall_by_kind steps;          ///< the window's own steps with kernels collected
    detail::counted_operations counted;
  };

  /// Implements `analyze`: one window with all records, and only the budget that the summary needs.
  static summary of_whole(profile const& records, analyze_options const& with) {
    analysis result{with};
    window_frame frame;
    frame.own = {timestamp::min(), timestamp::max()};
    frame.has_steps = detail::measured_time::had_steps(records);
    std::optional<attribution> launched;
    if (needs_attribution(records)) launched = attribute(records);
    if (has_kernels(records)) frame.gpu_steps = detail::gpu_step_window_finder{records, *launched}.find();
    std::optional<added_window> const added = result.add_all_but_budget(records, frame, launched ? &*launched : nullptr);
    summary figures = std::move(result).complete([&](detail::kind_table& kinds, bool is_of_gpu) {
      std::optional<std::uint32_t> const steps_thread = detail::thread_of_steps(records, added->steps.time);
      detail::budget_basis const basis{records, *launched, steps_thread, added->counted, with.kernel_classes};
      detail::wall_by_kind const gpu{detail::parts_in(frame.gpu_steps.measured, frame.own)};
      kinds.add(basis, is_of_gpu ? gpu : added->steps, added->path_of);
    });
    // The figures cover the profile only, so records that no trace has are missing from them too.
    figures.quality.discarded_records += std::exchange(figures.quality.untraced_records, 0);
    return figures;
  }

  static bool needs_attribution(profile const& records) { return has_kernels(records) || detail::has_adopted(records.paths); }

  /// @param launched null if `needs_attribution` is false.
  /// @return nothing if kernels were not collected, or if the window does not count.
  std::optional<added_window> add_all_but_budget(profile const& records, window_frame const& frame, attribution const* launched) {
    using detail::measured_time;
    interval const& own = frame.own;
    interval const always{timestamp::min(), timestamp::max()};
    if (!takes(frame.has_steps)) return std::nullopt;
    has_any_ = true;
    measured_time const when = measured_time::of_window(records, own, frame.has_steps);
    measured_time const with_kernels = measured_time::of_window(records, own, frame.has_steps, true);
    std::optional<detail::counted_operations> counted;
    if (has_kernels(records)) counted.emplace(records, *launched, with_kernels);
    detail::counted_operations const* const operations = counted ? &*counted : nullptr;

    std::vector<std::uint32_t> path_of = paths_.add(records.paths);
    std::vector<std::uint32_t> const name_of = gpu_.add_names(records.gpu_names);
    detail::step_kinds const kinds{records, when};
    if (kinds_.enter(kinds.all(), frame.gpu_wall)) rename_kinds();
    scopes_.add(records, when, path_of);
    counters_.add(detail::merged_counters{records, when});
    clocks_.add({records, own});
    readings_.add(detail::merged_readings{records, own, frame.has_steps});
    work_.add({records, operations != nullptr ? with_kernels : when}, path_of);
    devices_.merge(detail::used_devices(records));
    header_.add(records, own.end);
    if (operations != nullptr) gpu_.add(records, frame, *launched, *operations, with_kernels, path_of, name_of);
    if (detail::has_adopted(records.paths)) {
      measured_time const earlier = measured_time::of_window(records, {timestamp::min(), own.begin}, frame.has_steps, true);
      adopted_.add({records, when, *launched, operations, earlier}, path_of);
    }

    detail::stretch_figures now;
    now.steps = {records, own, [&](timestamp begin) { return kinds_.kept(kinds.of_step_at(begin)); }};
    detail::kind_recorder recorder{kinds, when, operations != nullptr ? &with_kernels : nullptr, kinds_, path_of, name_of};
    now.per_step = {records, when, with_kernels, operations, recorder};
    if (operations != nullptr) now.gpu_periods = {records, frame.gpu_steps, kinds_.names()};
    // Operations of other windows can run during the steps of this window.
    measured_time const around = measured_time::of_window(records, always, frame.has_steps, true);
    now.trend = {records, own, operations != nullptr ? &operations->all() : nullptr, [&](detail::timed_operation const& each) {
                   return each.is_counted() || around.contains(detail::launch_moment(records, *launched, each.record));
                 }};
    measured_time const measured_around = measured_time::of_window(records, always, frame.has_steps);
    detail::scope_memory const memory{records, own, measured_around, frame.memory};
    now.balances = memory.crossing();
    now.move(path_of, name_of, memory_.add(memory.allocators(), path_of));
    join(own, std::move(now));
    gpu_.settle([&](interval const& time) { return stretches_.covers(time); });

    if (!counted) return std::nullopt;
    return added_window{std::move(path_of), {kinds, with_kernels}, std::move(*counted)};
  }

  /// Renames kinds that the table no longer distinguishes.
  void rename_kinds() {
    stretches_.change_each([&](detail::stretch_figures& each) { each.rename_kinds(kinds_.names()); });
  }

  void join(interval const& time, detail::stretch_figures figures) {
    auto const joined = stretches_.add(time, std::move(figures));
    joined.part.balances.settle(joined.time, [&](std::uint32_t allocator, std::uint32_t path, detail::scope_balance const& scope) {
      memory_.add(allocator, path, scope);
    });
  }

  /// @param add_budget called before a budget is read, with the kinds that receive it: with false for that of the host steps, with true for
  /// that of the GPU periods.
  template <class AddBudget>
  [[nodiscard]] summary complete(AddBudget const& add_budget) && {
    detail::merged_paths::ordered const paths = paths_.in_order();
    detail::path_tree const tree{paths.paths};
    profile const& header = header_();
    detail::stretch_figures whole = std::move(stretches_).whole();
    whole.balances.complete(
        [&](std::uint32_t allocator, std::uint32_t path, detail::scope_balance const& scope) { memory_.add(allocator, path, scope); });
    whole.move_steps(paths.position_of);
    detail::scope_times const times = detail::moved(std::move(scopes_), paths.position_of);
    detail::step_list const steps_of_all = whole.steps.of_all_kinds();
    detail::gpu_period_list const periods_of_all = whole.gpu_periods.of_all_kinds();

    summary result;
    result.environment = header.environment;
    result.covers_steps = has_steps_;
    result.steps = detail::summarize_steps(steps_of_all, clocks_.summarize());
    result.steps.item_name = header.item_name;
    result.steps.stop = header.stop;
    std::optional<detail::gpu_sums> sums;
    std::optional<detail::gpu_work> gpu;
    std::optional<detail::gpu_idle> idle;
    milliseconds busy_per_step{};
    std::vector<std::size_t> kernel_rows;
    if (gpu_.has_kernels()) {
      sums = std::move(gpu_).sums(paths.position_of);
      gpu.emplace(*sums, tree, paths.paths);
      result.gpu = gpu_.summarize(*gpu, whole.per_step, options_.kernel_classes, kernel_rows);
      if (gpu_.steps() > 0) {
        busy_per_step = gpu->of_all().busy / static_cast<double>(gpu_.steps());
        result.steps.gpu_period = detail::summarize_gpu_period(periods_of_all, busy_per_step, result.steps);
      }
    }
    bool const is_gpu_longer = result.steps.gpu_period && result.steps.gpu_period->is_longer;
    if (gpu && has_steps_) add_budget(kinds_, is_gpu_longer);
    detail::kind_table const kinds = detail::moved_kinds(std::move(kinds_), paths.position_of, gpu_.names().size());
    if (gpu && has_steps_) {
      detail::step_budget budget = kinds.sum_of_budgets(is_gpu_longer, paths.paths.size());
      result.budget = budget.busy.summarize(budget.idle, paths.paths);
      result.budget->is_of_gpu = is_gpu_longer;
      result.budget->steps = is_gpu_longer ? periods_of_all.count() : gpu_.steps();
      idle = std::move(budget.idle);
      result.gpu->idle = {detail::to_ms(idle->total), detail::to_ms(idle->unattributed)};
    }
    detail::choose_step_time(result.steps, busy_per_step);

    detail::scope_rows const rows{paths.paths, times, tree, whole.per_step, gpu ? &*gpu : nullptr, idle ? &*idle : nullptr};
    result.scopes = rows.by_path(result.steps.host.total);
    result.names = rows.by_name();
    detail::kind_rows{paths.paths, rows.paths(), kernel_rows}.fill(result, kinds, whole.steps, whole.gpu_periods);
    std::uint64_t const steps = whole.per_step.steps();
    if (!has_steps_ || steps > 0) detail::moved(std::move(memory_), paths.position_of).fill(result, rows.paths(), paths.paths.size());
    std::vector<std::uint32_t> adopted;  // paths
    if (detail::has_adopted(paths.paths)) {
      detail::adopted_sums const done = detail::moved(std::move(adopted_), paths.position_of);
      result.adopted = detail::adopted_scopes{paths.paths, tree, done, gpu_.has_kernels()}.rows(adopted);
    }
    result.limits = detail::summarize_limits(header.environment.gpu, header.measured_roofs, devices_);
    detail::work_by_path const done = detail::moved(std::move(work_), paths.position_of);
    detail::scope_work work{paths.paths, tree, done, gpu_.has_kernels() ? gpu_.steps() : steps};
    work.fill(result, rows.paths(), rows.names());
    work.fill_backward(result, adopted);
    result.model = detail::summarize_model(whole.steps.model_flops(), header.precision, result.steps, result.limits, work);
    result.memory = readings_.summarize();
    result.counters = counters_.summarize();
    detail::run_trend const trend{header.time.begin, steps_of_all};
    result.trend = trend.summarize(whole.trend, result.memory, is_gpu_longer ? &periods_of_all : nullptr);
    result.collectors = header.collectors;
    result.quality = header.quality;
    for (scope_summary const& row : result.scopes) result.scopes_recorded += row.host.count;
    return result;
  }

  /// A summary covers the measured steps, or the whole session if there was no step. So figures from before the first step are dropped when
  /// that step arrives.
  bool takes(bool has_steps) {
    if (has_any_ && has_steps_ && !has_steps) return false;
    if (has_any_ && !has_steps_ && has_steps) {
      detail::memory_sums const before = std::move(memory_);
      *this = analysis{options_};
      memory_.add_contradictions(before);
    }
    has_steps_ = has_steps;
    return true;
  }

  analyze_options options_;
  bool has_any_ = false;
  bool has_steps_ = false;
  detail::session_header header_;
  detail::merged_paths paths_;
  detail::scope_times scopes_;
  detail::merged_counters counters_;
  detail::merged_readings readings_;
  detail::merged_clocks clocks_;
  detail::memory_sums memory_;
  detail::gpu_figures gpu_;
  detail::kind_table kinds_;
  detail::adopted_sums adopted_;
  detail::work_by_path work_;
  std::set<std::int32_t> devices_;
  detail::joined_stretches<detail::stretch_figures> stretches_;
};

}  // namespace profkit
