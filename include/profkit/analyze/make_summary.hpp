// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analysis.hpp"
#include "analyze_code.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

namespace profkit::detail {

template <class Unused>
summary analyze_code<Unused>::of_whole(profile const& profile, analyze_options const& with) {
  return analysis::of_whole(profile, with);
}

}  // namespace profkit::detail
