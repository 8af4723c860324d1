// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/code_elsewhere.hpp"

namespace profkit::detail {

/// Declares the code that makes scopes NVTX ranges; `nvtx_ranges.hpp` defines it. A template for the reasons of `report_code`: the NVTX
/// headers take as long to compile as everything else in `profkit.hpp`.
template <class>
struct nvtx_code {
  /// Makes every scope of the program an NVTX range in the domain `profkit`, if a tool listens. @return whether one does.
  static bool install() noexcept;
};

#ifdef PROFKIT_CODE_ELSEWHERE
extern template struct nvtx_code<void>;
#endif

}  // namespace profkit::detail
