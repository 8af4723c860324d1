// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <profkit/analyze.hpp>
#include <profkit/impl/profile/archive_reader.hpp>
#include <profkit/report.hpp>
#include <profkit/save_load.hpp>
#include <profkit/summary_file.hpp>

#include "../support/filled_summary.hpp"
#include "../support/made_full_profile.hpp"
#include "../support/parsed_report.hpp"
#include "../support/repetitions.hpp"
#include "../support/temporary_folder.hpp"
#include "../support/testing.hpp"

namespace {

/// A file that is removed at the end of the test.
struct summary_file {
  temporary_folder const folder{"summary"};
  std::filesystem::path const path = folder.path / "summary.profkit";

  [[nodiscard]] std::string bytes() const { return text_of_file(path); }
  void write(std::string const& bytes) const { std::ofstream{path, std::ios::binary} << bytes; }
};

void check_is_refused(profkit::summary const& what, char const* why) {
  summary_file const file;
  profkit::save_summary(what, file.path);
  CHECK_THROWS_MATCHES(profkit::load_summary(file.path), profkit::error, MessageMatches(ContainsSubstring(why)));
}

}  // namespace

TEST_CASE("each value of a summary is restored from its file", "[summary]") {
  profkit::summary const saved = filled_summary();
  std::vector<std::string> const values = values_of(saved);
  REQUIRE(values.size() > 800);
  summary_file const file;
  profkit::save_summary(saved, file.path);
  CHECK(values_of(profkit::load_summary(file.path)) == values);
  // If this fails because a member was added at the end of a struct: increase `summary_format.addition`, and change the number. Other
  // changes of members need a new `summary_format.number`.
  CHECK(profkit::detail::summary_format.text() == "4.0");
  CHECK(std::filesystem::file_size(file.path) == 16998);
  // Values that are n/a, empty or false stay so.
  profkit::save_summary({}, file.path);
  CHECK(values_of(profkit::load_summary(file.path)) == values_of({}));
}

TEST_CASE("the summary of a recorded run and its report are the same when read from its file", "[summary]") {
  for (char const* const name : {"small-128-train-fp32", "tiny-128-train-bf16"}) {
    profkit::summary const saved = profkit::analyze(profkit::load(std::string{TEST_DATA "/"} + name + ".profile"));
    summary_file const file;
    profkit::save_summary(saved, file.path);
    profkit::summary const loaded = profkit::load_summary(file.path);
    CHECK(values_of(loaded) == values_of(saved));
    CHECK(profkit::report_json(loaded) == profkit::report_json(saved));
  }
}

TEST_CASE("a report has the file of its summary", "[summary]") {
  profkit::report const report = report_of(profile_with_everything());
  temporary_folder const folder{"summary-of"};
  report.write(folder.path);
  CHECK(values_of(profkit::load_summary(folder.path / "summary.profkit")) == values_of(report.summary()));
}

TEST_CASE("a summary file that is truncated, longer or damaged anywhere is refused", "[summary]") {
  summary_file const file;
  profkit::save_summary(profkit::analyze(made_profile()), file.path);
  std::string const bytes = file.bytes();
  for (std::size_t length = 0; length < bytes.size(); length += stride) {
    file.write(bytes.substr(0, length));
    REQUIRE_THROWS_AS(profkit::load_summary(file.path), profkit::error);
  }
  for (std::size_t position = 0; position < bytes.size(); position += stride) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x10);
    file.write(damaged);
    REQUIRE_THROWS_AS(profkit::load_summary(file.path), profkit::error);
  }
  file.write(bytes + '\0');
  CHECK_THROWS_MATCHES(profkit::load_summary(file.path), profkit::error, MessageMatches(ContainsSubstring("its checksum is wrong")));
}

TEST_CASE("a file that is not a summary, and a summary with other members, are refused with the reason", "[summary]") {
  summary_file const file;
  CHECK_THROWS_MATCHES(profkit::load_summary("/nowhere/summary.profkit"), profkit::error,
                       MessageMatches(ContainsSubstring("cannot open /nowhere/summary.profkit")));
  CHECK_THROWS_MATCHES(profkit::save_summary({}, "/nowhere/summary.profkit"), profkit::error,
                       MessageMatches(ContainsSubstring("/nowhere/summary.profkit")));
  profkit::save(made_profile(), file.path);
  CHECK_THROWS_MATCHES(profkit::load_summary(file.path), profkit::error,
                       MessageMatches(ContainsSubstring(file.path.string() + ": it is not a profkit summary")));
  profkit::save_summary({}, file.path);
  std::string bytes = file.bytes();
  bytes[profkit::detail::summary_magic.size()] = static_cast<char>(bytes[profkit::detail::summary_magic.size()] + 1);
  file.write(bytes);
  CHECK_THROWS_MATCHES(profkit::load_summary(file.path), profkit::error,
                       MessageMatches(ContainsSubstring("it has format 5.0, and profkit ")));
  CHECK_THROWS_MATCHES(profkit::load(file.path), profkit::error, MessageMatches(ContainsSubstring("is not a profkit profile")));
}

TEST_CASE("a summary with positions outside its lists is refused", "[summary]") {
  auto const changed = [](std::function<void(profkit::summary&)> const& change) {
    profkit::summary result = filled_summary();
    change(result);
    return result;
  };
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[1].parent = 1; }), "a scope comes before its parent");
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[0].parent = 7; }), "a scope comes before its parent");
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[0].parent = 0; }), "a scope comes before its parent");
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[1].depth = 4'000'000'000U; }), "a scope has another depth");
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[1].path.clear(); }), "a scope has another depth");
  check_is_refused(changed([](profkit::summary& summary) { summary.scopes[1].memory.pop_back(); }),
                   "a scope has memory of other allocators");
  check_is_refused(changed([](profkit::summary& summary) { summary.adopted[0].depth = 4'000'000'000U; }), "an adopted scope lies deeper");
  check_is_refused(changed([](profkit::summary& summary) { summary.steps.host_verdict.verdict = static_cast<profkit::step_verdict>(7); }),
                   "a verdict on steps is 7");
}

TEST_CASE("a summary that lacks one of two figures that belong together is refused", "[summary]") {
  auto const check = [](char const* why, std::function<void(profkit::step_summary&)> const& change) {
    profkit::summary damaged = filled_summary();
    change(damaged.steps);
    check_is_refused(damaged, why);
  };
  check("GPU steps without a verdict", [](profkit::step_summary& steps) { steps.gpu_verdict.reset(); });
  check("times between steps without their figures", [](profkit::step_summary& steps) { steps.between.median.reset(); });
  check("times between steps without their figures", [](profkit::step_summary& steps) { steps.between.count = 0; });
  check("an interval of the mean with one end", [](profkit::step_summary& steps) { steps.host_verdict.ci95_low.reset(); });
  check("an interval of the mean without its samples", [](profkit::step_summary& steps) { steps.gpu_verdict->effective_samples.reset(); });
  check("uneven steps without a pattern", [](profkit::step_summary& steps) {
    steps.host_verdict.verdict = profkit::step_verdict::uneven;
    steps.host_verdict.pattern.reset();
  });
  check("a drift without its probability", [](profkit::step_summary& steps) { steps.gpu_period->verdict.drift_p_value.reset(); });
  check("a steady part without its begin", [](profkit::step_summary& steps) {
    steps.host_verdict.finding = profkit::warmup_finding::enough;
    steps.host_verdict.steady_from.reset();
  });
  check("a mean power without a maximum", [](profkit::step_summary& steps) { steps.clocks[1].max_watt.reset(); });
  check("a host that runs ahead by an unknown number of steps",
        [](profkit::step_summary& steps) { steps.gpu_period->median_steps_ahead.reset(); });
}
