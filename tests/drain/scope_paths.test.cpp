// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/path_table.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../support/nested_scopes.hpp"
#include "../support/profile_of.hpp"

using profkit::detail::path_table;

namespace {

constexpr std::size_t most = path_table::max_paths;

void recurse(int depth) {
  PROF_SCOPE("a name that is as long as names of functions with their namespaces and the types of their parameters are");
  if (depth > 1) recurse(depth - 1);
}

std::uint64_t text_of(profkit::profile const& profile) {
  std::vector<std::uint64_t> lengths;
  std::uint64_t result = 0;
  for (profkit::path_record const& each : profile.paths) {
    lengths.push_back(each.name.size() + (each.parent == profkit::path_record::no_parent ? 0 : 1 + lengths[each.parent]));
    result += lengths.back();
  }
  return result;
}

}  // namespace

TEST_CASE("a growing index creates paths up to the bound, and then counts in the path without an index", "[paths]") {
  constexpr std::uint64_t scopes = most + 1000;
  profkit::session session{plain_options(0, 2)};
  std::uint64_t next = 0;
  for (profkit::step step : session) {
    while (next < (step.index() + 1) * scopes / 2) {
      PROF_SCOPE_INDEXED("batch", next++);
      PROF_SCOPE("inside");
    }
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(profile.scopes.size() == 2 * scopes + 2);
  // The step, "batch_0" and "inside" in each; then "batch" and what is inside it.
  CHECK(profile.paths.size() == most + 3);
  std::uint64_t const with_index = (most - 1) / 2 + 1;
  CHECK(profile.quality.collapsed_scopes == scopes - with_index);
  CHECK(count_scopes(profile, "step/batch") == scopes - with_index);
  CHECK(count_scopes(profile, "step/batch/inside") == scopes - with_index);
  profkit::scope_summary const* const row = find_row(report.summary(), "step/batch");
  REQUIRE(row != nullptr);
  CHECK(row->host.count == scopes - with_index);
}

TEST_CASE("scopes too deep for the path table are counted and merged into one scope inside the scopes around them", "[paths]") {
  constexpr int depth = 2000;
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) {
    recurse(depth);
    PROF_SCOPE("beside");
  }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.collapsed_scopes > 1000);
  CHECK(profile.scopes.size() + profile.quality.collapsed_scopes == depth + 2);
  CHECK(profile.paths.size() == profile.scopes.size());
  CHECK(text_of(profile) < path_table::max_long_bytes + 200'000);
  CHECK(count_scopes(profile, "step/beside") == 1);
  CHECK(profile.paths[profile.scopes.front().path].name == path_table::merged_name);
  // The records have the real nesting.
  for (std::size_t i = 1; i + 2 < profile.scopes.size(); ++i) {
    REQUIRE(profile.scopes[i].path == profile.paths[profile.scopes[i - 1].path].parent);
    REQUIRE(profile.scopes[i].time.begin <= profile.scopes[i - 1].time.begin);
    REQUIRE(profile.scopes[i].time.end >= profile.scopes[i - 1].time.end);
  }
}

TEST_CASE("recursion has a row for each of 512 levels, and one for all deeper scopes", "[paths]") {
  constexpr std::uint64_t depth = 30'000;
  constexpr std::uint64_t steps = 3;
  profkit::session session{plain_options(0, steps)};
  for (profkit::step step : session) {
    nested_scopes deep{depth};
    deep.close(path_table::max_depth - 1);
    PROF_SCOPE("too deep");
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.scopes.size() + profile.quality.collapsed_scopes == steps * (1 + depth + 1));
  CHECK(profile.paths.size() == path_table::max_depth + 1);
  profkit::summary const& summary = report.summary();
  REQUIRE(summary.scopes.size() == path_table::max_depth + 1);
  for (std::size_t i = 1; i < path_table::max_depth; ++i) REQUIRE(summary.scopes[i].host.count == steps);
  profkit::scope_summary const& merged = summary.scopes.back();
  CHECK(merged.name == path_table::merged_name);
  CHECK(merged.depth == path_table::max_depth);
  CHECK(merged.host.count == 2 * steps);
  CHECK(profile.quality.collapsed_scopes == steps * (depth - path_table::max_depth));
  CHECK(merged.host.total <= summary.scopes[path_table::max_depth - 1].host.total);
  std::string const text = report.text();
  CHECK(text.find("nothing lost of 90,006 scopes; 88,464 of them, deeper than 512 levels, are merged") != std::string::npos);
  CHECK(report.full_text().find("88464 scopes exceed the maximum number of paths (a growing index) or of 512 levels") != std::string::npos);
}

TEST_CASE("scopes outside all others always have a path", "[paths]") {
  profkit::session session{plain_options(0, 1)};
  for (std::uint64_t i = 0; i < most + 10; ++i) PROF_SCOPE_INDEXED("item", i);
  std::thread{[] {
    PROF_SCOPE("worker");
    PROF_SCOPE("inside");
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "item") == 10);
  CHECK(count_scopes(profile, "worker") == 1);
  CHECK(count_scopes(profile, "worker/inside") == 1);
  CHECK(profile.quality.collapsed_scopes == 10);
}

TEST_CASE("index 0 is not the path without an index", "[paths]") {
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) {
    for (int i = 0; i < 3; ++i) {
      profkit::site static part{"part", __FILE__, __LINE__};
      { profkit::scope const plain{part}; }
      { profkit::scope const indexed{part, 0}; }
    }
  }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.paths.size() == 3);
  CHECK(count_scopes(profile, "step/part") == 3);
  CHECK(count_scopes(profile, "step/part_0") == 3);
}

TEST_CASE("paths are found again even if there are more than the cache holds", "[paths]") {
  constexpr std::uint64_t indices = 3000;
  profkit::session session{plain_options(0, 4)};
  for (profkit::step step : session) {
    for (std::uint64_t i = 0; i < indices; ++i) {
      PROF_SCOPE_INDEXED("layer", i);
      PROF_SCOPE("inside");
    }
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.paths.size() == 1 + 2 * indices);
  std::vector<std::uint64_t> counts(profile.paths.size());
  for (profkit::scope_record const& each : profile.scopes) ++counts[each.path];
  CHECK(std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 4; }));
}
