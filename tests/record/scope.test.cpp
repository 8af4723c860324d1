// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/profile_of.hpp"

static_assert(!std::is_copy_constructible_v<profkit::scope>);
static_assert(!std::is_move_constructible_v<profkit::scope>);
static_assert(!std::is_copy_assignable_v<profkit::scope>);
static_assert(std::is_nothrow_constructible_v<profkit::scope, profkit::site&>);
static_assert(std::is_nothrow_destructible_v<profkit::scope>);

namespace {

void a_function() { PROF_FUNCTION(); }

template <class T>
struct engine {
  engine() { PROF_FUNCTION(); }
  void run() const {
    PROF_FUNCTION();
    [&](auto) {
      PROF_FUNCTION();
      [] { PROF_FUNCTION(); }();
    }(1);
  }
  template <class U>
  U apply(U value) {
    PROF_FUNCTION();
    return value;
  }
  void operator()(int) { PROF_FUNCTION(); }
  static engine* make(std::vector<T> const&) {
    PROF_FUNCTION();
    return nullptr;
  }
};

namespace outer_space {
namespace {
std::string in_unnamed_namespace() { return profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__).text; }
}  // namespace
std::string* (*returns_a_function(std::string& name))(int) {
  name = profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__).text;
  return nullptr;
}
template <int N>
std::enable_if_t<(N > 2), std::string> greater() {
  return profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__).text;
}
template <class T>
auto shifted(T value, std::string& name) -> decltype(value << 1) {
  name = profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__).text;
  return value << 1;
}
struct compared {
  std::string name{};
  bool operator<(compared& other) const {
    other.name = profkit::detail::short_function_name(__PRETTY_FUNCTION__, __func__).text;
    return true;
  }
};
}  // namespace outer_space

void inner() { PROF_SCOPE("inner"); }

void outer() {
  PROF_SCOPE("outer");
  inner();
  inner();
}

template <class Work>
profkit::profile record(Work&& work) {
  profkit::session session{plain_options()};
  work();
  return session.report().profile();
}

}  // namespace

TEST_CASE("scopes are recorded under the scope that is open around them", "[scope]") {
  profkit::profile const profile = record([] { outer(); });
  CHECK(scope_names(profile) == std::vector<std::string>{"outer/inner", "outer/inner", "outer"});
}

TEST_CASE("the same function under two parents gives two paths", "[scope]") {
  profkit::profile const profile = record([] {
    inner();
    outer();
  });
  CHECK(count_scopes(profile, "inner") == 1);
  CHECK(count_scopes(profile, "outer/inner") == 2);
}

TEST_CASE("a scope has its source location", "[scope]") {
  profkit::profile const profile = record([] { inner(); });
  REQUIRE(profile.paths.size() == 1);
  CHECK(profile.paths[0].file.find("scope.test.cpp") != std::string::npos);
  CHECK(profile.paths[0].line > 0);
}

TEST_CASE("the index of a scope can be any number", "[scope]") {
  profkit::profile const profile = record([] {
    for (std::int64_t const index : {std::int64_t{0}, std::int64_t{11}, std::int64_t{-1}, INT64_MAX}) {
      PROF_SCOPE_INDEXED("layer", index);
      inner();
    }
    unsigned char const small = 3;
    PROF_SCOPE_INDEXED("layer", small);
  });
  CHECK(count_scopes(profile, "layer_0/inner") == 1);
  CHECK(count_scopes(profile, "layer_11") == 1);
  CHECK(count_scopes(profile, "layer_-1") == 1);
  CHECK(count_scopes(profile, "layer_9223372036854775807") == 1);
  CHECK(count_scopes(profile, "layer_3") == 1);
}

TEST_CASE("PROF_FUNCTION is named after the function", "[scope]") {
  CHECK(scope_names(record([] { a_function(); })) == std::vector<std::string>{"a_function"});
}

TEST_CASE("PROF_FUNCTION in a class shows the class, and in a lambda the function around it", "[scope]") {
  std::vector<std::string> names = scope_names(record([] {
    engine<std::vector<int>> made;
    made.run();
    made.apply(1.0F);
    made(1);
    made.make({});
  }));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"engine::apply", "engine::engine", "engine::make", "engine::operator()", "engine::run",
                                          "engine::run/engine::run lambda", "engine::run/engine::run lambda/engine::run lambda"});
}

TEST_CASE("PROF_FUNCTION finds names among operators, in function pointers and in unnamed namespaces", "[scope]") {
  std::string name;
  outer_space::compared other;
  CHECK(outer_space::in_unnamed_namespace() == "(anonymous)::in_unnamed_namespace");
  CHECK(outer_space::greater<3>() == "outer_space::greater");
  CHECK(outer_space::returns_a_function(name) == nullptr);
  CHECK(name == "outer_space::returns_a_function");
  CHECK(outer_space::shifted(1, name) == 2);
  CHECK(name == "outer_space::shifted");
  CHECK(outer_space::compared{} < other);
  CHECK(other.name == "compared::operator<");
}

TEST_CASE("if PROF_FUNCTION cannot parse a name, it uses the name of the function alone", "[scope]") {
  constexpr profkit::detail::function_name unknown = profkit::detail::short_function_name("a spelling of some other compiler", "run");
  CHECK(std::string{unknown.text} == "run");
  std::string const longest(200, 'x');
  CHECK(std::string{profkit::detail::short_function_name(("void " + longest + "()").c_str(), longest.c_str()).text}.size() == 127);
}

TEST_CASE("PROF_COUNTER keeps every sample with its time", "[scope]") {
  profkit::profile const profile = record([] {
    for (int i = 0; i < 3; ++i) PROF_COUNTER("loss", 2.5 - i);
    PROF_COUNTER("other", 7U);
  });
  REQUIRE(profile.counters.size() == 4);
  CHECK(profile.counter_names == std::vector<std::string>{"loss", "other"});
  CHECK(profile.counters[0].value == 2.5);
  CHECK(profile.counters[2].value == 0.5);
  CHECK(profile.counters[3].value == 7.0);
  CHECK(profile.counters[3].counter == 1);
  CHECK(profile.counters[0].time <= profile.counters[1].time);
}

TEST_CASE("without a session nothing is recorded", "[scope]") {
  outer();
  profkit::profile const profile = record([] { inner(); });
  CHECK(scope_names(profile) == std::vector<std::string>{"inner"});
}

TEST_CASE("a scope that was opened in an earlier session does not disturb the next", "[scope]") {
  {
    profkit::session first{plain_options()};
    PROF_SCOPE("across");
    CHECK(first.report().profile().quality.open_scopes == 1);
    profkit::session second{plain_options()};
    inner();
    CHECK(scope_names(second.report().profile()) == std::vector<std::string>{"inner"});
  }
  profkit::session third{plain_options()};
  outer();
  profkit::profile const profile = third.report().profile();
  CHECK(scope_names(profile) == std::vector<std::string>{"outer/inner", "outer/inner", "outer"});
  CHECK(profile.quality.open_scopes == 0);
}

TEST_CASE("a scope on another thread starts at the root, and its thread is named", "[scope]") {
  profkit::profile const profile = record([] {
    PROF_SCOPE("main work");
    std::thread{[] { inner(); }}.join();
  });
  CHECK(count_scopes(profile, "inner") == 1);
  CHECK(count_scopes(profile, "main work") == 1);
  REQUIRE(profile.threads.size() == 2);
  CHECK(profile.threads[0].system_id != profile.threads[1].system_id);
  CHECK_FALSE(profile.threads[0].name.empty());
}
