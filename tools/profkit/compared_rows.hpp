// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compared_scopes.hpp"
#include "comparison.hpp"
#include "matched_items.hpp"
#include "run_figures.hpp"

namespace profkit_program::detail {

/// Rows of one kind with one key, of all runs of both sides.
struct row_input {
  comparison_row row;
  std::size_t place = 0;   ///< of a scope, in the tree with all scopes
  bool is_member = false;  ///< a scope of a row that is a sum
  std::vector<figures> a;
  std::vector<figures> b;
  double copies = 0.0;  ///< share of the time that copies from and to the host take
};

inline bool is_inside(std::string_view path, std::string_view scope) {
  return path == scope || (path.size() > scope.size() && path.substr(0, scope.size()) == scope && path[scope.size()] == '/');
}

inline double mean_of(std::vector<figures> const& runs) {
  double sum = 0.0;
  for (figures const& each : runs) sum += each.mean_ms;
  return sum / static_cast<double>(runs.size());
}

/// Adds the time of another scope. The spread of a sum is at most the sum of the spreads, however steps correlate.
inline void add_figures(figures& to, figures const& each) {
  double const spread = to.std_ms + each.std_ms;
  if (spread > 0.0) to.autocorrelation = (to.std_ms * to.autocorrelation + each.std_ms * each.autocorrelation) / spread;
  to.std_ms = spread;
  to.mean_ms += each.mean_ms;
  to.steps = std::min(to.steps, each.steps);
}

/// A scope of which a row is the sum.
struct member_input {
  std::size_t row = 0;  ///< position of the row
  row_input scope;
};

struct compared_inputs {
  std::vector<row_input> rows;
  std::vector<member_input> members;
};

/// Combines the figures of both sides for the step, each scope, each kernel and each sampled function.
class compared_rows {
 public:
  compared_rows(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options)
      : a_{a}, b_{b}, options_{options} {}

  /// @param into receives the totals and notes.
  [[nodiscard]] compared_inputs make(comparison& into) {
    find_times(into);
    if (options_.scope.empty() && a_.front().has_steps) add_step(into);
    add_scopes(into);
    if (options_.scope.empty() && options_.time != time_kind::host) add_kernels();
    if (options_.time != time_kind::gpu) add_functions(into);
    if (options_.scope.empty()) add_utilization(into);
    if (options_.scope.empty()) add_energy(into);
    return {std::move(inputs_), std::move(members_)};
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
    into.is_usual_step = are_usual_steps_comparable(by_period, input.row.is_gpu);
    if (into.is_usual_step) into.notes.push_back(usual_note());
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) {
        std::optional<figures> const& period = into.is_usual_step ? run.usual->gpu_period : run.gpu_period;
        std::optional<figures> const& gpu = into.is_usual_step ? run.usual->gpu_step : run.gpu_step;
        figures const& host = into.is_usual_step ? run.usual->host : run.step;
        (side == &a_ ? input.a : input.b).push_back(by_period ? *period : input.row.is_gpu ? *gpu : host);
      }
    }
    inputs_.push_back(std::move(input));
  }

  /// Whether all runs have a usual kind of step with the same parts, and some run has steps of other kinds.
  [[nodiscard]] bool are_usual_steps_comparable(bool by_period, bool by_gpu) const {
    auto const is_usual = [&](run_figures const& run) {
      return run.usual && a_.front().usual && run.usual->parts == a_.front().usual->parts &&
             (by_period ? run.usual->gpu_period.has_value() : !by_gpu || run.usual->gpu_step.has_value());
    };
    auto const has_others = [](run_figures const& run) { return run.usual && run.usual->others > 0; };
    return all_of(a_, is_usual) && all_of(b_, is_usual) &&
           (std::any_of(a_.begin(), a_.end(), has_others) || std::any_of(b_.begin(), b_.end(), has_others));
  }

  [[nodiscard]] std::string usual_note() const {
    auto const others = [](std::vector<run_figures> const& side) {
      std::uint64_t count = 0;
      for (run_figures const& run : side) count += run.usual->others;
      return count;
    };
    return fmt::format(
        "the step time is that of usual steps; scopes and kernels are means of all measured steps, with those of other kinds ({} in A, {} "
        "in "
        "B)",
        others(a_), others(b_));
  }

  using scope_of_runs = std::vector<scope_figures const*>;

  void add_scopes(comparison& into) {
    auto const key_of = [](scope_figures const& scope) -> std::string const& { return scope.path; };
    auto const list_of = [](run_figures const& run) -> std::vector<scope_figures> const& { return run.scopes; };
    matched_items<scope_figures, decltype(key_of), decltype(list_of)> const matched{a_, b_, key_of, list_of};
    std::vector<scope_of_runs> scopes;
    std::vector<scope_of_runs> wanted;
    std::size_t partial = 0;
    matched.for_each([&](scope_of_runs const& of_runs) {
      bool const is_wanted = !options_.scope.empty() && is_inside(any_of(of_runs).path, options_.scope);
      if (!a_.front().has_steps && is_partial(of_runs)) {
        partial += options_.scope.empty() || is_wanted ? 1U : 0U;
        return;
      }
      scopes.push_back(of_runs);
      if (is_wanted) wanted.push_back(of_runs);
    });
    if (!wanted.empty()) scopes = std::move(wanted);
    std::vector<scope_figures const*> one_of_each;
    one_of_each.reserve(scopes.size());
    for (scope_of_runs const& each : scopes) one_of_each.push_back(&any_of(each));
    for (compared_scopes const& row : scope_folding{one_of_each}.take()) {
      // "step/layer_*" is the path of a row, not of a scope.
      if (!options_.scope.empty() && !is_inside(row.path, options_.scope)) continue;
      for (std::size_t const each : row.scopes) row_paths_.emplace(one_of_each[each]->path, row.path);
      add_row(row, scopes);
    }
    if (partial > 0) {
      into.notes.push_back(std::to_string(partial) + " scopes are in some runs of a side only, and are not compared");
    }
  }

  [[nodiscard]] static scope_figures const& any_of(scope_of_runs const& of_runs) {
    return **std::find_if(of_runs.begin(), of_runs.end(), [](auto const* each) { return each != nullptr; });
  }

  void add_row(compared_scopes const& row, std::vector<scope_of_runs> const& scopes) {
    bool by_gpu = false;
    for (std::size_t const each : row.scopes) by_gpu = by_gpu || uses_gpu(scopes[each]);
    by_gpu = by_gpu && has_gpu_;
    if (options_.time == time_kind::gpu && !by_gpu) return;
    if (row.scopes.size() == 1) {
      scope_of_runs const& of_runs = scopes[row.scopes.front()];
      row_input input = scope_input(of_runs, row.path, by_gpu);
      input.place = row.scopes.front();
      inputs_.push_back(std::move(input));
      bool const is_in_all = std::find(of_runs.begin(), of_runs.end(), nullptr) == of_runs.end();
      for (std::size_t which = 0; is_in_all && which < quantile_names.size(); ++which) add_quantile(of_runs, which);
      return;
    }
    row_input sum;
    double copies = 0.0;
    double total = 0.0;
    for (std::size_t const each : row.scopes) {
      row_input member = scope_input(scopes[each], any_of(scopes[each]).path, by_gpu);
      member.place = each;
      member.is_member = true;
      double const ms = total_of(member);
      copies += member.copies * ms;
      total += ms;
      add_member(sum, member);
      members_.push_back({inputs_.size(), std::move(member)});
    }
    sum.row.kind = row_kind::scope;
    sum.row.name = row.path;
    sum.row.siblings = row.siblings;
    sum.row.scopes = row.scopes.size();
    sum.row.is_gpu = by_gpu;
    if (total > 0.0) sum.copies = copies / total;
    inputs_.push_back(std::move(sum));
  }

  static void add_member(row_input& sum, row_input const& member) {
    if (sum.a.empty()) {
      sum.a = member.a;
      sum.b = member.b;
    } else {
      for (std::size_t run = 0; run < sum.a.size(); ++run) add_figures(sum.a[run], member.a[run]);
      for (std::size_t run = 0; run < sum.b.size(); ++run) add_figures(sum.b[run], member.b[run]);
    }
    sum.row.a_count += member.row.a_count;
    sum.row.b_count += member.row.b_count;
  }

  [[nodiscard]] static double total_of(row_input const& input) {
    return mean_of(input.a) * static_cast<double>(input.a.size()) + mean_of(input.b) * static_cast<double>(input.b.size());
  }

  [[nodiscard]] static bool uses_gpu(scope_of_runs const& of_runs) {
    return std::any_of(of_runs.begin(), of_runs.end(),
                       [](auto const* each) { return each != nullptr && each->gpu && each->gpu->mean_ms > 0.0; });
  }

  [[nodiscard]] row_input scope_input(scope_of_runs const& of_runs, std::string const& path, bool by_gpu) const {
    double copies = 0.0;
    double total = 0.0;
    row_input input = input_of(of_runs, row_kind::scope, path, [&](scope_figures const* scope) {
      if (scope == nullptr) return figures{};
      copies += scope->host_copies_ms;
      figures const& mine = by_gpu ? *scope->gpu : scope->host;
      total += mine.mean_ms;
      return mine;
    });
    input.row.is_gpu = by_gpu;
    add_counts(of_runs, input.row);
    if (by_gpu && total > 0.0) input.copies = copies / total;
    return input;
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

  /// Adds the rows of sampled functions. A function with few samples has no row: its change would be noise, and a function without samples
  /// on one side may have run there nevertheless.
  void add_functions(comparison& into) {
    auto const is_sampled = [](run_figures const& run) { return run.functions.has_value(); };
    bool const in_a = all_of(a_, is_sampled);
    bool const in_b = all_of(b_, is_sampled);
    if (!in_a || !in_b) {
      if (in_a || in_b) {
        into.notes.push_back(std::string{"host samples were taken in all runs of "} + (in_a ? "A" : "B") +
                             " only: functions are not compared");
      }
      return;
    }
    auto const has_same_rate = [&](run_figures const& run) { return run.sampling_interval_us == a_.front().sampling_interval_us; };
    if (!all_of(a_, has_same_rate) || !all_of(b_, has_same_rate)) into.notes.emplace_back("the runs were sampled at different rates");
    std::unordered_map<run_figures const*, std::vector<function_figures>> merged;
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) merged.emplace(&run, functions_of(run));
    }
    auto const key_of = [](function_figures const& function) -> std::string const& { return function.name; };
    auto const list_of = [&](run_figures const& run) -> std::vector<function_figures> const& { return merged.at(&run); };
    matched_items<function_figures, decltype(key_of), decltype(list_of)> const functions{a_, b_, key_of, list_of};
    functions.for_each([&](std::vector<function_figures const*> const& of_runs) {
      function_figures const& any = **std::find_if(of_runs.begin(), of_runs.end(), [](auto const* each) { return each != nullptr; });
      if (!options_.scope.empty() && !is_inside(any.path, options_.scope)) return;
      std::array<std::uint64_t, 2> samples{};
      for (std::size_t run = 0; run < of_runs.size(); ++run) {
        if (of_runs[run] != nullptr) samples[run < a_.size() ? 0 : 1] += of_runs[run]->samples;
      }
      constexpr std::uint64_t min_samples = 30;
      if (std::max(samples[0], samples[1]) < min_samples) return;
      row_input input = input_of(of_runs, row_kind::function, any.name,
                                 [](function_figures const* function) { return function ? function->host : figures{}; });
      if (mean_of(input.a) <= 0.0 && !would_be_seen(a_, any.path, mean_of(input.b), min_samples)) return;
      if (mean_of(input.b) <= 0.0 && !would_be_seen(b_, any.path, mean_of(input.a), min_samples)) return;
      inputs_.push_back(std::move(input));
    });
  }

  /// The functions of a run with those of numbered scopes merged as the scopes are. The number of samples of a sum is the sum of the
  /// numbers, so its share of the variance falls; the spread between steps adds up at most.
  [[nodiscard]] std::vector<function_figures> functions_of(run_figures const& run) const {
    std::vector<function_figures> result;
    std::unordered_map<std::string, std::size_t> positions;
    auto const sampling = [](function_figures const& each) {
      return each.samples > 0 ? static_cast<double>(each.host.steps) / static_cast<double>(each.samples) : 0.0;
    };
    for (function_figures const& each : *run.functions) {
      std::string const& path = row_path(each.path);
      std::string const name = path == each.path ? each.name : path + each.name.substr(each.path.size());
      auto const [at, is_new] = positions.try_emplace(name, result.size());
      if (is_new) {
        result.push_back({name, path, each.host, each.samples});
        continue;
      }
      function_figures& sum = result[at->second];
      auto const spread = [&](function_figures const& one) {
        double const mean = one.host.mean_ms;
        return std::sqrt(std::max(0.0, one.host.std_ms * one.host.std_ms - mean * mean * sampling(one)));
      };
      double const of_steps = spread(sum) + spread(each);
      add_figures(sum.host, each.host);
      sum.samples += each.samples;
      sum.host.std_ms = std::hypot(of_steps, sum.host.mean_ms * std::sqrt(sampling(sum)));
    }
    return result;
  }

  /// The path of the row of a scope.
  [[nodiscard]] std::string const& row_path(std::string const& path) const {
    auto const found = row_paths_.find(path);
    return found == row_paths_.end() ? path : found->second;
  }

  /// Whether a function without samples on a side would have had enough there with the same time: else it is not known to be new or gone.
  [[nodiscard]] bool would_be_seen(std::vector<run_figures> const& side, std::string const& path, double ms,
                                   std::uint64_t min_samples) const {
    double expected = 0.0;
    for (run_figures const& run : side) {
      auto const is_here = [&](std::string const& cut) { return row_path(cut) == path; };
      if (std::any_of(run.cut_scopes.begin(), run.cut_scopes.end(), is_here)) return false;
      if (run.sample_ms > 0.0) expected += ms / run.sample_ms;
    }
    return expected >= static_cast<double>(min_samples);
  }

  /// A line for the notes: these shares are of whole runs, so nothing is known of their spread and they have no verdict.
  void add_utilization(comparison& into) const {
    auto const has_shares = [](run_figures const& run) { return run.utilization.has_value(); };
    if (!all_of(a_, has_shares) || !all_of(b_, has_shares)) return;
    std::string text;
    for (auto const& [name, share] : *a_.front().utilization) {
      auto const before = mean_share(a_, name);
      auto const after = mean_share(b_, name);
      if (!before || !after || std::max(*before, *after) < 0.0005) continue;
      text += fmt::format("{}{} {:.1f} % in A, {:.1f} % in B ({:+.1f})", text.empty() ? "" : "; ", name, 100.0 * *before, 100.0 * *after,
                          100.0 * (*after - *before));
    }
    auto const has_many = [](run_figures const& run) { return run.utilized_devices > 1; };
    bool const are_many = std::any_of(a_.begin(), a_.end(), has_many) || std::any_of(b_.begin(), b_.end(), has_many);
    if (!text.empty()) into.notes.push_back((are_many ? "GPU utilization, mean of all devices: " : "GPU utilization: ") + text);
  }

  /// A line for the notes: the energy of a step by meter. Counters have no spread by step, so it has no verdict.
  void add_energy(comparison& into) const {
    std::string text;
    for (auto const& [name, joules] : a_.front().energy) {
      auto const before = mean_value(a_, &run_figures::energy, name);
      auto const after = mean_value(b_, &run_figures::energy, name);
      if (!before || !after || *before <= 0.0) continue;
      text += fmt::format("{}{} {:.4g} J in A, {:.4g} J in B ({:+.1f} %)", text.empty() ? "" : "; ", name, *before, *after,
                          100.0 * (*after / *before - 1.0));
    }
    if (!text.empty()) into.notes.push_back("Energy of a step: " + text);
  }

  /// The mean over the runs of a side; n/a if one does not have it.
  [[nodiscard]] static std::optional<double> mean_share(std::vector<run_figures> const& side, std::string const& name) {
    return mean_value(side, &run_figures::utilization, name);
  }
  static unit_shares const& value_of(std::optional<unit_shares> const& shares) { return *shares; }
  static unit_shares const& value_of(unit_shares const& shares) { return shares; }
  template <class Member>
  [[nodiscard]] static std::optional<double> mean_value(std::vector<run_figures> const& side, Member run_figures::*member,
                                                        std::string const& name) {
    double sum = 0.0;
    for (run_figures const& run : side) {
      unit_shares const& values = value_of(run.*member);
      auto const at = std::find_if(values.begin(), values.end(), [&](auto const& each) { return each.first == name; });
      if (at == values.end()) return std::nullopt;
      sum += at->second;
    }
    return sum / static_cast<double>(side.size());
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
    }
    return input;
  }

  std::vector<run_figures> const& a_;
  std::vector<run_figures> const& b_;
  compare_options const& options_;
  bool has_gpu_ = false;
  std::vector<row_input> inputs_;
  std::vector<member_input> members_;
  std::unordered_map<std::string, std::string> row_paths_;  ///< the path of the row of a scope, by the path of the scope
};

}  // namespace profkit_program::detail
