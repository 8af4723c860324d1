// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "code_elsewhere.hpp"
#include "journal_content.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Declares the implementation of `save`, `load`, `is_journal_file` and `load_journal`; `make_profile.hpp` defines it. A template for the
/// same reasons as `report_code`.
template <class>
struct profile_file_code {
  static void save(profile const& what, std::string const& path);
  static profile load(std::string const& path);
  static bool is_journal(std::string const& path);
  static journal_content load_journal(std::string const& path);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct profile_file_code<void>;
#endif

}  // namespace profkit::detail
