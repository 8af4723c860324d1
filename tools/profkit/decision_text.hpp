// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include "comparison.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"

namespace profkit_program {

namespace detail {

/// Shortens names of kernels, which are long templates.
inline std::string shown_name(comparison_row const& row) {
  constexpr std::size_t longest = 72;
  if (row.name.size() <= longest) return row.name;
  std::size_t length = longest - 3;
  while (length > 0 && (static_cast<unsigned char>(row.name[length]) & 0xc0U) == 0x80U) --length;  // inside a character
  return row.name.substr(0, length) + "...";
}

/// "scope step/layer_* x 48", "step time".
inline std::string title_of(comparison_row const& row) {
  std::string const siblings = row.siblings > 1 ? fmt::format(" x {}", row.siblings) : std::string{};
  std::string const name = shown_name(row) + siblings + (row.figure.empty() ? "" : " (" + row.figure + ")");
  return row.kind == row_kind::step ? name : std::string{name_of(row.kind)} + " " + name;
}

inline std::string reason_of(comparison_row const& row, bool fails) {
  if (fails) return fmt::format("{} is slower by {} at least", title_of(row), plain_percent(row.range->first));
  return fmt::format("{}: {}, 90 % interval {}", title_of(row), percent_of(row.change), percent_of(row.own));
}

}  // namespace detail

/// The result of `--fail-if-slower` and the rows that decide it: the first finding, and what stderr says.
/// @return the headline is empty if the decision passes.
[[nodiscard]] inline profkit::detail::finding decision_finding(decision const& decision, bool is_noise_measured) {
  profkit::detail::finding result;
  if (decision.says() == decision::outcome::passes) return result;
  constexpr std::size_t max_shown = 8;
  bool const fails = decision.says() == decision::outcome::fails;
  std::vector<comparison_row const*> const& rows = fails ? decision.too_slow : decision.open;
  std::string const limit = detail::plain_percent(decision.limit);
  result.headline = fails ? detail::reason_of(*rows.front(), fails)
                          : fmt::format("undecided: these runs do not show whether B is slower by {} or more", limit);
  for (std::size_t i = fails ? 1 : 0; i < std::min(rows.size(), max_shown); ++i) result.text += detail::reason_of(*rows[i], fails) + "; ";
  if (rows.size() > max_shown) result.text += fmt::format("and {} more rows; ", rows.size() - max_shown);
  result.text += fmt::format("the limit is {} (--fail-if-slower)", limit);
  if (fails) return result;
  double spread = 0.0;
  for (comparison_row const* const row : decision.open) spread = std::max(spread, row->spread.value_or(0.0));
  result.action = fmt::format("estimate: {} runs a side would decide (runs differ by {:.1f} %, {}; power 80 %)",
                              decision.runs ? "about " + std::to_string(*decision.runs) : "more than " + std::to_string(max_runs),
                              100.0 * spread, is_noise_measured ? "as these runs show" : "which is assumed");
  if (!decision.do_machines_differ) return result;
  result.action += "; ";
  result.action += "the machines differ by more than the limit: run A and B on one machine, in turns";
  return result;
}

/// The reasons why `--fail-if-slower` fails or is undecided, for stderr. Empty if it passes.
[[nodiscard]] inline std::string decision_text(decision const& decision, bool is_noise_measured) {
  profkit::detail::finding const found = decision_finding(decision, is_noise_measured);
  if (found.headline.empty()) return {};
  return fmt::format("profkit compare: {}\n  {}\n{}", found.headline, found.text,
                     found.action.empty() ? std::string{} : "  " + found.action + "\n");
}

}  // namespace profkit_program
