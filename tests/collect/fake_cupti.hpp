// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>

#include "fake_libcupti.hpp"

/// What the imitated libcupti, which this process finds in place of the real one, offers to tests.
inline fake_cupti_controls& fake_cupti() {
  void* const library = ::dlopen("libcupti.so.13", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* const controls = static_cast<fake_cupti_controls*>(::dlsym(library, "fake_cupti"));
  REQUIRE(controls != nullptr);  // else the real one was found
  return *controls;
}
