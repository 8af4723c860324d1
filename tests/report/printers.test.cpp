// SPDX-License-Identifier: Apache-2.0
#include <profkit/report/csv_printer.hpp>
#include <profkit/report/markdown_printer.hpp>
#include <profkit/report/text_printer.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <utility>

using Catch::Matchers::ContainsSubstring;
using profkit::detail::block_use;
using profkit::detail::column_kind;
using profkit::detail::column_use;
using profkit::detail::data_table;

namespace {

/// Two rows, the second inside the first, with a column of each kind that a printer treats in its own way.
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

TEST_CASE("a table with fixed units has them in text, too", "[printers]") {
  data_table table = printed_table();
  table.has_fixed_units = true;
  CHECK(text_without_colours(table) ==
        "name       time ms  each us  of all\n"
        "a|b, \"c\"  1234.500    12.50  25.0 %\n"
        "  gr\xc3\xbc\xc3\x9f         n/a  1500.00     n/a\n");
}

TEST_CASE("Markdown keeps the indent and escapes what has a meaning", "[printers]") {
  CHECK(markdown_of(printed_table()) ==
        "| name | time s | each \xc2\xb5s | % of all |\n"
        "|---|---:|---:|---:|\n"
        "| a\\|b, \"c\" | 1.234 | 12.5 | 25.0 |\n"
        "| &nbsp;&nbsp;gr\xc3\xbc\xc3\x9f | n/a | 1,500.0 | n/a |\n\n");
  CHECK(profkit::detail::markdown_text("void add<float*, 4>(float*)") == "void add\\<float\\*, 4>(float\\*)");
}

TEST_CASE("CSV quotes what needs quotes, has fixed units, complete names and columns of files", "[printers]") {
  data_table table = printed_table();
  table.rows[0].cells[0].detail = "the whole name";
  CHECK(csv_of(printed_table()) ==
        "name,time ms,each us,of all,held MiB\n"
        "\"a|b, \"\"c\"\"\",1234.500,12.50,25.0 %,1.0\n"
        "  gr\xc3\xbc\xc3\x9f,n/a,1500.00,n/a,n/a\n");
  CHECK_THAT(csv_of(table), ContainsSubstring("\nthe whole name,1234.500,"));
}

TEST_CASE("rows that are not listed are summed up, in CSV they are complete", "[printers]") {
  data_table table = printed_table();
  table.listed_rows = 1;
  table.folded_label = "and 1 more";
  CHECK_THAT(text_without_colours(table), ContainsSubstring("\nand 1 more\n") && !ContainsSubstring("gr\xc3\xbc"));
  CHECK_THAT(markdown_of(table), ContainsSubstring("\nand 1 more\n") && !ContainsSubstring("gr\xc3\xbc"));
  CHECK_THAT(csv_of(table), !ContainsSubstring("and 1 more") && ContainsSubstring("gr\xc3\xbc"));
}

TEST_CASE("columns that apply to no row are left out", "[printers]") {
  data_table table;
  table.columns = {{"name"}, {"remark"}};
  table.rows = {{{{"a"}, {""}}}};
  CHECK(text_without_colours(table) == "name\na\n");
}

TEST_CASE("full text and Markdown have the sections with tables and notes, without what is of pages", "[printers]") {
  data_table of_pages = printed_table();
  of_pages.use = block_use::pages;
  of_pages.caption = "Only on pages";
  profkit::detail::document made;
  made.title = "program";
  made.headline = "A step takes 1 ms";
  made.findings = {{"It waits.", "For the disk.", "Read ahead."}};
  made.key_figures = {{"power", "", "no collector"}};
  made.sections = {{"made", "Made", "Two rows.", {printed_table(), profkit::detail::note{"a note"}, of_pages}, "how to read pictures"}};
  std::string const text = profkit::detail::text_printer{made, {}}.print();
  CHECK_THAT(text, ContainsSubstring("A step takes 1 ms.\n 1 It waits. For the disk.\n   > Read ahead.\n") &&
                       ContainsSubstring("\npower: n/a (no collector)\n") && ContainsSubstring("\nMade\n====\n\nTwo rows.\n\nname ") &&
                       ContainsSubstring("\na note\n") && !ContainsSubstring("Only on pages") && !ContainsSubstring("how to read"));
  std::string const markdown = profkit::detail::markdown_printer{made}.print();
  CHECK_THAT(markdown, ContainsSubstring("# program\n") && ContainsSubstring("1. **It waits.** For the disk. Read ahead.\n") &&
                           ContainsSubstring("\n## Made\n\nTwo rows.\n\n| name |") && ContainsSubstring("\n* a note\n") &&
                           !ContainsSubstring("Only on pages") && !ContainsSubstring("how to read"));
}
