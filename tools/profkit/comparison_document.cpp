// SPDX-License-Identifier: Apache-2.0
#include "comparison_document.hpp"

#include <fmt/format.h>

#include <profkit/impl/report/text_width.hpp>
#include <profkit/markdown_printer.hpp>
#include <profkit/text_printer.hpp>
#include <profkit/version.hpp>

#include <optional>
#include <utility>

#include "comparison_changes.hpp"
#include "comparison_findings.hpp"
#include "comparison_steps.hpp"
#include "comparison_tree.hpp"

namespace profkit_program {

namespace detail {

namespace {

/// The section that says how the ranges were found, and what limits them.
[[nodiscard]] profkit::detail::section how_sure(comparison const& result, compare_options const& options) {
  profkit::detail::section section{"sure", "How sure", {}, {}, {}};
  section.answer = result.is_noise_measured ? "The noise between runs is estimated from these runs."
                                            : "The noise between runs is assumed, because one run a side does not show it.";
  profkit::detail::data_table table{"method", "", {{"what"}, {"how"}}, {}};
  auto const add = [&](std::string what, std::string how) {
    table.rows.push_back({{profkit::detail::cell{std::move(what)}, profkit::detail::cell{std::move(how)}}});
  };
  bool const has_step = !result.rows.empty() && result.rows.front().kind == row_kind::step;
  std::string const statistic = statistic_names[static_cast<std::size_t>(options.statistic)];
  if (!result.has_steps) {
    add("times", fmt::format("the {} and quantiles of one scope", statistic));
  } else if (options.statistic == run_statistic::mean) {
    add("times", "means of a step");
  } else {
    add("times", fmt::format("the {0} of the steps; the {0} of the calls of a scope or kernel, times the calls per step", statistic));
  }
  if (has_step && result.rows.front().spread) {
    add("noise between runs", fmt::format("{:.1f}\xc2\xa0% for the step (standard deviation), {}", 100.0 * *result.rows.front().spread,
                                          result.is_noise_measured ? "from the runs" : "assumed"));
  }
  add("assumed noise", fmt::format("{} of GPU times (--gpu-noise), {} of host times (--host-noise){}", plain_percent(options.gpu_noise),
                                   plain_percent(result.host_noise), result.is_noise_measured ? "; counts for less with each run" : ""));
  std::string const of_rows = fmt::format("{} for all {}{} rows at once", plain_percent(1.0 - row_error_rate(result, options)),
                                          result.judged, has_step ? " other" : "");
  add("ranges", has_step
                    ? fmt::format("the program's part of the change: {} for the step, {}", plain_percent(1.0 - options.error_rate), of_rows)
                    : "the program's part of the change: " + of_rows);
  if (result.judged_members > 0) {
    add("numbered scopes", fmt::format("compared as sums; each is also compared alone, with ranges of {} for all {} at once",
                                       plain_percent(1.0 - options.member_share * options.error_rate), result.judged_members));
  }
  add("a change matters", fmt::format("from {}, in rows of at least {} of the {}", plain_percent(options.margin),
                                      plain_percent(options.floor), result.has_steps ? "step" : "run"));
  section.blocks.emplace_back(std::move(table));
  if (std::string const machine = machine_text(result); !machine.empty()) section.blocks.emplace_back(profkit::detail::note{machine + "."});
  for (std::string const& each : result.notes) section.blocks.emplace_back(profkit::detail::note{"note: " + each + "."});
  return section;
}

}  // namespace

}  // namespace detail

profkit::detail::document make_comparison_document(comparison const& result, compared_sides const& sides, compare_options const& options,
                                                   bool all, decision const* decided) {
  detail::comparison_tree const tree{result};
  detail::comparison_findings const head{result, tree, sides, options, decided};
  detail::comparison_changes const changes{result, tree, options};
  profkit::detail::document document;
  document.title = "profkit compare";
  document.subtitle = fmt::format("\xc2\xb7 before (A): {} ({}) \xc2\xb7 after (B): {} ({})", sides.path_a, detail::side_text(sides.a),
                                  sides.path_b, detail::side_text(sides.b));
  document.version = std::string{"profkit "} + profkit::version;
  document.headline = head.headline();
  document.findings = head.findings();
  document.key_figures = head.key_figures();
  if (std::optional<profkit::detail::section> parts = changes.where_from()) document.sections.push_back(std::move(*parts));
  document.sections.push_back(changes.all_changes(all));
  if (std::optional<profkit::detail::section> runs = detail::runs_section(result, sides)) document.sections.push_back(std::move(*runs));
  document.sections.push_back(detail::how_sure(result, options));
  return document;
}

std::string comparison_text(profkit::detail::document const& what, bool as_markdown) {
  if (as_markdown) return profkit::detail::markdown_of(what);
  return profkit::detail::text_of(what, profkit::detail::plain_style());
}

}  // namespace profkit_program
