// SPDX-License-Identifier: Apache-2.0
//
// The input is a document with any texts and numbers: its page is well-formed, contains only text, and has at most 1 MB.
#include <fuzzer/FuzzedDataProvider.h>
#include <profkit/impl/report/html_page.hpp>

#include <comparison_figures.hpp>
#include <ranks/rank_figures.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../support/html_fault.hpp"
#include "require.hpp"

namespace {

using namespace profkit::detail;

class document_maker {
 public:
  explicit document_maker(FuzzedDataProvider& from) : from_{from} {}

  document make() {
    document made{text(), text(), text(), {}, {}, {}, text()};
    while (more(2)) made.findings.push_back({text(), text(), text(), text()});
    while (more(2)) made.key_figures.push_back({text(), text(), text()});
    while (more(3)) {
      section next{text(), text(), text(), {}, text()};
      while (more(4)) next.blocks.push_back(any_block());
      made.sections.push_back(next);
    }
    return made;
  }

 private:
  static constexpr std::size_t max_text = 40;

  /// Returns true about `mean` times in sequence.
  bool more(unsigned mean) { return from_.remaining_bytes() > 0 && from_.ConsumeIntegralInRange(0U, mean) > 0; }
  std::string text() { return from_.ConsumeRandomLengthString(max_text); }
  double number() { return from_.ConsumeBool() ? from_.ConsumeFloatingPoint<double>() : from_.ConsumeIntegralInRange(0, 200) * 0.25; }
  bar_part part() { return {from_.ConsumeBool() ? colour::busy : colour::kernel_class, from_.ConsumeIntegral<std::uint8_t>(), number()}; }

  block any_block() {
    switch (from_.ConsumeIntegralInRange(0, 10)) {
      case 0:
        return note{text(), false};
      case 1:
        return figure{text(), steps()};
      case 2:
        return figure{text(), bars_figure{{{text(), {{text(), {part(), part()}}, {text(), {part()}}}, text()}}, {{part(), text()}}}};
      case 3: {
        icicle_figure made{text(), number(), {}, from_.ConsumeBool()};
        while (more(8))
          made.boxes.push_back({text(), from_.ConsumeIntegral<std::uint32_t>(), number(), number(), number(),
                                static_cast<icicle_figure::box_kind>(from_.ConsumeIntegralInRange(0, 2)), text()});
        return figure{text(), made};
      }
      case 4:
        return figure{text(),
                      lines_figure{text(), text(), from_.ConsumeBool(), {{text(), numbers(), numbers(), numbers(), numbers()}}, kind()}};
      case 5:
        return figure{text(), roofline_figure{{{text(), number(), number()}},
                                              {{text(), number(), number(), number()}},
                                              roofline_figure::band{number(), number(), number()}}};
      case 6:
        return figure{text(),
                      heat_figure{text(), {text(), text()}, {text()}, {{number()}, {}}, {from_.ConsumeBool()}, number(), colour::busy}};
      case 7:
        return figure{
            text(), lanes_figure{number(),
                                 {{text(), {{number(), number(), colour::busy, text()}}, {{number(), number(), colour::transfer, text()}}}},
                                 {{part(), text()}}}};
      case 8: {
        waterfall_figure made{number(), number(), {}};
        while (more(5)) made.parts.push_back({text(), number(), from_.ConsumeBool(), text()});
        return figure{text(), made};
      }
      case 9:
        return figure{text(), pairs_figure{text(), numbers(), numbers()}};
      default:
        return table();
    }
  }

  steps_figure steps() {
    steps_figure made{{}, number(), number(), text()};
    while (more(20)) {
      made.steps.push_back(
          {from_.ConsumeIntegral<std::uint64_t>(), number(), static_cast<plotted_step::role>(from_.ConsumeIntegralInRange(0, 4)), text()});
    }
    if (from_.ConsumeBool()) made.common_scale = steps_figure::scale{number(), number(), number()};
    made.title = text();
    while (more(2)) made.levels.push_back({from_.ConsumeIntegral<std::uint64_t>(), from_.ConsumeIntegral<std::uint64_t>(), number()});
    return made;
  }

  std::vector<double> numbers() {
    std::vector<double> made;
    while (more(10)) made.push_back(number());
    return made;
  }

  column_kind kind() { return static_cast<column_kind>(from_.ConsumeIntegralInRange(0, static_cast<int>(column_kind::change))); }

  cell any_cell() {
    switch (from_.ConsumeIntegralInRange(0, 5)) {
      case 0:
        return {text(), text()};
      case 1:
        return {number()};
      case 2:
        return {bar_cell{{part(), part()}}};
      case 3:
        return {range_cell{number(), number(), number(), numbers(), text()}};
      case 4:
        return {change_cell{number(), number(), number(), from_.ConsumeBool()}};
      default:
        return {};
    }
  }

  data_table table() {
    data_table made{text(), text(), {}, {}};
    while (more(5))
      made.columns.push_back({text(), kind(), static_cast<column_use>(from_.ConsumeIntegralInRange(0, 2)), "a <constant> \"text\" & more"});
    while (more(10)) {
      row next;
      while (more(5)) next.cells.push_back(any_cell());
      next.depth = from_.ConsumeIntegralInRange(0U, 40U);
      next.is_open = from_.ConsumeBool();
      next.is_heading = from_.ConsumeBool();
      next.is_quiet = from_.ConsumeBool();
      made.rows.push_back(next);
    }
    made.shown_rows = from_.ConsumeIntegralInRange<std::size_t>(0, 12);
    if (from_.ConsumeBool()) made.sorted_by = from_.ConsumeIntegral<std::size_t>();
    return made;
  }

  FuzzedDataProvider& from_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  FuzzedDataProvider from{data, size};
  std::string const page = profkit::detail::html_page(document_maker{from}.make());
  std::string const fault = html_fault(page);
  require(fault.empty(), "a page is well-formed:", fault.c_str());
  require(page.size() <= profkit::detail::max_html_bytes, "a page has at most 1 MB:", "report.html");
  return 0;
}
