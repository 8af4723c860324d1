// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief nvcc parses a file once for the host and once for each device architecture. Sessions and reports are host code. So the device
/// passes only declare that code, as if another translation unit compiled it, which halves the time.

#if defined(__CUDA_ARCH__) && !defined(PROFKIT_CODE_ELSEWHERE)
#define PROFKIT_CODE_ELSEWHERE
#endif
#if defined(__CUDA_ARCH__) && !defined(PROFKIT_CUPTI_CODE_ELSEWHERE)
#define PROFKIT_CUPTI_CODE_ELSEWHERE
#endif
