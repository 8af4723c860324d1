// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "../../analyze.hpp"
#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/archive_reader.hpp"
#include "../profile/archive_writer.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/validate.hpp"
#include "analysis.hpp"
#include "gpu/attribution.hpp"
#include "gpu/counted_operations.hpp"
#include "gpu/gpu_idle.hpp"
#include "gpu/gpu_step_periods.hpp"
#include "gpu/gpu_summary.hpp"
#include "gpu/gpu_sums.hpp"
#include "gpu/step_budget.hpp"
#include "kinds/kind_rows.hpp"
#include "kinds/kind_table.hpp"
#include "kinds/step_kinds.hpp"
#include "memory/memory_sums.hpp"
#include "memory/scope_memory.hpp"
#include "ranks/timeline_part.hpp"
#include "ranks/timeline_recorder.hpp"
#include "readings.hpp"
#include "samples/sample_rows.hpp"
#include "time/adopted_scopes.hpp"
#include "time/measured_time.hpp"
#include "time/path_tree.hpp"
#include "time/scope_rows.hpp"
#include "time/step_series.hpp"
#include "time/step_times.hpp"
#include "time/time_per_step.hpp"
#include "time/trend_part.hpp"
#include "window.hpp"
#include "work/model_flops.hpp"
#include "work/scope_work.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  static constexpr auto tables = std::tuple{&profile::paths,         &profile::threads,       &profile::gpu_names,     &profile::api_names,
                                            &profile::counter_names, &profile::launch_shapes, &profile::energy_meters, &profile::functions};
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
  self_times self;
  scope_times scopes;
  counter_sums counters;
  reading_sums readings;
  clock_sums clocks;
  utilization_sums utilization;
  energy_sums energy;
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
  each(all.own, all.has_steps, all.session, all.self, all.scopes, all.counters, all.readings, all.clocks, all.utilization, all.energy,
       all.memory, all.gpu, all.kinds, all.adopted, all.work, all.samples, all.devices, all.steps, all.per_step, all.gpu_periods, all.trend,
       all.timeline);
  if constexpr (Archive::is_reader) {
    profile const& tables = all.session.values;
    std::size_t const paths = tables.paths.size();
    archive.check(!all.own || all.own->begin <= all.own->end, "the windows end before they begin");
    archive.check(all.scopes.has_paths(paths) && all.self.has_paths(paths), "not all paths have times");
    bool const is_right = all.memory.is_in(paths) && all.gpu.is_in(tables) && all.kinds.is_in(paths) && all.adopted.is_in(paths) &&
                          all.work.is_in(paths) && all.samples.is_in(paths) && all.timeline.is_in(paths) &&
                          all.counters.is_in(tables.counter_names.size()) &&
                          all.energy.is_in(tables.energy_meters.size(), tables.paths.size());
    archive.check(is_right, "figures without a path, name or allocator");
    archive.check(all.per_step.is_in(paths, tables.gpu_names.size()), "a row refers to a missing path, name or step");
    archive.check(all.kinds.all_kernels([&](std::uint32_t name) { return all.gpu.has_kernel(name); }),
                  "a kind of step has unknown kernels");
    archive.check(all.gpu_periods.count() <= all.steps.host().count(), "more steps were made on devices than on the host");
  }
}

/// Computes the summary from the parts of an analysis.
/// @param all its content is moved from.
/// @param add_budget called before a budget is read, with the table of kinds that receives it: with false for the budget of the host
/// steps, with true for the budget of the GPU periods.
inline summary complete_summary(analysis_parts& all, std::function<void(kind_table&, bool)> const& add_budget) {
  profile const& session = all.session.values;
  own_vector<path_record> const& paths = session.paths;
  path_tree tree{paths, in_order_of_scopes(paths, [&](std::size_t path) { return all.scopes.first(path); })};
  all.memory.complete();
  step_list const steps_of_all = all.steps.of_all_kinds();
  gpu_period_list const periods_of_all = all.gpu_periods.of_all_kinds();

  summary result;
  result.environment = session.environment;
  result.covers_steps = all.has_steps;
  result.elapsed = to_ms(session.time.duration());
  std::set<std::uint64_t> threads;  // a thread whose default scope changed has several records
  for (thread_record const& each : session.threads) threads.insert(each.system_id);
  result.threads = threads.size();
  result.steps = summarize_steps(steps_of_all, all.clocks.summarize());
  result.steps.item_name = session.item_name;
  result.steps.stop = session.stop;
  gpu_sums const* gpu = nullptr;  // null if kernels were not collected
  std::optional<gpu_idle> idle;
  milliseconds busy_per_step{};
  own_vector<std::size_t> kernel_rows;
  if (all.gpu.has_kernels()) {
    gpu = &all.gpu.complete(tree);
    result.gpu = all.gpu.summarize(session, all.per_step, all.options.kernel_classes, kernel_rows);
    if (all.gpu.steps() > 0) {
      busy_per_step = result.gpu->all.busy / static_cast<double>(all.gpu.steps());
      result.steps.gpu_period = summarize_gpu_period(periods_of_all, busy_per_step, result.steps);
    }
  }
  bool const is_gpu_longer = result.steps.gpu_period && result.steps.gpu_period->is_longer;
  if (gpu != nullptr && all.has_steps) {
    add_budget(all.kinds, is_gpu_longer);
    step_budget budget = all.kinds.sum_of_budgets(is_gpu_longer, paths.size());
    result.budget = budget.busy.summarize(budget.idle, paths, tree.in_order());
    result.budget->is_of_gpu = is_gpu_longer;
    result.budget->steps = is_gpu_longer ? periods_of_all.count() : all.gpu.steps();
    idle = std::move(budget.idle);
    result.gpu->idle = {to_ms(idle->total), to_ms(idle->unattributed)};
  }
  choose_step_time(result.steps, busy_per_step);

  tree.choose_rows([&](std::size_t path) { return all.scopes.host(path).count() > 0 || (gpu != nullptr && gpu->has_operations(path)); });
  scope_rows const rows{tree, all.scopes, all.self, all.per_step, gpu, idle ? &*idle : nullptr};
  result.scopes = rows.by_path(result.steps.host.total);
  result.names = rows.by_name();
  kind_rows{tree, kernel_rows}.fill(result, all.kinds, all.steps, all.gpu_periods);
  std::uint64_t const steps = all.per_step.steps();
  if (!all.has_steps || steps > 0) all.memory.fill(result, tree.rows(), paths.size());
  own_vector<std::uint32_t> adopted;  // paths
  if (has_adopted(paths)) result.adopted = adopted_scopes{tree, all.adopted, gpu != nullptr}.rows(adopted);
  result.limits = summarize_limits(session.environment.gpu, session.measured_roofs, all.devices);
  scope_work work{tree, all.work, gpu != nullptr ? all.gpu.steps() : steps};
  work.fill(result);
  work.fill_backward(result, adopted);
  result.model = summarize_model(all.steps.model_flops(), session.precision, result.steps, result.limits, work);
  result.utilization = all.utilization.summarize();
  result.energy = all.energy.summarize(session.energy_meters, session.paths);
  bool const has_pages = std::any_of(session.collectors.begin(), session.collectors.end(), [](collector_record const& each) {
    return each.kind == collector_kind::unified_memory && each.status == "collected";
  });
  if (has_pages && gpu != nullptr) result.unified_memory = all.gpu.pages().summarize(session);
  if (session.sampling) result.host_samples = sample_rows{tree, all.samples, result.scopes}.make(*session.sampling);
  result.memory = all.readings.summarize();
  result.counters = all.counters.summarize(session.counter_names);
  if (!all.timeline.is_empty())
    result.timeline = std::move(all.timeline).finish([&](std::uint32_t path) { return path_text(paths, path); });
  result.trend = summarize_trend(session.time.begin, steps_of_all, all.trend, result.memory, is_gpu_longer ? &periods_of_all : nullptr);
  result.collectors = session.collectors;
  result.quality = session.quality;
  for (scope_summary const& row : result.scopes) result.scopes_recorded += row.host.count;
  return result;
}

/// The operations of `analysis` on its parts.
class analysis_work {
 public:
  explicit analysis_work(boxed<analysis_parts>& all) : all_{all} {}

  /// Implements `analyze`: one window with all records, and only the budget that the summary needs.
  static summary of_whole(profile const& records, analyze_options const& with) {
    boxed<analysis_parts> result;
    result->options = with;
    analysis_work work{result};
    window_frame frame;
    frame.own = all_time;
    frame.has_steps = measured_time::had_steps(records);
    std::optional<attribution> launched;
    if (needs_attribution(records)) launched = attribute(records);
    if (has_kernels(records)) frame.gpu_steps = gpu_step_period_finder{records, *launched}.find();
    std::optional<added_window> const added = work.add_all_but_budget(records, frame, launched ? &*launched : nullptr);
    summary figures = complete_summary(*result, [&](kind_table& kinds, bool is_of_gpu) {
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
    budget_basis const basis{records, *launched, frame.steps_thread, added->counted, all_->options.kernel_classes};
    all_->kinds.add(basis, added->steps);
    all_->kinds.add(basis, wall_by_kind{frame.gpu_wall});
  }

 private:
  /// Intermediate results for a window with kernels collected.
  struct added_window {
    wall_by_kind steps;  ///< the window's own steps with kernels collected
    counted_operations counted;
  };

  static bool needs_attribution(profile const& records) {
    return has_kernels(records) || has_adopted(records.paths) || !records.communicators.empty();
  }

  /// @param launched null if `needs_attribution` is false.
  /// @return nothing if kernels were not collected, or if the window does not count.
  /// @throws profkit::error if the window begins before the end of the previous one.
  std::optional<added_window> add_all_but_budget(profile const& records, window_frame const& frame, attribution const* launched) {
    interval const& own = frame.own;
    if (all_->own && own.begin < all_->own->end)
      throw error{"a window begins before the end of the previous one: add windows in time order"};
    if (!takes(frame.has_steps)) return std::nullopt;
    all_->own = {all_->own ? all_->own->begin : own.begin, own.end};
    measured_time const when = measured_time::of_window(records, own, frame.has_steps);
    measured_time const with_kernels = measured_time::of_window(records, own, frame.has_steps, true);
    std::optional<counted_operations> counted;
    if (has_kernels(records)) counted.emplace(records, *launched, with_kernels);
    counted_operations const* const operations = counted ? &*counted : nullptr;

    all_->session.set(records);
    step_kinds const kinds{records, when};
    all_->kinds.enter(kinds.all(), frame.gpu_wall);
    bool const is_in_order = all_->scopes.add(records, when);
    std::optional<thread_lanes> lanes;
    if (launched == nullptr || launched->lanes.count() == 0) lanes.emplace(records);
    all_->self.add(records, own, when, lanes ? *lanes : launched->lanes, kinds, all_->kinds);
    all_->counters.add(records, when);
    std::set<std::uint64_t> const measured = measured_steps_in(records, own);
    all_->clocks.add(records, measured);
    all_->utilization.add(records, measured);
    if (frame.has_steps) all_->energy.add(records, own);
    all_->readings.add(records, measured, frame.has_steps);
    all_->work.add(records, operations != nullptr ? with_kernels : when);
    all_->samples.add(records, when, launched == nullptr ? nullptr : &launched->lanes);
    all_->devices.merge(used_devices(records));
    measured_time const earlier = measured_time::of_window(records, {timestamp::min(), own.begin}, frame.has_steps, true);
    if (operations != nullptr) all_->gpu.add(records, frame, *launched, *operations, with_kernels, earlier);
    if (has_adopted(records.paths)) all_->adopted.add(records, when, *launched, operations, earlier);

    auto const kept = [&](kind_key kind) { return all_->kinds.kept(kind); };
    all_->steps.add(records, own, [&](timestamp begin) { return kept(kinds.of_step_at(begin)); });
    all_->per_step.add(records, when, is_in_order, with_kernels, operations, kinds, all_->kinds);
    if (operations != nullptr) all_->gpu_periods.add(records, frame.gpu_steps, kept);
    // Operations of other windows can run during the steps of this window.
    measured_time const around = measured_time::of_window(records, all_time, frame.has_steps, true);
    all_->trend.append({records, own, operations != nullptr ? &operations->all() : nullptr, [&](timed_operation const& each) {
                          return each.is_counted() || around.contains(launch_moment(records, *launched, each.record));
                        }});
    if (frame.has_steps) all_->trend.add_energy(records, own);
    measured_time const steps = measured_time::of_window(records, all_time, frame.has_steps);
    scope_memory{records, own, steps, frame.memory, all_->memory}.add();
    if (launched != nullptr) all_->timeline.append(timeline_recorder{records, frame, *launched, operations}.make());
    all_->memory.settle(*all_->own);
    all_->gpu.settle(*all_->own);

    if (!counted) return std::nullopt;
    return added_window{{kinds, with_kernels}, std::move(*counted)};
  }

  /// A summary covers the measured steps, or the whole session if there was no step. So figures from before the first step are dropped when
  /// that step arrives.
  bool takes(bool has_steps) {
    if (all_->own && all_->has_steps && !has_steps) return false;
    if (all_->own && !all_->has_steps && has_steps) {
      boxed<analysis_parts> const before = std::exchange(all_, {});
      all_->options = std::move(before->options);
      all_->memory = std::move(before->memory);
      all_->memory.forget_figures();
    }
    all_->has_steps = has_steps;
    return true;
  }

  boxed<analysis_parts>& all_;
};

[[gnu::used]] inline analysis_parts* new_copy(analysis_parts const* from) {
  return from == nullptr ? new analysis_parts : new analysis_parts{*from};
}
[[gnu::used]] inline void destroy(analysis_parts* value) noexcept { delete value; }

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

[[gnu::used]] inline summary analyze(profile const& profile, analyze_options const& with) {
  detail::usual_arithmetic const arithmetic;
  return detail::analysis_work::of_whole(profile, with);
}

[[gnu::used]] inline void analysis::set(analyze_options with) { parts_->options = std::move(with); }

[[gnu::used]] inline void analysis::add(window const& each) { add(each.records, each.frame); }

[[gnu::used]] inline void analysis::add(profile const& records, window_frame const& frame, attribution const* launched) {
  detail::analysis_work{parts_}.add(records, frame, launched);
}

[[gnu::used]] inline timestamp analysis::until() const noexcept { return parts_->own ? parts_->own->end : timestamp::min(); }

[[gnu::used]] inline void fields(detail::archive_reader& archive, analysis& state) { detail::fields(archive, *state.parts_); }
[[gnu::used]] inline void fields(detail::archive_writer& archive, analysis& state) { detail::fields(archive, *state.parts_); }

[[gnu::used]] inline summary analysis::finish() const {
  detail::boxed<detail::analysis_parts> copy = parts_;
  return detail::complete_summary(*copy, [](detail::kind_table&, bool) {});
}

}  // namespace PROFKIT_NAMESPACE
