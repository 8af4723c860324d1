// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <thread>

#include "../support/profile_of.hpp"
#include "../support/sanitizers.hpp"

namespace {

/// The result of the child: 0 on success.
int in_child(profkit::session& of_parent) {
  PROF_SCOPE("in the child, without a session");
  { profkit::step const step{of_parent}; }
  profkit::session session{plain_options()};
  { PROF_SCOPE("own session"); }
  std::thread{[] { PROF_SCOPE("own thread"); }}.join();
  profkit::profile const profile = session.report().profile();
  if (count_scopes(profile, "own session") != 1) return 1;
  if (count_scopes(profile, "own thread") != 1) return 2;
  if (profile.scopes.size() != 2) return 3;
  if (profile.threads.size() != 2 || profile.threads[0].system_id != static_cast<std::uint64_t>(::getpid())) return 4;
  if (profile.threads[0].name.empty() || profile.threads[1].name.empty()) return 5;
  return 0;
}

}  // namespace

TEST_CASE("after fork the child has no session, can create one, and does not affect the parent's", "[fork]") {
  if (under_thread_sanitizer) SKIP("ThreadSanitizer ends a child that starts a thread");
  profkit::session session{plain_options(0, 2)};
  { PROF_SCOPE("before"); }
  std::thread{[] { PROF_SCOPE("thread of the parent"); }}.join();
  ::pid_t const child = ::fork();
  if (child == 0) ::_exit(in_child(session));
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  { PROF_SCOPE("after"); }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "before") == 1);
  CHECK(count_scopes(profile, "after") == 1);
  CHECK(count_scopes(profile, "thread of the parent") == 1);
  CHECK(profile.scopes.size() == 3);
}
