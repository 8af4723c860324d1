// SPDX-License-Identifier: Apache-2.0
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

// A shared library that contains the code of sessions.
std::string run_one_step() {
  profkit::session session;
  { profkit::step step{session}; }
  return session.report().text();
}

void work_in_plugin() { PROF_SCOPE("in the plugin"); }
