// SPDX-License-Identifier: Apache-2.0
#include "comparison_document.hpp"
#include "../support/testing.hpp"

#include <profkit/impl/report/html_page.hpp>

#include "compare.hpp"
#include "comparison_figures.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"
#include "made_runs.hpp"
#include "program_run.hpp"

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
    if (picture != nullptr && picture->other<Figure>() != nullptr) return *picture->other<Figure>();
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
  CHECK_THAT(section_of(equal.document(), "changes").answer, ContainsSubstring("Rows: none changed; ") && !ContainsSubstring(" 0 "));
  CHECK_THAT(section_of(document, "changes").answer, ContainsSubstring(" slower; ") && !ContainsSubstring("gone"));
  CHECK_THAT(section_of(document, "parts").answer, ContainsSubstring("more in group_1"));
  CHECK_THAT(section_of(equal.document(), "parts").answer, ContainsSubstring("No part of the step"));
  // The step is no row beside itself.
  auto const& counts = document.key_figures[4];
  comparison const compared = compare(sides.a, sides.b, sides.options);
  CHECK(counts.name == "faster, slower");
  CHECK(counts.value == "0, " + std::to_string(compared.count(verdict::slower) - 1));
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
  for (profkit::detail::block const* const each : blocks_of(section_of(document, "changes"), profkit::detail::block_use::text)) {
    auto const& table = std::get<profkit::detail::data_table>(*each);
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

TEST_CASE("what hides a change is named: few runs, the machines, or the noise", "[html]") {
  auto const finding_of = [](made_sides const& sides) {
    auto const document = sides.document();
    auto const found = std::find_if(document.findings.begin(), document.findings.end(),
                                    [](auto const& each) { return each.text.find("cannot be told") != std::string::npos; });
    REQUIRE(found != document.findings.end());
    return *found;
  };
  CHECK(finding_of({1, quiet(false), quiet(false)}).headline == "One run a side does not show the noise of the machine.");
  auto const few = finding_of({2, quiet(false), quiet(false)});
  CHECK(few.headline == "4 runs do not show whether runs are of several kinds.");
  CHECK(few.action == "Make three or more runs a side, in turns.");
  made_program slow = quiet(false);
  slow.machine_factor = 1.5;
  CHECK(finding_of({6, quiet(false), slow}).headline == "The machines of both sides differ in speed.");
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

namespace {

made_program layers(double noise) {
  made_program result = quiet(true);
  result.is_layered = true;
  result.groups = 12;
  result.parts = 4;
  result.singles = 3;
  result.gpu_own_noise = noise;
  return result;
}

profkit::detail::data_table const& table_in(profkit::detail::section const& section, std::string const& name) {
  for (profkit::detail::block const& each : section.blocks) {
    auto const* const table = std::get_if<profkit::detail::data_table>(&each);
    if (table != nullptr && table->name == name) return *table;
  }
  FAIL("no such table: " << name);
  throw 0;
}

/// Position of the row with this text in its first cell, or in another one.
std::size_t row_of(profkit::detail::data_table const& table, std::string const& name, std::size_t column = 0) {
  auto const found = std::find_if(table.rows.begin(), table.rows.end(), [&](profkit::detail::row const& each) {
    return std::get<std::string>(each.cells[column].value) == name;
  });
  return static_cast<std::size_t>(found - table.rows.begin());
}

}  // namespace

TEST_CASE("numbered siblings are one row of the page with their sum, and text has a line for each if all rows are asked for", "[html]") {
  made_program after = layers(0.002);
  after.slow_kind = 1;
  after.slow_factor = 1.5;
  made_sides sides{4, layers(0.002), after};
  profkit::detail::document const document =
      make_comparison_document(compare(sides.a, sides.b, sides.options), {"old", "new", sides.a, sides.b}, sides.options, true);
  profkit::detail::section const& section = section_of(document, "changes");
  profkit::detail::data_table const& changes = table_in(section, "changes");
  std::size_t const all = row_of(changes,
                                 "layer_*\xc2\xa0\xc3\x97\xc2\xa0"
                                 "12");
  REQUIRE(all + 1 < changes.rows.size());
  double sum = 0.0;
  for (scope_figures const& each : sides.a.front().scopes) sum += each.around == "step" && each.number ? each.gpu->mean_ms : 0.0;
  CHECK(std::get<double>(changes.rows[all].cells[1].value) == Approx(sum).epsilon(0.01));
  CHECK(std::get<std::string>(changes.rows[all + 1].cells.front().value) == "part_1");
  CHECK(changes.rows[all + 1].depth == changes.rows[all].depth + 1);
  // Every layer changed as its row did, so none is listed alone.
  CHECK(section.answer.find("numbered scopes") == std::string::npos);
  CHECK(row_of(changes, "layer_3/part_1") == changes.rows.size());
  CHECK(row_of(table_in(section, "other_rows"), "step/layer_*/part_2") < table_in(section, "other_rows").rows.size());
  profkit::detail::data_table const& flat = table_in(section, "rows");
  CHECK(row_of(flat,
               "step/layer_*\xc2\xa0\xc3\x97\xc2\xa0"
               "12",
               2) < row_of(flat, "step/layer_3", 2));
  CHECK(row_of(flat, "step/layer_3/part_1", 2) < flat.rows.size());
  CHECK_THAT(document.findings.front().headline, ContainsSubstring("layer_*"));
  CHECK_THAT(document.findings.front().text, ContainsSubstring("part_1"));
}

TEST_CASE("a layer that changed otherwise than its siblings is a finding, with what in it changed, and a line below its row", "[html]") {
  made_program after = layers(0.002);
  after.slow_layer = 7;
  after.slow_factor = 3.0;
  made_sides sides{4, layers(0.002), after};
  // Inside it, part_2 has most of the change.
  for (run_figures& run : sides.b) {
    for (scope_figures& each : run.scopes) {
      if (each.path == "step/layer_7/part_2") each.gpu->mean_ms *= 10.0;
      if (each.path == "step/layer_7") each.gpu->mean_ms += 0.15 * 9.0;
    }
  }
  profkit::detail::document const document = sides.document();
  REQUIRE_FALSE(document.findings.empty());
  profkit::detail::finding const& found = document.findings.front();
  CHECK_THAT(found.headline, ContainsSubstring("Slower: layer_*"));
  CHECK_THAT(found.text, ContainsSubstring("is layer_7/part_2: +"));
  profkit::detail::section const& section = section_of(document, "changes");
  profkit::detail::data_table const& changes = table_in(section, "changes");
  std::size_t const all = row_of(changes,
                                 "layer_*\xc2\xa0\xc3\x97\xc2\xa0"
                                 "12");
  REQUIRE(all + 1 < changes.rows.size());
  CHECK(std::get<std::string>(changes.rows[all + 1].cells.front().value) == "layer_7");
  CHECK(changes.rows[all + 1].depth == changes.rows[all].depth + 1);
  std::size_t const inner = row_of(changes, "part_2");
  REQUIRE(inner + 1 < changes.rows.size());
  CHECK(std::get<std::string>(changes.rows[inner + 1].cells.front().value) == "layer_7");
  CHECK(row_of(changes, "layer_6") == changes.rows.size());
  CHECK_THAT(section.answer, ContainsSubstring("numbered scopes"));

  // If the other layers became faster by as much, the sum did not change.
  made_sides even{4, layers(0.002), layers(0.002)};
  for (auto* const side : {&even.a, &even.b}) {
    for (run_figures& run : *side) {
      run.step.mean_ms = 3.0;
      for (scope_figures& each : run.scopes) {
        bool const is_odd = each.path.rfind("step/layer_7", 0) == 0;
        bool const has_changed = side == &even.b && each.path.rfind("step/layer_", 0) == 0 && (each.number || each.path.back() == '2');
        if (has_changed && (each.number || each.path.find("/part_2") != std::string::npos)) each.gpu->mean_ms += is_odd ? 0.11 : -0.01;
      }
    }
  }
  comparison const result = compare(even.a, even.b);
  auto const sum =
      std::find_if(result.rows.begin(), result.rows.end(), [](comparison_row const& row) { return row.name == "step/layer_*"; });
  REQUIRE(sum != result.rows.end());
  CHECK(sum->says == verdict::same);
  profkit::detail::document const of_even = even.document();
  REQUIRE_FALSE(of_even.findings.empty());
  CHECK_THAT(of_even.findings.front().headline, ContainsSubstring("Slower: layer_7 of layer_*"));
  CHECK_THAT(of_even.findings.front().text, ContainsSubstring("layer_7/part_2: +"));
  CHECK(of_even.findings.front().scope == "step/layer_7/part_2");
}

TEST_CASE("what decides the exit code is the first finding, however small, and one number of runs is asked for", "[html]") {
  made_program after = layers(0.002);
  after.slow_layer = 7;
  after.slow_factor = 1.08;  // 0.3 % of the step
  made_sides const sides{4, layers(0.002), after};
  comparison const result = compare(sides.a, sides.b, sides.options);
  CHECK(result.count(verdict::slower) == 0);
  decision const decided = decide(result, "", 0.03);
  REQUIRE(decided.says() == decision::outcome::fails);
  auto const document = make_comparison_document(result, {"old", "new", sides.a, sides.b}, sides.options, false, &decided);
  CHECK_THAT(document.findings.front().headline, ContainsSubstring("Fails: scope step/layer_7") && ContainsSubstring(" is slower by "));
  CHECK_THAT(section_of(document, "changes").answer, ContainsSubstring("Numbered scopes: ") && ContainsSubstring(" slower."));
  CHECK_THAT(decision_text(decided, true), ContainsSubstring("is slower by "));

  made_sides const open{2, layers(0.002), layers(0.002)};
  comparison const unknown = compare(open.a, open.b, open.options);
  decision const undecided = decide(unknown, "", 0.03);
  REQUIRE(undecided.says() == decision::outcome::undecided);
  auto const page = make_comparison_document(unknown, {"old", "new", open.a, open.b}, open.options, false, &undecided);
  CHECK_THAT(page.findings.front().headline, ContainsSubstring("Undecided: "));
  CHECK(std::count_if(page.findings.begin(), page.findings.end(),
                      [](auto const& each) { return each.action.find("runs a side") != std::string::npos; }) == 1);
}

TEST_CASE("a row that takes no time on one side is GONE", "[html]") {
  made_sides sides{4, layers(0.002), layers(0.002)};
  for (run_figures& run : sides.b) {
    for (scope_figures& each : run.scopes) {
      if (each.path == "step/single_1") each.gpu = figures{30, 0.0, 0.0, 0.0};
    }
  }
  profkit::detail::document const document = sides.document();
  profkit::detail::data_table const& changes = table_in(section_of(document, "changes"), "changes");
  std::size_t const row = row_of(changes, "single_1");
  REQUIRE(row < changes.rows.size());
  CHECK(std::get<std::string>(changes.rows[row].cells[4].value) == "only before");
}

TEST_CASE("GPU busy and idle time of the parts add up to the difference of the step", "[html]") {
  made_sides sides{4, quiet(true), quiet(true)};
  auto const budget = [](run_figures const& run, double idle) {
    return budget_figures{
        false, run.step.mean_ms, {{"group_0", 4.0, idle}, {"group_1", 5.0, run.step.mean_ms - idle - 9.5}, {"group_2", 0.5, 0.0}}};
  };
  for (run_figures& run : sides.a) run.budget = budget(run, 2.0);
  for (run_figures& run : sides.b) {
    run.step.mean_ms += 3.0;
    run.budget = budget(run, 5.0);
  }
  profkit::detail::document const document = sides.document();
  profkit::detail::section const& section = section_of(document, "parts");
  auto const& falls = figure_in<profkit::detail::waterfall_figure>(section);
  double sum = falls.before;
  for (auto const& each : falls.parts) sum += each.difference;
  CHECK(sum == Approx(falls.after));
  REQUIRE_FALSE(falls.parts.empty());
  CHECK(falls.parts.front().name == "group_0");
  CHECK(falls.parts.front().difference == Approx(3.0));
  CHECK(falls.parts.front().is_certain);
  CHECK_THAT(falls.parts.front().label, ContainsSubstring("slower"));
  auto const& table = table_in(section, "parts");
  CHECK(std::get<double>(table.rows.front().cells[4].value) == Approx(0.0));  // busy
  CHECK(std::get<double>(table.rows.front().cells[5].value) == Approx(3.0));  // idle
  CHECK(table.rows.back().is_total);
  // Rows have GPU times of what was launched, so the longer idle time is told by the part.
  REQUIRE_FALSE(document.findings.empty());
  CHECK(document.findings.front().headline.rfind("Slower: group_0, by 3.00", 0) == 0);
  CHECK_THAT(document.findings.front().headline, ContainsSubstring("because the GPU waits longer"));
  CHECK_THAT(document.findings.front().text, ContainsSubstring("idle time: +3.00") && ContainsSubstring("busy time: 0"));
  // What one run lacks cannot be compared, nor what is not the same.
  sides.b.back().budget->is_of_gpu = true;
  CHECK_THAT(section_of(sides.document(), "parts").answer, ContainsSubstring("n/a"));
  sides.b.back().budget.reset();
  CHECK_THAT(section_of(sides.document(), "parts").answer, ContainsSubstring("n/a"));
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
  program_folder const folder;
  fs::path const data = fs::path{TEST_DATA};
  fs::path const page = folder.path / "compare.html";
  REQUIRE(folder.run("report" + quoted(data / "small-128-train-fp32.profile") + " --out" + quoted(folder.path / "a")).code == 0);
  REQUIRE(folder.run("report" + quoted(data / "small-128-train-fp32-graph.profile") + " --out" + quoted(folder.path / "b")).code == 0);
  auto const done = folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "b") + " --html" + quoted(page));
  CHECK(done.code == 0);
  CHECK_THAT(done.out, ContainsSubstring("FASTER"));
  std::string const content = text_of_file(page);
  CHECK_THAT(content, ContainsSubstring("<!DOCTYPE html>") && ContainsSubstring("All changes"));
  CHECK(content.size() < 1'000'000);
  auto const failed =
      folder.run("compare" + quoted(folder.path / "a") + quoted(folder.path / "b") + " --html" + quoted(folder.path / "none" / "x.html"));
  CHECK(failed.code == 2);
  CHECK_THAT(failed.err, ContainsSubstring("x.html"));
}
