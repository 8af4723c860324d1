// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// What needs the CUDA runtime: GPU scopes, the step timer, device memory and clocks. Link `profkit::cuda`.
///
///     PROF_GPU_SCOPE("forward", stream);   a scope that also records CUDA events on the stream

#include "collect/cuda_gpu_clocks.hpp"
#include "collect/cuda_gpu_scope.hpp"
#include "collect/cuda_memory.hpp"
#include "collect/cuda_step_timer.hpp"
#include "scope.hpp"

#ifndef PROFKIT_DISABLE
/// A scope to the end of the block that also times the stream between two CUDA events. Does not synchronise.
#define PROF_GPU_SCOPE(name, stream) \
  ::profkit::gpu_scope PROFKIT_VARIABLE { PROFKIT_SITE("" name), stream }
#else
#define PROF_GPU_SCOPE(name, stream) static_cast<void>(sizeof(stream))
#endif
