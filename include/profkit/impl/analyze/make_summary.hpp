// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../analyze.hpp"
#include "../../profile.hpp"
#include "../../summary.hpp"
#include "analysis.hpp"
#include "analysis_work.hpp"
#include "complete_summary.hpp"
#include "gpu/attribution.hpp"
#include "kinds/kind_table.hpp"
#include "window.hpp"

namespace profkit {

[[gnu::used]] inline summary analyze(profile const& profile, analyze_options const& with) {
  return detail::analysis_work::of_whole(profile, with);
}

[[gnu::used]] inline void analysis::add(profile const& records, window_frame const& frame, attribution const* launched) {
  detail::analysis_work{parts_}.add(records, frame, launched);
}

[[gnu::used]] inline summary analysis::finish() const {
  detail::analysis_parts copy{parts_};
  return detail::complete_summary(copy, [](detail::kind_table&, bool) {});
}

}  // namespace profkit
