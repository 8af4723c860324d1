// SPDX-License-Identifier: Apache-2.0
//
// The executable and the libraries `linked_a` and `linked_b` open scopes, and so do `opened_a` and `opened_b`, which are opened with
// dlopen. Arguments of the build: OPENED_A, OPENED_B.
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "../support/profile_of.hpp"

extern "C" void* linked_a();
extern "C" void* linked_b();

namespace {

using plugin_function = void* (*)();

plugin_function open_plugin(char const* path, char const* function) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(::dlerror());
  auto const result = reinterpret_cast<plugin_function>(::dlsym(library, function));
  REQUIRE(result != nullptr);
  return result;
}

}  // namespace

TEST_CASE("the executable and all its shared libraries find one recorder", "[shared library]") {
  plugin_function const opened_a = open_plugin(OPENED_A, "opened_a");
  plugin_function const opened_b = open_plugin(OPENED_B, "opened_b");
  profkit::session session{plain_options()};
  {
    PROF_SCOPE("executable");
    for (plugin_function const each : {&linked_a, &linked_b, opened_a, opened_b}) {
      CHECK(each() == &profkit::detail::recorder);
    }
  }
  CHECK(scope_names(session.report().profile()) ==
        std::vector<std::string>{"executable/linked_a", "executable/linked_b", "executable/opened_a", "executable/opened_b", "executable"});
}
