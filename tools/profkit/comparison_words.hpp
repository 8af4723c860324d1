// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>
#include <profkit/impl/report/numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "decision.hpp"
#include "machine_speed.hpp"
#include "run_figures.hpp"

// Words of a comparison: its verdicts, times, changes, sides and machines.

namespace profkit_program {

/// Both sides, with their paths as given.
struct compared_sides {
  std::string path_a;
  std::string path_b;
  std::vector<run_figures> const& a;
  std::vector<run_figures> const& b;
};

namespace detail {

inline char const* name_of(verdict says) {
  switch (says) {
    case verdict::faster:
      return "FASTER";
    case verdict::slower:
      return "SLOWER";
    case verdict::same:
      return "SAME";
    case verdict::unsure:
      return "UNSURE";
    case verdict::added:
      return "NEW";
    case verdict::gone:
      return "GONE";
  }
  return "";
}

inline char const* name_of(row_kind kind) {
  switch (kind) {
    case row_kind::step:
      return "step";
    case row_kind::scope:
      return "scope";
    case row_kind::kernel:
      return "kernel";
    case row_kind::function:
      return "function";
  }
  return "";
}

inline char const* name_of(decision::outcome says) {
  return says == decision::outcome::passes ? "passes" : says == decision::outcome::fails ? "fails" : "undecided";
}

inline std::string percent_of(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

inline std::string percent_of(std::optional<double> share) { return share ? percent_of(*share) : profkit::detail::not_measured; }

inline std::string percent_of(std::optional<std::pair<double, double>> const& range) {
  return range ? percent_of(range->first) + " to " + percent_of(range->second) : profkit::detail::not_measured;
}

/// "faster", as sentences have it.
inline std::string word_of(verdict says) {
  std::string word = name_of(says);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  return word;
}

/// Whether a row is neither the same nor unsure.
inline bool has_changed(comparison_row const& row) { return row.says != verdict::same && row.says != verdict::unsure; }

inline double difference_of(comparison_row const& row) { return row.b_ms - row.a_ms; }

/// The time with a unit that fits it, as in columns.
inline std::string time_text(double ms) {
  profkit::detail::column_numbers const numbers{profkit::detail::column_kind::milliseconds, ms};
  return numbers.text(ms) + "\xc2\xa0" + numbers.unit();
}

/// The time in a sentence.
inline std::string time_words(double ms) { return profkit::detail::time_words(profkit::milliseconds{ms}); }

inline std::string signed_time(double ms) { return (ms > 0.0 ? "+" : "") + time_words(ms); }

/// "1.23 ms more".
inline std::string more_or_less(double ms) { return time_words(std::abs(ms)) + (ms < 0.0 ? " less" : " more"); }

/// "+20.1 to +30.2 %".
inline std::string range_text(std::optional<std::pair<double, double>> const& range) {
  if (!range) return profkit::detail::not_measured;
  std::string low = profkit::detail::change_words(range->first);
  std::size_t const unit = low.find("\xc2\xa0");
  return low.substr(0, unit) + " to " + profkit::detail::change_words(range->second);
}

/// 0.005 -> "0.5 %".
inline std::string plain_percent(double share) { return fmt::format("{:.4g} %", 100.0 * share); }

/// " × 48" for a row of numbered siblings.
inline std::string siblings_text(comparison_row const& row) {
  return row.siblings > 1 ? fmt::format("\xc2\xa0\xc3\x97\xc2\xa0{}", row.siblings) : std::string{};
}

/// "5 runs, 150 measured steps".
inline std::string side_text(std::vector<run_figures> const& runs) {
  std::uint64_t steps = 0;
  for (run_figures const& run : runs) steps += run.step.steps;
  std::string const measured = runs.front().has_steps ? fmt::format("{} measured steps", steps) : "without steps";
  return fmt::format("{} {}, {}", runs.size(), runs.size() == 1 ? "run" : "runs", measured);
}

/// States which machine is faster, and the change of the step without its part. Empty if no host times are compared.
inline std::string machine_text(comparison const& comparison) {
  if (std::all_of(comparison.rows.begin(), comparison.rows.end(), [](comparison_row const& row) { return row.is_gpu; })) return {};
  if (!comparison.machine) return "host speed: unknown, since a run has no probe (an older profkit, or no measured step)";
  constexpr double equal = 0.02;
  double const ratio = std::expm1(comparison.machine->log_ratio());
  constexpr double visible = 0.005;
  std::string const how = fmt::format("probe {}, waiting for a processor {}{}", percent_of(std::expm1(comparison.machine->probe)),
                                      percent_of(std::expm1(comparison.machine->waiting)),
                                      std::abs(comparison.machine->certain()) < visible ? "" : ", which no change includes");
  if (std::abs(ratio) < equal) return "host speed: the machines are equally fast (" + how + ")";
  std::string text = ratio > 0.0
                         ? fmt::format("host speed: the machine of B is {:.1f} % slower ({})", 100.0 * ratio, how)
                         : fmt::format("host speed: the machine of B is faster, it takes {:.1f} % less time ({})", -100.0 * ratio, how);
  comparison_row const& step = comparison.rows.front();
  if (step.kind != row_kind::step || !step.change) return text;
  double const rest = step.b_ms / step.a_ms / (1.0 + ratio) - 1.0;
  bool const is_step_open = step.says == verdict::unsure || step.says == verdict::same;
  return text + fmt::format("; {}without the machine's part the step changed by {}",
                            is_step_open ? "the program is not shown to be slower or faster: " : "", percent_of(rest));
}

}  // namespace detail

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

inline std::string reason_of(comparison_row const& row, bool fails, double limit) {
  if (fails) return fmt::format("{} is slower by {} at least", title_of(row), plain_percent(row.range->first));
  // A row fails by its range, which is wider than its own interval.
  bool const is_own_above = row.own && row.range && row.own->first >= limit;
  return fmt::format("{}: {}, {} {}", title_of(row), percent_of(row.change), is_own_above ? "95 % range" : "90 % interval",
                     percent_of(is_own_above ? row.range : row.own));
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
  result.headline = fails ? detail::reason_of(*rows.front(), fails, decision.limit)
                          : fmt::format("undecided: these runs do not show whether B is slower by {} or more", limit);
  for (std::size_t i = fails ? 1 : 0; i < std::min(rows.size(), max_shown); ++i)
    result.text += detail::reason_of(*rows[i], fails, decision.limit) + "; ";
  if (rows.size() > max_shown) result.text += fmt::format("and {} more rows; ", rows.size() - max_shown);
  result.text += fmt::format("the limit is {} (--fail-if-slower)", limit);
  if (fails) return result;
  if (decision.do_machines_differ) {
    result.action += "the machines differ by more than the limit: run A and B on one machine, in turns";
    return result;
  }
  auto const has_spread = [](comparison_row const* row) { return row->spread.has_value(); };
  if (std::none_of(decision.open.begin(), decision.open.end(), has_spread)) return result;  // more runs do not help: a note says why
  double spread = 0.0;
  for (comparison_row const* const row : decision.open) spread = std::max(spread, row->spread.value_or(0.0));
  result.action = fmt::format("estimate: {} runs a side would decide (these rows differ by up to {:.1f} % between runs, {}; power 80 %)",
                              decision.runs ? "about " + std::to_string(*decision.runs) : "more than " + std::to_string(max_runs),
                              100.0 * spread, is_noise_measured ? "as these runs show" : "which is assumed");
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
