// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// @brief The source location that opens a scope or samples a counter. The macros define one per use.
///
/// A static, constant-initialised object, so the hot path needs no check for initialisation. Its alignment leaves four bits of its address
/// for the kind of event in the logs.
struct alignas(16) site {
  char const* name;           ///< a string literal; read whenever logs are drained
  char const* file;           ///< `__FILE__`
  std::uint32_t line;         ///< `__LINE__`
  void* nvtx_name = nullptr;  ///< handle of the registered string; owned by the NVTX hooks
};

}  // namespace profkit
