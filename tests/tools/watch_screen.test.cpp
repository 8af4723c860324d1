// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <profkit/analyze.hpp>
#include <profkit/save_load.hpp>

#include "../support/is_utf8.hpp"
#include "../support/made_kinds.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"
#include "screen_line.hpp"
#include "watch_screen.hpp"
#include "watch_view.hpp"
#include "watch_words.hpp"

using namespace profkit_program;

namespace {

/// A session as represented by its journal.
struct watched_run {
  profkit::profile recorded;
  profkit::summary figures = profkit::analyze(recorded);
  step_series steps{};

  explicit watched_run(profkit::profile profile) : recorded{std::move(profile)} {
    for (profkit::step_record const& each : recorded.steps) steps.add(each);
  }
  watched_run(watched_run const&) = delete;
  watched_run& operator=(watched_run const&) = delete;
  ~watched_run() = default;

  [[nodiscard]] watch_view view(std::string const& name = "run.journal") const {
    watch_view result;
    result.name = name;
    result.path = "out/" + name;
    result.state = watch_state::running;
    result.environment = recorded.environment;
    result.recorded = recorded.time.duration();
    result.steps = &steps;
    result.figures = &figures;
    return result;
  }
};

profkit::profile recorded_profile(char const* name = "small-128-train-fp32.profile") {
  return profkit::load(std::filesystem::path{TEST_DATA} / name);
}

/// A line without its colours.
std::string plain(std::string text) {
  for (std::size_t begin = text.find("\x1b["); begin != std::string::npos; begin = text.find("\x1b[")) {
    std::size_t const end = text.find('m', begin);
    REQUIRE(end != std::string::npos);  // no other terminal command
    text.erase(begin, end - begin + 1);
  }
  return text;
}

std::string joined(std::vector<std::string> const& lines) {
  std::string result;
  for (std::string const& each : lines) result += each + "\n";
  return result;
}

std::vector<std::string> screen_of(std::vector<watch_view> const& views, screen_size size, screen_style style = {},
                                   std::size_t chosen = 0) {
  return watch_screen{size, style}.lines(views, chosen, true);
}

void check_fits(std::vector<std::string> const& lines, screen_size size, screen_style style) {
  CAPTURE(size.columns, size.rows, style.has_colours, style.is_utf8);
  CHECK(lines.size() <= size.rows);
  for (std::string const& each : lines) {
    CAPTURE(each);
    std::string const text = plain(each);
    CHECK(columns_of(text) <= size.columns);
    CHECK(is_utf8(text));
    CHECK(std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }));
    if (!style.is_utf8) CHECK(std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80U; }));
    if (!style.has_colours) CHECK(text == each);
  }
}

constexpr screen_size page{100, 60};

}  // namespace

TEST_CASE("the screen shows steps, budget, scopes, memory and data quality of a training run", "[watch]") {
  watched_run const run{recorded_profile()};
  std::string const text = joined(screen_of({run.view()}, {120, 40}));
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("run.journal") && ContainsSubstring("running, 00:00:0"));
  CHECK_THAT(text, ContainsSubstring("2 measured, 1 warm-up"));
  profkit::budget_summary const& budget = *run.figures.budget;
  CHECK_THAT(text, ContainsSubstring("busy " + detail::percent_words(budget.busy / budget.wall)));
  CHECK_THAT(text, ContainsSubstring("launch-bound 18.1"));
  CHECK_THAT(text, ContainsSubstring("\n  backward ") && ContainsSubstring("\n  forward "));
  CHECK_THAT(text, ContainsSubstring("MEMORY   ") && ContainsSubstring("DATA     "));
  CHECK_THAT(text, ContainsSubstring("q quit"));
}

TEST_CASE("the screen is never larger than the terminal", "[watch]") {
  watched_run const run{recorded_profile()};
  profkit::profile hostile = recorded_profile("tiny-128-train-bf16.profile");
  hostile.environment.command = {std::string(300, 'p') + "\x1b[2J\n"};
  hostile.environment.host = "host\twith \xff bytes";
  std::string const name =
      "\x1b]0;title\a \xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87 \xe2\x80\xae reversed \xff\n" + std::string(250, 'n');
  for (profkit::path_record& each : hostile.paths) each.name = name;
  for (profkit::memory_record& each : hostile.memory) each.source = name;
  for (profkit::collector_record& each : hostile.collectors) each = {name, "not collected", name, each.kind};
  hostile.quality.dropped_events = 12;
  hostile.quality.not_recorded = name;
  watched_run const worst{hostile};
  watch_view unreadable = worst.view(name);
  unreadable.state = watch_state::unreadable;
  unreadable.problem = name;
  watch_view waiting;
  waiting.name = waiting.path = name;
  std::vector<watch_view> const many{run.view(), worst.view(name), unreadable, waiting,    run.view(), run.view(), run.view(),
                                     run.view(), run.view(),       run.view(), run.view(), run.view(), run.view()};
  for (screen_size const size :
       {screen_size{40, 10}, {41, 11}, {79, 24}, {80, 24}, {95, 12}, {100, 60}, {120, 40}, {300, 100}, {20, 5}, {1, 1}, {7, 3}}) {
    for (screen_style const style : {screen_style{true, true}, {false, true}, {true, false}, {false, false}}) {
      for (watch_view const& each : many) check_fits(screen_of({each}, size, style), size, style);
      for (std::size_t chosen = 0; chosen < many.size(); chosen += stride) check_fits(screen_of(many, size, style, chosen), size, style);
    }
  }
}

TEST_CASE("a small screen shows what matters most", "[watch]") {
  watched_run const run{recorded_profile()};
  std::string const text = joined(screen_of({run.view()}, {40, 10}));
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("running") && ContainsSubstring("STEPS") && ContainsSubstring("recent") && ContainsSubstring("GPU"));
  CHECK_THAT(text, ContainsSubstring("DATA") && ContainsSubstring("SCOPES") && ContainsSubstring("backward"));
  CHECK(screen_of({run.view()}, {40, 10}).size() == 10);
}

TEST_CASE("the longest scopes are shown if not all fit, each below its enclosing scopes", "[watch]") {
  watched_run const run{recorded_profile()};
  std::vector<watched_scope> const rows = watched_scopes(run.figures);
  REQUIRE(rows.size() > 20);
  std::vector<std::string> const lines = screen_of({run.view()}, {100, 20});
  auto const heading = std::find_if(lines.begin(), lines.end(), [](std::string const& each) { return each.rfind("SCOPES", 0) == 0; });
  REQUIRE(heading != lines.end());
  std::size_t shown = 0;
  for (auto each = heading + 1; each != lines.end() && each->rfind("MEMORY", 0) != 0; ++each) shown += each->empty() ? 0U : 1U;
  CHECK(shown >= 5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].rank >= shown) continue;
    // Its parent is the last row before it with a smaller depth.
    for (std::size_t before = i; before-- > 0;) {
      if (rows[before].depth >= rows[i].depth) continue;
      CHECK(rows[before].rank < shown);
      break;
    }
  }
}

TEST_CASE("scopes that differ only in their index are one row with their sum", "[watch]") {
  watched_run const run{recorded_profile()};
  std::vector<watched_scope> const rows = watched_scopes(run.figures);
  auto const layers = std::find_if(rows.begin(), rows.end(), [](watched_scope const& each) { return each.name == "layer_* x 12"; });
  REQUIRE(layers != rows.end());
  CHECK(layers->depth == 2);
  CHECK(layers->calls == 12.0);
  double sum = 0.0;
  for (profkit::scope_summary const& each : run.figures.scopes) {
    if (each.depth == 2 && each.index && each.path.find("/forward/layer_") != std::string::npos)
      sum += (each.gpu->busy + each.gpu_idle->inclusive).count() / static_cast<double>(run.figures.gpu->steps);
  }
  CHECK(layers->time.count() == Catch::Approx(sum));
  CHECK(std::none_of(rows.begin(), rows.end(), [](watched_scope const& each) { return each.name.find("layer_3") != std::string::npos; }));
}

TEST_CASE("scopes and budget are those of usual steps", "[watch]") {
  watched_run const run{training_with_one_validation()};
  REQUIRE(run.figures.kinds.front().is_usual);
  REQUIRE(run.figures.kinds.size() > 1);
  std::vector<watched_scope> const rows = watched_scopes(run.figures);
  REQUIRE_FALSE(rows.empty());
  REQUIRE(rows.front().share);
  CHECK(*rows.front().share == Catch::Approx(1.0).margin(0.01));
  // No part of the validation is a row, and the share of the GPU is that of the usual kind.
  auto const& usual = run.figures.kinds.front().parts;
  for (watched_scope const& each : rows) {
    if (each.depth == 1) CHECK(std::find(usual.begin(), usual.end(), each.name) != usual.end());
  }
  profkit::budget_summary const& budget = *run.figures.kinds.front().budget;
  std::string const text = joined(screen_of({run.view()}, page));
  CHECK_THAT(text, ContainsSubstring(fmt::format("busy {:.1f} %", 100.0 * (budget.busy / budget.wall))));
  // So are the step times; the mean of the latest steps has the validation.
  std::string const usual_step = detail::time_words(profkit::detail::mean_step_time(run.figures.kinds.front().times));
  CHECK_THAT(text, ContainsSubstring("STEPS    " + usual_step + " a usual step, ") && ContainsSubstring("  usual step " + usual_step));
  CHECK_THAT(text, ContainsSubstring(", mean of ") && !ContainsSubstring(": " + usual_step));
  CHECK_THAT(joined(screen_of({run.view(), run.view()}, page)), ContainsSubstring(" " + usual_step + " "));
}

TEST_CASE("figures that were not measured are n/a, with the reason", "[watch]") {
  profkit::profile host_only;
  host_only.time = {profkit::timestamp{}, profkit::timestamp{} + std::chrono::seconds{1}};
  host_only.collectors = {{"kernels", "not collected", "no driver", profkit::collector_kind::kernels}};
  watched_run const run{host_only};
  std::string const text = joined(screen_of({run.view()}, page));
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("GPU      n/a: no driver"));
  CHECK_THAT(text, ContainsSubstring("no step so far"));
  CHECK_THAT(text, !ContainsSubstring("MEMORY"));
  host_only.collectors.clear();
  watched_run const not_asked{host_only};
  CHECK_THAT(joined(screen_of({not_asked.view()}, page)), !ContainsSubstring("GPU"));
  CHECK_THAT(text, ContainsSubstring("kernels: not collected (no driver)"));
  CHECK_THAT(joined(screen_of({run.view(), run.view()}, page)), ContainsSubstring("n/a     n/a"));
}

TEST_CASE("each session is a row, and the selected one is always visible", "[watch]") {
  watched_run const run{recorded_profile()};
  std::vector<watch_view> views;
  for (int rank = 0; rank < 64; ++rank) views.push_back(run.view("rank." + std::to_string(rank) + ".journal"));
  views[1].state = watch_state::gone;
  views[2].state = watch_state::silent;
  views[2].silence = std::chrono::seconds{75};
  std::string const all = joined(screen_of(views, {120, 160}, {}, 5));
  CHECK_THAT(all, ContainsSubstring("  rank.0.journal") && ContainsSubstring("> rank.5.journal") && ContainsSubstring("  rank.63.journal"));
  CHECK_THAT(all, ContainsSubstring("process is gone") && ContainsSubstring("no news for 75 s"));
  for (std::size_t const chosen : {0U, 31U, 63U}) {
    CAPTURE(chosen);
    CHECK_THAT(joined(screen_of(views, {80, 12}, {}, chosen)), ContainsSubstring("> rank." + std::to_string(chosen) + ".journal"));
  }
}

TEST_CASE("states of a session are shown", "[watch]") {
  watched_run const run{recorded_profile()};
  watch_view view = run.view();
  auto const text_in = [&](watch_state state) {
    view.state = state;
    return joined(screen_of({view}, page));
  };
  view.share_read = 0.43;
  CHECK_THAT(text_in(watch_state::reading), ContainsSubstring("reading, 43 %"));
  CHECK_THAT(text_in(watch_state::ended), ContainsSubstring("ended, 00:00:0"));
  CHECK_THAT(text_in(watch_state::gone), ContainsSubstring("the session did not end: its last 100 ms may be missing"));
  view = {};
  view.name = "run.journal";
  view.path = "out/run.journal";
  CHECK_THAT(text_in(watch_state::waiting), ContainsSubstring("no journal yet: start the program with PROFKIT=journal=out/run.journal"));
  view.problem = "it has format 99";
  CHECK_THAT(text_in(watch_state::unreadable), ContainsSubstring("PROBLEM  it has format 99"));
}

TEST_CASE("data losses are shown, and other states are not shown as losses", "[watch]") {
  profkit::profile lossy = recorded_profile();
  lossy.quality.open_scopes = 3;  // as while the program runs
  CHECK_THAT(joined(screen_of({watched_run{lossy}.view()}, page)), ContainsSubstring("DATA     nothing lost"));
  lossy.quality.dropped_events = 20'781;
  lossy.quality.dropped_operations = 2;
  watched_run const run{lossy};
  CHECK_THAT(joined(screen_of({run.view()}, page)), ContainsSubstring("20,781 scopes and counters dropped; 2 GPU operations lost"));
}

TEST_CASE("numbers on the screen have three digits and a unit", "[watch]") {
  using profkit::milliseconds;
  CHECK(detail::time_words(milliseconds{46.32}) == "46.3 ms");
  CHECK(detail::time_words(milliseconds{0.0123}) == "12.3 us");
  CHECK(detail::time_words(milliseconds{0.9996}) == "1.00 ms");
  CHECK(detail::time_words(milliseconds{999.7}) == "1.00 s");
  CHECK(detail::time_words(milliseconds{151'040.0}) == "151 s");
  CHECK(detail::time_words(milliseconds{0.0}) == "0 ms");
  CHECK(detail::bytes_words(512.0) == "0.50 KiB");
  CHECK(detail::bytes_words(12.09 * 1024 * 1024 * 1024) == "12.09 GiB");
  CHECK(detail::bytes_words(-2048.0) == "-2.00 KiB");
  CHECK(detail::count_words(0) == "0");
  CHECK(detail::count_words(999) == "999");
  CHECK(detail::count_words(1'020'781) == "1,020,781");
  CHECK(detail::format_clock(std::chrono::hours{27} + std::chrono::seconds{61}) == "27:01:01");
}

TEST_CASE("text is shortened by columns, not by bytes", "[watch]") {
  std::string const wide = "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87";  // 4 characters of 2 columns
  CHECK(columns_of(wide) == 8);
  CHECK(first_columns(wide, 5) == wide.substr(0, 6));
  for (std::size_t columns = 0; columns < 12; ++columns) CHECK(columns_of(shortened_to(wide + "abcd", columns)) <= columns);
  CHECK(shortened_to("a_long_name_of_a_scope", 11) == "a_lo...cope");
  CHECK(screen_name("a\xe2\x80\xae"
                    "b\x1b[2J",
                    {}) == "a?b\\x1b[2J");
  CHECK(screen_name(wide, {false, false}) == "????");
}
