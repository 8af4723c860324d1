// SPDX-License-Identifier: Apache-2.0
#include <profkit/host_swap.hpp>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>

#include "../support/profile_of.hpp"
#include "../support/temporary_folder.hpp"

TEST_CASE("swapped-out memory is in the report", "[memory]") {
  temporary_folder const folder{"host-swap"};
  std::string const file = folder.path / "status";
  std::ofstream{file} << "VmRSS:\t 8 kB\nVmSwap:\t 3 kB\n";
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::host_swap{file});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(session.report().summary().memory.at(0).last_bytes == 3072);
}

TEST_CASE("a status file without VmSwap is the reason why host swap is not collected", "[memory]") {
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::host_swap{"/dev/null"});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(session.report().summary().collectors.at(0).reason == "cannot find VmSwap in /dev/null");
}
