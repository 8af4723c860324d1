// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "change_estimate.hpp"
#include "comparison.hpp"
#include "matched_items.hpp"
#include "run_figures.hpp"

namespace profkit_program {

namespace detail {

/// Rows of one kind with one key, of all runs of both sides.
struct row_input {
  comparison_row row;
  std::vector<figures> a;
  std::vector<figures> b;
  double noise = 0.0;  ///< relative variance between runs
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

class comparer {
 public:
  comparer(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options)
      : a_{a}, b_{b}, options_{options} {}

  [[nodiscard]] comparison compare() {
    result_.step_noise_is_measured = a_.size() + b_.size() >= enough_for_one_row;
    result_.noise_is_measured = a_.size() + b_.size() >= enough_for_many_rows;
    find_times();
    find_host_noise();
    if (options_.scope.empty()) add_step();
    std::size_t const first = inputs_.size();
    add_scopes();
    if (options_.scope.empty() && options_.time != time_kind::host) add_kernels();
    for (std::size_t i = first; i < inputs_.size(); ++i) result_.judged += is_judged(inputs_[i]) ? 1 : 0;
    for (row_input& each : inputs_) judge(each);
    for (row_input& each : inputs_) result_.rows.push_back(std::move(each.row));
    add_notes();
    return std::move(result_);
  }

 private:
  template <class Test>
  [[nodiscard]] static bool all_of(std::vector<run_figures> const& side, Test test) {
    return std::all_of(side.begin(), side.end(), test);
  }

  /// Calls with what each run says of a scope.
  template <class Visit>
  void for_each_scope(Visit&& visit) const {
    auto const key_of = [](scope_figures const& scope) -> std::string const& { return scope.path; };
    auto const list_of = [](run_figures const& run) -> std::vector<scope_figures> const& { return run.scopes; };
    matched_items<scope_figures, decltype(key_of), decltype(list_of)>{a_, b_, key_of, list_of}.for_each(visit);
  }

  void find_times() {
    auto const has_kernels = [](run_figures const& run) { return run.kernels.has_value(); };
    bool const in_a = all_of(a_, has_kernels);
    bool const in_b = all_of(b_, has_kernels);
    has_gpu_ = in_a && in_b && options_.time != time_kind::host;
    if (in_a != in_b && options_.time == time_kind::automatic) {
      result_.notes.push_back(std::string{"kernels were collected in "} + (in_a ? "A" : "B") + " only: scopes are compared by host time");
    }
    auto const total = [&](std::vector<run_figures> const& side, bool of_gpu) {
      double sum = 0.0;
      for (run_figures const& run : side) {
        if (!of_gpu) sum += run.step.mean_ms;
        // A kernel counts for the step whether a scope launched it or not.
        for (std::size_t i = 0; of_gpu && i < run.kernels->size(); ++i) sum += (*run.kernels)[i].gpu.mean_ms;
      }
      return sum / static_cast<double>(side.size());
    };
    host_floor_ = options_.floor * std::max(total(a_, false), total(b_, false));
    if (has_gpu_) gpu_floor_ = options_.floor * std::max(total(a_, true), total(b_, true));
  }

  /// What changes the host times of most scopes by the same factor is more likely the machine than each of them, and one run of a side
  /// cannot tell: then the noise between runs is at least as large as that.
  void find_host_noise() {
    result_.host_noise = options_.host_noise;
    if (options_.is_host_noise_known) return;
    constexpr std::size_t enough_scopes = 8;  // for one that changed not to be the middle
    std::vector<double> log_ratios;
    for_each_scope([&](std::vector<scope_figures const*> const& of_runs) {
      double of_a = 0.0;
      double of_b = 0.0;
      for (std::size_t run = 0; run < of_runs.size(); ++run) {
        if (of_runs[run] != nullptr) (run < a_.size() ? of_a : of_b) += of_runs[run]->host.mean_ms;
      }
      if (of_a <= 0.0 || of_b <= 0.0) return;
      log_ratios.push_back(std::log(of_b / static_cast<double>(b_.size()) / (of_a / static_cast<double>(a_.size()))));
    });
    if (log_ratios.size() < enough_scopes) return;
    auto const middle = log_ratios.begin() + static_cast<std::ptrdiff_t>(log_ratios.size() / 2);
    std::nth_element(log_ratios.begin(), middle, log_ratios.end());
    double const shared = std::abs(*middle);
    if (shared <= result_.host_noise) return;
    result_.host_noise = shared;
    if (result_.step_noise_is_measured && result_.noise_is_measured) return;
    result_.notes.push_back(fmt::format(
        "the host times of most scopes are {:+.0f} % in B: it may be the machine, which only several runs of both sides can tell",
        100.0 * std::expm1(*middle)));
  }

  [[nodiscard]] double floor_of(comparison_row const& row) const {
    return row.kind == row_kind::step ? 0.0 : row.is_gpu ? gpu_floor_ : host_floor_;
  }

  void add_step() {
    auto const has_gpu_step = [](run_figures const& run) { return run.gpu_step.has_value(); };
    if (options_.time == time_kind::gpu && !(all_of(a_, has_gpu_step) && all_of(b_, has_gpu_step))) {
      result_.notes.emplace_back("the step has no GPU time on both sides, and is not compared");
      return;
    }
    row_input input;
    input.row.name = "step time";
    input.row.is_gpu = options_.time == time_kind::gpu;
    input.noise = result_.host_noise * result_.host_noise;  // on the GPU, too: the gaps between kernels are in it
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) (side == &a_ ? input.a : input.b).push_back(input.row.is_gpu ? *run.gpu_step : run.step);
    }
    input.is_in_a = input.is_in_b = true;
    inputs_.push_back(std::move(input));
  }

  void add_scopes() {
    for_each_scope([&](std::vector<scope_figures const*> const& of_runs) {
      scope_figures const& any = **std::find_if(of_runs.begin(), of_runs.end(), [](auto const* each) { return each != nullptr; });
      if (!options_.scope.empty() && !is_inside(any.path, options_.scope)) return;
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
      double const noise = by_gpu ? options_.gpu_noise : result_.host_noise;
      input.noise = noise * noise;
      if (by_gpu && total > 0.0) {
        double const of_copies = options_.copy_noise * copies / total;
        input.noise += of_copies * of_copies;
      }
      inputs_.push_back(std::move(input));
    });
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
      input.noise = options_.gpu_noise * options_.gpu_noise;
      inputs_.push_back(std::move(input));
    });
  }

  /// What a run does not have took no time in it.
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

  [[nodiscard]] bool is_judged(row_input const& input) const {
    return input.is_in_a && input.is_in_b && std::max(mean_of(input.a), mean_of(input.b)) > floor_of(input.row);
  }

  void judge(row_input& input) const {
    comparison_row& row = input.row;
    row.a_ms = mean_of(input.a);
    row.b_ms = mean_of(input.b);
    if (input.is_in_a != input.is_in_b) {
      row.says = input.is_in_a ? verdict::gone : verdict::added;
      return;
    }
    double const difference = row.b_ms - row.a_ms;
    if (row.a_ms > 0.0) row.change = difference / row.a_ms;
    row.effect = hedges_g(input.a, input.b);
    if (!is_judged(input)) return;  // no change of it can matter
    if (row.a_ms <= 0.0 || row.b_ms <= 0.0) {
      row.says = difference > 0.0 ? verdict::slower : verdict::faster;
      return;
    }
    std::size_t const enough = row.kind == row_kind::step ? enough_for_one_row : enough_for_many_rows;
    change_estimate const change = estimate_change(side_of_row{input.a}, side_of_row{input.b}, input.noise, enough);
    double const tests = row.kind == row_kind::step ? 1.0 : static_cast<double>(result_.judged);
    row.range = change.interval(1.0 - options_.error_rate / tests);
    row.own = change.interval(1.0 - 2.0 * options_.error_rate);
    double const margin = std::max(options_.margin, floor_of(row) / row.a_ms);
    bool const matters = std::max(*row.change, -*row.change) >= margin;
    if (matters && row.range->first > 0.0) {
      row.says = verdict::slower;
    } else if (matters && row.range->second < 0.0) {
      row.says = verdict::faster;
    } else {
      row.says = -margin < row.own->first && row.own->second < margin ? verdict::same : verdict::unsure;
    }
  }

  void add_notes() {
    auto const differ = [&](char const* what, std::string run_figures::*member) {
      std::string const& a = a_.front().*member;
      std::string const& b = b_.front().*member;
      auto const is_a = [&](run_figures const& run) { return run.*member == a; };
      if (all_of(a_, is_a) && all_of(b_, is_a)) return;
      result_.notes.push_back(std::string{"the runs are not of one "} + what + ": " + (a.empty() ? "n/a" : a) + " in A, " +
                              (b.empty() ? "n/a" : b) + " in B");
    };
    differ("host", &run_figures::host);
    differ("GPU", &run_figures::gpu);
    constexpr std::size_t most_doubts = 8;
    std::size_t doubts = 0;
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) {
        for (std::string const& doubt : run.doubts) {
          if (++doubts <= most_doubts) result_.notes.push_back(run.file + ": " + doubt);
        }
      }
    }
    if (doubts > most_doubts) result_.notes.push_back(std::to_string(doubts - most_doubts) + " more of this kind");
  }

  std::vector<run_figures> const& a_;
  std::vector<run_figures> const& b_;
  compare_options const& options_;
  bool has_gpu_ = false;
  double host_floor_ = 0.0;  ///< milliseconds
  double gpu_floor_ = 0.0;
  std::vector<row_input> inputs_;
  comparison result_;
};

}  // namespace detail

/// Compares the runs of two sides: the step, each scope and each kernel. Pure.
///
/// FASTER, SLOWER: the change matters (margin, floor), and its range does not hold 0. The range is as wide as the number of rows asks for
/// (Bonferroni), so that at most `error_rate` of comparisons of the same program say so of any row but the step, and as many of the step.
/// SAME: the row's own 90 % interval lies within the margin: two one-sided tests at 5 % (D. J. Schuirmann, "A comparison of the two
/// one-sided tests procedure and the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987); or it takes less than the
/// floor on both sides. UNSURE: neither. docs/compare.md says more.
/// @param a, b at least one run each, all with at least two steps; those given with `time_kind::gpu` have kernels.
[[nodiscard]] inline comparison compare(std::vector<run_figures> const& a, std::vector<run_figures> const& b,
                                        compare_options const& options = {}) {
  return detail::comparer{a, b, options}.compare();
}

}  // namespace profkit_program
