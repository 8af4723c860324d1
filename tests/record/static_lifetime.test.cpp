// SPDX-License-Identifier: Apache-2.0
//
// Scopes before and after main, and a session that ends after main.
#include <profkit/profkit.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

/// Destroyed after the session below, which was constructed later.
struct outer_static {
  outer_static() { PROF_SCOPE("before main"); }
  ~outer_static() {
    PROF_SCOPE("after the session");
    std::thread{[] { PROF_SCOPE("on a thread, after main"); }}.join();
    std::puts("scopes after main");
  }
} const first;

struct static_session {
  profkit::session session{profkit::options{}};
  ~static_session() {
    { PROF_SCOPE("in the session, after main"); }
    profkit::profile const profile = session.report().profile();
    if (profile.scopes.size() == 2 && profile.quality.open_scopes == 0) return;
    std::fprintf(stderr, "expected 2 scopes, have %zu\n", profile.scopes.size());
    std::_Exit(1);
  }
} const second;

}  // namespace

int main() { PROF_FUNCTION(); }
