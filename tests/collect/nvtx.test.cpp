// SPDX-License-Identifier: Apache-2.0
//
// Runs with NVTX_INJECTION64_PATH set to the library of nvtx_injection.cpp.
#include <profkit/impl/record/own_thread.hpp>
#include <profkit/profkit.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
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

/// The order in which tests register names must not matter.
entries without_registrations(entries heard) {
  heard.erase(std::remove_if(heard.begin(), heard.end(), [](std::string const& each) { return each.rfind("register", 0) == 0; }),
              heard.end());
  return heard;
}

entries take_ranges() { return without_registrations(take_entries()); }

std::string const begin_of_loop = "start measure_loop in profkit";
std::string const end_of_loop = "end measure_loop in profkit";
std::string const pop = "pop in profkit";

std::string push_of_step(int number) { return "push step in profkit payload " + std::to_string(number); }

/// Opens a scope on each call.
class with_scopes final : public profkit::collector {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "with scopes"; }
  void start(profkit::profile_builder&) override { PROF_SCOPE("reading"); }
  void before_step(profkit::step_record const&) override { PROF_SCOPE("reading"); }
  void after_step(profkit::step_record const&) override {}
  void drain(profkit::profile_builder&, bool last) override {
    if (last) PROF_SCOPE("last reading");
  }
};

}  // namespace

// Must be the first test: it checks what happened before main.
TEST_CASE("including profkit.hpp switches NVTX on before main, in the domain profkit", "[nvtx]") {
  CHECK(take_entries() == entries{"domain profkit"});
}

TEST_CASE("scopes that a tool opens in its functions are no ranges and are not recorded", "[nvtx]") {
  static_cast<void>(take_entries());
  void* const library = ::dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  auto const set_on_call = reinterpret_cast<void (*)(void (*)())>(::dlsym(library, "set_on_nvtx_call"));
  REQUIRE(set_on_call != nullptr);
  static int calls = 0;
  set_on_call([] {
    ++calls;
    PROF_SCOPE("in the tool");
    PROF_SCOPE_INDEXED("indexed in the tool", 1);
    PROF_ADOPT_SCOPE("role in the tool", profkit::scope_token::current());
  });
  { PROF_SCOPE("without session"); }
  profkit::session session{plain_options()};
  {
    profkit::step const step{session};
    PROF_SCOPE("work");
    PROF_ADOPT_SCOPE("role", profkit::scope_token::current());
  }
  profkit::report const report = session.report();
  set_on_call(nullptr);
  CHECK(calls >= 8);
  CHECK(scope_names(report.profile()) == std::vector<std::string>{"step/work/work (role)", "step/work", "step"});
  std::string all;
  for (std::string const& each : take_entries()) all += each + '\n';
  CHECK(all.find("in the tool") == std::string::npos);
  CHECK(all.find("push work in profkit payload 0") != std::string::npos);
}

TEST_CASE("scopes of the library's own threads are no ranges", "[nvtx]") {
  static_cast<void>(take_entries());
  profkit::session session{plain_options()};
  profkit::detail::own_thread const own{"own", [] { PROF_SCOPE("own"); }};
  own.join();
  for (std::string const& each : take_entries()) CHECK(each.find("own") == std::string::npos);
}

TEST_CASE("every scope is a push and a pop of a registered string, with or without a session", "[nvtx]") {
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
  entries expected;
  for (int number = 0; number < 3; ++number) {
    if (number == 1) expected.push_back(begin_of_loop);
    expected.push_back(push_of_step(number));
    expected.push_back("push work in profkit payload " + std::to_string(number));
    expected.insert(expected.end(), {pop, pop});
  }
  entries const heard = take_ranges();
  CHECK(heard == expected);
  // and the session has recorded the same scopes
  CHECK(scope_names(session.report().profile()) == entries{"step/work", "step", "step/work", "step", "step/work", "step"});
}

TEST_CASE("the range measure_loop begins before the first measured step and ends when the session stops", "[nvtx]") {
  static_cast<void>(take_entries());
  {
    profkit::session session{plain_options(2, 2)};
    for (profkit::step step : session) {
    }
    CHECK(take_ranges() == entries{push_of_step(0), pop, push_of_step(1), pop, begin_of_loop, push_of_step(2), pop, push_of_step(3), pop});
    static_cast<void>(session.report());
    CHECK(take_ranges() == entries{end_of_loop});
    static_cast<void>(session.report());
    { profkit::step const late{session}; }
  }
  CHECK(take_ranges() == entries{push_of_step(4), pop});
}

TEST_CASE("without warm-up measure_loop begins before the first step, without report() it ends with the session", "[nvtx]") {
  static_cast<void>(take_entries());
  {
    profkit::session session{plain_options(0, 1)};
    CHECK(take_ranges().empty());
    for (profkit::step step : session) {
    }
  }
  CHECK(take_ranges() == entries{begin_of_loop, push_of_step(0), pop, end_of_loop});
}

TEST_CASE("a session that measures no step opens no measure_loop", "[nvtx]") {
  static_cast<void>(take_entries());
  {
    profkit::session session{plain_options(2, 1)};
    for (int i = 0; i < 2; ++i) profkit::step const warmup{session};
    static_cast<void>(session.report());
  }
  CHECK(take_ranges() == entries{push_of_step(0), pop, push_of_step(1), pop});
  profkit::options off = plain_options();
  off.enabled = false;
  {
    profkit::session session{off};
    for (profkit::step step : session) {
    }
  }
  CHECK(take_ranges() == entries{push_of_step(0), pop});
}

TEST_CASE("readings of collectors before a measured step are inside measure_loop, those of the session's thread are not shown", "[nvtx]") {
  profkit::session session{plain_options(0, 1)};
  session.collect(with_scopes{});
  static_cast<void>(take_entries());
  for (profkit::step step : session) {
  }
  static_cast<void>(session.report());
  entries heard = take_ranges();
  for (std::string& each : heard) each = each.substr(0, each.find(" payload"));
  CHECK(heard == entries{begin_of_loop, "push reading in profkit", pop, "push step in profkit", pop, end_of_loop});
}

TEST_CASE("threads that use a name for the first time concurrently all push that name", "[nvtx]") {
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

TEST_CASE("the range of an adopting scope has the same text as the report", "[nvtx]") {
  profkit::session session{plain_options(0, 1)};
  static_cast<void>(take_entries());
  for (profkit::step step : session) {
    profkit::scope_token token;
    profkit::scope_token again;
    {
      PROF_SCOPE("forward");
      PROF_SCOPE_INDEXED("layer", 3);
      token = profkit::scope_token::current();
    }
    for (int i = 0; i < 2; ++i) {
      PROF_ADOPT_SCOPE("backward", token);
      PROF_SCOPE_INDEXED("inside", 7);
      again = profkit::scope_token::current();
    }
    { PROF_ADOPT_SCOPE("again", again); }
    PROF_ADOPT_SCOPE("of none", profkit::scope_token{});
  }
  profkit::report const report = session.report();
  entries const heard = take_entries();
  for (profkit::scope_summary const& row : report.summary().scopes) {
    CHECK(std::count(heard.begin(), heard.end(), "push " + row.name + " in profkit payload 0") ==
          static_cast<std::ptrdiff_t>(row.host.count));
  }
  CHECK(std::count(heard.begin(), heard.end(), "push forward/layer_3 (backward) in profkit payload 0") == 2);
  CHECK(std::count(heard.begin(), heard.end(), "register forward/layer_3 (backward) in profkit") == 1);
  CHECK(std::count(heard.begin(), heard.end(), "push forward/layer_3 (backward)/inside_7 (again) in profkit payload 0") == 1);
  CHECK(std::count(heard.begin(), heard.end(), "push of none in profkit payload 0") == 1);
  CHECK(std::count(heard.begin(), heard.end(), pop) ==
        std::count_if(heard.begin(), heard.end(), [](std::string const& each) { return each.rfind("push", 0) == 0; }));
}

TEST_CASE("the text of an adopting scope's range and the text of its path have bounded length", "[nvtx]") {
  profkit::session session{plain_options()};
  static_cast<void>(take_entries());
  profkit::scope_token token;
  for (int i = 0; i < 300; ++i) {
    PROF_SCOPE("a name of some length");
    PROF_ADOPT_SCOPE("again", token);
    token = profkit::scope_token::current();
  }
  static_cast<void>(session.report());
  std::size_t longest = 0;
  for (std::string const& each : take_entries()) longest = std::max(longest, each.size());
  CHECK(longest > 500);
  CHECK(longest < 600);
}

// Must be the last test: it fills the table.
TEST_CASE("if the table of registered strings is full, the text itself is sent, so that memory stays bounded", "[nvtx]") {
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
