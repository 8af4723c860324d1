// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

/// The name of the innermost open scope at each call; "-": none.
std::vector<std::string>& seen() {
  static thread_local std::vector<std::string> names;
  return names;
}

void see() noexcept {
  profkit::scope_token const open = profkit::scope_token::current();
  seen().emplace_back(open ? open.node()->where().name : "-");
}

profkit::site& default_site() {
  static profkit::site value{"rest", __FILE__, __LINE__};
  return value;
}

}  // namespace

TEST_CASE("a listener is called before each beginning and end of a scope or step, with the scopes open until then", "[scope_listener]") {
  seen().clear();
  profkit::session session{plain_options()};
  {
    profkit::scope_listener const listener{see};
    REQUIRE(listener.is_attached());
    profkit::step step{session};
    PROF_SCOPE("outer");
    { PROF_SCOPE_INDEXED("inner", 3); }
    { PROF_ADOPT_SCOPE("role", profkit::scope_token::current()); }
  }
  CHECK(seen() == std::vector<std::string>{"-", "step", "outer", "inner", "outer", "role", "outer", "step"});
}

TEST_CASE("a listener receives the ends of scopes that began before it, and no call after its removal", "[scope_listener]") {
  seen().clear();
  profkit::session session{plain_options()};
  {
    PROF_SCOPE("outer");
    {
      PROF_SCOPE("before");
      profkit::scope_listener const listener{see};
      { PROF_SCOPE("inner"); }
    }
    { PROF_SCOPE("after"); }
  }
  CHECK(seen() == std::vector<std::string>{"before", "inner"});
  seen().clear();
  static profkit::site site{"long", __FILE__, __LINE__};
  profkit::scope_listener* listener = nullptr;
  {
    profkit::scope const open{site};
    listener = new profkit::scope_listener{see};
  }
  delete listener;
  CHECK(seen() == std::vector<std::string>{"long"});
}

TEST_CASE("there is one listener at a time, for all threads", "[scope_listener]") {
  profkit::scope_listener const first{see};
  profkit::scope_listener const second{see};
  CHECK(first.is_attached());
  CHECK_FALSE(second.is_attached());
  std::size_t calls = 0;
  std::thread{[&] {
    { PROF_SCOPE("elsewhere"); }
    calls = seen().size();
  }}.join();
  CHECK(calls == 2);  // also without a session
}

TEST_CASE("launches of a thread outside scopes belong to its default scope once that is set", "[default_scope]") {
  profkit::session session{plain_options()};
  {
    profkit::step step{session};
    PROF_SCOPE("backward");
    profkit::scope_token const under = profkit::scope_token::current();
    std::thread{[&] {
      { PROF_SCOPE("first"); }
      CHECK_FALSE(profkit::scope_token::of_launches());
      profkit::set_default_scope(default_site(), under);
      profkit::set_default_scope(default_site(), under);
      CHECK(profkit::scope_token::of_launches().node() != nullptr);
      CHECK_FALSE(profkit::scope_token::current());
      PROF_SCOPE("second");
      CHECK(profkit::scope_token::of_launches().node() == profkit::scope_token::current().node());
    }}.join();
  }
  profkit::profile const profile = session.report().profile();
  std::vector<std::string> rests;
  for (profkit::thread_record const& thread : profile.threads) {
    rests.push_back(thread.default_path == profkit::path_record::no_parent ? "-" : path_name(profile, thread.default_path));
  }
  CHECK(std::count(rests.begin(), rests.end(), "step/backward/rest") == 1);
  for (profkit::scope_record const& scope : profile.scopes) {
    std::string const name = path_name(profile, scope.path);
    if (name == "first") CHECK(rests.at(scope.thread) == "-");
    if (name == "second") CHECK(rests.at(scope.thread) == "step/backward/rest");
  }
}

TEST_CASE("without a session a thread has no default scope", "[default_scope]") {
  std::thread{[] {
    profkit::set_default_scope(default_site(), {});
    CHECK_FALSE(profkit::scope_token::of_launches());
  }}.join();
}
