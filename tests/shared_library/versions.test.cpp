// SPDX-License-Identifier: Apache-2.0
//
// Two linked libraries with the code of sessions, of two versions of profkit whose classes differ.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

#include "session_library.hpp"

namespace {

/// A step with a scope of each library on its thread and on another one, and a GPU scope of `other`.
session_outcome run_with_scopes(session_library const& library, session_library const& other) {
  struct libraries {
    session_library const& first;
    session_library const& second;
  } both{library, other};
  auto const inside = [](void* argument) {
    auto const& [first, second] = *static_cast<libraries const*>(argument);
    first.open_scope();
    second.open_scope();
    std::thread{[&] {
      second.open_scope();
      first.open_scope();
    }}.join();
    second.lose_gpu_time();
  };
  return library.run(inside, &both);
}

}  // namespace

TEST_CASE("sessions of two versions in one process record the scopes of both", "[shared library]") {
  session_library const* const pairs[][2] = {{&this_version(), &other_version()}, {&other_version(), &this_version()}};
  for (auto const& [library, other] : pairs) library->lose_gpu_time();
  for (int round = 0; round < 3; ++round) {
    for (auto const& [library, other] : pairs) {
      INFO(library->scope << " in round " << round);
      std::uint64_t const drains = library->drains();
      std::uint64_t const drains_of_other = other->drains();
      session_outcome const found = run_with_scopes(*library, *other);
      CHECK(found.error.empty());
      CHECK(found.scopes == std::vector<std::string>{"other_version", "step", "step/other_version", "step/this_version", "this_version"});
      CHECK(found.report.rfind("profkit " + library->version + " ", 0) == 0);
      CHECK(found.untimed == 1);  // the GPU scopes of another version have no times
      CHECK(library->drains() > drains);
      CHECK(other->drains() == drains_of_other);  // its functions need the profile of its own version
    }
  }
}

TEST_CASE("a session cannot begin while one of another version runs", "[shared library]") {
  auto const begin = [](void* library) {
    auto const nothing = [](void*) {};
    session_outcome const found = static_cast<session_library const*>(library)->run(nothing, nullptr);
    CHECK(found.error.find("a profkit::session runs already") != std::string::npos);
  };
  CHECK(this_version().run(begin, const_cast<session_library*>(&other_version())).error.empty());
  CHECK(other_version().run(begin, const_cast<session_library*>(&this_version())).error.empty());
}

TEST_CASE("the text of a version and the names of its symbols follow its macros", "[shared library]") {
  CHECK(this_version().macros == VERSION_IN_CMAKE);
  CHECK(other_version().macros != this_version().macros);
  for (session_library const* const each : {&this_version(), &other_version()}) {
    CHECK(each->version == each->macros);
    std::string name = "v" + each->macros;
    for (char& letter : name) letter = letter == '.' ? '_' : letter;
    CHECK(each->class_name == "N7profkit" + std::to_string(name.size()) + name + "7sessionE");
  }
}
