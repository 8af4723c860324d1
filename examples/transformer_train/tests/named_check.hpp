// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string_view>

namespace checks {

/// One of several checks in a program, `PROGRAM NAME ARGUMENT...`: the headers of checks take longer to compile than the checks.
class named_check {
 public:
  /// The arguments of a `main`, the first of which is the name of the check.
  using function = int (*)(int count, char** arguments);

  named_check(std::string_view name, function run) { all().emplace(name, run); }

  /// Those of this program, by their names.
  static std::map<std::string_view, function>& all() {
    static std::map<std::string_view, function> result;
    return result;
  }
};

}  // namespace checks
