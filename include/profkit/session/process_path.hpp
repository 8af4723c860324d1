// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../profile/file_access.hpp"

namespace profkit::detail {

/// Replaces the placeholders of a path: "%p" by the process id, "%r" by the rank, "%h" by the host name. Slashes in the host name become
/// "_". The result is absolute, so that it stays the same if the program changes its directory.
inline std::string process_path(std::string_view pattern, std::uint32_t rank) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string result;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    char const what = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (what == 'p') {
      result += std::to_string(::getpid());
    } else if (what == 'r') {
      result += std::to_string(rank);
    } else if (what == 'h') {
      std::string name = host;
      std::replace(name.begin(), name.end(), '/', '_');
      result += name;
    } else {
      result += pattern[at];
      continue;
    }
    ++at;
  }
  return absolute_path(result);
}

/// Whether processes of one run that use this path get different paths.
[[nodiscard]] inline bool differs_by_process(std::string_view pattern) noexcept {
  return pattern.find("%p") != std::string_view::npos || pattern.find("%r") != std::string_view::npos;
}

}  // namespace profkit::detail
