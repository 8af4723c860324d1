// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../step_kind_summary.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "../time/step_series.hpp"
#include "../time/step_times.hpp"
#include "kind_table.hpp"
#include "step_kinds.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Chooses single steps: one of each group, or of several neighbouring groups if there are more than `max_steps`. The choice depends only
/// on the step indices.
/// @param groups the groups in order.
/// @param level `step_series::level` of the groups.
/// @param max_steps maximum number of steps.
inline own_vector<step_group> choose_steps(own_vector<step_group> groups, unsigned level, std::size_t max_steps) {
  for (;; ++level) {
    own_vector<step_group> chosen;
    for (step_group const& each : groups) {
      bool const is_near = !chosen.empty() && chosen.back().chosen >> level == each.chosen >> level;
      if (!is_near) {
        chosen.push_back(each);
      } else if (step_series::scrambled(each.chosen) < step_series::scrambled(chosen.back().chosen)) {
        chosen.back() = each;
      }
    }
    groups = std::move(chosen);
    if (groups.size() <= max_steps || level >= step_series::max_level) return groups;
  }
}

/// @return single steps with their times, in the order of their indices.
/// @param steps host times and times between CUDA events.
/// @param periods GPU periods.
/// @param position_of positions in `summary::kinds`, by kind.
inline own_vector<listed_step> list_steps(step_list const& steps, gpu_period_list const& periods,
                                          std::map<kind_key, std::size_t> const& position_of) {
  constexpr std::size_t max_measured = 4096;
  constexpr std::size_t max_others = 1024;
  own_vector<step_group> warmup;
  own_vector<step_group> measured;
  for (step_group const& each : steps.host().groups()) (each.is_warmup ? warmup : measured).push_back(each);
  own_hash_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by index
  auto const add_times = [&](step_series const& series) {
    for (step_group const& each : series.groups()) gpu_times.try_emplace(each.chosen, each.chosen_time);
  };
  add_times(steps.gpu());
  add_times(periods.warmup());
  add_times(periods.measured());
  own_vector<listed_step> result;
  auto const list = [&](own_vector<step_group> const& groups, step_series const& series, std::size_t max_steps, bool is_excluded) {
    for (step_group const& each : choose_steps(groups, series.level(), max_steps)) {
      listed_step& added = result.emplace_back();
      added.index = each.chosen;
      added.is_warmup = each.is_warmup;
      added.is_excluded = is_excluded;
      added.host = to_ms(each.chosen_time);
      if (auto const kind = position_of.find(each.kind); kind != position_of.end()) added.kind = kind->second;
      auto const gpu = gpu_times.find(each.chosen);
      if (!is_excluded && gpu != gpu_times.end()) added.gpu = to_ms(gpu->second);
    }
  };
  list(warmup, steps.host(), max_others, false);
  list(measured, steps.host(), max_measured, false);
  list(steps.excluded().groups(), steps.excluded(), max_others, true);
  own_stable_sort(result.begin(), result.end(), [](listed_step const& a, listed_step const& b) { return a.index < b.index; });
  return result;
}

/// Creates the figures of the kinds of steps in a summary.
class kind_rows {
 public:
  /// @param tree has rows.
  /// @param kernel_rows positions in `gpu_summary::kernels`, by name of GPU operations.
  kind_rows(path_tree const& tree, own_vector<std::size_t> const& kernel_rows)
      : tree_{tree}, paths_{tree.paths()}, kernel_rows_{kernel_rows} {}

  /// @param result receives the kinds and the list of steps; all other members must be filled already.
  /// @param kinds figures by kind.
  /// @param steps host times and times between CUDA events.
  /// @param periods GPU periods.
  void fill(summary& result, kind_table const& kinds, step_list const& steps, gpu_period_list const& periods) const {
    own_vector<made_kind> made;
    kinds.for_each([&](kind_key key, kind_figures const& figures) {
      step_list const own = steps.of_kind(key);
      if (own.host().count() > 0) made.push_back({key, figures.first, row(result, figures, own, periods.of_kind(key))});
    });
    auto const order = [](made_kind const& each) {
      return std::make_tuple(each.key == other_kinds, ~each.row.steps, each.first);  // the usual kind has most steps
    };
    std::sort(made.begin(), made.end(), [&](made_kind const& a, made_kind const& b) { return order(a) < order(b); });
    std::map<kind_key, std::size_t> position_of;
    for (made_kind& each : made) {
      position_of[each.key] = result.kinds.size();
      result.kinds.push_back(std::move(each.row));
    }
    bool const has_others = !made.empty() && made.back().key == other_kinds;
    name_kinds(result.kinds, result.steps.host.count, has_others);
    for (made_kind const& each : made) {
      step_kind_summary& row = result.kinds[position_of[each.key]];
      if (row.steps == 1 && !row.is_usual) row.name = "step " + std::to_string(steps.host().of_kind(each.key).groups().front().index);
    }
    result.listed_steps = list_steps(steps, periods, position_of);
  }

 private:
  struct made_kind {
    kind_key key;
    timestamp first;
    step_kind_summary row;
  };

  [[nodiscard]] step_kind_summary row(summary const& all, kind_figures const& figures, step_list const& steps,
                                      gpu_period_list const& periods) const {
    step_kind_summary result;
    result.parts = parts_in_order(figures.parts);
    result.steps = steps.host().count();
    result.gpu_steps = figures.gpu_steps;
    result.times = times(all.steps, steps, periods);
    bool const is_of_gpu = all.budget && all.budget->is_of_gpu;
    std::uint64_t const budget_steps = is_of_gpu ? periods.count() : figures.gpu_steps;
    step_budget const* const budget = all.budget && budget_steps > 0 ? &figures.budget(is_of_gpu) : nullptr;
    if (budget != nullptr) {
      result.budget = budget->busy.summarize(budget->idle, paths_, tree_.in_order());
      result.budget->is_of_gpu = is_of_gpu;
      result.budget->steps = budget_steps;
      result.budget->has_launches = all.budget->has_launches;
    }
    add_scopes(result, figures, budget);
    add_kernels(result, figures.kernels);
    return result;
  }

  /// @return the parts in the order of their first appearance.
  [[nodiscard]] own_vector<std::string> parts_in_order(std::set<std::string> left) const {
    own_vector<std::string> result;
    for (std::uint32_t const path : tree_.in_order()) {
      std::uint32_t const parent = paths_[path].parent;
      if (parent == path_record::no_parent || !paths_[parent].is_step) continue;
      if (auto const part = left.find(name_without_place(paths_, path)); part != left.end()) {
        result.push_back(*part);
        left.erase(part);
      }
    }
    return result;
  }

  /// @return the times of the kind; the step time has the basis of all steps.
  [[nodiscard]] static step_summary times(step_summary const& all, step_list const& steps, gpu_period_list const& periods) {
    step_summary result = summarize_steps(steps, all.clocks);
    result.item_name = all.item_name;
    result.gpu_period = summarize_gpu_period(periods, {}, result);
    if (result.gpu_period) result.gpu_period->is_longer = all.gpu_period && all.gpu_period->is_longer;
    if (all.step_time) {
      result.step_time = {*result.host.mean, "host step time", result.host_verdict.verdict};
      if (all.step_time->basis == "GPU step time" && result.gpu) {
        result.step_time = {*result.gpu->mean, all.step_time->basis, result.gpu_verdict->verdict};
      } else if (all.step_time->basis == "GPU step time (kernels)" && result.gpu_period) {
        result.step_time = {*result.gpu_period->time.mean, all.step_time->basis, result.gpu_period->verdict.verdict};
      }
      if (result.step_time->mean.count() <= 0.0) result.step_time.reset();
      set_throughput(result);
    }
    result.clocks.clear();
    return result;
  }

  struct moments {
    std::chrono::nanoseconds busy_self{};
    std::chrono::nanoseconds idle_self{};
    std::chrono::nanoseconds busy{};  ///< with the scopes inside
    std::chrono::nanoseconds idle{};
  };

  /// @param budget null if it is n/a.
  void add_scopes(step_kind_summary& to, kind_figures const& figures, step_budget const* budget) const {
    own_vector<moments> of_path(budget != nullptr ? paths_.size() : 0);
    if (budget != nullptr) to.outside = to_ms(charge(*budget, of_path));
    for (std::size_t row = 0; row < tree_.rows().size(); ++row) {
      std::uint32_t const path = tree_.rows()[row];
      kind_scope_summary result;
      result.scope = row;
      if (path < figures.scopes.size()) {
        result.count = figures.scopes[path].count;
        result.host = to_ms(figures.scopes[path].time);
        result.host_self = to_ms(figures.scopes[path].self);
      }
      bool has_gpu_time = false;
      if (budget != nullptr) {
        moments const& gpu = of_path[path];
        has_gpu_time = gpu.busy.count() > 0 || gpu.idle.count() > 0;
        result.busy = to_ms(gpu.busy);
        result.busy_self = to_ms(gpu.busy_self);
        result.idle = to_ms(gpu.idle);
        result.idle_self = to_ms(gpu.idle_self);
      }
      if (result.count > 0 || has_gpu_time) to.scopes.push_back(result);
    }
  }

  /// Charges each moment to the innermost row. A scope without a row is charged to the row around it. For example, the GPU work of a
  /// warm-up step can run in a measured step.
  /// @return the time outside all rows.
  std::chrono::nanoseconds charge(step_budget const& budget, own_vector<moments>& of_path) const {
    std::chrono::nanoseconds outside = budget.busy.outside() + budget.idle.unattributed;
    for (std::size_t path = paths_.size(); path-- > 0;) {  // children stand after their parents
      moments& own = of_path[path];
      own.busy_self += budget.busy.of_path(path);
      if (path < budget.idle.of_path.size() && budget.idle.of_path[path]) own.idle_self += budget.idle.of_path[path]->self;
      own.busy += own.busy_self;
      own.idle += own.idle_self;
      std::uint32_t const parent = paths_[path].parent;
      bool const has_row = tree_.row_of(path) != path_tree::no_row;
      if (parent == path_record::no_parent) {
        if (!has_row) outside += own.busy + own.idle;
        continue;
      }
      if (has_row) {
        of_path[parent].busy += own.busy;
        of_path[parent].idle += own.idle;
      } else {
        of_path[parent].busy_self += own.busy;
        of_path[parent].idle_self += own.idle;
      }
    }
    return outside;
  }

  void add_kernels(step_kind_summary& to, launched_kernels const& kernels) const {
    std::map<std::size_t, kind_kernel_summary> by_row;
    kernels.for_each([&](launched_kernels::row const& each) {
      kind_kernel_summary& row = by_row[kernel_rows_[each.name]];
      if (row.count == 0) row.min = to_ms(each.min);
      row.kernel = kernel_rows_[each.name];
      row.count += each.count;
      row.total += to_ms(each.total);
      row.min = std::min(row.min, to_ms(each.min));
      row.max = std::max(row.max, to_ms(each.max));
      bool const has_row = each.path != attribution::none && tree_.row_of(each.path) != path_tree::no_row;
      row.launched_in.push_back({has_row ? std::optional{tree_.row_of(each.path)} : std::nullopt, each.count, to_ms(each.total)});
    });
    for (auto& [position, row] : by_row) {
      std::sort(row.launched_in.begin(), row.launched_in.end(), [](launch_place_summary const& a, launch_place_summary const& b) {
        return std::make_tuple(-a.total.count(), a.scope) < std::make_tuple(-b.total.count(), b.scope);
      });
      to.kernels.push_back(std::move(row));
    }
    std::sort(to.kernels.begin(), to.kernels.end(), [](kind_kernel_summary const& a, kind_kernel_summary const& b) {
      return std::make_tuple(-a.total.count(), a.kernel) < std::make_tuple(-b.total.count(), b.kernel);
    });
  }

  path_tree const& tree_;
  own_vector<path_record> const& paths_;
  own_vector<std::size_t> const& kernel_rows_;  ///< by name of GPU operations
};

}  // namespace PROFKIT_NAMESPACE::detail
