// SPDX-License-Identifier: Apache-2.0
//
// A machine whose libcupti cannot be opened: an invalid file comes first in the library path.
#include <profkit/cupti.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <string>

#include "../support/profile_of.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

profkit::collector_status collected() {
  profkit::session session{plain_options()};
  return session.collect(profkit::cupti_kernels()).status();
}

}  // namespace

TEST_CASE("without libcupti the report states the reason, unless PROFKIT_CUPTI_PATH names one", "[cupti]") {
  ::unsetenv("PROFKIT_CUPTI_PATH");
  CHECK_THAT(collected().reason, ContainsSubstring("libcupti.so.13 cannot be opened, and PROFKIT_CUPTI_PATH does not say where it is"));
  ::setenv("PROFKIT_CUPTI_PATH", "libcupti.so", 1);
  CHECK_THAT(collected().reason, ContainsSubstring("must be an absolute path") && ContainsSubstring("\"libcupti.so\""));
  ::setenv("PROFKIT_CUPTI_PATH", "/nowhere/libcupti.so", 1);
  CHECK_THAT(collected().reason, ContainsSubstring("/nowhere/libcupti.so"));
  ::setenv("PROFKIT_CUPTI_PATH", FAKE_LIBCUPTI, 1);
  CHECK(collected().works);
}
