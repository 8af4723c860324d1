// SPDX-License-Identifier: Apache-2.0
#include "comparison_document.hpp"

#include <profkit/impl/report/json_text.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "comparison_words.hpp"
#include "run_figures.hpp"

namespace profkit_program {

std::string comparison_json(comparison const& comparison, compared_sides const& sides, compare_options const& options,
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
  add(document, "reason",
      decided != nullptr && decided->says() != decision::outcome::passes
          ? std::optional{decision_finding(*decided, comparison.is_noise_measured).headline}
          : std::nullopt);
  add(document, "runs_needed", decided != nullptr ? decided->runs : std::nullopt);
  json_object& machine = document.object("machine", comparison.machine.has_value());
  if (comparison.machine) {
    add(machine, "change", std::expm1(comparison.machine->log_ratio()));
    add(machine, "probe_change", std::expm1(comparison.machine->probe));
    add(machine, "waiting_change", std::expm1(comparison.machine->waiting));
  }
  std::string const statistic = statistic_names[static_cast<std::size_t>(options.statistic)];
  add(document, "statistic", statistic);
  add(document, "covers", comparison.has_steps ? "measured steps" : "session");
  add(document, "noise", comparison.is_noise_measured ? "measured" : "assumed");
  add(document, "gpu_noise", options.gpu_noise);
  add(document, "host_noise", comparison.host_noise);
  add(document, "margin", options.margin);
  add(document, "floor", options.floor);
  for (std::size_t i = 0; i < verdicts; ++i) {
    add(document.object("counts"), detail::name_of(static_cast<verdict>(i)), comparison.count(static_cast<verdict>(i)));
  }
  auto const fill = [&](json_object& to, comparison_row const& row) {
    add(to, "verdict", detail::name_of(row.says));
    add(to, "of", detail::name_of(row.kind));
    add(to, "name", row.name);
    add(to, "time", row.is_gpu ? "GPU" : "host");
    add(to, "figure", row.figure.empty() ? statistic : row.figure);
    add(to, "a_ms", row.a_ms);
    add(to, "b_ms", row.b_ms);
    add(to, "a_count", comparison.has_steps ? std::nullopt : std::optional{row.a_count});
    add(to, "b_count", comparison.has_steps ? std::nullopt : std::optional{row.b_count});
    add(to, "change", row.change);
    range(to, "range", row.range);
    range(to, "own_90_percent_interval", row.own);
    add(to, "noise", row.spread);
    add(to, "hedges_g", row.effect);
    if (decided == nullptr) return;
    auto const is_in = [&](std::vector<comparison_row const*> const& some) {
      return std::find(some.begin(), some.end(), &row) != some.end();
    };
    add(to, "fails", is_in(decided->too_slow));
    add(to, "undecided", is_in(decided->open));
  };
  profkit::detail::json_list rows{document.depth() + 1};
  for (comparison_row const& row : comparison.rows) {
    json_object to{document.depth() + 2};
    fill(to, row);
    add(to, "scopes", row.scopes);
    rows.add(to.text());
  }
  document.add("rows", std::move(rows).take());
  profkit::detail::json_list members{document.depth() + 1};
  for (comparison_member const& member : comparison.members) {
    json_object to{document.depth() + 2};
    fill(to, member.scope);
    add(to, "row", comparison.rows[member.row].name);
    members.add(to.text());
  }
  document.add("members", std::move(members).take());
  list(document, "notes", comparison.notes, itself);
  return document.text() + "\n";
}

}  // namespace profkit_program
