// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "code_elsewhere.hpp"
#include "journal_content.hpp"
#include "profile.hpp"

namespace profkit::detail {

/// Declares the implementation of `save`, `load` and `load_journal`; `make_profile.hpp` defines it. A template for the same reasons as
/// `report_code`.
template <class>
struct profile_file_code {
  static void save(profile const& what, std::filesystem::path const& path);
  static profile load(std::filesystem::path const& path);
  static journal_content load_journal(std::filesystem::path const& path);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct profile_file_code<void>;
#endif

}  // namespace profkit::detail
