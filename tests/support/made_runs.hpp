// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "made_kinds.hpp"
#include "made_loop.hpp"
#include "made_series.hpp"

// Runs with long reports: of many steps, and of many scopes.

/// 3 warm-up steps and 2,000 measured ones of about 10 ms; from step 1,203 on they take 12 ms.
inline profkit::profile long_run() {
  made_loop made;
  normal_numbers numbers{5};
  double begin = 0.0;
  for (int i = 0; i < 2003; ++i) {
    double const length = (i < 1203 ? 9.0 : 11.0) + 0.05 * numbers.next();
    double const done = made.launch(begin + 0.4, length);
    made.step(begin, done + 0.5, i < 3);
    begin = done + 0.51;
  }
  return std::move(made.profile);
}

/// 20 steps with 60 parts of 50 scopes each, whose names have 200 characters, and 60 kernels.
inline profkit::profile run_of_many_paths() {
  made_kinds made;
  std::string const tail(190, 'x');
  for (int step = 0; step < 20; ++step) {
    std::vector<made_part> parts;
    for (int part = 0; part < 60; ++part) {
      std::string const name = "part_" + std::to_string(part) + tail;
      std::uint32_t const path = made.path_of(0, name);
      double const begin = made.now() + 0.05 * part;
      for (int inner = 0; inner < 50; ++inner) {
        double const at = begin + 0.001 * inner;
        made.scope(made.path_of(path, "inner_" + std::to_string(inner) + tail), 0, at, at + 0.001);
      }
      parts.push_back({name, 0.05, 0.01 + 0.0005 * part});
    }
    made.step(parts, step < 2);
  }
  return std::move(made.profile);
}
