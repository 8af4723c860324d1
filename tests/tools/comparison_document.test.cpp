// SPDX-License-Identifier: Apache-2.0
#include "comparison_document.hpp"

#include <profkit/report/html_page.hpp>
#include <profkit/report/section_blocks.hpp>

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "compare.hpp"
#include "made_runs.hpp"
#include "program_run.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using namespace profkit_program;

namespace {

/// Two sides of a simulated program on a quiet machine, and their comparison.
struct made_sides {
  std::vector<run_figures> a;
  std::vector<run_figures> b;
  compare_options options{};

  made_sides(std::size_t runs, made_program const& before, made_program const& after) {
    std::mt19937_64 random{7};
    a = before.runs(runs, random);
    b = after.runs(runs, random);
  }

  [[nodiscard]] profkit::detail::document document() const {
    return make_comparison_document(compare(a, b, options), {"old", "new", a, b}, options);
  }
};

made_program quiet(bool has_gpu) {
  made_program result;
  result.has_gpu = has_gpu;
  result.host_own_noise = 0.002;
  result.host_common_noise = 0.002;
  result.probe_error = 0.001;
  return result;
}

made_program with_slow_part(bool has_gpu, double factor) {
  made_program result = quiet(has_gpu);
  result.slow = 13;
  result.slow_factor = factor;
  return result;
}

profkit::detail::section const& section_of(profkit::detail::document const& document, std::string const& id) {
  auto const found = std::find_if(document.sections.begin(), document.sections.end(), [&](auto const& each) { return each.id == id; });
  REQUIRE(found != document.sections.end());
  return *found;
}

template <class Figure>
Figure const& figure_in(profkit::detail::section const& section) {
  for (profkit::detail::block const& each : section.blocks) {
    auto const* const picture = std::get_if<profkit::detail::figure>(&each);
    if (picture != nullptr && std::holds_alternative<Figure>(picture->content)) return std::get<Figure>(picture->content);
  }
  FAIL("no such figure");
  throw 0;
}

}  // namespace

TEST_CASE("the page of a comparison says by how much the step changed, and which scope changed it", "[html]") {
  made_sides const sides{8, quiet(false), with_slow_part(false, 10.0)};
  profkit::detail::document const document = sides.document();
  CHECK_THAT(document.headline, ContainsSubstring("slower") && ContainsSubstring("%"));
  REQUIRE_FALSE(document.findings.empty());
  profkit::detail::finding const& first = document.findings.front();
  CHECK_THAT(first.headline, ContainsSubstring("Slower: group_1"));
  CHECK_THAT(first.text, ContainsSubstring("part_13"));
  CHECK_THAT(first.action, ContainsSubstring("part_13") && ContainsSubstring("shorter"));
  CHECK(first.scope == "step/group_1/part_13");

  made_sides const back{8, with_slow_part(false, 10.0), quiet(false)};
  CHECK_THAT(back.document().headline, ContainsSubstring("faster"));
  CHECK_THAT(back.document().findings.front().headline, ContainsSubstring("Faster: group_1"));

  made_sides const equal{8, quiet(false), quiet(false)};
  CHECK_THAT(equal.document().headline, ContainsSubstring("the same time (within 2 %)"));
}

TEST_CASE("the parts of a difference add up to it, or are n/a", "[html]") {
  made_sides const sides{8, quiet(false), with_slow_part(false, 10.0)};
  profkit::detail::document const document = sides.document();
  auto const& falls = figure_in<profkit::detail::waterfall_figure>(section_of(document, "parts"));
  double sum = falls.before;
  for (auto const& each : falls.parts) sum += each.difference;
  CHECK(sum == Approx(falls.after));
  CHECK(std::count_if(falls.parts.begin(), falls.parts.end(), [](auto const& each) { return each.is_certain; }) == 1);
  // Its table has the same numbers.
  auto const& table = std::get<profkit::detail::data_table>(section_of(document, "parts").blocks.back());
  REQUIRE(table.rows.size() == falls.parts.size() + 1);
  for (std::size_t column : {1U, 2U, 3U}) {
    double parts = 0.0;
    for (std::size_t i = 0; i < falls.parts.size(); ++i) parts += std::get<double>(table.rows[i].cells[column].value);
    CHECK(parts == Approx(std::get<double>(table.rows.back().cells[column].value)));
  }

  // GPU times of scopes do not add up to the step.
  made_sides const on_gpu{8, quiet(true), with_slow_part(true, 2.0)};
  profkit::detail::document const gpu_document = on_gpu.document();
  CHECK_THAT(section_of(gpu_document, "parts").answer, ContainsSubstring("n/a"));
}

TEST_CASE("the page lists each row once: changes with their enclosing scopes, and the others", "[html]") {
  made_sides const sides{8, quiet(true), with_slow_part(true, 2.0)};
  comparison const result = compare(sides.a, sides.b, sides.options);
  std::size_t rows = 0;
  bool has_changed_scope = false;
  profkit::detail::document const document = sides.document();
  for (profkit::detail::block const& each : section_of(document, "changes").blocks) {
    if (profkit::detail::use_of(each) == profkit::detail::block_use::text) continue;  // not in pages
    auto const& table = std::get<profkit::detail::data_table>(each);
    for (profkit::detail::row const& row : table.rows) rows += row.stands_for;
    for (profkit::detail::row const& row : table.rows) {
      CHECK(row.cells.size() == table.columns.size());
      if (table.name == "changes" && std::get<std::string>(row.cells.front().value) == "part_13") {
        has_changed_scope = true;
        auto const& change = std::get<profkit::detail::change_cell>(row.cells[4].value);
        CHECK(change.is_certain);
        CHECK(change.low > 0.0);
        CHECK(change.low < change.change);
        CHECK(change.change < change.high);
        CHECK(row.depth == 2);
      }
    }
  }
  CHECK(has_changed_scope);
  CHECK(rows == result.rows.size());
}

TEST_CASE("noise that hides changes is a finding, with the number of runs that would show them", "[html]") {
  made_program loud = quiet(false);
  loud.host_common_noise = 0.15;
  loud.probe_error = 0.2;
  profkit::detail::document const document = made_sides{6, loud, loud}.document();
  CHECK_THAT(document.headline, ContainsSubstring("not known to have changed"));
  auto const found = std::find_if(document.findings.begin(), document.findings.end(),
                                  [](auto const& each) { return each.headline == "The machine is noisy."; });
  REQUIRE(found != document.findings.end());
  CHECK_THAT(found->action, ContainsSubstring("runs a side"));
}

TEST_CASE("usual steps are compared if both sides have the same kinds, and steps of other kinds do not hide a change", "[html]") {
  made_sides sides{1, quiet(false), quiet(false)};
  double const mean = sides.a.front().step.mean_ms;
  for (auto* const side : {&sides.a, &sides.b}) {
    run_figures& run = side->front();
    run.usual = usual_steps{{"group_0", "group_1"}, 1, run.step, std::nullopt, std::nullopt};
    run.step.mean_ms *= 1.5;  // with a step of validation
  }
  sides.b.front().usual->host.mean_ms *= 2.0;
  comparison const result = compare(sides.a, sides.b, sides.options);
  CHECK(result.is_usual_step);
  CHECK(result.rows.front().a_ms == Approx(mean));
  REQUIRE(result.rows.front().change);
  CHECK(*result.rows.front().change == Approx(1.0).epsilon(0.1));
  REQUIRE_FALSE(result.notes.empty());
  CHECK_THAT(result.notes.back(), ContainsSubstring("the step time is that of usual steps") && ContainsSubstring("1 in A, 1 in B"));

  // If a side has other parts, nothing is usual for both.
  sides.b.front().usual->parts = {"group_0"};
  CHECK_FALSE(compare(sides.a, sides.b, sides.options).is_usual_step);
  // Without steps of another kind there is no note.
  sides.b.front().usual->parts = sides.a.front().usual->parts;
  sides.a.front().usual->others = sides.b.front().usual->others = 0;
  CHECK_FALSE(compare(sides.a, sides.b, sides.options).is_usual_step);
}

TEST_CASE("numbered siblings without a change are one row of the page, and text has a line for each", "[html]") {
  made_sides sides{4, quiet(false), quiet(false)};
  for (auto* const side : {&sides.a, &sides.b}) {
    for (run_figures& run : *side) {
      for (scope_figures& each : run.scopes) {
        std::size_t const part = each.path.find("/part_");
        each.family = part == std::string::npos ? each.path : each.path.substr(0, part) + "/part_*";
      }
    }
  }
  profkit::detail::document const document =
      make_comparison_document(compare(sides.a, sides.b, sides.options), {"old", "new", sides.a, sides.b}, sides.options, true);
  profkit::detail::data_table const* others = nullptr;
  profkit::detail::data_table const* flat = nullptr;
  for (profkit::detail::block const& each : section_of(document, "changes").blocks) {
    auto const* const table = std::get_if<profkit::detail::data_table>(&each);
    if (table != nullptr && table->name == "other_rows") others = table;
    if (table != nullptr && table->name == "rows") flat = table;
  }
  REQUIRE(others != nullptr);
  REQUIRE(flat != nullptr);
  auto const folded = std::find_if(others->rows.begin(), others->rows.end(), [](profkit::detail::row const& each) {
    return std::get<std::string>(each.cells.front().value) == "step/group_1/part_* \xc3\x97 10";
  });
  REQUIRE(folded != others->rows.end());
  CHECK(folded->stands_for == 10);
  double sum = 0.0;
  for (scope_figures const& each : sides.a.front().scopes) sum += each.path.rfind("step/group_1/part_", 0) == 0 ? each.host.mean_ms : 0.0;
  CHECK(std::get<double>(folded->cells[1].value) == Approx(sum).epsilon(0.05));
  CHECK(std::count_if(flat->rows.begin(), flat->rows.end(), [](profkit::detail::row const& each) {
          return std::get<std::string>(each.cells[2].value).rfind("step/group_1/part_", 0) == 0;
        }) == 10);
}

TEST_CASE("a comparison of single runs shows the steps of both, and one of many runs shows the runs", "[html]") {
  made_sides one{1, quiet(false), quiet(false)};
  using role = profkit::detail::plotted_step::role;
  one.a.front().host_steps = {{0, 9.0, role::warmup}, {1, 1.0}, {2, 2.0}, {3, 3.0}};
  one.b.front().host_steps = {{1, 1.5}, {2, 2.5}, {3, 7.0, role::outlier}};
  profkit::detail::document const steps = one.document();
  profkit::detail::section const& section = section_of(steps, "runs");
  std::vector<profkit::detail::steps_figure> figures;
  for (profkit::detail::block const& each : section.blocks) {
    auto const* const picture = std::get_if<profkit::detail::figure>(&each);
    if (picture != nullptr) figures.push_back(std::get<profkit::detail::steps_figure>(picture->content));
  }
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].steps.size() == 4);
  CHECK(figures[0].steps[0].is == role::warmup);
  CHECK(figures[1].steps[2].is == role::outlier);
  for (profkit::detail::steps_figure const& each : figures) {
    // Both have the scale of the usual steps of both sides, and of their longest step.
    REQUIRE(each.common_scale);
    CHECK(each.common_scale->low == 1.0);
    CHECK(each.common_scale->high == 3.0);
    CHECK(each.common_scale->largest == 9.0);
  }
  auto const& table = std::get<profkit::detail::data_table>(section.blocks.back());
  REQUIRE(table.rows.size() == 4);
  CHECK(std::get<std::string>(table.rows[0].cells[3].value) == "none");
  CHECK(std::get<std::string>(table.rows[3].cells[4].value) == "outlier");
  std::string const page = profkit::detail::html_page(steps);
  CHECK_THAT(page, ContainsSubstring("class=\"beside figures\"") && !ContainsSubstring("number of steps"));
  made_sides const many{5, quiet(false), quiet(false)};
  profkit::detail::document const runs = many.document();
  auto const& pairs = figure_in<profkit::detail::pairs_figure>(section_of(runs, "runs"));
  CHECK(pairs.before.size() == 5);
  CHECK(pairs.after.size() == 5);
}

TEST_CASE("a comparison without steps has a page, and hostile names cannot become markup", "[html]") {
  made_program program = quiet(false);
  program.has_steps = false;
  made_sides sides{4, program, program};
  std::string const hostile = "</style><script>alert(1)</script>\" onload=\"x\n\xff";
  for (auto* const side : {&sides.a, &sides.b}) {
    for (run_figures& run : *side) run.scopes.back().path = "step/" + hostile;
  }
  sides.b.front().doubts = {hostile};
  std::string const page = profkit::detail::html_page(sides.document());
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("onload=\"x") == std::string::npos);
  CHECK(page.find('\xff') == std::string::npos);
  CHECK(page == profkit::detail::html_page(sides.document()));
  CHECK(page.size() < 300'000);
}

TEST_CASE("profkit compare --html writes the page in addition to its output", "[program]") {
  temporary_folder const folder;
  fs::path const data = fs::path{TEST_DATA};
  fs::path const page = folder.path() / "compare.html";
  REQUIRE(folder.run("report" + quoted(data / "small-128-train-fp32.profile") + " --out" + quoted(folder.path() / "a")).code == 0);
  REQUIRE(folder.run("report" + quoted(data / "small-128-train-fp32-graph.profile") + " --out" + quoted(folder.path() / "b")).code == 0);
  auto const done = folder.run("compare" + quoted(folder.path() / "a") + quoted(folder.path() / "b") + " --html" + quoted(page));
  CHECK(done.code == 0);
  CHECK_THAT(done.out, ContainsSubstring("FASTER"));
  std::string const content = content_of(page);
  CHECK_THAT(content, ContainsSubstring("<!DOCTYPE html>") && ContainsSubstring("All changes"));
  CHECK(content.size() < 1'000'000);
  auto const failed = folder.run("compare" + quoted(folder.path() / "a") + quoted(folder.path() / "b") + " --html" +
                                 quoted(folder.path() / "none" / "x.html"));
  CHECK(failed.code == 2);
  CHECK_THAT(failed.err, ContainsSubstring("x.html"));
}
