// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

namespace profkit::detail {

/// Declares the implementation of `analyze`; `make_summary.hpp` defines it. A template for the reasons of `report_code`.
template <class>
struct analyze_code {
  static summary of_whole(profile const& profile, analyze_options const& with);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct analyze_code<void>;
#endif

}  // namespace profkit::detail
