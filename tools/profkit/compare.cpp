// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "change_estimate.hpp"
#include "compared_budget.hpp"
#include "compared_rows.hpp"
#include "machine_speed.hpp"
#include "row_family.hpp"

namespace profkit_program {

namespace detail {

namespace {

class comparer {
 public:
  comparer(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options)
      : a_{a}, b_{b}, options_{options} {}

  [[nodiscard]] comparison compare() {
    result_.runs = std::min(a_.size(), b_.size());
    result_.is_noise_measured = a_.size() + b_.size() > 2;
    result_.has_steps = a_.front().has_steps;
    result_.machine = find_machine_change(a_, b_);
    bool const is_guess = !result_.machine && !options_.is_host_noise_known;
    result_.host_noise = is_guess ? std::max(options_.host_noise, options_.unknown_machine_noise) : options_.host_noise;
    compared_inputs made = compared_rows{a_, b_, options_}.make(result_);
    inputs_ = std::move(made.rows);
    members_ = std::move(made.members);
    for (row_input& each : inputs_) describe(each, result_.judged);
    for (member_input& each : members_) describe(each.scope, result_.judged_members);
    if (!inputs_.empty() && inputs_.front().row.kind == row_kind::step) {
      for (figures const& each : inputs_.front().a) result_.step_means_a.push_back(each.mean_ms);
      for (figures const& each : inputs_.front().b) result_.step_means_b.push_back(each.mean_ms);
    }
    judge_step();
    find_shown_noise();
    judge_rows();
    if (result_.judged_members > 0) judge_members();
    for (row_input& each : inputs_) result_.rows.push_back(std::move(each.row));
    for (member_input& each : members_) result_.members.push_back({each.row, std::move(each.scope.row)});
    bool const is_step_compared = !result_.rows.empty() && result_.rows.front().kind == row_kind::step;
    if (is_step_compared && result_.gpu_total_ms > 0.0) {
      result_.budget = compared_budget{a_, b_, result_.is_usual_step, result_.host_noise, machine()}.make(options_.error_rate);
    }
    add_notes();
    return std::move(result_);
  }

 private:
  static constexpr double quantile_error = 0.01;  ///< relative error of the quantiles in a summary

  /// Rows in the order of the tree.
  using row_list = std::vector<row_input*>;

  [[nodiscard]] double floor_of(comparison_row const& row) const {
    return row.kind == row_kind::step ? 0.0
                                      : options_.floor * (row.is_gpu ? result_.gpu_total_ms : result_.host_total_ms) / row.occurrences();
  }

  /// Whether the runs have so different numbers of steps or calls that their minima differ for that reason.
  [[nodiscard]] bool is_minimum_biased(row_input const& input) const {
    constexpr double most = 1.25;
    if (options_.statistic != run_statistic::minimum) return false;
    std::uint64_t low = input.a.front().steps;
    std::uint64_t high = low;
    for (auto const* const side : {&input.a, &input.b}) {
      for (figures const& each : *side) {
        low = std::min(low, each.steps);
        high = std::max(high, each.steps);
      }
    }
    return static_cast<double>(high) > most * static_cast<double>(low);
  }

  [[nodiscard]] bool is_judged(row_input const& input) const {
    if (is_minimum_biased(input)) return false;
    bool const has_noise = input.row.figure.empty() || result_.is_noise_measured;
    return has_noise && input.row.a_ms > 0.0 && input.row.b_ms > 0.0 && std::max(input.row.a_ms, input.row.b_ms) > floor_of(input.row);
  }

  /// The parts of a row that need no statistics of several rows.
  /// @param judged number of rows that share an error rate.
  void describe(row_input& input, std::size_t& judged) const {
    comparison_row& row = input.row;
    row.a_ms = mean_of(input.a);
    row.b_ms = mean_of(input.b);
    if (row.kind != row_kind::step) judged += is_judged(input) ? 1 : 0;
    if ((row.a_ms > 0.0) != (row.b_ms > 0.0)) {
      // What only some runs of a side have can be missing on the other side by chance.
      std::vector<figures> const& having = row.a_ms > 0.0 ? input.a : input.b;
      bool const is_in_all = std::all_of(having.begin(), having.end(), [](figures const& each) { return each.mean_ms > 0.0; });
      row.says = !is_in_all || row.kind == row_kind::step ? verdict::unsure : row.a_ms > 0.0 ? verdict::gone : verdict::added;
      return;
    }
    if (is_minimum_biased(input)) row.says = verdict::unsure;
    if (row.a_ms > 0.0)
      row.change = row.b_ms / row.a_ms * (row.is_gpu || !result_.machine ? 1.0 : std::exp(-result_.machine->certain())) - 1.0;
    if (!row.figure.empty()) {
      if (!result_.is_noise_measured) row.says = verdict::unsure;
    } else if (row.kind != row_kind::function && row.scopes == 1 &&
               options_.statistic == run_statistic::mean) {  // else single steps are not known
      row.effect = hedges_g(input.a, input.b);
    }
  }

  /// Noise between runs as standard deviations: the part shared by all rows of this kind, and the part of each row.
  [[nodiscard]] std::pair<double, double> noise_of(bool is_gpu) const {
    if (is_gpu) return {options_.gpu_noise, options_.gpu_noise};
    // A thread waits for a processor in a few long periods, which hit scopes by chance.
    double const waiting = result_.machine && !options_.is_host_noise_known ? result_.machine->max_waiting : 0.0;
    return {result_.host_noise, std::hypot(options_.host_noise, waiting)};
  }

  void judge_step() {
    if (inputs_.empty() || inputs_.front().row.kind != row_kind::step || !is_judged(inputs_.front())) return;
    row_input& input = inputs_.front();
    double const noise = result_.host_noise;  // also for GPU times, which include gaps between kernels
    row_family const family{{{side_of_row{input.a}, side_of_row{input.b}, 0.0, true}}, noise * noise, machine()};
    judge(input.row, family, 0, family.change_alone(0, options_.error_rate));
  }

  /// Rows with times of one kind: host means of scopes, their quantiles, GPU times of scopes, kernels, functions.
  [[nodiscard]] static std::size_t family_of(comparison_row const& row) {
    if (row.kind == row_kind::kernel) return 2;
    if (row.kind == row_kind::function) return 3;
    if (row.figure.empty()) return row.is_gpu ? 1 : 0;
    auto const name = std::find(quantile_names.begin(), quantile_names.end(), row.figure);
    return 4 + static_cast<std::size_t>(name - quantile_names.begin());
  }

  /// The noise of rows that the changes of single scopes show.
  void find_shown_noise() {
    std::array<row_list, 2> scopes;
    auto const add = [&](row_input& each) {
      bool const is_single = each.row.kind == row_kind::scope && each.row.scopes == 1 && each.row.figure.empty();
      if (is_single && is_judged(each)) scopes[each.row.is_gpu ? 1 : 0].push_back(&each);
    };
    for (row_input& each : inputs_) add(each);
    for (member_input& each : members_) add(each.scope);
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      if (scopes[i].empty()) continue;
      sort_by_place(scopes[i]);
      bool const is_gpu = i == 1;
      auto const [common, own] = noise_of(is_gpu);
      shown_noise_[i] = row_family{family_rows(scopes[i], own), common * common, is_gpu ? nullptr : machine()}.shown_by_changes();
    }
  }

  static void sort_by_place(row_list& rows) {
    std::stable_sort(rows.begin(), rows.end(), [](row_input const* x, row_input const* y) { return x->place < y->place; });
  }

  void judge_rows() {
    row_list rows;
    for (row_input& each : inputs_) {
      if (each.row.kind != row_kind::step) rows.push_back(&each);
    }
    judge_families(rows, false, row_error_rate(result_, options_), result_.judged);
  }

  /// Judges each scope of the rows that are sums, among all single scopes: what the runs show of their noise does not depend on sums.
  void judge_members() {
    row_list rows;
    for (row_input& each : inputs_) {
      if (each.row.kind == row_kind::scope && each.row.scopes == 1) rows.push_back(&each);
    }
    for (member_input& each : members_) rows.push_back(&each.scope);
    sort_by_place(rows);
    judge_families(rows, true, options_.member_share * options_.error_rate, result_.judged_members);
  }

  /// @param rows in the order of the tree.
  /// @param are_members judge members; other rows only take part in the estimates.
  /// @param count number of rows above the floor that share `error_rate`.
  void judge_families(row_list const& rows, bool are_members, double error_rate, std::size_t count) {
    std::array<row_list, 4 + quantile_names.size()> families;
    for (row_input* const each : rows) {
      if (is_judged(*each)) families[family_of(each->row)].push_back(each);
    }
    auto const used = std::count_if(families.begin(), families.end(), [](row_list const& each) { return !each.empty(); });
    for (row_list const& each : families) {
      if (!each.empty()) judge_family(each, are_members, error_rate, static_cast<double>(used), static_cast<double>(count));
    }
  }

  /// Half of the error rate is for the shared part, half for the individual rows.
  void judge_family(row_list const& rows, bool are_members, double error_rate, double families, double count) {
    bool const is_gpu = rows.front()->row.is_gpu;
    bool const is_quantile = !rows.front()->row.figure.empty();
    constexpr double unknown = 1e3;  // no assumption for quantiles: only measured noise counts
    auto const [common, own] = is_quantile ? std::pair{unknown, unknown} : noise_of(is_gpu);
    row_family const family{family_rows(rows, own), common * common, is_gpu ? nullptr : machine()};
    log_range const machine = family.machine_range(0.5 * error_rate / families);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->is_member != are_members) continue;  // it only takes part in the estimates
      judge(rows[i]->row, family, i, family.change(i, machine, 0.5 * error_rate / count));
    }
  }

  [[nodiscard]] std::vector<family_row> family_rows(row_list const& rows, double noise) const {
    constexpr double few_copies = 0.05;
    std::vector<family_row> result;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      row_input const& input = *rows[i];
      double const of_copies = options_.copy_noise * input.copies;
      // Inner scopes follow directly.
      bool const has_parts = input.row.kind == row_kind::scope && i + 1 < rows.size() && is_inside(rows[i + 1]->row.name, input.row.name);
      variance_prior const& shown = shown_noise_[input.row.is_gpu ? 1 : 0];
      double const assumed = noise * noise + of_copies * of_copies;
      result.push_back(
          {side_of_row{input.a}, side_of_row{input.b}, std::max(assumed, shown.variance), !has_parts && input.copies <= few_copies});
      if (shown.variance > assumed) result.back().assumed_freedom = shown.freedom;
    }
    return result;
  }

  [[nodiscard]] machine_change const* machine() const { return result_.machine ? &*result_.machine : nullptr; }

  void judge(comparison_row& row, row_family const& family, std::size_t position, log_range const& change) const {
    double const error = row.figure.empty() ? 0.0 : std::log((1.0 + quantile_error) / (1.0 - quantile_error));
    auto const share_of = [&](log_range const& logs) { return std::pair{std::expm1(logs.low - error), std::expm1(logs.high + error)}; };
    row.change = std::expm1(family.estimate(position));
    row.spread = family.spread(position);
    log_range const own = family.change_alone(position, 2.0 * options_.error_rate);
    row.says = verdict::unsure;
    if (!std::isfinite(change.low) || !std::isfinite(own.low)) return;
    row.range = share_of(change);
    row.own = share_of(own);
    double const margin = std::max(options_.margin, floor_of(row) / row.a_ms);
    bool const matters = std::abs(*row.change) >= margin;
    if (matters && row.range->first > 0.0) {
      row.says = verdict::slower;
    } else if (matters && row.range->second < 0.0) {
      row.says = verdict::faster;
    } else if (-margin < row.own->first && row.own->second < margin) {
      row.says = verdict::same;
    }
  }

  void add_notes() {
    auto const differ = [&](char const* what, std::string run_figures::*member) {
      std::string const& a = a_.front().*member;
      std::string const& b = b_.front().*member;
      auto const is_a = [&](run_figures const& run) { return run.*member == a; };
      if (std::all_of(a_.begin(), a_.end(), is_a) && std::all_of(b_.begin(), b_.end(), is_a)) return;
      result_.notes.push_back(std::string{"the runs are not of one "} + what + ": " + (a.empty() ? "n/a" : a) + " in A, " +
                              (b.empty() ? "n/a" : b) + " in B");
    };
    differ("host", &run_figures::host);
    differ("GPU", &run_figures::gpu);
    if (std::any_of(inputs_.begin(), inputs_.end(), [&](row_input const& each) { return is_minimum_biased(each); }))
      result_.notes.emplace_back(
          "the minimum of more steps is smaller: rows whose runs differ by more than 25 % in steps or calls are UNSURE");
    add_doubts();
  }

  /// One note for each doubt, with the runs that have it.
  void add_doubts() {
    std::vector<std::pair<std::string, std::vector<std::string>>> doubts;
    for (auto const* const side : {&a_, &b_}) {
      for (run_figures const& run : *side) {
        for (std::string const& doubt : run.doubts) {
          auto const is_same = [&](auto const& each) { return each.first == doubt; };
          auto known = std::find_if(doubts.begin(), doubts.end(), is_same);
          if (known == doubts.end()) known = doubts.insert(doubts.end(), {doubt, {}});
          known->second.push_back(run.file);
        }
      }
    }
    constexpr std::size_t max_doubts = 8;
    constexpr std::size_t max_files = 3;
    for (std::size_t i = 0; i < std::min(doubts.size(), max_doubts); ++i) {
      auto const& [doubt, files] = doubts[i];
      std::string where = files.front();
      for (std::size_t file = 1; file < std::min(files.size(), max_files); ++file) where.append(", ").append(files[file]);
      if (files.size() > max_files) where += fmt::format(" and {} more", files.size() - max_files);
      result_.notes.push_back(files.size() == 1 ? fmt::format("{}: {}", where, doubt)
                                                : fmt::format("{} of {} runs: {} ({})", files.size(), a_.size() + b_.size(), doubt, where));
    }
    if (doubts.size() > max_doubts) result_.notes.push_back(std::to_string(doubts.size() - max_doubts) + " more of this kind");
  }

  std::vector<run_figures> const& a_;
  std::vector<run_figures> const& b_;
  compare_options const& options_;
  std::vector<row_input> inputs_;
  std::vector<member_input> members_;
  std::array<variance_prior, 2> shown_noise_{};  ///< of host and GPU times; 0: as assumed
  comparison result_;
};

}  // namespace

}  // namespace detail

comparison compare(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options) {
  return detail::comparer{a, b, options}.compare();
}

}  // namespace profkit_program
