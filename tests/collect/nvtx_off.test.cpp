// SPDX-License-Identifier: Apache-2.0
//
// Runs with NVTX_INJECTION64_PATH set, and PROFKIT=nvtx=off or PROFKIT=off.
#include <profkit/profkit.hpp>

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

TEST_CASE("switched off by the environment, profkit does not call NVTX", "[nvtx]") {
  { PROF_SCOPE("scope"); }
  char const* const path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr) SKIP("NVTX_INJECTION64_PATH is not set");
  CHECK(::dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr);
  CHECK((profkit::detail::recorder.flags & profkit::detail::nvtx_attached) == 0);
}
