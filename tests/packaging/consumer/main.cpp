// SPDX-License-Identifier: Apache-2.0
#include <profkit/profkit.hpp>

#include <fmt/format.h>

int main() {
  profkit::session session;
  for (profkit::step step : session) {
    PROF_SCOPE("consumed");
  }
  fmt::print("{}\n", session.report());
}
