// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Features that need the CUDA runtime: GPU scopes, the step timer, device memory, GPU clocks. Link `profkit::cuda`.
///
///     PROF_GPU_SCOPE("forward", stream);   a scope that also records CUDA events on the stream

#include "impl/collect/cuda_collectors.hpp"
#include "impl/collect/cuda_gpu_scope.hpp"
#include "scope.hpp"

#ifndef PROFKIT_DISABLE
/// @brief Opens a scope to the end of the block and times `stream` between two CUDA events. Does not synchronise the device. Costs about
/// 2 us while a session runs.
#define PROF_GPU_SCOPE(name, stream) \
  ::profkit::gpu_scope PROFKIT_VARIABLE { PROFKIT_SITE("" name), stream }
#else
#define PROF_GPU_SCOPE(name, stream) static_cast<void>(sizeof(stream))
#endif
