// SPDX-License-Identifier: Apache-2.0
#include <profkit/session.hpp>

#ifndef PROFKIT_CODE_ELSEWHERE
#error "who links profkit::code has PROFKIT_CODE_ELSEWHERE"
#endif

// A shared library that has the code of sessions within it.
std::string run_one_step() {
  profkit::session session;
  { profkit::step step{session}; }
  return session.report().text();
}
