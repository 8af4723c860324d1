// SPDX-License-Identifier: Apache-2.0
#include <profkit/host_swap.hpp>

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "../support/profile_of.hpp"

TEST_CASE("swapped-out memory is in the report", "[memory]") {
  std::ofstream{"host_swap.status"} << "VmRSS:\t 8 kB\nVmSwap:\t 3 kB\n";
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::host_swap{"host_swap.status"});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(session.report().summary().memory.at(0).last_bytes == 3072);
}

TEST_CASE("a status file without VmSwap is the reason why host swap is not collected", "[memory]") {
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::host_swap{"/dev/null"});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(session.report().summary().collectors.at(0).reason == "cannot find VmSwap in /dev/null");
}
