// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/code_elsewhere.hpp"
#include "../profile/profile.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

namespace profkit {

struct attribution;
struct window_frame;

}  // namespace profkit

namespace profkit::detail {

struct analysis_parts;

/// Declares the implementation of `analyze` and `analysis`; `make_summary.hpp` defines it. A template for the same reasons as
/// `report_code`.
template <class>
struct analyze_code {
  static summary of_whole(profile const& profile, analyze_options const& with);
  static void add(analysis_parts& to, profile const& records, window_frame const& frame, attribution const* launched);
  static void merge(analysis_parts& to, analysis_parts const& other);
  static summary finish(analysis_parts const& parts);
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct analyze_code<void>;
#endif

}  // namespace profkit::detail
