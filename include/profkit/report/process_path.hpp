// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace profkit::detail {

/// Replaces "%p" in a path by the process id.
inline std::string process_path(std::string pattern) {
  constexpr std::string_view placeholder = "%p";
  std::string const process = std::to_string(::getpid());
  for (std::size_t at = pattern.find(placeholder); at != std::string::npos; at = pattern.find(placeholder, at)) {
    pattern.replace(at, placeholder.size(), process);
  }
  return pattern;
}

}  // namespace profkit::detail
