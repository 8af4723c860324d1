// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/report/numbers.hpp>

#include "../support/testing.hpp"

using profkit::detail::column_kind;
using profkit::detail::column_numbers;
using profkit::detail::data_table;
using profkit::detail::heading_text;

TEST_CASE("a column has one unit, and decimals so that its largest number has about four digits", "[column_numbers]") {
  auto const text = [](column_kind kind, double largest, double value) {
    column_numbers const numbers{kind, largest};
    return numbers.text(value) + " " + numbers.unit();
  };
  CHECK(text(column_kind::milliseconds, 46.32, 46.32) == "46.32 ms");
  CHECK(text(column_kind::milliseconds, 151.04, 0.1) == "0.10 ms");
  CHECK(text(column_kind::milliseconds, 5.914, 5.914) == "5.914 ms");
  CHECK(text(column_kind::milliseconds, 0.4928, 0.4928) == "492.8 \xc2\xb5s");
  CHECK(text(column_kind::milliseconds, 12'345.0, 12'345.0) == "12.35 s");
  CHECK(text(column_kind::duration, 1.7126, 1.7126) == "1,712.6 \xc2\xb5s");
  CHECK(text(column_kind::milliseconds, 0.000349, 0.000349) == "0.349 \xc2\xb5s");
  CHECK(text(column_kind::duration, 17.126, 17.126) == "17.13 ms");
  CHECK(text(column_kind::bytes, 12.09 * 1024 * 1024 * 1024, 12.09 * 1024 * 1024 * 1024) == "12.09 GiB");
  CHECK(text(column_kind::bytes, 5759.2 * 1024 * 1024, 242.1 * 1024 * 1024) == "0.24 GiB");
  CHECK(text(column_kind::share, 1.0, 0.667) == "66.7 %");
  CHECK(text(column_kind::count, 20'781, 20'781) == "20,781 ");
  CHECK(text(column_kind::real, 1.0, 0.123456789) == "0.123457 ");
}

TEST_CASE("zero, values that round to zero, negative values and missing values are printed differently", "[column_numbers]") {
  column_numbers const numbers{column_kind::milliseconds, 46.32};
  CHECK(numbers.text(0.0) == "0");
  CHECK(numbers.text(0.004) == "<0.01");
  CHECK(numbers.text(0.006) == "0.01");
  CHECK(numbers.text(-0.004) == "\xe2\x88\x92<0.01");
  CHECK(numbers.text(-9.4) ==
        "\xe2\x88\x92"
        "9.40");
  CHECK(numbers.text(std::numeric_limits<double>::quiet_NaN()) == "n/a");
  CHECK(numbers.text(std::numeric_limits<double>::infinity()) == "n/a");
  CHECK(column_numbers{column_kind::count, 1234567}.text(-1234567) ==
        "\xe2\x88\x92"
        "1,234,567");
}

TEST_CASE("one long time does not hide the digits of short ones", "[column_numbers]") {
  data_table table{"t", "", {{"steps"}}, {}};
  for (char const* const name : {"mean", "median", "min", "max"}) table.columns.push_back({name, column_kind::milliseconds});
  table.add_row().text("measured").number(0.000187).number(0.00004).number(0.00003).number(36.412345);
  column_numbers const numbers{table, 1};
  CHECK(numbers.unit() == "\xc2\xb5s");
  CHECK(numbers.text(0.000187) == "0.187");
  CHECK(numbers.text(0.00004) == "0.040");
  CHECK(numbers.text(36.412345) == "36,412.345");
  table.has_fixed_units = true;
  CHECK(column_numbers{table, 1}.text(0.00004) == "0.000040");
  CHECK(column_numbers{table, 1}.text(0.004) == "0.004");
}

TEST_CASE("times of a table have one unit in all columns, and a single duration its own", "[column_numbers]") {
  data_table table{"t",
                   "",
                   {{"scope"},
                    {"", column_kind::milliseconds},
                    {"idle", column_kind::milliseconds},
                    {"each", column_kind::range},
                    {"mean", column_kind::duration},
                    {"of step", column_kind::share}},
                   {}};
  table.rows.push_back({{{std::string{"a"}}, {46.32}, {0.47}, {profkit::detail::range_cell{0.99, 1.0, 1.08}}, {0.0207}, {0.25}}});
  CHECK(column_numbers{table, 2}.text(0.47) == "0.47");
  CHECK(column_numbers{table, 3}.text(0.99) == "0.990");
  CHECK(column_numbers{table, 4}.text(0.0207) == "20.7");
  auto const heading = [&](std::size_t i) { return heading_text(table.columns[i], column_numbers{table, i}); };
  CHECK(heading(0) == "scope");
  CHECK(heading(1) == "ms");
  CHECK(heading(2) == "idle ms");
  CHECK(heading(3) == "each, ms");
  CHECK(heading(4) == "mean \xc2\xb5s");
  CHECK(heading(5) == "% of step");
}

TEST_CASE("fractional counts have a decimal", "[column_numbers]") {
  data_table table{"t", "", {{"per step", column_kind::count}}, {}};
  table.rows.push_back({{{12.0}}});
  CHECK(column_numbers{table, 0}.text(12.0) == "12");
  table.rows.push_back({{{0.5}}});
  CHECK(column_numbers{table, 0}.text(12.0) == "12.0");
}
