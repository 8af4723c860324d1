// SPDX-License-Identifier: Apache-2.0
#include <profkit/profkit.hpp>

#include <fmt/format.h>

// Checks that the headers, fmt and the code of sessions are found.
int main() {
  profkit::session session;
  for (profkit::step step : session) {
    PROF_SCOPE("work");
  }
  fmt::print("{}\n", session.report());
}
