// SPDX-License-Identifier: Apache-2.0
#include <profkit/c.h>
#include <profkit/scope.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/profile_of.hpp"

static_assert(!std::is_copy_constructible_v<profkit::named_scope>);
static_assert(!std::is_constructible_v<profkit::named_scope, int>);

TEST_CASE("a scope can have a name that is known at run time", "[scope]") {
  profkit::session session{plain_options(0, 2)};
  for (profkit::step step : session) {
    std::string name = "operator " + std::to_string(step.index());
    profkit::named_scope const outer{name};
    name = "overwritten";
    profkit::named_scope const inner{"layer", 7};
    PROF_SCOPE("constant");
    profkit::named_scope const view{std::string_view{"a view"}.substr(2)};
  }
  auto const names = scope_names(session.report().profile());
  CHECK(names == std::vector<std::string>{"step/operator 0/layer_7/constant/view", "step/operator 0/layer_7/constant",
                                          "step/operator 0/layer_7", "step/operator 0", "step",  //
                                          "step/operator 1/layer_7/constant/view", "step/operator 1/layer_7/constant",
                                          "step/operator 1/layer_7", "step/operator 1", "step"});
}

TEST_CASE("a name at run time without a session is not looked up", "[scope]") {
  std::uint64_t const before = profkit::detail::sites_by_name.names;
  { profkit::named_scope const scope{"not seen by anyone"}; }
  profkit_end(profkit_begin("not seen by anyone"));
  CHECK(profkit::detail::sites_by_name.names == before);
}

TEST_CASE("C code opens scopes and samples counters by name", "[scope]") {
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) {
    static_cast<void>(step);
    profkit_scope const outer = profkit_begin("solve");
    profkit_scope const inner = profkit_begin_indexed("level", -2);
    profkit_counter("residual", 0.5);
    profkit_end(inner);
    profkit_end(outer);
  }
  auto const report = session.report();
  CHECK(scope_names(report.profile()) == std::vector<std::string>{"step/solve/level_-2", "step/solve", "step"});
  REQUIRE(report.profile().counters.size() == 1);
  CHECK(report.profile().counters[0].value == 0.5);
  CHECK(report.profile().counter_names.at(report.profile().counters[0].counter) == "residual");
}

TEST_CASE("names at run time are bounded in number, in text and in length", "[scope]") {
  auto const made = std::make_unique<profkit::detail::site_table>();
  profkit::detail::site_table& table = *made;
  SECTION("number") {
    std::vector<profkit::site const*> sites;
    for (std::uint64_t i = 0; i < profkit::detail::site_table::max_names; ++i) {
      std::string const name = std::to_string(i);
      sites.push_back(&table.find(name.data(), name.size()));
    }
    std::sort(sites.begin(), sites.end());
    CHECK(std::unique(sites.begin(), sites.end()) == sites.end());
    CHECK(std::string{table.find("8191", 4).name} == "8191");
    CHECK(table.refused == 0);
    CHECK(std::string{table.find("8192", 4).name} == "(further names)");
    CHECK(table.refused == 1);
  }
  SECTION("text") {
    std::string name(1000, 'x');
    for (int i = 0; i < 1047; ++i) CHECK(std::string{table.find((name = std::to_string(i) + name).data(), 1000).name}.size() == 1000);
    CHECK(std::string{table.find(name.data(), 900).name} == "(further names)");
  }
  SECTION("length") { CHECK(std::string{table.find(std::string(5000, 'x').data(), 5000).name} == std::string(1023, 'x')); }
  SECTION("an empty name") { CHECK(std::string{table.find("", 0).name} == "(no name)"); }
  SECTION("the place is part of the name") { CHECK(&table.find("a", 1, "one") != &table.find("a", 1, "two")); }
}

TEST_CASE("many threads get the same name for the same text", "[scope]") {
  auto const table = std::make_unique<profkit::detail::site_table>();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        std::string const name = "name " + std::to_string(i);
        if (table->find(name.data(), name.size()).name != name) ++wrong[thread];
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(wrong == std::vector<int>(4));
  CHECK(table->refused == 0);
}
