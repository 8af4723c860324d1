// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Makes every scope of the program an NVTX range in the domain `profkit`, if a tool listens. @return whether one does.
bool install_nvtx() noexcept;

/// Initialised before `main`, once per program.
__attribute__((visibility("default"))) inline bool const nvtx_is_installed = install_nvtx();

}  // namespace PROFKIT_NAMESPACE::detail
