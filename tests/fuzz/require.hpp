// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

/// Aborts the program if the condition fails, so that libFuzzer reports the input as a finding.
/// @param where such as the name of a file.
inline void require(bool is_true, char const* what, char const* where = "") {
  if (is_true) return;
  std::fprintf(stderr, "it does not hold that %s %s\n", what, where);
  std::abort();
}
