// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string_view>

namespace checks {

/// One of several checks in a program, called as `PROGRAM NAME ARGUMENT...`. Checks share programs because their headers take longer to
/// compile than they do.
class named_check {
 public:
  /// The arguments of `main`, beginning with the name of the check.
  using function = int (*)(int count, char** arguments);

  named_check(std::string_view name, function run) { all().emplace(name, run); }

  /// The checks of this program by name.
  static std::map<std::string_view, function>& all() {
    static std::map<std::string_view, function> result;
    return result;
  }
};

}  // namespace checks
