// SPDX-License-Identifier: Apache-2.0
//
// A scope before main, and one in a session. For linkers.py.
#include <profkit/report.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <cstdio>

namespace {

struct before_main {
  before_main() { PROF_SCOPE("before main"); }
} const first;

}  // namespace

int main() {
  profkit::options options;
  options.warmup_steps = 0;
  profkit::session session{options};
  { PROF_SCOPE("work"); }
  std::printf("%zu scope\n", session.report().profile().scopes.size());
}
