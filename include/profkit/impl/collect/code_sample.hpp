// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// One sample of a thread, as addresses.
struct code_sample {
  std::int64_t monotonic_ns = 0;        ///< CLOCK_MONOTONIC
  std::uint64_t leaf = 0;               ///< the address that the thread executed
  own_vector<std::uint64_t> callers{};  ///< addresses in its callers, nearest first; some may not be code addresses
  std::uint64_t weight_ns = 0;          ///< processor time that the sample represents
};

}  // namespace profkit::detail
