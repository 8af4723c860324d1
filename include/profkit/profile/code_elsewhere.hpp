// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief nvcc parses a file once for the host and once for each kind of device. The code of sessions and reports is the host's, so the
/// passes for devices only declare it, as if another unit had it. That saves half of the time.

#if defined(__CUDA_ARCH__) && !defined(PROFKIT_CODE_ELSEWHERE)
#define PROFKIT_CODE_ELSEWHERE
#endif
