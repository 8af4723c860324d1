// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Copies an argument that it only reads.
inline std::string planted(std::vector<std::string> const& values) {
  std::string all;
  for (std::string const each : values) all += each;
  return all;
}
