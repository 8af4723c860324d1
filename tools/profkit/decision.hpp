// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/verdict/noise_fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace profkit_program {

/// The result of `--fail-if-slower`.
struct decision {
  enum class outcome { passes, fails, undecided };

  double limit = 0.0;                           ///< as given
  std::vector<comparison_row const*> too_slow;  ///< rows slower by the limit or more, with confidence
  std::vector<comparison_row const*> open;      ///< undecided rows
  std::optional<std::size_t> runs;  ///< estimated number of runs per side to decide; n/a if more than 1000, or if the machines differ
  bool do_machines_differ = false;  ///< by the limit or more, so more runs do not help

  [[nodiscard]] outcome says() const { return !too_slow.empty() ? outcome::fails : !open.empty() ? outcome::undecided : outcome::passes; }
};

inline constexpr std::size_t max_runs = 1000;

/// Whether the whole range of a row is at or above `limit`.
[[nodiscard]] inline bool is_slower_by(comparison_row const& row, double limit) {
  return row.says == verdict::slower && row.range->first >= limit;
}

/// The number of runs per side that show, with a probability of 80 %, that an unchanged row is slower by less than `limit`, at 5 %. An
/// estimate, because it treats the spread between runs as known.
/// Source: J. Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988), chapter 2.
/// @param spread standard deviation between runs, as a share of the mean.
/// @return nothing if more than `max_runs`.
[[nodiscard]] inline std::optional<std::size_t> runs_to_decide(double spread, double limit) {
  constexpr double power = 0.8416;  // quantile of the normal distribution
  double const distance = std::log1p(limit);
  for (std::size_t runs = 2; runs <= max_runs; ++runs) {
    auto const n = static_cast<double>(runs);
    double const t = profkit::student_quantile(0.9, 2.0 * n - 2.0);
    if ((t + power) * spread * std::sqrt(2.0 / n) <= distance) return runs;
  }
  return std::nullopt;
}

namespace detail {

/// The change of a row that makes the step slower by the limit, and is not below the limit: a smaller one does not keep the decision open.
/// n/a for a quantile, which is not a part of the time of a run.
inline std::optional<double> change_that_counts(comparison_row const& row, comparison const& comparison, std::string const& scope,
                                                double limit) {
  if (!row.figure.empty()) return std::nullopt;
  if (row.kind == row_kind::step || row.name == scope) return limit;
  double total = row.is_gpu ? comparison.gpu_total_ms : comparison.host_total_ms;
  for (comparison_row const& each : comparison.rows) {
    if (!scope.empty() && each.name == scope) total = each.occurrences() * std::max(each.a_ms, each.b_ms);
  }
  return std::max(limit, limit * total / (row.a_ms * row.occurrences()));
}

}  // namespace detail

/// Decides whether B is slower than A by `limit` or more.
///
/// Fails: the whole range of a row lies at or above the limit. Undecided: no row fails, and the 90 % interval of a row that counts reaches
/// the limit. The step counts; a scope or kernel counts if the upper end of its interval would make the step slower by the limit. Passes:
/// every row that counts is slower by less than the limit, with 95 % confidence. Members of rows that are sums are treated as rows.
/// @param scope as in `compare_options`.
/// @param limit above 0.
[[nodiscard]] inline decision decide(comparison const& comparison, std::string const& scope, double limit) {
  decision result;
  result.limit = limit;
  std::size_t runs = comparison.runs + 1;
  auto const add = [&](comparison_row const& row) {
    if (row.kind == row_kind::function) return;  // its scope counts
    if (is_slower_by(row, limit)) {
      result.too_slow.push_back(&row);
      return;
    }
    std::optional<double> const counts = detail::change_that_counts(row, comparison, scope, limit);
    // Without an interval nothing is known of the whole; a part counts in the rows around it.
    bool const is_whole = row.kind == row_kind::step || row.name == scope;
    if (counts && (row.own ? row.own->second >= *counts : is_whole && row.b_ms > 0.0)) {
      result.open.push_back(&row);
      bool const follows_machine = !row.is_gpu || row.kind == row_kind::step;
      if (follows_machine && comparison.machine) {
        log_range const machine = comparison.machine->effect();
        if (machine.high - machine.low >= std::log1p(limit)) result.do_machines_differ = true;
      }
      runs = std::max(runs, row.spread ? runs_to_decide(*row.spread, *counts).value_or(max_runs + 1) : max_runs + 1);
    }
  };
  for (comparison_row const& row : comparison.rows) add(row);
  for (comparison_member const& member : comparison.members) add(member.scope);
  if (!result.open.empty() && runs <= max_runs && !result.do_machines_differ) result.runs = runs;
  return result;
}

}  // namespace profkit_program
