// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../profile/own_memory.hpp"
#include "../profile/profile.hpp"
#include "../record/other_modules.hpp"
#include "../record/recorder.hpp"

namespace profkit::detail {

[[nodiscard]] inline char const* why_not_shared() noexcept {
  return "the module has a recorder of its own: leave profkit's symbols out of its version script and of --exclude-libs, link it without "
         "-Bsymbolic, open it without RTLD_DEEPBIND and dlmopen, link the executable with -rdynamic, and use one version of profkit";
}

/// Adds one entry for each module with its own recorder, whose scopes are not in the report.
inline void describe_other_recorders(own_vector<collector_record>& into) {
  find_other_recorders();
  for (other_recorder* each = __atomic_load_n(&recorder.others, __ATOMIC_ACQUIRE); each != nullptr; each = each->next) {
    std::string const path = each->path;
    into.push_back({"scopes of " + path.substr(path.rfind('/') + 1), "not collected", why_not_shared(), {}});
  }
}

}  // namespace profkit::detail
