// SPDX-License-Identifier: Apache-2.0
//
// The executable and the linked libraries `linked_a` and `linked_b` open scopes. So do libraries opened with dlopen: `opened_a` and
// `opened_b`, `closed`, which is closed again, and libraries with their own recorder: `hidden` by a version script, `symbolic` by
// -Bsymbolic, `excluded` by --exclude-libs, `deep` by RTLD_DEEPBIND, `moved` by dlmopen. Definitions of the build: OPENED_A, ... , with the
// paths.
#include <profkit/impl/session/session_recording.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/sanitizers.hpp"

extern "C" void* linked_a();
extern "C" void* linked_b();

namespace {

using plugin_function = void* (*)();
using take_function = void (*)(profkit::scope_token*);
using adopt_function = void (*)(profkit::scope_token const*);

template <class Function = plugin_function>
Function open_plugin(char const* path, char const* function) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(::dlerror());
  auto const result = reinterpret_cast<Function>(::dlsym(library, function));
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

TEST_CASE("a token taken in the executable is adopted in a shared library, and the other way round", "[shared library]") {
  profkit::session session{plain_options()};
  profkit::scope_token of_executable;
  {
    PROF_SCOPE("executable");
    of_executable = profkit::scope_token::current();
  }
  profkit::scope_token of_a;
  open_plugin<take_function>(OPENED_A, "opened_a_take")(&of_a);
  std::thread{open_plugin<adopt_function>(OPENED_A, "opened_a_adopt"), &of_executable}.join();
  std::thread{open_plugin<adopt_function>(OPENED_B, "opened_b_adopt"), &of_a}.join();
  std::thread{[of_a] { PROF_ADOPT_SCOPE("work in executable", of_a); }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == 5);
  CHECK(count_scopes(profile, "executable (work in opened_a)") == 1);
  CHECK(count_scopes(profile, "opened_a (work in opened_b)") == 1);
  CHECK(count_scopes(profile, "opened_a (work in executable)") == 1);
}

TEST_CASE("scopes of a library are in the report even if the library was closed before", "[shared library]") {
  profkit::session session{plain_options()};
  std::promise<void> closed;
  std::promise<void> recorded;
  void* const library = ::dlopen(CLOSED, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto const open_scope = reinterpret_cast<plugin_function>(::dlsym(library, "closed"));
  REQUIRE(open_scope != nullptr);
  std::thread outlives_it{[&] {
    open_scope();
    recorded.set_value();
    closed.get_future().wait();
  }};
  recorded.get_future().wait();
  {
    profkit::step const step{session};
    open_scope();
    CHECK(::dlclose(library) == 0);
  }
  closed.set_value();
  outlives_it.join();
  CHECK(count_scopes(session.report().profile(), "closed") == 1);
  CHECK(count_scopes(session.report().profile(), "step/closed") == 1);
  CHECK(::dlopen(CLOSED, RTLD_NOW | RTLD_NOLOAD) != nullptr);
}

TEST_CASE("a plug-in whose file was replaced while it was loaded is named, because dlopen returns its old code", "[shared library]") {
  namespace fs = std::filesystem;
  fs::path const folder = fs::absolute("hot_reload");
  fs::remove_all(folder);
  fs::create_directory(folder);
  fs::path const plugin = folder / "plugin.so";
  fs::copy_file(OPENED_A, plugin);
  fs::copy_file(OPENED_B, folder / "new.so");
  profkit::session session{plain_options()};
  REQUIRE(open_plugin<plugin_function>(plugin.c_str(), "opened_a") != nullptr);
  fs::rename(folder / "new.so", plugin);
  void* const again = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(again != nullptr);
  CHECK(::dlsym(again, "opened_a") != nullptr);
  profkit::report const report = session.report();
  auto const& all = report.profile().collectors;
  auto const found = std::find_if(all.begin(), all.end(), [](auto const& each) { return each.name == "new version of plugin.so"; });
  REQUIRE(found != all.end());
  CHECK(found->status == "not collected");
  CHECK(found->reason.find("another file has replaced " + plugin.string()) == 0);
  CHECK(report.text().find("new version of plugin.so") != std::string::npos);
}

TEST_CASE("the report names each library that has its own recorder, however it was linked or opened", "[shared library]") {
  struct library {
    char const* path;
    char const* function;
    int flags;
  };
  std::vector<library> libraries{{HIDDEN, "hidden", 0}, {SYMBOLIC, "symbolic", 0}, {EXCLUDED, "excluded", 0}};
  constexpr int in_namespace = -1;
  if (!under_thread_sanitizer && !under_address_sanitizer) {  // which refuse these
    libraries.push_back({DEEP, "deep", RTLD_DEEPBIND});
    libraries.push_back({MOVED, "moved", in_namespace});
  }
  profkit::session session{plain_options()};
  { PROF_SCOPE("executable"); }
  for (library const& each : libraries) {
    INFO(each.path);
    void* const opened = each.flags == in_namespace ? ::dlmopen(LM_ID_NEWLM, each.path, RTLD_NOW | RTLD_LOCAL)
                                                    : ::dlopen(each.path, RTLD_NOW | RTLD_LOCAL | each.flags);
    if (opened == nullptr) FAIL(::dlerror());
    auto const open_scope = reinterpret_cast<plugin_function>(::dlsym(opened, each.function));
    REQUIRE(open_scope != nullptr);
    CHECK(open_scope() != &profkit::detail::recorder);
  }
  profkit::report const report = session.report();
  CHECK(scope_names(report.profile()) == std::vector<std::string>{"executable"});
  std::vector<std::string> expected;
  for (library const& each : libraries) expected.push_back(std::string{"scopes of libprofkit_"} + each.function + ".so");
  std::vector<std::string> found;
  for (profkit::collector_record const& each : report.profile().collectors) {
    if (each.name.rfind("scopes of ", 0) != 0) continue;
    found.push_back(each.name);
    CHECK(each.status == "not collected");
    CHECK(each.reason == profkit::detail::why_not_shared());
  }
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  CHECK(found == expected);
}
