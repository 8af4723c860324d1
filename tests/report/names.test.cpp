// SPDX-License-Identifier: Apache-2.0
//
// Names with arbitrary bytes in all outputs.
#include <profkit/analyze.hpp>
#include <profkit/csv_printer.hpp>
#include <profkit/impl/report/shown_text.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/markdown_printer.hpp>
#include <profkit/save_load.hpp>
#include <profkit/scope.hpp>
#include <profkit/text_printer.hpp>

#include <nlohmann/json.hpp>
#include <thread>

#include "../support/is_utf8.hpp"
#include "../support/made_path.hpp"
#include "../support/profile_of.hpp"
#include "../support/read_csv.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

using nlohmann::json;
using profkit::detail::one_line;

namespace {

std::vector<std::string> const& hostile_names() {
  static std::vector<std::string> const names{
      "",
      std::string(100'000, 'x'),
      "\xff\xc3\x28 \xed\xa0\x80 \xf5",  // no UTF-8, a surrogate
      "\"quoted\", 'twice', \"\"",
      "two\nlines\r\nand\rthree\t\v",
      "a,b;c|d",
      "\x01\x1b[31m\x7f \xc2\x9b \xe2\x80\xa8",
      "</script><script>alert(1)</script> [x](y) &amp; `z`",
      "{} %s %n \\ \\n $(id)",
  };
  return names;
}

/// A site with a name that is not a literal.
std::vector<profkit::site>& hostile_sites() {
  static std::vector<profkit::site> sites = [] {
    std::vector<profkit::site> made;
    for (std::string const& name : hostile_names()) made.push_back({name.c_str(), name.c_str(), 1, nullptr});
    return made;
  }();
  return sites;
}

class hostile_collector final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return hostile_names()[4]; }
  void start(profkit::profile_builder&) override { throw std::runtime_error{"it broke\nin two lines: \xff"}; }
};

/// Scopes, work, adopted scopes, counters, allocations, an item and a collector with such names.
profkit::report hostile_report() {
  profkit::options options = plain_options(0, 2);
  options.items_per_step = 1;
  options.item_name = hostile_names()[4];
  profkit::session session{options};
  session.collect(hostile_collector{});
  for ([[maybe_unused]] profkit::step const step : session) {
    profkit::scope_token token;
    {
      PROF_SCOPE("here");
      token = profkit::scope_token::current();
    }
    for (profkit::site& each : hostile_sites()) {
      profkit::scope const outer{each, profkit::work{1.0, 1.0}};
      profkit::scope const indexed{each, 7};
      profkit::adopting_scope const adopting{each, token};
      profkit::sample_counter(each, 1.0);
      profkit::record_allocation(each, &each, 8);
    }
  }
  return session.report();
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> result(1);
  for (char const c : text) {
    if (c == '\n') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a name inside a line stays on one line and contains no terminal commands", "[names]") {
  CHECK(one_line("a\nb\rc\td\x1b[0m\x7f") == "a\\nb\\rc\\td\\x1b[0m\\x7f");
  CHECK(one_line("\xc2\x9b \xe2\x80\xa8 \xe2\x80\xa9") == "\\u009b \\u2028 \\u2029");
  CHECK(one_line("gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80") == "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80");
  CHECK(one_line("\xff") == "\xef\xbf\xbd");
  CHECK(one_line("\xc2") == "\xef\xbf\xbd");
  CHECK(one_line("").empty());
  CHECK(one_line(std::string(100'000, 'x')).size() == profkit::detail::max_shown_text);
  CHECK(one_line(std::string(100'000, '\x80')).size() < 4 * profkit::detail::max_shown_text);
}

TEST_CASE("a table has a line for each row with any cells, and cells are read back from CSV unchanged", "[names]") {
  profkit::detail::data_table table;
  table.columns = {{"name"}, {"count", profkit::detail::column_kind::count}};
  for (std::string const& name : hostile_names()) table.rows.push_back({{{name}, {1.0}}});
  profkit::detail::document made;
  made.sections = {{"names", "Names", "", {table}}};
  std::string const text = profkit::detail::text_of(made, {});
  std::string const markdown = profkit::detail::markdown_of(made);
  profkit::detail::document without = made;
  without.sections.front().blocks.clear();
  CHECK(lines_of(text).size() == lines_of(profkit::detail::text_of(without, {})).size() + 2 + hostile_names().size());
  CHECK(lines_of(markdown).size() == lines_of(profkit::detail::markdown_of(without)).size() + 3 + hostile_names().size());
  for (std::string const& line : lines_of(text)) CHECK(line.size() < 1000);
  CHECK(is_utf8(text));
  CHECK(is_utf8(markdown));
  CHECK_THAT(markdown, Catch::Matchers::ContainsSubstring("\\</script>\\<script>alert(1)\\</script> \\[x](y) \\&amp; \\`z\\`"));
  auto const records = read_csv(profkit::detail::csv_of(table));
  REQUIRE(records.size() == 1 + hostile_names().size());
  for (std::size_t i = 0; i < hostile_names().size(); ++i) {
    CHECK((records[i + 1] == std::vector<std::string>{profkit::detail::as_utf8(hostile_names()[i]), "1"}));
  }
}

TEST_CASE("a report with names of any bytes has one line per row, and is valid UTF-8 without control characters", "[names]") {
  profkit::report const report = hostile_report();
  for (std::string const text : {report.full_text(), report.markdown()}) {
    CHECK(is_utf8(text));
    CHECK(
        std::none_of(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) < 0x20U && c != '\n') || c == '\x7f'; }));
    std::vector<std::string> const lines = lines_of(text);
    for (std::string const& line : lines) CHECK(line.size() <= profkit::detail::max_shown_reason + 100);
    // A row begins with the name or its indent; no part of a name begins a new line.
    CHECK(std::none_of(lines.begin(), lines.end(), [](std::string const& line) { return line.compare(0, 5, "lines") == 0; }));
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring("it broke"));
  }
  // One row per scope, with its figures.
  auto const& scopes = report.summary().scopes;
  CHECK(lines_of(report.full_text()).size() > scopes.size());
  CHECK(scopes.size() == 1 + 1 + 3 * hostile_names().size());
}

TEST_CASE("texts about a device, a clock and a collector are one line of UTF-8", "[names]") {
  std::string const hostile = "a\xff\nb\x1b";
  std::string const shown = "a\xef\xbf\xbd\\nb\\x1b";
  profkit::profile profile;
  profile.environment.gpu = hostile;
  profile.quality.clock = hostile;
  profile.collectors = {{"kernels", hostile, {}, profkit::collector_kind::kernels}};
  profile.paths = {step_path()};
  profile.threads = {{1, "main"}};
  profkit::interval const second{profkit::timestamp{}, profkit::timestamp{std::chrono::seconds{1}}};
  profile.scopes = {{second, 0, 0}};
  profile.steps = {{second, 0, false, 1, 1e12}};
  profile.work = {{second.begin, 0, {1e12, 1e9}}};
  std::string const text = profkit::report_full_text(profkit::analyze(profile));
  CHECK(is_utf8(text));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("MFU n/a, no dense peaks are known for \"" + shown + "\"\n"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("roof: n/a, no dense peaks are known for \"" + shown + "\"\n"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("\nkernels    " + shown + "\n"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("clock: " + shown + "\n"));
}

TEST_CASE("every file of a report with names of any bytes is well-formed", "[names]") {
  profkit::report const report = hostile_report();
  temporary_folder const folder{"names"};
  report.write(folder.path.string());
  std::size_t files = 0;
  for (auto const& entry : std::filesystem::directory_iterator{folder.path}) {
    std::string const content = text_of_file(entry.path());
    INFO(entry.path().filename());
    ++files;
    if (entry.path().extension() != ".profkit") CHECK(is_utf8(content));  // this file is binary
    if (entry.path().extension() == ".json") CHECK(json::accept(content));
    if (entry.path().extension() == ".csv") {
      auto const records = read_csv(content);
      REQUIRE(records.size() > 1);
      CHECK(std::all_of(records.begin(), records.end(), [&](auto const& each) { return each.size() == records.front().size(); }));
    }
  }
  CHECK(files >= 5);
  json const written = json::parse(text_of_file(folder.path / "report.json"));
  std::vector<std::string> names;
  for (json const& row : written.at("scopes")) names.push_back(row.at("name"));
  for (std::string const& name : hostile_names()) CHECK(std::count(names.begin(), names.end(), profkit::detail::as_utf8(name)) == 1);
  auto const rows = read_csv(text_of_file(folder.path / "scopes.csv"));
  CHECK(rows.size() == 1 + report.summary().scopes.size());
}

TEST_CASE("a saved profile restores names byte for byte", "[names]") {
  profkit::report const report = hostile_report();
  temporary_folder const folder{"names"};
  std::filesystem::path const file = folder.path / "saved";
  profkit::save(report.profile(), file);
  profkit::profile const read = profkit::load(file);
  REQUIRE(read.paths.size() == report.profile().paths.size());
  for (std::size_t i = 0; i < read.paths.size(); ++i) {
    CHECK((read.paths[i].name == report.profile().paths[i].name));
    CHECK((read.paths[i].role == report.profile().paths[i].role));
  }
  CHECK((read.counter_names == hostile_names()));
  CHECK((read.item_name == hostile_names()[4]));
}
