// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvtx_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "nvtx_ranges.hpp"  // IWYU pragma: export
#endif

namespace profkit::detail {

/// Initialised before `main`, once per program.
__attribute__((visibility("default"))) inline bool const nvtx_is_installed = nvtx_code<void>::install();

}  // namespace profkit::detail
