// SPDX-License-Identifier: Apache-2.0
#include <profkit/csv_printer.hpp>
#include <profkit/markdown_printer.hpp>
#include <profkit/text_printer.hpp>

#include <document_json.hpp>

#include "../support/parsed_report.hpp"
#include "../support/testing.hpp"

using profkit::detail::block_use;
using profkit::detail::column_kind;
using profkit::detail::column_use;
using profkit::detail::data_table;

namespace {

/// Two rows, the second inside the first, with one column of each kind that printers treat differently.
data_table printed_table() {
  data_table result;
  result.name = "made";
  result.columns = {{"name"},
                    {"time", column_kind::milliseconds},
                    {"bar", column_kind::bar},
                    {"each", column_kind::duration, column_use::wide},
                    {"of all", column_kind::share},
                    {"held", column_kind::bytes, column_use::file}};
  result.rows = {{{{"a|b, \"c\""}, {1234.5}, {profkit::detail::bar_cell{}}, {0.0125}, {0.25}, {1048576.0}}},
                 {{{"gr\xc3\xbc\xc3\x9f"}, {}, {}, {1.5}, {}, {}}, 1}};
  return result;
}

std::string text_without_colours(data_table const& table) { return text_of(table, profkit::detail::text_style{}); }

}  // namespace

TEST_CASE("text is aligned by characters, in a unit for all rows, without bars and columns of files", "[printers]") {
  CHECK(text_without_colours(printed_table()) ==
        "name      time s  each \xc2\xb5s  % of all\n"
        "a|b, \"c\"   1.234     12.5      25.0\n"
        "  gr\xc3\xbc\xc3\x9f       n/a  1,500.0       n/a\n");
}

TEST_CASE("a table with fixed units also has them in text", "[printers]") {
  data_table table = printed_table();
  table.has_fixed_units = true;
  CHECK(text_without_colours(table) ==
        "name       time ms  each us  of all\n"
        "a|b, \"c\"  1234.500    12.50  25.0 %\n"
        "  gr\xc3\xbc\xc3\x9f         n/a  1500.00     n/a\n");
}

TEST_CASE("Markdown keeps the indent and escapes special characters", "[printers]") {
  CHECK(markdown_of(printed_table()) ==
        "| name | time s | each \xc2\xb5s | % of all |\n"
        "|---|---:|---:|---:|\n"
        "| a\\|b, \"c\" | 1.234 | 12.5 | 25.0 |\n"
        "| &nbsp;&nbsp;gr\xc3\xbc\xc3\x9f | n/a | 1,500.0 | n/a |\n\n");
  CHECK(profkit::detail::markdown_text("void add<float*, 4>(float*)") == "void add\\<float\\*, 4>(float\\*)");
}

TEST_CASE("CSV quotes cells where needed, and has fixed units, complete names and columns for files", "[printers]") {
  data_table table = printed_table();
  table.rows[0].cells[0].detail = "the whole name";
  CHECK(csv_of(printed_table()) ==
        "name,time ms,each us,of all,held MiB\n"
        "\"a|b, \"\"c\"\"\",1234.500,12.50,25.0 %,1.0\n"
        "  gr\xc3\xbc\xc3\x9f,n/a,1500.00,n/a,n/a\n");
  CHECK_THAT(csv_of(table), ContainsSubstring("\nthe whole name,1234.500,"));
}

TEST_CASE("rows that are not listed are summed up, and CSV has all of them", "[printers]") {
  data_table table = printed_table();
  table.listed_rows = 1;
  table.folded_label = "and 1 more";
  CHECK_THAT(text_without_colours(table), ContainsSubstring("\nand 1 more\n") && !ContainsSubstring("gr\xc3\xbc"));
  CHECK_THAT(markdown_of(table), ContainsSubstring("\nand 1 more\n") && !ContainsSubstring("gr\xc3\xbc"));
  CHECK_THAT(csv_of(table), !ContainsSubstring("and 1 more") && ContainsSubstring("gr\xc3\xbc"));
}

TEST_CASE("columns that apply to no row are omitted", "[printers]") {
  data_table table;
  table.columns = {{"name"}, {"remark"}};
  table.rows = {{{{"a"}, {""}}}};
  CHECK(text_without_colours(table) == "name\na\n");
}

TEST_CASE("full text and Markdown have all sections with tables and notes, without blocks for pages", "[printers]") {
  data_table of_pages = printed_table();
  of_pages.use = block_use::pages;
  of_pages.caption = "Only on pages";
  profkit::detail::document made;
  made.title = "program";
  made.headline = "A step takes 1 ms";
  made.findings = {{"It waits.", "For the disk.", "Read ahead."}};
  made.key_figures = {{"power", "", "no collector"}};
  made.sections = {{"made", "Made", "Two rows.", {printed_table(), profkit::detail::note{"a note"}, of_pages}, "how to read pictures"}};
  std::string const text = profkit::detail::text_of(made, {});
  CHECK_THAT(text, ContainsSubstring("A step takes 1 ms.\n 1 It waits. For the disk.\n   > Read ahead.\n") &&
                       ContainsSubstring("\npower: n/a (no collector)\n") && ContainsSubstring("\nMade\n====\n\nTwo rows.\n\nname ") &&
                       ContainsSubstring("\na note\n") && !ContainsSubstring("Only on pages") && !ContainsSubstring("how to read"));
  std::string const markdown = profkit::detail::markdown_of(made);
  CHECK_THAT(markdown, ContainsSubstring("# program\n") && ContainsSubstring("1. **It waits.** For the disk. Read ahead.\n") &&
                           ContainsSubstring("\n## Made\n\nTwo rows.\n\n| name |") && ContainsSubstring("\n* a note\n") &&
                           !ContainsSubstring("Only on pages") && !ContainsSubstring("how to read"));
}

TEST_CASE("JSON of a document has its sentences, and its tables with exact numbers", "[printers]") {
  data_table table = printed_table();
  table.columns.push_back({"each", column_kind::range});
  table.columns.push_back({"change", column_kind::change});
  table.rows[0].cells.push_back({profkit::detail::range_cell{1.0, 2.0, 4.0}});
  table.rows[0].cells.push_back({profkit::detail::change_cell{-0.5, 0.25, 0.75, false}});
  profkit::detail::document made;
  made.title = "program";
  made.headline = "A step takes \"1\" ms";
  made.findings = {{"It waits.", "For the disk.", "Read ahead.", "step/read"}, {"It ends.", "", ""}};
  made.key_figures = {{"power", "", "no collector"}};
  made.sections = {{"made", "Made", "Two rows.", {table, profkit::detail::note{"a note"}}, "how to read pictures"}};
  nlohmann::json const parsed = nlohmann::json::parse(profkit::detail::json_printer{made}.print());
  check_members(parsed, {{"schema", 1},
                         {"headline", "A step takes \"1\" ms"},
                         {"/findings/0/scope", "step/read"},
                         {"/findings/1/scope", nullptr},
                         {"/key_figures/0/value", nullptr}});
  nlohmann::json const& section = parsed.at("sections").at(0);
  CHECK(section.at("answer") == "Two rows.");
  CHECK(section.at("notes") == nlohmann::json{"a note"});
  nlohmann::json const& printed = section.at("tables").at(0);
  std::vector<std::string> headings;
  std::vector<std::string> units;
  for (nlohmann::json const& each : printed.at("columns")) {
    headings.push_back(each.at("heading"));
    units.push_back(each.at("unit"));
  }
  CHECK(headings == std::vector<std::string>{"name", "time", "each", "of all", "held", "each", "change"});  // bars repeat other numbers
  CHECK(units == std::vector<std::string>{"", "ms", "ms", "1", "bytes", "ms", "1"});
  nlohmann::json const& first = printed.at("rows").at(0);
  CHECK(first.at("depth") == 0);
  CHECK(first.at("cells").at(1) == 1234.5);
  CHECK(first.at("cells").at(5) == nlohmann::json{{"low", 1.0}, {"mean", 2.0}, {"high", 4.0}});
  CHECK(first.at("cells").at(6) == nlohmann::json{{"low", -0.5}, {"change", 0.25}, {"high", 0.75}});
  CHECK(printed.at("rows").at(1).at("depth") == 1);
  CHECK(printed.at("rows").at(1).at("cells").at(1).is_null());
}
