// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/html_printer.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <profkit/impl/report/shown_text.hpp>

#include "../support/hostile_document.hpp"
#include "../support/html_fault.hpp"
#include "../support/huge_document.hpp"
#include "../support/made_document.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

using profkit::detail::html_page;

namespace {

std::size_t count_of(std::string_view page, std::string_view what) {
  std::size_t result = 0;
  for (std::size_t at = page.find(what); at != std::string_view::npos; at = page.find(what, at + what.size())) ++result;
  return result;
}

/// A document with one section and one block.
profkit::detail::document with_block(profkit::detail::block content) {
  profkit::detail::document made;
  made.sections.push_back({"part", "Part", "Two steps.", {std::move(content)}, ""});
  return made;
}

}  // namespace

TEST_CASE("a page shows every part of its document, and is well-formed", "[html]") {
  std::string const page = html_page(made_document());
  CHECK(html_fault(page) == "");
  for (profkit::detail::section const& each : made_document().sections) {
    CHECK_THAT(page, ContainsSubstring("<section id=\"" + each.id + "\">\n<h2>" + each.title + "</h2>"));
  }
  for (char const* const part :
       {"<h1>A usual step takes 46.3 ms", "<b>Step 40 is no usual step.</b>", "<dd class=\"v\">46.32 ms</dd>", "no scope said its FLOPs",
        ">step 40: 151.0 ms, validation and generation", "All 41 steps as a table", ">3 more kernels: 3.92 ms", "<b>gpt2_forward</b> 30.4",
        "BF16 989 TFLOP/s", "reserved by the allocator", "<code>nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT</code>"}) {
    CHECK_THAT(page, ContainsSubstring(part));
  }
  // Pictures have a label for those who cannot see them: steps, two bars, classes, two icicles, lines, roofline.
  CHECK(count_of(page, " role=\"img\" aria-label=\"") >= 8);
}

TEST_CASE("a page of a training run has at most 300 KB, and its script at most 5 KB", "[html]") {
  CHECK(html_page(made_document()).size() < 300'000);
  CHECK(std::string_view{profkit::detail::html_script}.size() < 5'000);
}

TEST_CASE("the same document gives the same page", "[html]") { CHECK(html_page(made_document()) == html_page(made_document())); }

TEST_CASE("a page refers to nothing outside of it", "[html]") {
  std::string const page = html_page(made_document());
  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
  for (char const* const each : {"http:", "https:", "src=", "url(", "@import", "<link", "<img"}) CHECK_THAT(page, !ContainsSubstring(each));
}

TEST_CASE("a page with thousands of rows, boxes, steps and points has at most 1 MB, and states what it omits", "[html]") {
  std::string const page = html_page(huge_document());
  CHECK(page.size() <= profkit::detail::max_html_bytes);
  CHECK(html_fault(page) == "");
  CHECK_THAT(page, ContainsSubstring(" more rows are not on this page, to keep it small."));
  CHECK_THAT(page, ContainsSubstring(" more boxes are not drawn."));
  CHECK_THAT(page, ContainsSubstring("each mark shows minimum, median and maximum of several steps"));
  CHECK(count_of(page, "<section ") == huge_document().sections.size());
}

TEST_CASE("a page with sections that cannot shrink omits some of them, and states it", "[html]") {
  profkit::detail::document made = made_document();
  profkit::detail::section const one = made.sections[1];
  for (int i = 0; i < 500; ++i) made.sections.push_back(one);
  std::string const page = html_page(made);
  CHECK(page.size() <= profkit::detail::max_html_bytes);
  CHECK(html_fault(page) == "");
  CHECK_THAT(page, ContainsSubstring(" more sections are not on this page, to keep it below 1&nbsp;MB"));
}

TEST_CASE("hostile names stay text in a page", "[html]") {
  for (std::uint32_t seed = 0; seed < repetitions(50); ++seed) {
    std::string const page = html_page(hostile_document(seed));
    INFO("seed " << seed);
    REQUIRE(html_fault(page) == "");
    REQUIRE(page.size() <= profkit::detail::max_html_bytes);
    REQUIRE(count_of(page, "<script>") == 1);
  }
}

TEST_CASE("characters that reorder or hide text are visible in a page", "[html]") {
  using profkit::detail::html_text;
  CHECK(html_text("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(html_text("safe\xe2\x80\xae"
                  "cod.exe") == "safe\\u202ecod.exe");
  CHECK(html_text("\xe2\x81\xa6\xd8\x9c\xe2\x80\x8b\xef\xbb\xbf") == "\\u2066\\u061c\\u200b\\ufeff");
  CHECK(html_text("\xff\n\x1b") == "\xef\xbf\xbd\\n\\x1b");
  CHECK(html_text("caf\xc3\xa9 \xe2\x80\xba \xe6\xad\xa5") == "caf\xc3\xa9 \xe2\x80\xba \xe6\xad\xa5");
}

TEST_CASE("figures without values, with zeros or with one value give a well-formed page", "[html]") {
  using namespace profkit::detail;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const value : {nan, inf, -inf, 0.0, -1.0, 1e300, 1e-300, 46.0}) {
    document made = made_document();
    for (section& part : made.sections) {
      for (block& each : part.blocks) {
        if (auto* const table = std::get_if<data_table>(&each)) {
          for (row& line : table->rows) {
            for (cell& content : line.cells) {
              if (auto* const number = std::get_if<double>(&content.value)) *number = value;
              if (auto* const bar = std::get_if<bar_cell>(&content.value)) bar->parts.front().value = value;
              if (auto* const range = std::get_if<range_cell>(&content.value)) *range = {value, value, value, {value, value}, ""};
            }
          }
        }
        auto* const picture = std::get_if<figure>(&each);
        if (picture == nullptr) continue;
        if (auto* const steps = std::get_if<steps_figure>(&picture->content)) {
          steps->mean = steps->half_interval = value;
          for (plotted_step& step : steps->steps) step.ms = value;
        }
        if (auto* const bars = std::get_if<bars_figure>(&picture->content)) bars->bars.front().parts.front().inside.front().value = value;
        if (auto* const icicle = std::get_if<icicle_figure>(&picture->content)) icicle->total = icicle->boxes.front().time = value;
        if (auto* const lines = std::get_if<lines_figure>(&picture->content)) lines->lines[0].y.assign(36, value);
        if (auto* const roofline = std::get_if<roofline_figure>(&picture->content)) {
          roofline->points[0] = {"a", value, value, value};
          roofline->memory = roofline_figure::band{value, value, value};
        }
        if (auto* const heat = picture->other<heat_figure>()) heat->high = *heat->values[0][0] = value;
        if (auto* const lanes = picture->other<lanes_figure>()) {
          if (value > 0.0) lanes->total = value;
          lanes->rows[0].upper[0].begin = lanes->rows[0].lower[0].end = value;
        }
      }
    }
    INFO("value " << value);
    std::string const page = html_page(made);
    CHECK(html_fault(page) == "");
    CHECK_THAT(page,
               !ContainsSubstring("nan%") && !ContainsSubstring("\"nan") && !ContainsSubstring("inf%") && !ContainsSubstring("\"inf"));
  }
  CHECK(html_fault(html_page({})) == "");
  CHECK(html_fault(html_page(with_block(figure{"nothing", steps_figure{}}))) == "");
  CHECK(html_fault(html_page(with_block(figure{"nothing", lines_figure{}}))) == "");
  CHECK(html_fault(html_page(with_block(figure{"nothing", roofline_figure{}}))) == "");
  CHECK(html_fault(html_page(with_block(figure{"nothing", lanes_figure{}}))) == "");
  CHECK(html_fault(html_page(with_block(data_table{}))) == "");
}

TEST_CASE("a number that was not measured is n/a with its reason, never 0", "[html]") {
  using namespace profkit::detail;
  data_table table{"t", "", {{"scope"}, {"busy", column_kind::milliseconds}}, {}};
  table.rows.push_back({{{std::string{"a"}}, {std::monostate{}, "kernels were not collected"}}});
  table.rows.push_back({{{std::string{"b"}}, {0.0}}});
  table.rows.push_back({{{std::string{"c"}}, {0.0001}}});
  table.rows.push_back({{{std::string{"d"}}, {12.5}}});
  table.rows.push_back({{{std::string{"e"}}, {std::string{}}}});
  std::string const page = html_page(with_block(table));
  CHECK_THAT(page, ContainsSubstring("<td class=\"n na\" title=\"kernels were not collected\">n/a</td>"));
  CHECK_THAT(page, ContainsSubstring("<td class=\"n z\">0</td>"));
  CHECK_THAT(page, ContainsSubstring("<td class=\"n z\">&lt;0.01</td>"));
  CHECK_THAT(page, ContainsSubstring("<td class=\"n\">12.50</td>"));
  CHECK_THAT(page, ContainsSubstring("<td class=\"n\"></td>"));
}

TEST_CASE("a finding links the name of its scope to the row of the scope", "[html]") {
  std::string const page = html_page(made_document());
  CHECK_THAT(page, ContainsSubstring("of <a href=\"#row-0\">attention_backward</a>, the innermost"));
  CHECK_THAT(page, ContainsSubstring(" id=\"row-0\"><th scope=\"row\" class=\"t\" style=\"--d:4\"><span>attention_backward</span>"));
  CHECK(count_of(page, "id=\"row-") == 1);
  profkit::detail::document made = made_document();
  made.findings[1].scope = "step/elsewhere/attention_backward";
  CHECK_THAT(html_page(made), !ContainsSubstring("href=\"#row-"));
}

TEST_CASE("kernel names are cut in the middle, and the complete name is in the page", "[html]") {
  std::string const page = html_page(made_document());
  CHECK_THAT(page, ContainsSubstring("title=\"void at::native::vectorized_elementwise_kernel&lt;4, at::native::FillFunctor&lt;float&gt;, "
                                     "std::array&lt;char*, 1&gt; &gt;(int)\""));
  CHECK_THAT(page, ContainsSubstring("<code>void at::native::vectorized_...har*, 1&gt; &gt;(int)</code>"));
}

TEST_CASE("the axis of steps has whole numbers, for few steps too", "[html]") {
  using namespace profkit::detail;
  steps_figure figure;
  figure.steps = {{0, 21.0}, {1, 21.3}, {2, 21.1}};
  std::string const page = html_page(with_block(profkit::detail::figure{"three", figure}));
  CHECK_THAT(page, ContainsSubstring(">1</text>"));
  CHECK_THAT(page, !ContainsSubstring(">1.0</text>"));
}

TEST_CASE("a label of a step that would cross a longer one stands above both, and the mean beyond the enlarged axis is said", "[html]") {
  using namespace profkit::detail;
  steps_figure figure;
  for (std::uint64_t i = 0; i < 20; ++i) figure.steps.push_back({i, 2.0 + 0.01 * static_cast<double>(i % 3)});
  figure.steps[2].is = figure.steps[4].is = plotted_step::role::outlier;
  figure.steps[2].ms = 2.5;
  figure.steps[4].ms = 4.0;
  figure.steps[2].label = "step 2: 2.50 ms";
  figure.mean = 2.13;
  figure.half_interval = 0.1;
  std::string const page = html_page(with_block(profkit::detail::figure{"twenty", figure}));
  CHECK_THAT(page, ContainsSubstring("<text class=\"label\" x=\"11.5%\" dx=\"0\" y=\"12\">step 2: 2.50 ms</text>"));
  CHECK_THAT(page, ContainsSubstring("the mean, 2.13&nbsp;ms, is beyond it") && !ContainsSubstring("interval of the mean</p>"));
  figure.steps[4].ms = 2.0;
  CHECK_THAT(html_page(with_block(profkit::detail::figure{"twenty", figure})),
             ContainsSubstring("<text class=\"label\" x=\"13.5%\" dx=\"5\" y=\"22.4\">step 2: 2.50 ms</text>"));
}

TEST_CASE("a part of a bar has its name where it fits, and the legend names it otherwise", "[html]") {
  using namespace profkit::detail;
  bars_figure bars;
  stacked_bar whole;
  whole.parts = {
      {"compute", {{colour::busy, 0, 83.0}}}, {"optimizer", {{colour::busy, 0, 9.0}}}, {"exposed transfer", {{colour::transfer, 0, 8.0}}}};
  bars.bars.push_back(whole);
  bars.legend = {{{colour::transfer, 0, 0.0}, "exposed transfer"}};
  std::string const page = html_page(with_block(profkit::detail::figure{"bar", bars}));
  CHECK_THAT(page, ContainsSubstring("<b>compute</b> 83.0&nbsp;%</span>") && ContainsSubstring("<b>optimizer</b></span>"));
  CHECK_THAT(page, !ContainsSubstring("<b>exposed transfer</b>") && ContainsSubstring("</i>exposed transfer</span>"));
}

TEST_CASE("folded tables stand at the end of their section, and fixed units have separators of thousands", "[html]") {
  using namespace profkit::detail;
  data_table folded = folded_list("list", "The list");
  folded.columns = {{"memory"}, {"peak", column_kind::bytes}};
  folded.add_row().text("device").number(3030.8 * 1024 * 1024);
  section made{"part", "Part", "Two.", {folded, note{"a note", false}}, "How it is read."};
  profkit::detail::document all;
  all.sections.push_back(made);
  std::string const page = html_page(all);
  CHECK(page.find("a note") < page.find("How it is read."));
  CHECK(page.find("How it is read.") < page.find("<summary>The list"));
  CHECK_THAT(page, ContainsSubstring(">3,030.8</td>"));
}

TEST_CASE("a long path is cut at the beginning, and another long name in the middle", "[html]") {
  using profkit::detail::shortened_path;
  CHECK(shortened_path("forward/layer_*/attention (backward)", 36) == "forward/layer_*/attention (backward)");
  CHECK(shortened_path("forward/layer_*/attention (backward)", 25) == "\xe2\x80\xa6/attention (backward)");
  CHECK(shortened_path("a_name_of_a_scope_without_any_slash", 20) == "a_name_of_a..._slash");
  CHECK(shortened_path("forward/a_name_that_is_longer_than_its_column", 20).size() <= 21);
  CHECK(profkit::detail::last_component("forward/loss (backward)") == "loss (backward)");
  CHECK(profkit::detail::last_component("ends/") == "ends/");
}

TEST_CASE("names of kernels that differ look different in a table", "[html]") {
  std::string const begin = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize";
  std::string const end = "_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas";
  std::vector<std::string> const names{begin + "128x64x8" + end, begin + "32x32x8" + end, "gemm", begin + "32x32x8" + end};
  std::vector<std::string> const shown = profkit::detail::distinct_names(names, 46);
  for (std::string const& each : shown) CHECK(each.size() <= 46);
  CHECK_THAT(shown[0], ContainsSubstring("sm80_xmma_g") && ContainsSubstring("tilesize128x64x8"));
  CHECK_THAT(shown[1], ContainsSubstring("tilesize32x32x8"));
  CHECK(shown[2] == "gemm");
  CHECK(shown[1] == shown[3]);
  CHECK(profkit::detail::distinct_names({std::string(100, 'x'), std::string(99, 'x')}, 46).size() == 2);

  profkit::detail::data_table table;
  table.name = "kernels";
  table.columns = {{"kernel", profkit::detail::column_kind::code}};
  for (std::string const& each : names) table.rows.push_back({{{each}}});
  std::string const page = html_page(with_block(std::move(table)));
  CHECK_THAT(page, ContainsSubstring("<code>" + shown[0] + "</code>") && ContainsSubstring("title=\"" + names[0] + "\""));
}

TEST_CASE("headings of bars name their colours, and columns do not repeat them", "[html]") {
  profkit::detail::data_table table;
  table.name = "scopes";
  table.add_columns({{"scope"},
                     {"busy, idle", profkit::detail::column_kind::bar},
                     {"busy", profkit::detail::column_kind::milliseconds, {}, {}, {}, profkit::detail::colour::busy}});
  table.add_row().text("work").bar({{profkit::detail::colour::busy, 0, 2.0}, {profkit::detail::colour::launch_bound, 0, 1.0}}).number(2.0);
  std::string const page = html_page(with_block(std::move(table)));
  CHECK_THAT(page, ContainsSubstring("<i class=\"sw busy\"></i><span>busy</span> <i class=\"sw launch\"></i><span>idle</span>"));
  CHECK(count_of(page, "<i class=\"sw busy\"></i>") == 1);
}

TEST_CASE("a finding leads to the row of its scope in the tree of scopes", "[html]") {
  profkit::detail::document made;
  made.findings = {{"Slow.", "", "Begin with forward.", "forward"}, {"Slower.", "", "Begin with layer_*.", "forward/layer_*"}};
  profkit::detail::data_table parts{"budget", "", {{"part"}}, {{{{std::string{"forward"}}}}}};
  profkit::detail::data_table tree{"scopes", "", {{"scope"}}, {}};
  for (char const* const name : {"step (2 of 2)", "forward", "layer_* \xc3\x97 12"}) {
    tree.rows.push_back({{{std::string{name}}}, static_cast<std::uint32_t>(tree.rows.size())});
  }
  made.sections = {{"budget", "Budget", "", {parts}}, {"scopes", "Scopes", "", {tree}}};
  std::string const page = html_page(made);
  CHECK_THAT(page, ContainsSubstring("Begin with <a href=\"#row-0\">forward</a>.") && ContainsSubstring("<a href=\"#row-1\">layer_*</a>."));
  std::size_t const scopes = page.find("<section id=\"scopes\">");
  CHECK(page.find("id=\"row-0\"") > scopes);
  CHECK(page.find("id=\"row-1\"") > page.find("id=\"row-0\""));
}
