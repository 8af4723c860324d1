// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>

#include "fake_libcupti.hpp"

/// The test interface of the imitated libcupti, which this process loads instead of the real one.
inline fake_cupti_controls& fake_cupti() {
  void* const library = ::dlopen("libcupti.so.13", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* const controls = static_cast<fake_cupti_controls*>(::dlsym(library, "fake_cupti"));
  REQUIRE(controls != nullptr);  // otherwise the real one was loaded
  return *controls;
}
