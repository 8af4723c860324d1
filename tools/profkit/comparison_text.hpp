// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/report/json_writer.hpp>
#include <profkit/report/number_format.hpp>
#include <profkit/report/table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "run_figures.hpp"

namespace profkit_program {

/// What was compared: the two paths as they were given, and their runs.
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

inline std::string percent_of(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

inline std::string percent_of(std::optional<double> share) { return share ? percent_of(*share) : profkit::detail::not_measured; }

inline std::string percent_of(std::optional<std::pair<double, double>> const& range) {
  return range ? percent_of(range->first) + " to " + percent_of(range->second) : profkit::detail::not_measured;
}

/// Kernels are templates whose names fill a screen.
inline std::string shown_name(comparison_row const& row, bool as_markdown) {
  constexpr std::size_t longest = 72;
  if (as_markdown || row.name.size() <= longest) return row.name;
  std::size_t length = longest - 3;
  while (length > 0 && (static_cast<unsigned char>(row.name[length]) & 0xc0U) == 0x80U) --length;  // inside a character
  return row.name.substr(0, length) + "...";
}

inline profkit::table rows_of(comparison const& of, bool all, bool as_markdown) {
  profkit::table result{{"verdict", "of", "name", "time", "A ms", "B ms", "change", "range", "effect"}, 4};
  for (comparison_row const& row : of.rows) {
    bool const has_changed = row.says != verdict::same && row.says != verdict::unsure;
    if (!all && !has_changed && row.kind != row_kind::step) continue;
    result.add({name_of(row.says), name_of(row.kind), shown_name(row, as_markdown), row.is_gpu ? "GPU" : "host",
                fmt::format("{:.4f}", row.a_ms), fmt::format("{:.4f}", row.b_ms), percent_of(row.change), percent_of(row.range),
                row.effect ? fmt::format("{:+.1f}", *row.effect) : profkit::detail::not_measured});
  }
  return result;
}

inline std::string counts_of(comparison const& of) {
  std::size_t scopes = 0;
  std::size_t kernels = 0;
  for (comparison_row const& row : of.rows) {
    scopes += row.kind == row_kind::scope ? 1 : 0;
    kernels += row.kind == row_kind::kernel ? 1 : 0;
  }
  std::string text = fmt::format("{} scopes, {} kernels; with the step:", scopes, kernels);
  for (std::size_t i = 0; i < verdicts; ++i) {
    auto const says = static_cast<verdict>(i);
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", of.count(says), name_of(says));
  }
  return text;
}

inline std::string side_line(char const* name, std::string const& path, std::vector<run_figures> const& runs) {
  std::uint64_t steps = 0;
  for (run_figures const& run : runs) steps += run.step.steps;
  return fmt::format("{}: {} ({} {}, {} measured steps)", name, path, runs.size(), runs.size() == 1 ? "run" : "runs", steps);
}

/// A share as people write it: 0.005 -> "0.5 %".
inline std::string plain_percent(double share) { return fmt::format("{:.4g} %", 100.0 * share); }

inline std::string method_of(comparison const& of, compare_options const& options) {
  std::string text = fmt::format(
      "times are per step; ranges: {} for the step, and for all {} other rows at once; SAME: within {} or {} of the step; effect: Hedges' "
      "g, in spreads of single steps\n",
      plain_percent(1.0 - options.error_rate), of.judged, plain_percent(options.margin), plain_percent(options.floor));
  auto const noise_of = [&](char const* what, bool is_measured) {
    text += fmt::format("noise between runs, of {}: ", what);
    text +=
        is_measured
            ? std::string{"as the runs show it\n"}
            : fmt::format("assumed, for the runs are too few to show it: {} of GPU times (--gpu-noise), {} of host times (--host-noise)\n",
                          plain_percent(options.gpu_noise), plain_percent(of.host_noise));
  };
  if (of.step_noise_is_measured == of.noise_is_measured) {
    noise_of("all rows", of.noise_is_measured);
  } else {
    noise_of("the step", of.step_noise_is_measured);
    noise_of("scopes and kernels", of.noise_is_measured);
  }
  return text;
}

}  // namespace detail

/// For a terminal, or as Markdown.
/// @param all also what is SAME or UNSURE.
[[nodiscard]] inline std::string comparison_text(comparison const& of, compared_sides const& sides, compare_options const& options,
                                                 bool all, bool as_markdown) {
  char const* const end = as_markdown ? "\n\n" : "\n";
  std::string text = detail::side_line("A", sides.path_a, sides.a) + end + detail::side_line("B", sides.path_b, sides.b) + "\n\n";
  profkit::table const rows = detail::rows_of(of, all, as_markdown);
  if (!rows.empty()) text += (as_markdown ? rows.to_markdown() : rows.to_text()) + "\n";
  text += detail::counts_of(of) + end + detail::method_of(of, options);
  for (std::string const& note : of.notes) text += (as_markdown ? "\n" : "") + ("note: " + note) + "\n";
  return text;
}

/// All rows, as JSON. What is n/a is null; changes are shares, not percent.
/// @param has_failed n/a without a limit.
[[nodiscard]] inline std::string comparison_json(comparison const& of, compared_sides const& sides, compare_options const& options,
                                                 std::optional<bool> has_failed) {
  profkit::detail::json_writer json;
  auto const side = [&](char const* name, std::string const& path, std::vector<run_figures> const& runs) {
    json.key(name);
    json.begin_object();
    json.member("path", path);
    json.key("reports");
    json.begin_array();
    for (run_figures const& run : runs) json.value(run.file);
    json.end_array();
    json.end_object();
  };
  auto const range = [&](char const* name, std::optional<std::pair<double, double>> const& content) {
    json.key(name);
    if (!content) {
      json.value(std::nullopt);
      return;
    }
    json.begin_array();
    json.value(content->first);
    json.value(content->second);
    json.end_array();
  };
  json.begin_object();
  json.member("schema", 1);
  side("a", sides.path_a, sides.a);
  side("b", sides.path_b, sides.b);
  json.member("failed", has_failed);
  json.member("step_noise", of.step_noise_is_measured ? "measured" : "assumed");
  json.member("noise", of.noise_is_measured ? "measured" : "assumed");
  json.member("gpu_noise", options.gpu_noise);
  json.member("host_noise", of.host_noise);
  json.member("margin", options.margin);
  json.member("floor", options.floor);
  json.key("counts");
  json.begin_object();
  for (std::size_t i = 0; i < verdicts; ++i) json.member(detail::name_of(static_cast<verdict>(i)), of.count(static_cast<verdict>(i)));
  json.end_object();
  profkit::detail::write_list(json, "rows", &of.rows, [&](comparison_row const& row) {
    json.member("verdict", detail::name_of(row.says));
    json.member("of", detail::name_of(row.kind));
    json.member("name", row.name);
    json.member("time", row.is_gpu ? "GPU" : "host");
    json.member("a_ms", row.a_ms);
    json.member("b_ms", row.b_ms);
    json.member("change", row.change);
    range("range", row.range);
    range("own_90_percent_interval", row.own);
    json.member("hedges_g", row.effect);
  });
  json.key("notes");
  json.begin_array();
  for (std::string const& note : of.notes) json.value(note);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace profkit_program
