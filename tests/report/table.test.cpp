// SPDX-License-Identifier: Apache-2.0
#include <profkit/report/table.hpp>

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace {

profkit::table made_table() {
  profkit::table table{{"name", "ms"}};
  table.add({"  a|b, \"c\"", "1.5"});
  table.add({"gr\xc3\xbc\xc3\x9f", "10.25"});
  table.add({"short"});
  return table;
}

}  // namespace

TEST_CASE("text is aligned, counting characters and not bytes", "[table]") {
  CHECK(made_table().to_text() ==
        "name           ms\n"
        "-----------------\n"
        "  a|b, \"c\"    1.5\n"
        "gr\xc3\xbc\xc3\x9f        10.25\n"
        "short\n");
}

TEST_CASE("Markdown keeps the indent and escapes bars", "[table]") {
  CHECK(made_table().to_markdown() ==
        "| name | ms |\n"
        "|---|---:|\n"
        "| &nbsp;&nbsp;a\\|b, \"c\" | 1.5 |\n"
        "| gr\xc3\xbc\xc3\x9f | 10.25 |\n"
        "| short |  |\n");
}

TEST_CASE("Markdown shows templates and pointers as they are", "[table]") {
  profkit::table table{{"kernel"}};
  table.add({"void add<float*, 4>(float*)"});
  CHECK(table.to_markdown() == "| kernel |\n|---|\n| void add\\<float\\*, 4>(float\\*) |\n");
}

TEST_CASE("CSV quotes what needs quotes", "[table]") {
  CHECK(made_table().to_csv() ==
        "name,ms\n"
        "\"  a|b, \"\"c\"\"\",1.5\n"
        "gr\xc3\xbc\xc3\x9f,10.25\n"
        "short,\n");
}

TEST_CASE("so many columns as the table says are text", "[table]") {
  profkit::table table{{"section", "metric", "ms"}, 2};
  table.add({"run", "a", "1"});
  CHECK(table.to_text() ==
        "section  metric  ms\n"
        "-------------------\n"
        "run      a        1\n");
  CHECK(table.to_markdown() ==
        "| section | metric | ms |\n"
        "|---|---|---:|\n"
        "| run | a | 1 |\n");
}
