// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "matched_items.hpp"
#include "run_figures.hpp"

namespace profkit_program::detail {

/// Rows of one kind with one key, of all runs of both sides.
struct row_input {
  comparison_row row;
  std::vector<figures> a;
  std::vector<figures> b;
  double copies = 0.0;  ///< share of the time that copies from and to the host take
  bool is_in_a = false;
  bool is_in_b = false;
};

inline bool is_inside(std::string_view path, std::string_view scope) {
  return path == scope || (path.size() > scope.size() && path.substr(0, scope.size()) == scope && path[scope.size()] == '/');
}

inline double mean_of(std::vector<figures> const& runs) {
  double sum = 0.0;
  for (figures const& each : runs) sum += each.mean_ms;
  return sum / static_cast<double>(runs.size());
}

/// Combines the figures of both sides for the step, each scope and each kernel.
class compared_rows {
 public:
  compared_rows(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options)
      : a_{a}, b_{b}, options_{options} {}

  /// @param into receives the totals and notes.
  [[nodiscard]] std::vector<row_input> make(comparison& into) {
    find_times(into);
    if (options_.scope.empty() && a_.front().has_steps) add_step(into);
    add_scopes(into);
    if (options_.scope.empty() && options_.time != time_kind::host) add_kernels();
    return std::move(inputs_);
  }

 private:
  template <class Test>
  [[nodiscard]] static bool all_of(std::vector<run_figures> const& side, Test test) {
    return std::all_of(side.begin(), side.end(), test);
  }

  void find_times(comparison& into) {
    auto const has_kernels = [](run_figures const& run) { return run.kernels.has_value(); };
    bool const in_a = all_of(a_, has_kernels);
    bool const in_b = all_of(b_, has_kernels);
    has_gpu_ = in_a && in_b && options_.time != time_kind::host;
    if (in_a != in_b && options_.time == time_kind::automatic) {
      into.notes.push_back(std::string{"kernels were collected in "} + (in_a ? "A" : "B") + " only: scopes are compared by host time");
    }
    auto const total = [&](std::vector<run_figures> const& side, bool of_gpu) {
      double sum = 0.0;
      for (run_figures const& run : side) {
        if (!of_gpu) sum += run.step.mean_ms;
        // A kernel counts for the step, even if launched outside any scope.
        for (std::size_t i = 0; of_gpu && i < run.kernels->size(); ++i) sum += (*run.kernels)[i].gpu.mean_ms;
      }
      return sum / static_cast<double>(side.size());
    };
    into.host_total_ms = std::max(total(a_, false), total(b_, false));
    if (has_gpu_) into.gpu_total_ms = std::max(total(a_, true), total(b_, true));
  }

  void add_step(comparison& into) {
    auto const has_gpu_step = [](run_figures const& run) { return run.gpu_step.has_value(); };
    if (options_.time == time_kind::gpu && !(all_of(a_, has_gpu_step) && all_of(b_, has_gpu_step))) {
      into.notes.emplace_back("the step has no GPU time on both sides, and is not compared");
      return;
    }
    auto const runs_ahead = [](run_figures const& run) { return run.gpu_period.has_value(); };
    bool const by_period = options_.time == time_kind::automatic && all_of(a_, runs_ahead) && all_of(b_, runs_ahead);
    if (by_period) into.notes.emplace_back("the host runs ahead of the GPU: the step time is the GPU's, by its kernels");
    row_input input;
    input.row.name = "step time";
    input.row.is_gpu = by_period || options_.time == time_kind::gpu;
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) {
        (side == &a_ ? input.a : input.b).push_back(by_period ? *run.gpu_period : input.row.is_gpu ? *run.gpu_step : run.step);
      }
    }
    input.is_in_a = input.is_in_b = true;
    inputs_.push_back(std::move(input));
  }

  void add_scopes(comparison& into) {
    auto const key_of = [](scope_figures const& scope) -> std::string const& { return scope.path; };
    auto const list_of = [](run_figures const& run) -> std::vector<scope_figures> const& { return run.scopes; };
    matched_items<scope_figures, decltype(key_of), decltype(list_of)> const scopes{a_, b_, key_of, list_of};
    std::size_t partial = 0;
    scopes.for_each([&](std::vector<scope_figures const*> const& of_runs) {
      scope_figures const& any = **std::find_if(of_runs.begin(), of_runs.end(), [](auto const* each) { return each != nullptr; });
      if (!options_.scope.empty() && !is_inside(any.path, options_.scope)) return;
      if (!a_.front().has_steps && is_partial(of_runs)) {
        ++partial;
        return;
      }
      bool const used_gpu = std::any_of(of_runs.begin(), of_runs.end(),
                                        [](auto const* each) { return each != nullptr && each->gpu && each->gpu->mean_ms > 0.0; });
      bool const by_gpu = has_gpu_ && used_gpu;
      if (options_.time == time_kind::gpu && !by_gpu) return;
      double copies = 0.0;
      double total = 0.0;
      row_input input = input_of(of_runs, row_kind::scope, any.path, [&](scope_figures const* scope) {
        if (scope == nullptr) return figures{};
        copies += scope->host_copies_ms;
        figures const& mine = by_gpu ? *scope->gpu : scope->host;
        total += mine.mean_ms;
        return mine;
      });
      input.row.is_gpu = by_gpu;
      add_counts(of_runs, input.row);
      if (by_gpu && total > 0.0) input.copies = copies / total;
      bool const is_in_both = input.is_in_a && input.is_in_b;
      inputs_.push_back(std::move(input));
      for (std::size_t which = 0; is_in_both && which < quantile_names.size(); ++which) add_quantile(of_runs, which);
    });
    if (partial > 0) {
      into.notes.push_back(std::to_string(partial) + " scopes are in some runs of a side only, and are not compared");
    }
  }

  /// @param of_runs figures of runs that all have the row.
  void add_quantile(std::vector<scope_figures const*> const& of_runs, std::size_t which) {
    auto const is_known = [&](scope_figures const* each) { return each->quantiles_ms[which] > 0.0; };
    if (!std::all_of(of_runs.begin(), of_runs.end(), is_known)) return;
    row_input input = input_of(of_runs, row_kind::scope, of_runs.front()->path, [&](scope_figures const* scope) {
      return figures{scope->count, scope->quantiles_ms[which], 0.0, 0.0};
    });
    input.row.figure = quantile_names[which];
    add_counts(of_runs, input.row);
    inputs_.push_back(std::move(input));
  }

  /// Whether only some runs of a side have a scope. Its mean in the other runs is then n/a, not 0.
  [[nodiscard]] bool is_partial(std::vector<scope_figures const*> const& of_runs) const {
    auto const middle = of_runs.begin() + static_cast<std::ptrdiff_t>(a_.size());
    auto const is_mixed = [](auto begin, auto end) {
      auto const missing = std::count(begin, end, nullptr);
      return missing > 0 && missing < end - begin;
    };
    return is_mixed(of_runs.begin(), middle) || is_mixed(middle, of_runs.end());
  }

  /// The mean over the runs of each side.
  void add_counts(std::vector<scope_figures const*> const& of_runs, comparison_row& row) const {
    for (std::size_t run = 0; run < of_runs.size(); ++run) {
      if (of_runs[run] == nullptr) continue;
      bool const is_a = run < a_.size();
      (is_a ? row.a_count : row.b_count) += static_cast<double>(of_runs[run]->count) / static_cast<double>((is_a ? a_ : b_).size());
    }
  }

  void add_kernels() {
    if (!has_gpu_) return;
    auto const key_of = [](kernel_figures const& kernel) -> std::string const& { return kernel.key; };
    auto const list_of = [](run_figures const& run) -> std::vector<kernel_figures> const& { return *run.kernels; };
    matched_items<kernel_figures, decltype(key_of), decltype(list_of)> const kernels{a_, b_, key_of, list_of};
    kernels.for_each([&](std::vector<kernel_figures const*> const& of_runs) {
      kernel_figures const& any = **std::find_if(of_runs.begin(), of_runs.end(), [](auto const* each) { return each != nullptr; });
      row_input input =
          input_of(of_runs, row_kind::kernel, any.name, [](kernel_figures const* kernel) { return kernel ? kernel->gpu : figures{}; });
      input.row.is_gpu = true;
      inputs_.push_back(std::move(input));
    });
  }

  /// A row that a run does not have took no time in it.
  template <class Item, class FiguresOf>
  [[nodiscard]] row_input input_of(std::vector<Item const*> const& of_runs, row_kind kind, std::string const& name,
                                   FiguresOf figures_of) const {
    row_input input;
    input.row.kind = kind;
    input.row.name = name;
    for (std::size_t run = 0; run < of_runs.size(); ++run) {
      bool const is_a = run < a_.size();
      figures mine = figures_of(of_runs[run]);
      if (of_runs[run] == nullptr) mine.steps = (is_a ? a_[run] : b_[run - a_.size()]).step.steps;
      (is_a ? input.a : input.b).push_back(mine);
      (is_a ? input.is_in_a : input.is_in_b) |= of_runs[run] != nullptr;
    }
    return input;
  }

  std::vector<run_figures> const& a_;
  std::vector<run_figures> const& b_;
  compare_options const& options_;
  bool has_gpu_ = false;
  std::vector<row_input> inputs_;
};

}  // namespace profkit_program::detail
