// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/report/json_text.hpp>
#include <profkit/report/markdown_printer.hpp>
#include <profkit/report/number_format.hpp>
#include <profkit/report/text_printer.hpp>

#include <algorithm>
#include <array>
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

namespace profkit_program {

/// A line with the two paths as given, and their numbers of runs.
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

inline char const* name_of(row_kind kind) { return kind == row_kind::step ? "step" : kind == row_kind::scope ? "scope" : "kernel"; }

inline char const* name_of(decision::outcome says) {
  return says == decision::outcome::passes ? "passes" : says == decision::outcome::fails ? "fails" : "undecided";
}

inline std::string percent_of(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

inline std::string percent_of(std::optional<double> share) { return share ? percent_of(*share) : profkit::detail::not_measured; }

inline std::string percent_of(std::optional<std::pair<double, double>> const& range) {
  return range ? percent_of(range->first) + " to " + percent_of(range->second) : profkit::detail::not_measured;
}

/// Shortens names of kernels, which are long templates.
inline std::string shown_name(comparison_row const& row, bool as_markdown) {
  constexpr std::size_t longest = 72;
  if (as_markdown || row.name.size() <= longest) return row.name;
  std::size_t length = longest - 3;
  while (length > 0 && (static_cast<unsigned char>(row.name[length]) & 0xc0U) == 0x80U) --length;  // inside a character
  return row.name.substr(0, length) + "...";
}

inline profkit::detail::data_table rows_of(comparison const& comparison, bool all, bool as_markdown) {
  profkit::detail::data_table result;
  result.columns = {{"verdict"}, {"of"}, {"name"}, {"time"}};
  for (char const* const each : {"A ms", "B ms", "change", "range", "effect"})
    result.columns.push_back({each, profkit::detail::column_kind::real});
  if (!comparison.has_steps) {
    for (char const* const each : {"A count", "B count"}) result.columns.push_back({each, profkit::detail::column_kind::real});
  }
  for (comparison_row const& row : comparison.rows) {
    bool const has_changed = row.says != verdict::same && row.says != verdict::unsure;
    if (!all && !has_changed && row.kind != row_kind::step) continue;
    std::vector<std::string> cells{name_of(row.says),
                                   name_of(row.kind),
                                   shown_name(row, as_markdown),
                                   (row.is_gpu ? "GPU" : "host") + (row.figure.empty() ? "" : " " + row.figure),
                                   fmt::format("{:.4f}", row.a_ms),
                                   fmt::format("{:.4f}", row.b_ms),
                                   percent_of(row.change),
                                   percent_of(row.range),
                                   row.effect ? fmt::format("{:+.1f}", *row.effect) : profkit::detail::not_measured};
    if (!comparison.has_steps) cells.insert(cells.end(), {fmt::format("{:.6g}", row.a_count), fmt::format("{:.6g}", row.b_count)});
    profkit::detail::row& next = result.rows.emplace_back();
    for (std::string& each : cells) next.cells.push_back({std::move(each)});
  }
  return result;
}

inline std::string counts_of(comparison const& comparison) {
  std::size_t scopes = 0;
  std::size_t kernels = 0;
  for (comparison_row const& row : comparison.rows) {
    scopes += row.kind == row_kind::scope && row.figure.empty() ? 1 : 0;
    kernels += row.kind == row_kind::kernel ? 1 : 0;
  }
  std::string text = comparison.has_steps ? fmt::format("{} scopes, {} kernels; with the step:", scopes, kernels)
                                          : fmt::format("{} scopes, {} rows, no steps:", scopes, comparison.rows.size());
  for (std::size_t i = 0; i < verdicts; ++i) {
    auto const says = static_cast<verdict>(i);
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", comparison.count(says), name_of(says));
  }
  return text;
}

inline std::string side_line(char const* name, std::string const& path, std::vector<run_figures> const& runs) {
  std::uint64_t steps = 0;
  for (run_figures const& run : runs) steps += run.step.steps;
  std::string const measured = runs.front().has_steps ? fmt::format("{} measured steps", steps) : "without steps";
  return fmt::format("{}: {} ({} {}, {})", name, path, runs.size(), runs.size() == 1 ? "run" : "runs", measured);
}

/// 0.005 -> "0.5 %".
inline std::string plain_percent(double share) { return fmt::format("{:.4g} %", 100.0 * share); }

inline std::string method_of(comparison const& comparison, compare_options const& options) {
  std::string const assumed = fmt::format("{} of GPU times (--gpu-noise), {} of host times (--host-noise)",
                                          plain_percent(options.gpu_noise), plain_percent(comparison.host_noise));
  std::string const ranges =
      comparison.has_steps
          ? fmt::format("times are per step; ranges: the program's part of the change, {} for the step, and for all {} other rows at once",
                        plain_percent(1.0 - options.error_rate), comparison.judged)
          : fmt::format(
                "times are the mean and quantiles of one scope; ranges: the program's part of the change, {} for all {} rows at once",
                plain_percent(1.0 - options.error_rate), comparison.judged);
  std::string const whole = comparison.has_steps ? "step" : "run";
  return fmt::format("{}; SAME: within {} or {} of the {}; effect: Hedges' g, in spreads of single {}\n", ranges,
                     plain_percent(options.margin), plain_percent(options.floor), whole, comparison.has_steps ? "steps" : "scopes") +
         (comparison.is_noise_measured
              ? "noise between runs: estimated from the runs, with an assumption that counts for less with each run: "
              : "noise between runs: assumed, since one run a side does not show it: ") +
         assumed + "\n";
}

/// States which machine is faster, and the change of the step without its part. Empty if no host times are compared.
inline std::string machine_text(comparison const& comparison) {
  if (std::all_of(comparison.rows.begin(), comparison.rows.end(), [](comparison_row const& row) { return row.is_gpu; })) return {};
  if (!comparison.machine) return "host speed: unknown, since a run has no probe (an older profkit, or no measured step)\n";
  constexpr double equal = 0.02;
  double const ratio = std::expm1(comparison.machine->log_ratio());
  std::string const how = fmt::format("probe {}, waiting for a processor {}", percent_of(std::expm1(comparison.machine->probe)),
                                      percent_of(std::expm1(comparison.machine->waiting)));
  if (std::abs(ratio) < equal) return "host speed: the machines are equally fast (" + how + ")\n";
  std::string text = ratio > 0.0
                         ? fmt::format("host speed: the machine of B is {:.1f} % slower ({})", 100.0 * ratio, how)
                         : fmt::format("host speed: the machine of B is faster, it takes {:.1f} % less time ({})", -100.0 * ratio, how);
  comparison_row const& step = comparison.rows.front();
  if (step.kind != row_kind::step || !step.change) return text + "\n";
  double const rest = (1.0 + *step.change) / (1.0 + ratio) - 1.0;
  bool const is_step_open = step.says == verdict::unsure || step.says == verdict::same;
  return text + fmt::format("; {}without the machine's part the step changed by {}\n",
                            is_step_open ? "the program is not shown to be slower or faster: " : "", percent_of(rest));
}

}  // namespace detail

/// The reasons why `--fail-if-slower` fails or is undecided, for stderr. Empty if it passes.
[[nodiscard]] inline std::string decision_text(decision const& decision, double limit, bool is_noise_measured) {
  std::string text;
  auto const title = [](comparison_row const& row) {
    std::string const name = detail::shown_name(row, false) + (row.figure.empty() ? "" : " (" + row.figure + ")");
    return row.kind == row_kind::step ? name : std::string{detail::name_of(row.kind)} + " " + name;
  };
  for (comparison_row const* const row : decision.too_slow) {
    text += fmt::format("profkit compare: {} is slower by {} at least\n", title(*row),
                        row->range ? detail::plain_percent(row->range->first) : "any limit: A has none of it");
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

/// The comparison for a terminal, or as Markdown.
/// @param all whether to include rows that are SAME or UNSURE.
[[nodiscard]] inline std::string comparison_text(comparison const& comparison, compared_sides const& sides, compare_options const& options,
                                                 bool all, bool as_markdown) {
  char const* const end = as_markdown ? "\n\n" : "\n";
  std::string text = detail::side_line("A", sides.path_a, sides.a) + end + detail::side_line("B", sides.path_b, sides.b) + "\n\n";
  profkit::detail::data_table const rows = detail::rows_of(comparison, all, as_markdown);
  if (!rows.rows.empty()) text += as_markdown ? markdown_of(rows) : text_of(rows, profkit::detail::plain_style()) + "\n";
  text += detail::counts_of(comparison) + end + detail::method_of(comparison, options) + (as_markdown ? "\n" : "") +
          detail::machine_text(comparison);
  for (std::string const& note : comparison.notes) text += (as_markdown ? "\n" : "") + ("note: " + note) + "\n";
  return text;
}

/// All rows as JSON. n/a is null; changes are fractions, not percent.
/// @param decided null without `--fail-if-slower`.
[[nodiscard]] inline std::string comparison_json(comparison const& comparison, compared_sides const& sides, compare_options const& options,
                                                 decision const* decided) {
  using profkit::detail::json_object;
  json_object document;
  auto const add = [](json_object& to, char const* key, auto const& value) { to.add(key, profkit::detail::json_value(value)); };
  auto const list = [](json_object& to, char const* key, auto const& values, auto&& value_of) {
    profkit::detail::json_list texts{to.depth() + 1};
    for (auto const& each : values) texts.add(profkit::detail::json_value(value_of(each)));
    to.add(key, std::move(texts).take());
  };
  auto const itself = [](auto const& value) { return value; };
  auto const side = [&](char const* name, std::string const& path, std::vector<run_figures> const& runs) {
    add(document.object(name), "path", path);
    list(document.object(name), "reports", runs, [](run_figures const& run) { return run.file; });
  };
  auto const range = [&](json_object& to, char const* key, std::optional<std::pair<double, double>> const& ends) {
    if (!ends) return add(to, key, std::nullopt);
    list(to, key, std::array{ends->first, ends->second}, itself);
  };
  add(document, "schema", 1);
  side("a", sides.path_a, sides.a);
  side("b", sides.path_b, sides.b);
  add(document, "failed", decided != nullptr ? std::optional{decided->says() == decision::outcome::fails} : std::nullopt);
  add(document, "outcome", decided != nullptr ? std::optional{detail::name_of(decided->says())} : std::nullopt);
  add(document, "runs_needed", decided != nullptr ? decided->runs : std::nullopt);
  json_object& machine = document.object("machine", comparison.machine.has_value());
  if (comparison.machine) {
    add(machine, "change", std::expm1(comparison.machine->log_ratio()));
    add(machine, "probe_change", std::expm1(comparison.machine->probe));
    add(machine, "waiting_change", std::expm1(comparison.machine->waiting));
  }
  add(document, "covers", comparison.has_steps ? "measured steps" : "session");
  add(document, "noise", comparison.is_noise_measured ? "measured" : "assumed");
  add(document, "gpu_noise", options.gpu_noise);
  add(document, "host_noise", comparison.host_noise);
  add(document, "margin", options.margin);
  add(document, "floor", options.floor);
  for (std::size_t i = 0; i < verdicts; ++i) {
    add(document.object("counts"), detail::name_of(static_cast<verdict>(i)), comparison.count(static_cast<verdict>(i)));
  }
  profkit::detail::json_list rows{document.depth() + 1};
  for (comparison_row const& row : comparison.rows) {
    json_object to{document.depth() + 2};
    add(to, "verdict", detail::name_of(row.says));
    add(to, "of", detail::name_of(row.kind));
    add(to, "name", row.name);
    add(to, "time", row.is_gpu ? "GPU" : "host");
    add(to, "figure", row.figure.empty() ? "mean" : row.figure.c_str());
    add(to, "a_ms", row.a_ms);
    add(to, "b_ms", row.b_ms);
    add(to, "a_count", comparison.has_steps ? std::nullopt : std::optional{row.a_count});
    add(to, "b_count", comparison.has_steps ? std::nullopt : std::optional{row.b_count});
    add(to, "change", row.change);
    range(to, "range", row.range);
    range(to, "own_90_percent_interval", row.own);
    add(to, "noise", row.spread);
    add(to, "hedges_g", row.effect);
    if (decided != nullptr) add(to, "undecided", std::find(decided->open.begin(), decided->open.end(), &row) != decided->open.end());
    rows.add(to.text());
  }
  document.add("rows", std::move(rows).take());
  list(document, "notes", comparison.notes, itself);
  return document.text() + "\n";
}

}  // namespace profkit_program
