// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

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

}  // namespace detail

/// The reasons why `--fail-if-slower` fails or is undecided, for stderr. Empty if it passes.
[[nodiscard]] inline std::string decision_text(decision const& decision, double limit, bool is_noise_measured) {
  std::string text;
  auto const title = [](comparison_row const& row) {
    std::string const siblings = row.siblings > 1 ? fmt::format(" x {}", row.siblings) : std::string{};
    std::string const name = detail::shown_name(row) + siblings + (row.figure.empty() ? "" : " (" + row.figure + ")");
    return row.kind == row_kind::step ? name : std::string{detail::name_of(row.kind)} + " " + name;
  };
  for (comparison_row const* const row : decision.too_slow) {
    text += fmt::format("profkit compare: {} is slower by {} at least\n", title(*row), detail::plain_percent(row->range->first));
  }
  if (decision.says() != decision::outcome::undecided) return text;
  text +=
      fmt::format("profkit compare: undecided: these runs do not show whether B is slower by {} or more\n", detail::plain_percent(limit));
  constexpr std::size_t max_shown = 5;
  for (std::size_t i = 0; i < std::min(decision.open.size(), max_shown); ++i) {
    text += fmt::format("  {}: {}, 90 % interval {}\n", title(*decision.open[i]), detail::percent_of(decision.open[i]->change),
                        detail::percent_of(decision.open[i]->own));
  }
  if (decision.open.size() > max_shown) text += fmt::format("  and {} more rows\n", decision.open.size() - max_shown);
  double spread = 0.0;
  for (comparison_row const* const row : decision.open) spread = std::max(spread, row->spread.value_or(0.0));
  text += fmt::format("  estimate: {} runs a side would decide (runs differ by {:.1f} %, {}; power 80 %)\n",
                      decision.runs ? "about " + std::to_string(*decision.runs) : "more than " + std::to_string(max_runs), 100.0 * spread,
                      is_noise_measured ? "as these runs show" : "which is assumed");
  if (decision.do_machines_differ) text += "  the machines differ by more than the limit: run A and B on one machine, in turns\n";
  return text;
}

}  // namespace profkit_program
