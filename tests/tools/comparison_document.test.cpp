// SPDX-License-Identifier: Apache-2.0
#include "comparison_document.hpp"

#include <profkit/report/html_page.hpp>

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

/// Two sides of a made program on a quiet machine, and their comparison.
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

TEST_CASE("the parts of a difference add up to it, and are n/a where they would not", "[html]") {
  made_sides const sides{8, quiet(false), with_slow_part(false, 10.0)};
  profkit::detail::document const document = sides.document();
  auto const& falls = figure_in<profkit::detail::waterfall_figure>(section_of(document, "parts"));
  double sum = falls.before;
  for (auto const& each : falls.parts) sum += each.difference;
  CHECK(sum == Approx(falls.after));
  CHECK(std::count_if(falls.parts.begin(), falls.parts.end(), [](auto const& each) { return each.is_certain; }) == 1);

  // GPU times of scopes do not add up to the step.
  made_sides const on_gpu{8, quiet(true), with_slow_part(true, 2.0)};
  profkit::detail::document const gpu_document = on_gpu.document();
  CHECK_THAT(section_of(gpu_document, "parts").answer, ContainsSubstring("n/a"));
}

TEST_CASE("the page lists each row once: changes with the scopes around them, and the others", "[html]") {
  made_sides const sides{8, quiet(true), with_slow_part(true, 2.0)};
  comparison const result = compare(sides.a, sides.b, sides.options);
  std::size_t rows = 0;
  bool has_changed_scope = false;
  profkit::detail::document const document = sides.document();
  for (profkit::detail::block const& each : section_of(document, "changes").blocks) {
    auto const& table = std::get<profkit::detail::data_table>(each);
    rows += table.rows.size();
    for (profkit::detail::row const& row : table.rows) {
      CHECK(row.cells.size() == table.columns.size());
      if (table.name == "changes" && std::get<std::string>(row.cells.front().value) == "part_13") {
        has_changed_scope = true;
        auto const& change = std::get<profkit::detail::change_cell>(row.cells[5].value);
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

TEST_CASE("a comparison of single runs shows the steps of both, and one of many runs the runs", "[html]") {
  made_sides one{1, quiet(false), quiet(false)};
  one.a.front().step_ms = {1.0, 2.0, 3.0};
  one.b.front().step_ms = {1.5, 2.5};
  profkit::detail::document const steps = one.document();
  std::vector<std::size_t> counts;
  for (profkit::detail::block const& each : section_of(steps, "runs").blocks) {
    counts.push_back(std::get<profkit::detail::steps_figure>(std::get<profkit::detail::figure>(each).content).steps.size());
  }
  CHECK(counts == std::vector<std::size_t>{3, 2});
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

TEST_CASE("profkit compare --html writes the page beside what it prints", "[program]") {
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
