// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analysis_parts.hpp"
#include "analysis_work.hpp"
#include "analyze_code.hpp"
#include "analyze_options.hpp"
#include "complete_summary.hpp"
#include "gpu/attribution.hpp"
#include "kinds/kind_table.hpp"
#include "summary.hpp"
#include "window.hpp"

namespace profkit::detail {

template <class Unused>
summary analyze_code<Unused>::of_whole(profile const& profile, analyze_options const& with) {
  return analysis_work<Unused>::of_whole(profile, with);
}

template <class Unused>
void analyze_code<Unused>::add(analysis_parts& to, profile const& records, window_frame const& frame, attribution const* launched) {
  analysis_work<Unused>{to}.add(records, frame, launched);
}

template <class Unused>
void analyze_code<Unused>::merge(analysis_parts& to, analysis_parts const& other) {
  analysis_work<Unused>{to}.merge(other);
}

template <class Unused>
summary analyze_code<Unused>::finish(analysis_parts const& parts) {
  analysis_parts copy{parts};
  return complete_summary(copy, [](kind_table&, bool) {});
}

}  // namespace profkit::detail
