// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The collectives of NCCL. Link `profkit::nccl`. Needs neither NCCL nor CUDA to build. Include it in the executable, which exports
/// the profiler plugin to NCCL.
///
///     session.collect(profkit::nccl_collectives());   // before the first communicator

#include "collect/nccl_collectives.hpp"
