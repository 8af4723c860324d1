// SPDX-License-Identifier: Apache-2.0
//
//     PROGRAM NAME ARGUMENT...      runs the check with this name

#include <cstdio>

#include "named_check.hpp"

int main(int count, char** arguments) {
  auto const& all = checks::named_check::all();
  auto const found = count > 1 ? all.find(arguments[1]) : all.end();
  if (found != all.end()) return found->second(count - 1, arguments + 1);
  std::fprintf(stderr, "usage: %s NAME ARGUMENT...; NAME is one of", arguments[0]);
  for (auto const& [name, run] : all) std::fprintf(stderr, " %.*s", static_cast<int>(name.size()), name.data());
  std::fprintf(stderr, "\n");
  return 2;
}
