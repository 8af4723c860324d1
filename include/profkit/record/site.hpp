// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// The place in the source that opens a scope or samples a counter. Lives in static storage, constant initialised, so that the
/// hot path never asks whether it exists. The macros make one per use.
///
/// Aligned so that a pointer to one has four bits to spare, in which the logs keep what happened there.
struct alignas(16) site {
  char const* name;  ///< a literal; read again whenever the logs are drained
  char const* file;
  std::uint32_t line;
  void* nvtx_name = nullptr;  ///< handle of the registered string; owned by the NVTX hooks
};

}  // namespace profkit
