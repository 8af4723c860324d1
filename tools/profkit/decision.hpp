// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/verdict/student.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace profkit_program {

/// What `--fail-if-slower` says about a comparison.
struct decision {
  enum class outcome { passes, fails, undecided };

  std::vector<comparison_row const*> too_slow;  ///< surely slower by the limit or more
  std::vector<comparison_row const*> open;      ///< may be, or may not be
  std::optional<std::size_t> runs;              ///< of each side that would probably decide; n/a where 1000 would not
  bool do_machines_differ = false;              ///< by the limit or more, which more runs on them would not change

  [[nodiscard]] outcome says() const { return !too_slow.empty() ? outcome::fails : !open.empty() ? outcome::undecided : outcome::passes; }
};

inline constexpr std::size_t max_runs = 1000;

/// Whether a row is slower by at least `limit`: its whole range is.
[[nodiscard]] inline bool is_slower_by(comparison_row const& row, double limit) {
  if (row.says != verdict::slower) return false;
  return !row.range || row.range->first >= limit;
}

/// How many runs a side show with a probability of 80 % that an unchanged row is slower by less than `limit`, at 5 %. An estimate: it takes
/// the spread between runs as known.
/// Source: J. Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988), chapter 2.
/// @param spread standard deviation between runs, as a share of the mean.
/// @return none if more than `max_runs`.
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

/// A scope or kernel counts where it could make the step slower by the limit, with what its range allows.
inline bool counts_for_limit(comparison_row const& row, comparison const& of, std::string const& scope, double limit) {
  if (row.kind == row_kind::step || row.name == scope) return true;
  if (!row.figure.empty()) return false;  // a quantile of a scope is no part of the time of a run
  double total = row.is_gpu ? of.gpu_total_ms : of.host_total_ms;
  for (comparison_row const& each : of.rows) {
    if (!scope.empty() && each.name == scope) total = each.occurrences() * std::max(each.a_ms, each.b_ms);
  }
  return row.own->second * row.a_ms * row.occurrences() >= limit * total;
}

}  // namespace detail

/// Decides whether B is slower than A by `limit` or more.
///
/// Fails: the whole range of a row lies at the limit or above it. Undecided: no row fails, and the 90 % interval of a row that counts
/// reaches the limit, so that the data allow both. The step counts; a scope or a kernel counts if the upper end of its interval would make
/// the step slower by the limit. Passes: every row that counts is surely (95 %) slower by less.
/// @param scope as in `compare_options`.
/// @param limit above 0.
[[nodiscard]] inline decision decide(comparison const& of, std::string const& scope, double limit) {
  decision result;
  std::size_t runs = of.runs + 1;
  for (comparison_row const& row : of.rows) {
    if (is_slower_by(row, limit)) {
      result.too_slow.push_back(&row);
    } else if (row.own && row.own->second >= limit && detail::counts_for_limit(row, of, scope, limit)) {
      result.open.push_back(&row);
      bool const follows_machine = !row.is_gpu || row.kind == row_kind::step;
      if (follows_machine && of.machine) {
        log_range const machine = of.machine->effect();
        if (machine.high - machine.low >= std::log1p(limit)) result.do_machines_differ = true;
      }
      runs = std::max(runs, runs_to_decide(*row.spread, limit).value_or(max_runs + 1));
    }
  }
  if (!result.open.empty() && runs <= max_runs) result.runs = runs;
  return result;
}

}  // namespace profkit_program
