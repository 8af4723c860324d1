// SPDX-License-Identifier: Apache-2.0
#include <profkit/options.hpp>
#include <profkit/scope.hpp>
#include <profkit/version.hpp>

#include <fmt/format.h>

// Checks that the headers and fmt are found. Sessions are tested where they are built.
int main() {
  PROF_SCOPE("main");
  fmt::print("profkit {}.{}.{}\n", PROFKIT_VERSION_MAJOR, PROFKIT_VERSION_MINOR, PROFKIT_VERSION_PATCH);
  return profkit::options{}.enabled ? 0 : 1;
}
