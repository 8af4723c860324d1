// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../profile.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "analysis.hpp"
#include "gpu/gpu_idle.hpp"
#include "gpu/gpu_sums.hpp"
#include "gpu/gpu_work.hpp"
#include "gpu/step_budget.hpp"
#include "kinds/kind_rows.hpp"
#include "kinds/kind_table.hpp"
#include "memory/memory_sums.hpp"
#include "merge/gpu_period_list.hpp"
#include "merge/session_paths.hpp"
#include "merge/step_list.hpp"
#include "merge/stretch_figures.hpp"
#include "samples/sample_rows.hpp"
#include "time/adopted_scopes.hpp"
#include "time/path_tree.hpp"
#include "time/scope_rows.hpp"
#include "time/step_times.hpp"
#include "work/model_flops.hpp"
#include "work/scope_work.hpp"

namespace profkit::detail {

/// Computes the summary from the parts of an analysis.
/// @param all its content is moved from.
/// @param add_budget called before a budget is read, with the table of kinds that receives it: with false for the budget of the host
/// steps, with true for the budget of the GPU periods.
template <class AddBudget>
summary complete_summary(analysis_parts& all, AddBudget const& add_budget) {
  own_vector<path_record> const& paths = all.paths();
  path_tree const tree{paths, all.paths.in_order([&](std::size_t path) { return all.scopes.first(path); })};
  profile const& header = all.header();
  stretch_figures whole = std::move(all.stretch);
  whole.balances.complete(
      [&](std::uint32_t allocator, std::uint32_t path, scope_balance const& scope) { all.memory.add(allocator, path, scope); });
  step_list const steps_of_all = whole.steps.of_all_kinds();
  gpu_period_list const periods_of_all = whole.gpu_periods.of_all_kinds();

  summary result;
  result.environment = header.environment;
  result.covers_steps = all.has_steps;
  result.steps = summarize_steps(steps_of_all, all.clocks.summarize());
  result.steps.item_name = header.item_name;
  result.steps.stop = header.stop;
  std::optional<gpu_sums> sums;
  std::optional<gpu_work> gpu;
  std::optional<gpu_idle> idle;
  milliseconds busy_per_step{};
  own_vector<std::size_t> kernel_rows;
  if (all.gpu.has_kernels()) {
    sums = std::move(all.gpu).sums();
    gpu.emplace(*sums, tree, paths);
    result.gpu = all.gpu.summarize(*gpu, whole.per_step, all.options.kernel_classes, kernel_rows);
    if (all.gpu.steps() > 0) {
      busy_per_step = gpu->of_all().busy / static_cast<double>(all.gpu.steps());
      result.steps.gpu_period = summarize_gpu_period(periods_of_all, busy_per_step, result.steps);
    }
  }
  bool const is_gpu_longer = result.steps.gpu_period && result.steps.gpu_period->is_longer;
  if (gpu && all.has_steps) add_budget(all.kinds, is_gpu_longer);
  if (gpu && all.has_steps) {
    step_budget budget = all.kinds.sum_of_budgets(is_gpu_longer, paths.size());
    result.budget = budget.busy.summarize(budget.idle, paths, tree.in_order());
    result.budget->is_of_gpu = is_gpu_longer;
    result.budget->steps = is_gpu_longer ? periods_of_all.count() : all.gpu.steps();
    idle = std::move(budget.idle);
    result.gpu->idle = {to_ms(idle->total), to_ms(idle->unattributed)};
  }
  choose_step_time(result.steps, busy_per_step);

  scope_rows const rows{paths, all.scopes, tree, whole.per_step, gpu ? &*gpu : nullptr, idle ? &*idle : nullptr};
  result.scopes = rows.by_path(result.steps.host.total);
  result.names = rows.by_name();
  kind_rows{paths, tree.in_order(), rows.paths(), kernel_rows}.fill(result, all.kinds, whole.steps, whole.gpu_periods);
  std::uint64_t const steps = whole.per_step.steps();
  if (!all.has_steps || steps > 0) all.memory.fill(result, rows.paths(), paths.size());
  own_vector<std::uint32_t> adopted;  // paths
  if (has_adopted(paths)) {
    result.adopted = adopted_scopes{paths, tree, all.adopted, all.gpu.has_kernels()}.rows(adopted);
  }
  result.limits = summarize_limits(header.environment.gpu, header.measured_roofs, all.devices);
  scope_work work{paths, tree, all.work, all.gpu.has_kernels() ? all.gpu.steps() : steps};
  work.fill(result, rows.paths(), rows.names());
  work.fill_backward(result, adopted);
  result.model = summarize_model(whole.steps.model_flops(), header.precision, result.steps, result.limits, work);
  result.utilization = all.utilization.summarize();
  if (header.sampling) {
    result.host_samples = sample_rows{paths, tree.in_order(), all.samples, result.scopes, rows.paths()}.make(*header.sampling);
  }
  result.memory = all.readings.summarize();
  result.counters = all.counters.summarize();
  if (!whole.timeline.is_empty())
    result.timeline = std::move(whole.timeline).finish([&](std::uint32_t path) { return path_text(paths, path); });
  run_trend const trend{header.time.begin, steps_of_all};
  result.trend = trend.summarize(whole.trend, result.memory, is_gpu_longer ? &periods_of_all : nullptr);
  result.collectors = header.collectors;
  result.quality = header.quality;
  for (scope_summary const& row : result.scopes) result.scopes_recorded += row.host.count;
  return result;
}

}  // namespace profkit::detail
