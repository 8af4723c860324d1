// SPDX-License-Identifier: Apache-2.0
//
// Runs with NVTX_INJECTION64_PATH set to the library of nvtx_injection.cpp.
#include <profkit/profkit.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

using entries = std::vector<std::string>;

void open_scope_of_light_unit();  // in nvtx_light_unit.cpp, which includes scope.hpp alone

namespace {

entries take_entries() {
  char const* const path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr) SKIP("NVTX_INJECTION64_PATH is not set");
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) FAIL("NVTX did not load " << path);
  auto const take = reinterpret_cast<entries* (*)()>(::dlsym(library, "take_nvtx_entries"));
  REQUIRE(take != nullptr);
  return *std::unique_ptr<entries>{take()};
}

}  // namespace

// The first test: it sees what happened before main.
TEST_CASE("including profkit.hpp switches NVTX on before main, in the domain profkit", "[nvtx]") {
  CHECK(take_entries() == entries{"domain profkit"});
}

TEST_CASE("every scope is a push and a pop of a registered string, session or none", "[nvtx]") {
  static_cast<void>(take_entries());
  {
    PROF_SCOPE("outer");
    for (int i = 0; i < 2; ++i) {
      PROF_SCOPE_INDEXED("layer", i);
      open_scope_of_light_unit();
    }
    for (int i = 0; i < 2; ++i) PROF_SCOPE_INDEXED("again", 5);
  }
  CHECK(take_entries() == entries{"register outer in profkit", "push outer in profkit payload 0",           //
                                  "register layer_0 in profkit", "push layer_0 in profkit payload 0",       //
                                  "register light in profkit", "push light in profkit payload 0",           //
                                  "pop in profkit", "pop in profkit",                                       //
                                  "register layer_1 in profkit", "push layer_1 in profkit payload 0",       //
                                  "push light in profkit payload 0", "pop in profkit", "pop in profkit",    //
                                  "register again_5 in profkit", "push again_5 in profkit payload 0",       //
                                  "pop in profkit", "push again_5 in profkit payload 0", "pop in profkit",  //
                                  "pop in profkit"});
}

TEST_CASE("the payload is the number of the step", "[nvtx]") {
  static_cast<void>(take_entries());
  profkit::session session{plain_options(1, 2)};
  for (profkit::step step : session) PROF_SCOPE("work");
  entries heard = take_entries();
  heard.erase(std::remove_if(heard.begin(), heard.end(), [](std::string const& each) { return each.rfind("register", 0) == 0; }),
              heard.end());
  entries expected;
  for (char const* const number : {"0", "1", "2"}) {
    expected.push_back("push step in profkit payload " + std::string{number});
    expected.push_back("push work in profkit payload " + std::string{number});
    expected.insert(expected.end(), {"pop in profkit", "pop in profkit"});
  }
  CHECK(heard == expected);
  // and the session has recorded the same scopes
  CHECK(scope_names(session.report().profile()) == entries{"step/work", "step", "step/work", "step", "step/work", "step"});
}

TEST_CASE("threads that meet at a name for the first time all push that name", "[nvtx]") {
  static_cast<void>(take_entries());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) PROF_SCOPE_INDEXED("shared", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  entries const heard = take_entries();
  for (int i = 0; i < 100; ++i) {
    std::string const name = "shared_" + std::to_string(i) + " in profkit";
    CHECK(std::count(heard.begin(), heard.end(), "register " + name) == 1);
    CHECK(std::count_if(heard.begin(), heard.end(),
                        [&](std::string const& each) { return each.rfind("push", 0) == 0 && each.find(name) != std::string::npos; }) == 4);
  }
}

// The last test: it fills the table.
TEST_CASE("more indices than the table holds do not fill memory: past the table the text itself is sent", "[nvtx]") {
  static_cast<void>(take_entries());
  constexpr int indices = 20000;
  for (int i = 0; i < indices; ++i) PROF_SCOPE_INDEXED("many", i);
  entries const heard = take_entries();
  auto const count = [&](std::string const& start) {
    return std::count_if(heard.begin(), heard.end(), [&](std::string const& each) { return each.rfind(start, 0) == 0; });
  };
  CHECK(count("push ") == indices);
  CHECK(count("push many_") + count("push unregistered many_") == indices);
  CHECK(count("register ") == count("push many_"));
  CHECK(count("pop ") == indices);
}
